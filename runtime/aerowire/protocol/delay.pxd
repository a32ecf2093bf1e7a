# How long to wait before feedback (a NAK, a retransmission) is sent.

from libc.stdint cimport int64_t


cdef class DelayGenerator:
    """A strategy: delays in nanoseconds. Subclasses for multicast spread them at random."""

    cdef int64_t generate_delay_ns(self) noexcept nogil     # for a gap just seen
    cdef int64_t retry_delay_ns(self) noexcept nogil        # for a gap that was reported before


cdef class StaticDelay(DelayGenerator):
    """StaticDelay(delay_ns, retry_ns=None): always the same; retry_ns defaults to delay_ns."""

    cdef int64_t _delay_ns
    cdef int64_t _retry_ns
