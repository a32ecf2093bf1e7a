# Clients and their heartbeat counters.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.ipc.heartbeat cimport HeartbeatWatch

cdef enum:
    CLIENTS_MAX = 65536                 # as many as there can be heartbeat counters

cdef struct ClientRecord:
    int64_t client_id
    int64_t* heartbeat                  # epoch ms; 0 after an orderly close
    int32_t counter_id
    HeartbeatWatch watch


@cython.final
cdef class ClientLiveness:
    cdef ClientRecord* _clients
    cdef int _capacity
    cdef int count

    cdef bint add(self, int64_t client_id, int64_t* heartbeat, int32_t counter_id) noexcept nogil
    cdef ClientRecord* at(self, int index) noexcept nogil
    cdef void remove_at(self, int index) noexcept nogil
