# A network in memory: ports, packets in flight, and what can go wrong with them.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort, Datagram, DatagramPort
from aerowire.system.random cimport SeededRandom

cdef enum:
    QUEUE_LENGTH_MAX = 4096             # packets in flight to one port, as a socket buffer would bound them

cdef struct Packet:
    int64_t due_ns
    uint64_t number                     # order among packets due at one time
    int32_t length
    Address source
    uint8_t* payload


@cython.final
cdef class SimulatedNetwork:
    """SimulatedNetwork(clock, seed): `open_port(bind, peer, group)` makes its ends."""

    cdef ClockPort _clock
    cdef SeededRandom _random
    cdef list _ports
    cdef void** _natives                # borrowed SimulatedPort*
    cdef int _count
    cdef uint64_t _number
    cdef uint64_t _hash
    cdef double loss
    cdef double duplicate
    cdef int64_t latency_ns
    cdef int64_t jitter_ns
    cdef readonly int64_t sent
    cdef readonly int64_t lost
    cdef readonly int64_t delivered
    cdef readonly int64_t overflowed
    cdef int _next_port

    cdef int deliver(self, SimulatedPort source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil
    cdef int deliver_to_group(self, SimulatedPort source, const Address* group, const uint8_t* payload, int32_t length) noexcept nogil
    cdef void put_in_flight(self, SimulatedPort target, const Address* source, const uint8_t* payload, int32_t length) noexcept nogil
    cdef void trace(self, int kind, int32_t a, int32_t b, const uint8_t* payload, int32_t length) noexcept nogil


@cython.final
cdef class SimulatedPort(DatagramPort):
    cdef SimulatedNetwork _network
    cdef Address _local
    cdef Address _peer
    cdef Address _group                 # multicast group that it hears, length 0 for none
    cdef bint _closed
    cdef bint _cut
    cdef Packet* _heap
    cdef int _queued
    cdef readonly int asked_max          # the most datagrams that one receive asked for

    cdef bint push(self, Packet* packet) noexcept nogil
    cdef void pop(self, Packet* packet) noexcept nogil
