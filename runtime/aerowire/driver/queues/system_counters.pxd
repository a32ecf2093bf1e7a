# The driver's own counters as addresses, for agents that count without the interpreter lock.

cimport cython
from libc.stdint cimport int64_t
from aerowire.ipc.counters cimport counter_add, counter_atomic_add, counter_get_relaxed, counter_increment, counter_propose_max

cdef enum:
    SYSTEM_COUNTERS_MAX = 64    # more than the official drivers have

# Counters of this driver alone, by counter id: they follow the system counters, and have types of their own (stream_counters.OWN_COUNTERS).
cdef enum:
    OWN_COUNTER_IMAGES_REFUSED = 46
    OWN_COUNTER_SETUP_REQUESTS_REFUSED = 47
    OWN_COUNTER_RECEIVERS_REFUSED = 48
    OWN_COUNTER_RETRANSMIT_BYTES_REFUSED = 49
    OWN_COUNTER_STREAM_ENDS_DISBELIEVED = 50
    OWN_COUNTER_ERROR_FRAMES_IGNORED = 51


@cython.final
cdef class SystemCounters:
    """SystemCounters(counters): the ids of system counters are their positions in the counters file."""

    cdef int64_t* address[SYSTEM_COUNTERS_MAX]
    cdef object counters


cdef struct DutyCycle:
    # Aeron: DutyCycleStallTracker
    int64_t last_ns
    int64_t threshold_ns
    int64_t* cycle_time_max
    int64_t* cycle_time_exceeded

cdef inline void duty_cycle_start(DutyCycle* cycle, int64_t now_ns) noexcept nogil:
    cycle.last_ns = now_ns

cdef inline void duty_cycle_measure(DutyCycle* cycle, int64_t now_ns) noexcept nogil:
    cdef int64_t elapsed = now_ns - cycle.last_ns
    cycle.last_ns = now_ns
    if elapsed > counter_get_relaxed(cycle.cycle_time_max):
        counter_propose_max(cycle.cycle_time_max, elapsed)
    if elapsed > cycle.threshold_ns:
        counter_increment(cycle.cycle_time_exceeded)
