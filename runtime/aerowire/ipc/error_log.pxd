# Distinct errors with their counts and times, in the cnc file's last section. Control plane only (with the GIL).

cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.final
cdef class DistinctErrorLog:
    """DistinctErrorLog(buffer): record(text, epoch_ms, *, key=None) -> bool (False: full). Any Python thread."""

    cdef uint8_t* address
    cdef int64_t capacity
    cdef int64_t _next_offset
    cdef dict _offsets
    cdef object _lock
    cdef object _holder

    cdef object _add(self, str text, int64_t epoch_ms)
