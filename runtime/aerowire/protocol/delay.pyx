"""Delay strategies for feedback: how long a receiver waits before a NAK, a sender before a retransmission."""

from libc.stdint cimport int64_t


cdef class DelayGenerator:
    """What a delay strategy answers; the base waits not at all."""

    cdef int64_t generate_delay_ns(self) noexcept nogil:
        return 0

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self.generate_delay_ns()

    @property
    def delay_ns(self):
        """The delay that would be used now, in ns."""
        return self.generate_delay_ns()

    @property
    def retry_ns(self):
        """The delay before a repetition, in ns."""
        return self.retry_delay_ns()


cdef class StaticDelay(DelayGenerator):
    """A fixed delay, the choice for unicast. Aeron: StaticDelayGenerator."""

    def __cinit__(self, int64_t delay_ns, retry_ns=None):
        self._delay_ns = delay_ns
        self._retry_ns = delay_ns if retry_ns is None else retry_ns

    cdef int64_t generate_delay_ns(self) noexcept nogil:
        return self._delay_ns

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self._retry_ns
