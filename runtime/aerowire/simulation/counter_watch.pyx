"""Positions of a driver's counters, looked at after each step of a world: none steps back while it has the same owner."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from aerowire.codecs.native.cnc cimport COUNTER_STATE_ALLOCATED, COUNTER_STATE_UNUSED
from aerowire.ipc.counters cimport counter_get


cdef class CounterWatch:
    """Remembers the counters of some types. Changed by: look()."""

    def __init__(self, CountersReader counters not None, types):
        """`types` are ids of types, below 256, whose values never step back."""
        self._counters = counters
        for type_id in types:
            self._is_position[<int>type_id] = True
        self._watched = <WatchedCounter*>calloc(counters.capacity, sizeof(WatchedCounter))
        if self._watched == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._watched)

    def look(self):
        """Return None, or (counter id, value before, value now) of the first counter that has stepped back since the last look."""
        cdef int32_t counter_id
        cdef int32_t state
        cdef int64_t value, registration_id
        cdef WatchedCounter* watched
        for counter_id in range(self._counters.capacity):
            state = self._counters.counter_state(counter_id)
            if state == COUNTER_STATE_UNUSED:
                break
            watched = &self._watched[counter_id]
            if state != COUNTER_STATE_ALLOCATED:
                watched.is_seen = False
                continue
            registration_id = self._counters.counter_registration_id(counter_id)
            value = counter_get(self._counters.value_address(counter_id))
            if watched.is_seen and watched.registration_id == registration_id:
                if watched.is_seen and 0 <= watched.type_id < 256 and self._is_position[watched.type_id] and value < watched.value:
                    return counter_id, watched.value, value
            else:
                watched.type_id = self._counters.counter_type_id(counter_id)
                watched.registration_id = registration_id
                watched.is_seen = True
            watched.value = value
        return None
