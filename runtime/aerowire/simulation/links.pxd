# Hosts of a network by number, and a link for each pair and direction, made when it is first used.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
from aerowire.simulation.packets cimport Link, LinkSettings
from aerowire.system.random cimport SeededRandom

# Why a packet was lost: LossCause has it as CHANCE.
cpdef enum LossCode:
    LOSS_CHANCE = 0                     # drawn
    LOSS_PARTITION = 1                  # its link is cut, when it is sent or when it would arrive
    LOSS_QUEUE = 2                      # its link is full
    LOSS_BUFFER = 3                     # the socket has no room
    LOSS_CUT = 4                        # a host without power, or a socket without its cable
    LOSS_UNREACHABLE = 5                # no such host, or no socket there

cdef enum:
    NO_HOST = -1

cdef struct HostRecord:
    Address address                     # without a port
    bint has_sockets                    # or has had; the others are addresses that something was sent to, or settings are for
    bint is_down
    int64_t traffic                     # packets from and to it since the busiest host was asked for
    LinkSettings outgoing               # for all its links, if the sequence is not 0
    LinkSettings incoming
    Link** links                        # by destination; NULL: not used yet
    int link_count


@cython.final
cdef class LinkTable:
    cdef ClockPort _clock
    cdef SeededRandom _random
    cdef HostRecord* records
    cdef int record_count
    cdef int _host_capacity
    cdef dict _held                     # every LinkFaults that was set
    cdef uint64_t _sequence
    cdef LinkSettings _all              # between different hosts
    cdef LinkSettings _loopback         # from a host to itself

    cdef int find_host(self, const Address* address) noexcept nogil         # NO_HOST if there is none of that address
    cdef int add_host(self, const Address* address) noexcept nogil          # found or added; NO_HOST: out of memory
    cdef int host_of(self, address) except -1                               # the same by a text with a numeric address
    cdef Link* between(self, int source, int destination) noexcept nogil    # NULL: out of memory
    cdef int64_t clogged_until(self, Link* link, int64_t at_ns) noexcept nogil   # at_ns if it is not clogged then
    cdef list pairs_of(self, partition)                                     # the hosts of each link that a partition cuts
    cdef int cut(self, list pairs, int change) except -1                    # by one more partition, or by one less
    cdef str address_of(self, int host)
    cdef int exchange_addresses(self, int host, int other) noexcept nogil
    cdef Link* _existing(self, int source, int destination) except NULL
    cdef int _settings_of(self, faults, LinkSettings* out) except -1
    cdef void _apply_to_all(self, int source, int destination, const LinkSettings* settings) noexcept nogil
    cdef Link* _made(self, int source, int destination) noexcept nogil
    cdef void _apply(self, Link* link, const LinkSettings* settings) noexcept nogil
