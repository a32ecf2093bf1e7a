"""Delay strategies for feedback: how long a receiver waits before a NAK, a sender before a retransmission."""

from libc.math cimport exp, log
from libc.stdint cimport int64_t, uint64_t

cdef double UNIT = 1.0 / (1 << 53)          # 53 random bits times this are uniform in [0, 1)


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


cdef class OptimalMulticastDelay(DelayGenerator):
    """Delays from 0 to `max_backoff_ns`, distributed so that of `group_size` receivers that miss the same few ask first and the others
    see the repair before their turn. Aeron: OptimalMulticastDelayGenerator.
    """

    def __cinit__(self, double max_backoff_ns, double group_size, seed):
        cdef double rate
        if group_size < 1 or max_backoff_ns < 0:
            raise ValueError(f"multicast delay: expected a group of at least 1 and a backoff of at least 0, actual {group_size}, {max_backoff_ns}")
        rate = log(group_size) + 1
        self._state = seed & 0xFFFF_FFFF_FFFF_FFFF
        if max_backoff_ns > 0:
            self._random_max = rate / max_backoff_ns
            self._random_base = rate / (max_backoff_ns * (exp(rate) - 1))
            self._scale_ns = max_backoff_ns / rate
            self._factor = (exp(rate) - 1) * (max_backoff_ns / rate)

    cdef int64_t generate_delay_ns(self) noexcept nogil:
        cdef uint64_t bits
        if self._scale_ns == 0:
            return 0
        # splitmix64: one addition and three mixing steps, and no state but the counter
        self._state += 0x9E3779B97F4A7C15ULL
        bits = self._state
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL
        bits ^= bits >> 31
        return <int64_t>(self._scale_ns * log(((bits >> 11) * UNIT * self._random_max + self._random_base) * self._factor))


cdef class StaticDelay(DelayGenerator):
    """A fixed delay, the choice for unicast. Aeron: StaticDelayGenerator."""

    def __cinit__(self, int64_t delay_ns, retry_ns=None):
        self._delay_ns = delay_ns
        self._retry_ns = delay_ns if retry_ns is None else retry_ns

    cdef int64_t generate_delay_ns(self) noexcept nogil:
        return self._delay_ns

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self._retry_ns
