# Whole messages from fragments, for handlers that say how the poll goes on.

from libc.stdint cimport int64_t
from aerowire.client.subscriptions.assembler cimport MessageBuilder
from aerowire.client.subscriptions.header cimport Header


cdef class ControlledFragmentAssembler:
    cdef readonly object delegate
    cdef readonly int64_t initial_buffer_length
    cdef dict _builders


cdef class ImageControlledFragmentAssembler:
    cdef readonly object delegate
    cdef readonly int64_t initial_buffer_length
    cdef MessageBuilder _builder
