"""What carries packets over links: losses, repetitions, delays and queues, and the order of arrival.

Knows links and not sockets: it is given packets and gives them back when they are due. All draws are of one generator, in this order:
loss, duplication, delay of the packet, delay of its duplicate, replay, delay of what is replayed.
"""

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.base.errors import ConfigurationError
from aerowire.base.ports cimport ClockPort
from aerowire.simulation.draws cimport draw_chance, draw_exponential
from aerowire.simulation.links cimport LOSS_CHANCE, LOSS_CUT, LOSS_PARTITION, LOSS_QUEUE, LinkTable
from aerowire.simulation.packet_trace cimport FATE_DELIVERED, FATE_LOST, FATE_REPEATED, PacketDigest, PacketEvent, PacketTrace
from aerowire.simulation.packets cimport (
    REPLAYS_MAX, Link, LinkSettings, Packet, PacketHeap, make_packet, payload_of, put_on_link, take_off_link)
from aerowire.system.random cimport SeededRandom

cdef int64_t NS_PER_SECOND = 1_000_000_000


@cython.final
cdef class Wire:
    """The packets in flight of a network. Invariant: a packet is in the heap exactly while it is on its link."""

    def __cinit__(self, ClockPort clock not None, SeededRandom random not None):
        self.clock = clock
        self.random = random
        self.links = LinkTable(clock, random)
        self.digest = PacketDigest()
        self._in_flight = PacketHeap()
        self._traces = []
        self.follow(self.digest)

    # -- Followers -----------------------------------------------------------------------------------------------------------------

    cdef int follow(self, PacketTrace trace) except -1:
        if self._follower_count == TRACES_MAX:
            raise ConfigurationError("too many traces", where="SimulatedNetwork", expected=f"at most {TRACES_MAX}", actual=TRACES_MAX + 1)
        self._traces.append(trace)
        self._followers[self._follower_count] = <void*>trace
        self._follower_count += 1
        return 0

    cdef int unfollow(self, PacketTrace trace) except -1:
        if trace not in self._traces:
            raise ConfigurationError("no such trace", where="SimulatedNetwork", expected="one that follows it", actual=trace)
        self._traces.remove(trace)
        self._follower_count = 0
        for other in self._traces:
            self._followers[self._follower_count] = <void*>other
            self._follower_count += 1
        return 0

    cdef void tell(self, int fate, int cause, const Packet* packet, int64_t at_ns) noexcept nogil:
        cdef PacketEvent event
        event.fate = fate
        event.cause = cause
        event.time_ns = at_ns
        event.number = packet.number
        event.source = &packet.source
        event.target = &packet.target
        event.payload = payload_of(packet)
        event.length = packet.length
        self.tell_event(&event)

    cdef void tell_event(self, const PacketEvent* event) noexcept nogil:
        cdef int i
        for i in range(self._follower_count):
            (<PacketTrace>self._followers[i]).on_packet(event)

    # -- Sending -------------------------------------------------------------------------------------------------------------------

    cdef void carry(self, Link* link, Packet* packet, bint is_cut) noexcept nogil:
        cdef Packet* copy
        cdef Packet* memory
        cdef int64_t now_ns = self.clock.nano_time()
        self._number += 1
        link.totals.sent += 1
        if packet is NULL:
            link.totals.lost[<int>LOSS_QUEUE] += 1
            return
        packet.link = link
        packet.number = self._number
        if is_cut:
            self.lose(packet, LOSS_CUT, now_ns)
        elif link.cuts > 0:
            self.lose(packet, LOSS_PARTITION, now_ns)
        elif draw_chance(self.random, link.settings.loss):
            self.lose(packet, LOSS_CHANCE, now_ns)
        else:
            copy = clone(packet) if draw_chance(self.random, link.settings.duplicate) else NULL
            memory = clone(packet) if link.settings.replay > 0.0 else NULL
            self._put(packet)
            if copy is not NULL:
                link.totals.duplicated += 1
                self._repeat(copy)
            if memory is not NULL:
                self._replay(link, memory)

    cdef void _replay(self, Link* link, Packet* memory) noexcept nogil:
        # One of the packets before this one; then this one is remembered too.
        cdef Packet* copy
        if link.remembered_count and draw_chance(self.random, link.settings.replay):
            copy = clone(link.remembered[self.random.next_below(link.remembered_count)])
            if copy is not NULL:
                link.totals.replayed += 1
                self._repeat(copy)
        free(link.remembered[link.remembered_next])
        link.remembered[link.remembered_next] = memory
        link.remembered_next = (link.remembered_next + 1) % REPLAYS_MAX
        link.remembered_count = min(link.remembered_count + 1, <int>REPLAYS_MAX)

    cdef void _repeat(self, Packet* copy) noexcept nogil:
        self._number += 1
        copy.number = self._number
        self.tell(FATE_REPEATED, 0, copy, self.clock.nano_time())
        self._put(copy)

    cdef void _put(self, Packet* packet) noexcept nogil:
        cdef Link* link = packet.link
        cdef Packet* oldest
        while link.settings.queue_length and link.in_flight >= link.settings.queue_length:
            if not link.settings.drops_oldest:
                self.lose(packet, LOSS_QUEUE, self.clock.nano_time())
                return
            oldest = link.oldest
            self._in_flight.remove(oldest)
            take_off_link(oldest)
            self.lose(oldest, LOSS_QUEUE, self.clock.nano_time())
        packet.due_ns = self._due_ns(link, packet.length)
        if self._in_flight.push(packet):
            put_on_link(link, packet)
        else:
            self.lose(packet, LOSS_QUEUE, self.clock.nano_time())

    cdef int64_t _due_ns(self, Link* link, int length) noexcept nogil:
        cdef const LinkSettings* settings = &link.settings
        cdef int64_t departure_ns = self.clock.nano_time()
        cdef int64_t delay_ns = settings.latency_ns + draw_exponential(self.random, settings.jitter_ns, settings.jitter_max_ns)
        if settings.bytes_per_second:
            departure_ns = max(departure_ns, link.busy_until_ns)
            departure_ns += (length * NS_PER_SECOND + settings.bytes_per_second - 1) // settings.bytes_per_second
            link.busy_until_ns = departure_ns
        if draw_chance(self.random, settings.reorder):
            delay_ns += <int64_t>self.random.next_below(settings.reorder_ns + 1)
        return departure_ns + delay_ns

    # -- Arriving ------------------------------------------------------------------------------------------------------------------

    cdef int64_t next_arrival_ns(self) noexcept nogil:
        return self._in_flight.items[0].due_ns if self._in_flight.count else INT64_MAX

    cdef Packet* take_arrived(self) noexcept nogil:
        cdef Packet* packet
        cdef int64_t free_ns
        while self._in_flight.count and self._in_flight.items[0].due_ns <= self.clock.nano_time():
            packet = self._in_flight.items[0]
            free_ns = self.links.clogged_until(packet.link, packet.due_ns)
            if free_ns > packet.due_ns:
                self._in_flight.postpone(packet, free_ns)
                continue
            self._in_flight.remove(packet)
            take_off_link(packet)
            if packet.link.cuts == 0:
                return packet
            self.lose(packet, LOSS_PARTITION, packet.due_ns)
        return NULL

    cdef void deliver(self, Packet* packet) noexcept nogil:
        packet.link.totals.delivered += 1
        self.tell(FATE_DELIVERED, 0, packet, packet.due_ns)

    cdef void lose(self, Packet* packet, int cause, int64_t at_ns) noexcept nogil:
        packet.link.totals.lost[cause] += 1
        self.tell(FATE_LOST, cause, packet, at_ns)
        free(packet)


cdef Packet* clone(const Packet* packet) noexcept nogil:
    cdef Packet* copy = make_packet(&packet.source, &packet.target, payload_of(packet), packet.length)
    if copy is not NULL:
        copy.link = packet.link
        copy.number = packet.number
        copy.due_ns = packet.due_ns
    return copy
