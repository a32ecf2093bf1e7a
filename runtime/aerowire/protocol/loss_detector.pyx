"""When a receiver reports the gap it sees: after a delay, and again after each retry delay until it is filled."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

cimport cython


@cython.final
cdef class LossDetector:
    """One active gap and its deadline. Invariant: deadline_ns is INT64_MAX or belongs to the active gap. Aeron: LossDetector.

    The gap stays the active one while no gap is seen, so that a gap which reappears unchanged keeps its retry rhythm.
    """

    def __cinit__(self, DelayGenerator delay not None):
        self._delay = delay
        self.term_offset = -1
        self.deadline_ns = INT64_MAX

    cpdef bint on_gap(self, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns) noexcept nogil:
        """Take the gap that a scan found; return True when it is a new one."""
        if term_offset == self.term_offset and term_id == self.term_id and length == self.length:
            if self.deadline_ns == INT64_MAX:
                self.deadline_ns = now_ns
            return False
        self.term_id = term_id
        self.term_offset = term_offset
        self.length = length
        self.deadline_ns = now_ns + self._delay.generate_delay_ns()
        return True

    cpdef void on_no_gap(self) noexcept nogil:
        """A scan found no gap: nothing is due."""
        self.deadline_ns = INT64_MAX

    cpdef bint poll_report(self, int64_t now_ns) noexcept nogil:
        """Return True when the active gap is to be reported now, and schedule its repetition."""
        if self.deadline_ns > now_ns:
            return False
        self.deadline_ns = now_ns + self._delay.retry_delay_ns()
        return True
