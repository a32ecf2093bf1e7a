# What carries packets over links: losses, repetitions, delays and queues, and the order of arrival.

cimport cython
from libc.stdint cimport int64_t, uint64_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
from aerowire.simulation.links cimport LinkTable
from aerowire.simulation.packet_trace cimport PacketDigest, PacketEvent, PacketTrace
from aerowire.simulation.packets cimport Link, Packet, PacketHeap
from aerowire.system.random cimport SeededRandom

cdef enum:
    TRACES_MAX = 8                      # followers of one network


@cython.final
cdef class Wire:
    cdef ClockPort clock
    cdef SeededRandom random
    cdef LinkTable links
    cdef PacketDigest digest
    cdef PacketHeap _in_flight
    cdef list _traces
    cdef void* _followers[TRACES_MAX]   # borrowed PacketTrace*
    cdef int _follower_count
    cdef uint64_t _number

    cdef int follow(self, PacketTrace trace) except -1
    cdef int unfollow(self, PacketTrace trace) except -1
    cdef void carry(self, Link* link, Packet* packet, bint is_cut) noexcept nogil   # takes the packet, which may be NULL: out of memory
    cdef int64_t next_arrival_ns(self) noexcept nogil           # INT64_MAX: nothing is in flight
    cdef Packet* take_arrived(self) noexcept nogil              # the next that is due, to be delivered or lost; NULL: none
    cdef void deliver(self, Packet* packet) noexcept nogil      # into a socket's queue, which owns it from then on
    cdef void lose(self, Packet* packet, int cause, int64_t at_ns) noexcept nogil
    cdef void tell(self, int fate, int cause, const Packet* packet, int64_t at_ns) noexcept nogil
    cdef void tell_event(self, const PacketEvent* event) noexcept nogil
    cdef void _replay(self, Link* link, Packet* memory) noexcept nogil
    cdef void _repeat(self, Packet* copy) noexcept nogil
    cdef void _put(self, Packet* packet) noexcept nogil
    cdef int64_t _due_ns(self, Link* link, int length) noexcept nogil


cdef Packet* clone(const Packet* packet) noexcept nogil         # NULL: out of memory
