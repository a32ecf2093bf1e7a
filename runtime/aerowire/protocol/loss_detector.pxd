# When a receiver reports the gap it sees.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.protocol.delay cimport DelayGenerator


@cython.final
cdef class LossDetector:
    """At most one active gap: a scan that finds another replaces it and restarts its delay."""

    cdef DelayGenerator _delay
    cdef readonly int32_t term_id           # the active gap
    cdef readonly int32_t term_offset
    cdef readonly int32_t length
    cdef readonly int64_t deadline_ns       # when it is to be reported; INT64_MAX: never

    cpdef bint on_gap(self, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns) noexcept nogil
    cpdef void on_no_gap(self) noexcept nogil
    cpdef bint poll_report(self, int64_t now_ns) noexcept nogil
