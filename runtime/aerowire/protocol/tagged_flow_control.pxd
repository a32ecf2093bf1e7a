# Flow control that waits for the slowest receiver with a certain tag.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.protocol.min_flow_control cimport MinFlowControl


@cython.final
cdef class TaggedFlowControl(MinFlowControl):
    cdef int64_t _group_tag
    cdef int32_t _legacy_tag
