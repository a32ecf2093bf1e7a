"""The driver's own counters as addresses, for agents that count without the interpreter lock."""

cimport cython

from aerowire.ipc.counters cimport CountersReader


@cython.final
cdef class SystemCounters:
    """Addresses of all system counters. Keeps the counters mapped. The conductor allocates them before anything else."""

    def __cinit__(self, CountersReader counters not None):
        cdef int i
        self.counters = counters
        if counters.capacity < SYSTEM_COUNTERS_MAX:
            raise ValueError(f"counters buffer: expected room for {SYSTEM_COUNTERS_MAX} counters, actual {counters.capacity}")
        for i in range(SYSTEM_COUNTERS_MAX):
            self.address[i] = counters.value_address(i)

    def get(self, int counter_id) -> int:
        """Return the value of a system counter."""
        if not 0 <= counter_id < SYSTEM_COUNTERS_MAX:
            raise IndexError(f"system counter id: expected 0 to {SYSTEM_COUNTERS_MAX - 1}, actual {counter_id}")
        return counter_get_relaxed(self.address[counter_id])
