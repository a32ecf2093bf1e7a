"""A counter of any owner, whose value bounds how far a replay goes. Once the counter is freed its last value stays the bound."""

from libc.stdint cimport int32_t, int64_t

from aerowire.codecs.native.cnc cimport COUNTER_STATE_ALLOCATED
from aerowire.ipc.counters cimport counter_get
from aerowire.ipc.owned_counter cimport owned_counter_is_owned, owned_counter_open
from aerowire.memory.atomics cimport load_acquire_i64


cdef class PositionBound:
    """The value of a counter that may be freed, and given to others, at any time.

    Raises IndexError for an id that there is not, ValueError for a counter that is not in use.
    """

    def __cinit__(self, CountersReader counters not None, int32_t counter_id):
        owned_counter_open(&self._counter, counters, counter_id)
        if counters.counter_state(counter_id) != COUNTER_STATE_ALLOCATED:
            raise ValueError(f"counter {counter_id}: expected one in use, actual state {counters.counter_state(counter_id)}")
        self._counters = counters
        self.position = counter_get(self._counter.value)

    cdef int64_t read(self) noexcept nogil:
        # A counter that is freed keeps its value until another gets it, whose registration is stored BEFORE its value.
        cdef bint is_owned
        cdef int64_t value
        if self.is_frozen:
            return self.position
        is_owned = owned_counter_is_owned(&self._counter)
        value = counter_get(self._counter.value)
        if (load_acquire_i64(self._counter.registration) == self._counter.registration_id
                and load_acquire_i64(self._counter.reference) == self._counter.reference_id):
            self.position = value
        self.is_frozen = not is_owned
        return self.position
