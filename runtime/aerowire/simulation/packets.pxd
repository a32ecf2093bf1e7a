# A packet on its way and the link that it is on, as plain C values.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy
from aerowire.base.address cimport Address

cdef enum:
    REPLAYS_MAX = 16                    # packets that a link remembers
    ERRORS_MAX = 8                      # errors of one link's settings
    CAUSES_MAX = 8                      # more than there are causes of loss

cdef struct Packet:
    int64_t due_ns
    uint64_t number                     # order of sending; decides among packets due at one time
    int heap_index
    int32_t length
    Link* link
    Packet* older                       # on the link, or in the socket's queue
    Packet* newer
    Address source
    Address target

# LinkFaults as native code reads it; of two settings for one link the later one is obeyed.
cdef struct LinkSettings:
    void* faults                        # borrowed LinkFaults*
    uint64_t sequence
    double loss
    double duplicate
    double replay
    double reorder
    double send_error
    int64_t reorder_ns
    int64_t latency_ns
    int64_t jitter_ns
    int64_t jitter_max_ns
    int64_t clog_interval_ns
    int64_t clog_mean_ns
    int64_t clog_max_ns
    int64_t bytes_per_second
    int queue_length
    bint drops_oldest
    int error_count
    int errors[ERRORS_MAX]

# Invariant: sent + duplicated + replayed + copied == delivered + the sum of lost + in_flight.
cdef struct LinkTotals:
    int64_t sent
    int64_t duplicated
    int64_t replayed
    int64_t copied                      # for further sockets of a group on one host
    int64_t delivered
    int64_t refused                     # not counted as sent
    int64_t lost[CAUSES_MAX]

cdef struct Link:
    LinkSettings settings
    LinkTotals totals
    int source                          # hosts by number
    int destination
    int cuts                            # partitions that cut it
    int64_t in_flight
    Packet* oldest                      # of those in flight
    Packet* newest
    int64_t busy_until_ns               # with putting earlier packets on a link of limited rate
    int64_t held_from_ns                # by links.clog()
    int64_t held_until_ns
    int64_t clog_start_ns               # the clogging drawn last
    int64_t clog_end_ns
    Packet* remembered[REPLAYS_MAX]
    int remembered_count
    int remembered_next


cdef inline uint8_t* payload_of(const Packet* packet) noexcept nogil:
    return <uint8_t*>(packet + 1)


# A packet with a payload of its own, to be freed with free(); NULL without memory.
cdef inline Packet* make_packet(const Address* source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil:
    cdef Packet* packet = <Packet*>malloc(sizeof(Packet) + length)
    if packet is not NULL:
        packet.length = length
        packet.source = source[0]
        packet.target = target[0]
        packet.link = NULL
        packet.older = packet.newer = NULL
        packet.heap_index = -1
        memcpy(payload_of(packet), payload, length)
    return packet


cdef inline bint is_earlier(const Packet* a, const Packet* b) noexcept nogil:
    return a.due_ns < b.due_ns or (a.due_ns == b.due_ns and a.number < b.number)


cdef inline void put_on_link(Link* link, Packet* packet) noexcept nogil:
    packet.link = link
    packet.older = link.newest
    packet.newer = NULL
    if link.newest is NULL:
        link.oldest = packet
    else:
        link.newest.newer = packet
    link.newest = packet
    link.in_flight += 1


cdef inline void take_off_link(Packet* packet) noexcept nogil:
    cdef Link* link = packet.link
    if packet.older is NULL:
        link.oldest = packet.newer
    else:
        packet.older.newer = packet.newer
    if packet.newer is NULL:
        link.newest = packet.older
    else:
        packet.newer.older = packet.older
    packet.older = packet.newer = NULL
    link.in_flight -= 1


@cython.final
cdef class PacketHeap:
    """The packets in flight, by the time when they are due."""

    cdef Packet** items
    cdef int count
    cdef int _capacity

    cdef bint push(self, Packet* packet) noexcept nogil             # False: full, or out of memory
    cdef void remove(self, Packet* packet) noexcept nogil           # whichever it is
    cdef void postpone(self, Packet* packet, int64_t due_ns) noexcept nogil
    cdef void _place(self, Packet* packet, int index) noexcept nogil
    cdef void _rise(self, Packet* packet, int index) noexcept nogil
    cdef void _sink(self, Packet* packet, int index) noexcept nogil
