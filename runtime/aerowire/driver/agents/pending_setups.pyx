"""Set-ups that a receiver asked for and waits for. Aeron: PendingSetupMessageFromSource."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.memory.growing cimport grow


@cython.final
cdef class PendingSetups:
    """An unordered array, walked from the end so that an item can be removed on the way."""

    def __dealloc__(self):
        free(self._items)

    cdef bint add(self, void* endpoint, int transport_index, int32_t session_id, int32_t stream_id, bint periodic, const Address* source,
                  int64_t now_ns) noexcept nogil:
        # A flood can fill the places of sessions; the periodic ones, one for each socket with a control address, have their own.
        if not periodic and self.count >= PENDING_SETUPS_MAX:
            return False
        if self.count == self._capacity and not grow(<void**>&self._items, &self._capacity, sizeof(PendingSetup), 2 * PENDING_SETUPS_MAX):
            return False
        self._items[self.count].endpoint = endpoint
        self._items[self.count].asked_ns = now_ns
        self._items[self.count].session_id = session_id
        self._items[self.count].stream_id = stream_id
        self._items[self.count].periodic = periodic
        self._items[self.count].transport_index = transport_index
        self._items[self.count].source = source[0]
        self.count += 1
        return True

    cdef PendingSetup* at(self, int index) noexcept nogil:
        return &self._items[index]

    cdef void remove_at(self, int index) noexcept nogil:
        self.count -= 1
        self._items[index] = self._items[self.count]

    cdef void forget(self, void* endpoint, int transport_index) noexcept nogil:
        cdef int i = self.count - 1
        while i >= 0:
            if self._items[i].endpoint is endpoint and transport_index in (-1, self._items[i].transport_index):
                self.remove_at(i)
            i -= 1

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = INT64_MAX
        cdef int i
        for i in range(self.count):
            if self._items[i].asked_ns + PENDING_SETUP_TIMEOUT_NS < deadline:
                deadline = self._items[i].asked_ns + PENDING_SETUP_TIMEOUT_NS
        return deadline
