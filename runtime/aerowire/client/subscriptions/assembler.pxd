# Whole messages from fragments.

from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.client.handles.buffers cimport NativeBuffer
from aerowire.client.subscriptions.header cimport Header


cdef class MessageBuilder:
    """The message of one session that is being put together. Invariant: `limit` <= capacity of the buffer."""

    cdef NativeBuffer _buffer
    cdef object view                # a read-only memoryview of the buffer
    cdef int64_t limit
    cdef int32_t next_term_offset
    cdef int64_t framed_length      # log bytes of the fragments
    cdef bint is_open
    cdef Header header

    cdef int begin(self, Header header, int64_t initial_capacity) except -1
    cdef int append(self, Header header) except -1
    cdef int reserve(self, int64_t capacity) except -1
    # Add the next fragment; False: it does not follow on the last one, or makes the message longer than any can be, and what was there is
    # dropped.
    cdef bint accept_next(self, Header header) except *
    cdef Header complete(self, Header last)
    # Take the last fragment back, which a controlled handler did not want yet.
    cdef void take_back(self, int64_t limit, int64_t framed_length, int32_t next_term_offset) noexcept


cdef class FragmentAssembler:
    cdef readonly object delegate
    cdef readonly int64_t initial_buffer_length
    cdef dict _builders

    # Take the fragment at which `header` stands; call the delegate when it completes a message.
    cdef int accept(self, Header header) except -1


cdef class ImageFragmentAssembler:
    cdef readonly object delegate
    cdef readonly int64_t initial_buffer_length
    cdef MessageBuilder _builder
