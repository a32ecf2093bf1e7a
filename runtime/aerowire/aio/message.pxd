# One message with what its header says.

cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class Message:
    cdef readonly bytes payload
    cdef readonly int64_t position
    cdef readonly int64_t reserved_value
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id


@cython.final
cdef class MessageCollector:
    cdef object _append
