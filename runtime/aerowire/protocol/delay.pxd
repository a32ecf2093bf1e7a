# How long to wait before feedback (a NAK, a retransmission) is sent.

from libc.stdint cimport int64_t, uint64_t


cdef class DelayGenerator:
    """A strategy: delays in nanoseconds. Subclasses for multicast spread them at random."""

    cdef int64_t generate_delay_ns(self) noexcept nogil     # for a gap just seen
    cdef int64_t retry_delay_ns(self) noexcept nogil        # for a gap that was reported before


cdef class OptimalMulticastDelay(DelayGenerator):
    """OptimalMulticastDelay(max_backoff_ns, group_size, seed): at random, so that few of a group ask for the same repair."""

    cdef uint64_t _state                # of its own random sequence
    cdef double _random_max
    cdef double _random_base
    cdef double _scale_ns
    cdef double _factor


cdef class StaticDelay(DelayGenerator):
    """StaticDelay(delay_ns, retry_ns=None): always the same; retry_ns defaults to delay_ns."""

    cdef int64_t _delay_ns
    cdef int64_t _retry_ns
