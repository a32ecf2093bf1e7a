# Measures of an agent's cycles: the longest, and how many took longer than a threshold. Aeron: DutyCycleStallTracker.

from libc.stdint cimport int64_t
from aerowire.ipc.counters cimport counter_get_relaxed, counter_increment, counter_propose_max

cdef struct DutyCycle:
    int64_t last_ns
    int64_t threshold_ns
    # Counters, or memory of the agent's. One writer: the agent.
    int64_t* cycle_time_max
    int64_t* cycle_time_exceeded

cdef inline void duty_cycle_start(DutyCycle* cycle, int64_t now_ns) noexcept nogil:
    cycle.last_ns = now_ns

# Once a cycle, before its work.
cdef inline void duty_cycle_measure(DutyCycle* cycle, int64_t now_ns) noexcept nogil:
    cdef int64_t elapsed = now_ns - cycle.last_ns
    cycle.last_ns = now_ns
    if elapsed > counter_get_relaxed(cycle.cycle_time_max):
        counter_propose_max(cycle.cycle_time_max, elapsed)
    if elapsed > cycle.threshold_ns:
        counter_increment(cycle.cycle_time_exceeded)
