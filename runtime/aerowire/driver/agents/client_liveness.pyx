"""Clients and their heartbeat counters, for the conductor agent to look at."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.memory.growing cimport grow


@cython.final
cdef class ClientLiveness:
    """An unordered array, walked from the end so that a client can be removed on the way."""

    def __dealloc__(self):
        free(self._clients)

    cdef bint add(self, int64_t client_id, int64_t* heartbeat, int32_t counter_id) noexcept nogil:
        if self.count == self._capacity and not grow(<void**>&self._clients, &self._capacity, sizeof(ClientRecord), CLIENTS_MAX):
            return False
        self._clients[self.count].client_id = client_id
        self._clients[self.count].heartbeat = heartbeat
        self._clients[self.count].counter_id = counter_id
        self._clients[self.count].watch.is_seen = False
        self.count += 1
        return True

    cdef ClientRecord* at(self, int index) noexcept nogil:
        return &self._clients[index]

    cdef void remove_at(self, int index) noexcept nogil:
        self.count -= 1
        self._clients[index] = self._clients[self.count]
