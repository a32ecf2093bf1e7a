# The driver's own counters as addresses, for agents that count without the interpreter lock.

cimport cython
from libc.stdint cimport int64_t
from aerowire.ipc.counters cimport counter_get_relaxed

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
