"""Those of a stream's subscribers for which it does not wait: an unordered array, most often empty."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

cimport cython

from enum import IntEnum

from aerowire.memory.growing cimport grow
from aerowire.protocol.untethered cimport UNTETHERED_ACTIVE

cdef int UNTETHERED_MAX = 65536         # of one stream: as many as there can be counters


class Tether(IntEnum):
    """Whether a stream waits for a subscriber, and whether one that fell behind comes back."""

    TETHERED = TETHER_TETHERED
    REJOINS = TETHER_REJOINS
    LEAVES = TETHER_LEAVES


@cython.final
cdef class UntetheredSubscriptions:
    """An unordered array of subscribers with their state."""

    def __dealloc__(self):
        free(self.items)

    cdef bint add(self, int64_t* value, int32_t counter_id, int64_t registration_id, bint rejoins, int64_t now_ns) noexcept nogil:
        cdef UntetheredSubscription* item
        if self.count == self._capacity and not grow(<void**>&self.items, &self._capacity, sizeof(UntetheredSubscription), UNTETHERED_MAX):
            return False
        item = &self.items[self.count]
        item.value = value
        item.counter_id = counter_id
        item.registration_id = registration_id
        item.rejoins = rejoins
        item.state = UNTETHERED_ACTIVE
        item.since_ns = now_ns
        self.count += 1
        return True

    cdef bint remove(self, int32_t counter_id) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self.items[i].counter_id == counter_id:
                self.remove_at(i)
                return True
        return False

    cdef void remove_at(self, int index) noexcept nogil:
        self.count -= 1
        self.items[index] = self.items[self.count]
