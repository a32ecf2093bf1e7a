"""How long an agent's cycles take, for readers in other processes."""

from libc.stdint cimport int64_t

from aerowire.agents.duty_cycle cimport duty_cycle_measure, duty_cycle_start


cdef class CycleCounters:
    """The longest cycle of an agent, and how many took longer than a threshold, in two counters of the archive's client.

    Aeron: DutyCycleStallTracker.
    """

    def __init__(self, LentCounter longest_ns not None, LentCounter exceeded not None, int64_t threshold_ns):
        self._longest_counter = longest_ns
        self._exceeded_counter = exceeded
        self._cycle.threshold_ns = threshold_ns
        self._cycle.cycle_time_max = &self._longest_ns
        self._cycle.cycle_time_exceeded = &self._exceeded
        self._is_lent = True

    cdef void start_over(self) noexcept nogil:
        self._has_begun = False

    cdef void measure(self, int64_t now_ns) noexcept nogil:
        if not self._has_begun:
            self._has_begun = True
            duty_cycle_start(&self._cycle, now_ns)
        duty_cycle_measure(&self._cycle, now_ns)
        if not self._is_lent:
            return
        if not (self._longest_counter.is_out() and self._exceeded_counter.is_out()):
            self.give_back()
            return
        if self._longest_ns != self._shown_ns:
            self._shown_ns = self._longest_ns
            self._longest_counter.set(self._longest_ns)
        if self._exceeded != self._shown_exceeded:
            self._shown_exceeded = self._exceeded
            self._exceeded_counter.set(self._exceeded)

    cdef void give_back(self) noexcept nogil:
        if self._is_lent:
            self._is_lent = False
            self._longest_counter.give_back()
            self._exceeded_counter.give_back()
