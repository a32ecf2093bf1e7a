# Hosts with sockets, between which packets go over links.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.simulation.links cimport LinkTable
from aerowire.simulation.packets cimport Link, Packet
from aerowire.simulation.wire cimport Wire


@cython.final
cdef class Inbox:
    cdef readonly int64_t arrivals      # ever
    cdef readonly int64_t unread        # now

    cdef void on_arrival(self) noexcept nogil
    cdef void on_read(self) noexcept nogil


@cython.final
cdef class SimulatedNetwork:
    cdef Wire _wire
    cdef readonly LinkTable links
    cdef readonly Inbox unowned         # of sockets that belong to no process
    cdef list _ports
    cdef void** _natives                # borrowed SimulatedPort*, in the order of opening
    cdef int _count
    cdef int _capacity
    cdef int _next_port
    cdef list _partitions               # each with the hosts of its links
    cdef readonly int64_t sent          # datagrams that sockets have sent

    cdef void arrive(self) noexcept nogil                       # let come what is due
    cdef int64_t next_arrival(self) noexcept nogil              # as Wire.next_arrival_ns
    cdef int send_from(self, SimulatedPort source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil
    cdef int _send_to_group(self, SimulatedPort source, const Address* group, const uint8_t* payload, int32_t length) noexcept nogil
    cdef void _send_over(self, Link* link, SimulatedPort source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil
    cdef void _deliver(self, Packet* packet) noexcept nogil
    cdef void _enqueue(self, SimulatedPort port, Packet* packet) noexcept nogil
    cdef void _count_traffic(self, int host) noexcept nogil
    cdef void _tell(self, int fate, int cause, SimulatedPort source, const Address* target, const uint8_t* payload,
                    int32_t length) noexcept nogil
    cdef bint _is_taken(self, SimulatedPort port) noexcept nogil
    cdef int _take_free_port(self, SimulatedPort port) except -1
    cdef int _add_port(self, SimulatedPort port) except -1


@cython.final
cdef class SimulatedPort(DatagramPort):
    cdef SimulatedNetwork _network
    cdef Inbox _inbox
    cdef Address _local
    cdef Address _peer
    cdef Address _group                 # multicast group that it hears, length 0 for none
    cdef int _host
    cdef bint _follows_host             # bound to every address of its host
    cdef bint _closed
    cdef bint _cut
    cdef Packet* _oldest                # arrived and not yet received
    cdef Packet* _newest
    cdef int _queued
    cdef int64_t _queued_bytes
    cdef int64_t _bytes_max             # 0: as many as there are
    cdef readonly int asked_max         # the most datagrams that one receive asked for

    cdef bint is_stale(self) noexcept nogil
    cdef Packet* _pop(self) noexcept nogil
    cdef void _drop_queue(self) noexcept nogil
