"""A network in memory: hosts with sockets, between which packets go over links. One thread; no real sockets, no real time.

A packet is on the link between two hosts from sending to arrival, and then in the queue of a socket. Everything follows from the seed, the
clock and the order of calls.
"""

from libc.errno cimport EAGAIN, EINVAL, ENOBUFS, ENOTCONN
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

cimport cython

from aerowire.base.address cimport (
    Address, address_equals, address_from, address_is_multicast, address_port, address_set_port, address_to)
from aerowire.base.arguments import wrong_type
from aerowire.base.errors import ConfigurationError, PortInUseError, SocketError
from aerowire.base.ports cimport ClockPort
from aerowire.memory.growing cimport grow
from aerowire.simulation.draws cimport draw_chance
from aerowire.simulation.host_addresses cimport is_loopback, same_host
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.links cimport LOSS_BUFFER, LOSS_CUT, LOSS_UNREACHABLE, NO_HOST, HostRecord
from aerowire.simulation.packet_trace cimport FATE_REFUSED, FATE_SENT, PacketEvent, PacketTrace
from aerowire.simulation.packets cimport Link, Packet, make_packet, payload_of
from aerowire.simulation.partitions import Partition, draw_partition
from aerowire.simulation.wire cimport Wire, clone
from aerowire.system.random cimport SeededRandom

cdef int EPHEMERAL_FIRST = 49152        # first port given to a bind without one
cdef int PORTS_MAX = 1 << 20            # sockets of one network
cdef int QUEUE_LENGTH_MAX = 4096        # datagrams that one socket holds, whatever its buffer
_WILDCARDS = ("0.0.0.0", "::")


cdef class Inbox:
    """What has come for the sockets of one process, and what of it is unread. Changed by the network."""

    cdef void on_arrival(self) noexcept nogil:
        self.arrivals += 1
        self.unread += 1

    cdef void on_read(self) noexcept nogil:
        self.unread -= 1


cdef class SimulatedNetwork:
    """Hosts, links and sockets. Without settings, links take 10 microseconds and lose nothing.

    Changed by: sockets that send and receive, and the caller's settings at any time. What is due has arrived BEFORE any of them acts. Invariant: as LinkCounts says; no packet is delivered that was not sent.
    """

    def __cinit__(self, ClockPort clock not None, *, seed, faults=None):
        self._wire = Wire(clock, SeededRandom(seed))
        self.links = self._wire.links
        self.unowned = Inbox()
        self._ports = []
        self._partitions = []
        self._next_port = EPHEMERAL_FIRST
        if faults is not None:
            self.links.set_all(faults)

    def __dealloc__(self):
        free(self._natives)

    def set_faults(self, **faults) -> None:
        """Give all links between different hosts the same settings, by the names of LinkFaults."""
        self.links.set_all(LinkFaults(**faults))

    def open_port(self, bind, peer=None, group=None, *, host=None, inbox=None, receive_buffer_length=0):
        """Return a socket bound to (address, port), port 0 for any; with a peer it sends there and hears nobody else but its group.

        `host` is the address of its host, where that is not the one it is bound to: for a wildcard, which hears every address of the host and
        follows it to a new one, and for a loopback address, which each host has of its own. Of what is unread, `receive_buffer_length` bytes
        fit into the socket, where it is not 0. Raises SocketError for an address that the host does not have, PortInUseError.
        """
        cdef SimulatedPort port = SimulatedPort.__new__(SimulatedPort)
        is_wildcard = bind[0] in _WILDCARDS
        if is_wildcard and host is None:
            raise ConfigurationError("a wildcard belongs to no host", where=bind, expected="the address of a host", actual="no host")
        port._network = self
        port._inbox = self.unowned if inbox is None else inbox
        port._bytes_max = receive_buffer_length
        port._follows_host = is_wildcard
        port._host = self.links.host_of(bind[0] if host is None else host)
        address_from(&port._local, (self.links.address_of(port._host), bind[1]) if is_wildcard else bind)
        address_from(&port._peer, peer)
        address_from(&port._group, group)
        if port.is_stale():
            raise SocketError("cannot bind", where=bind, expected="an address of the host", actual=host)
        if address_port(&port._local) == 0:
            self._take_free_port(port)
        elif self._is_taken(port):
            raise PortInUseError("port is in use", where=bind)
        self.arrive()
        self._add_port(port)
        self.links.records[port._host].has_sockets = True
        return port

    def next_arrival_ns(self) -> int:
        """Return when a packet arrives next, or would but for a clogged link; 2^63-1 when none is in flight."""
        return self.next_arrival()

    # -- What the caller changes ---------------------------------------------------------------------------------------------------

    def partition(self, partition) -> None:
        """Let nothing pass between two sides from now on; what is in flight there is lost, unless the partition heals before it arrives."""
        if not isinstance(partition, Partition):
            raise wrong_type("partition", partition, "a Partition", "SimulatedNetwork.partition")
        pairs = self.links.pairs_of(partition)
        self.arrive()
        self.links.cut(pairs, 1)
        self._partitions.append((partition, pairs))

    def heal(self, partition=None) -> None:
        """End a partition, or all of them. ConfigurationError for one that is not in force."""
        ending = [each for each in self._partitions if partition is None or each[0] == partition]
        if partition is not None and not ending:
            raise ConfigurationError("no such partition", where="SimulatedNetwork.heal", expected="one that is in force", actual=partition)
        self.arrive()
        for each in ending:
            self.links.cut(each[1], -1)
            self._partitions.remove(each)

    def draw_partition(self, kind, *, hosts=None, one_way=False):
        """Draw a partition of all hosts that have sockets, or of `hosts`; `partition` puts it in force.

        The busiest host is the one with most packets sent and received since the last time that one was drawn.
        """
        if hosts is None:
            hosts = self.links.hosts
        elif not isinstance(hosts, (list, tuple)):      # a set has another order in every process
            raise wrong_type("hosts", hosts, "a list or a tuple of addresses", "SimulatedNetwork.draw_partition")
        busiest = None
        if hosts:
            busiest = max(hosts, key=lambda host: self.links.records[<int>self.links.host_of(host)].traffic)
        drawn = draw_partition(kind, hosts, self._wire.random, busiest=busiest, one_way=one_way)
        for index in range(self.links.record_count):
            self.links.records[<int>index].traffic = 0
        return drawn

    def disconnect(self, host) -> None:
        """Let a host send and receive nothing, not even what is in flight, until it is reconnected."""
        self.arrive()
        self.links.records[self.links.host_of(host)].is_down = True

    def reconnect(self, host) -> None:
        """End what `disconnect` has begun."""
        self.arrive()
        self.links.records[self.links.host_of(host)].is_down = False

    def move_host(self, host, address) -> None:
        """Give a host a new address, under which its links keep their settings. Nothing reaches the old one any more.

        Sockets bound to a wildcard follow; others can send no more. Raises ConfigurationError when the address is another host's.
        """
        cdef int moved = self.links.host_of(host)
        cdef int other = self.links.host_of(address)
        cdef SimulatedPort port
        if other != moved and self.links.records[other].has_sockets:
            raise ConfigurationError("the address is in use", where="SimulatedNetwork.move_host", expected="one that no host has", actual=address)
        self.arrive()
        self.links.exchange_addresses(moved, other)
        for port in self._ports:
            if port._host == moved and port._follows_host:
                number = address_port(&port._local)
                port._local = self.links.records[moved].address
                address_set_port(&port._local, number)

    def add_trace(self, PacketTrace trace not None) -> None:
        """Let a trace follow every packet from now on; eight at most."""
        self._wire.follow(trace)

    def remove_trace(self, PacketTrace trace not None) -> None:
        """Let a trace follow no more."""
        self._wire.unfollow(trace)

    @property
    def partitions(self) -> tuple:
        """The partitions in force."""
        return tuple([partition for partition, _ in self._partitions])

    @property
    def counts(self):
        """What all links have carried until now."""
        self.arrive()
        return self.links.counts()

    @property
    def trace_hash(self) -> int:
        """Digest of everything that happened to packets so far."""
        return self._wire.digest.value

    # -- Sending -------------------------------------------------------------------------------------------------------------------

    cdef int send_from(self, SimulatedPort source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil:
        cdef int host = source._host if is_loopback(target) else self.links.add_host(target)
        cdef Link* link = NULL if host == NO_HOST else self.links.between(source._host, host)
        cdef int error = EINVAL if source.is_stale() else 0
        if link is NULL:
            return -ENOBUFS
        if draw_chance(self._wire.random, link.settings.send_error):
            error = link.settings.errors[self._wire.random.next_below(link.settings.error_count)]
        if error:
            link.totals.refused += 1
            self._tell(FATE_REFUSED, error, source, target, payload, length)
            return -error
        self.sent += 1
        self._count_traffic(source._host)
        self._tell(FATE_SENT, 0, source, target, payload, length)
        # A packet to a group that nobody hears is lost on the link to the group.
        if not address_is_multicast(target) or self._send_to_group(source, target, payload, length) == 0:
            self._send_over(link, source, target, payload, length)
        return 0

    cdef int _send_to_group(self, SimulatedPort source, const Address* group, const uint8_t* payload, int32_t length) noexcept nogil:
        # Every host with members gets a packet of its own, by its own link. Returns how many hosts that were.
        cdef Link* link
        cdef int hosts = 0
        cdef int host, i, j
        for i in range(self._count):
            if not is_member(<SimulatedPort>self._natives[i], group):
                continue
            host = (<SimulatedPort>self._natives[i])._host
            j = 0
            while j < i and not (is_member(<SimulatedPort>self._natives[j], group) and (<SimulatedPort>self._natives[j])._host == host):
                j += 1
            link = self.links.between(source._host, host) if j == i else NULL
            if link is not NULL:
                hosts += 1
                self._send_over(link, source, group, payload, length)
        return hosts

    cdef void _send_over(self, Link* link, SimulatedPort source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil:
        cdef Packet* packet = make_packet(&source._local, target, payload, length)
        if packet is not NULL and source._follows_host and is_loopback(target):
            # The kernel gives such a packet the address that it is sent to.
            packet.source = target[0]
            address_set_port(&packet.source, address_port(&source._local))
        self._wire.carry(link, packet, source._cut or self.links.records[source._host].is_down)

    cdef void _tell(self, int fate, int cause, SimulatedPort source, const Address* target, const uint8_t* payload,
                    int32_t length) noexcept nogil:
        cdef PacketEvent event
        event.fate = fate
        event.cause = cause
        event.time_ns = self._wire.clock.nano_time()
        event.number = 0
        event.source = &source._local
        event.target = target
        event.payload = payload
        event.length = length
        self._wire.tell_event(&event)

    # -- Arriving ------------------------------------------------------------------------------------------------------------------

    cdef int64_t next_arrival(self) noexcept nogil:
        return self._wire.next_arrival_ns()

    cdef void arrive(self) noexcept nogil:
        cdef Packet* packet = self._wire.take_arrived()
        while packet is not NULL:
            self._deliver(packet)
            packet = self._wire.take_arrived()

    cdef void _deliver(self, Packet* packet) noexcept nogil:
        cdef Link* link = packet.link
        cdef Packet* copy
        cdef int first = -1
        cdef int i
        if self.links.records[link.destination].is_down:
            self._wire.lose(packet, LOSS_CUT, packet.due_ns)
            return
        for i in range(self._count):
            if not hears(<SimulatedPort>self._natives[i], link.destination, packet):
                continue
            if first < 0:
                first = i
            else:
                copy = clone(packet)
                if copy is not NULL:
                    link.totals.copied += 1
                    self._enqueue(<SimulatedPort>self._natives[i], copy)
            if not address_is_multicast(&packet.target):
                break
        if first < 0:
            self._wire.lose(packet, LOSS_UNREACHABLE, packet.due_ns)
        else:
            self._enqueue(<SimulatedPort>self._natives[first], packet)

    cdef void _enqueue(self, SimulatedPort port, Packet* packet) noexcept nogil:
        if port._cut:
            self._wire.lose(packet, LOSS_CUT, packet.due_ns)
            return
        if port._queued == QUEUE_LENGTH_MAX or (port._bytes_max and port._queued_bytes + packet.length > port._bytes_max):
            self._wire.lose(packet, LOSS_BUFFER, packet.due_ns)
            return
        self._wire.deliver(packet)
        if port._newest is NULL:
            port._oldest = packet
        else:
            port._newest.newer = packet
        port._newest = packet
        port._queued += 1
        port._queued_bytes += packet.length
        port._inbox.on_arrival()
        self._count_traffic(port._host)

    cdef void _count_traffic(self, int host) noexcept nogil:
        cdef HostRecord* record = &self.links.records[host]
        record.traffic += 1

    # -- Sockets -------------------------------------------------------------------------------------------------------------------

    cdef bint _is_taken(self, SimulatedPort port) noexcept nogil:
        cdef int i
        for i in range(self._count):
            if shares_port(<SimulatedPort>self._natives[i], port):
                return True
        return False

    cdef int _take_free_port(self, SimulatedPort port) except -1:
        cdef int tries
        for tries in range(EPHEMERAL_FIRST, 1 << 16):
            address_set_port(&port._local, self._next_port)
            self._next_port = self._next_port + 1 if self._next_port + 1 < 1 << 16 else EPHEMERAL_FIRST
            if not self._is_taken(port):
                return 0
        raise PortInUseError("every port is in use", where=address_to(&port._local))

    cdef int _add_port(self, SimulatedPort port) except -1:
        # Hosts come and go for as long as a world lasts: closed sockets are forgotten here.
        cdef SimulatedPort other
        self._ports = [other for other in self._ports if not other.is_closed]
        if len(self._ports) >= self._capacity and not grow(<void**>&self._natives, &self._capacity, sizeof(void*), PORTS_MAX):
            raise MemoryError("socket table")
        self._ports.append(port)
        self._count = 0
        for other in self._ports:
            self._natives[self._count] = <void*>other
            self._count += 1
        return 0


cdef bint is_member(SimulatedPort port, const Address* group) noexcept nogil:
    return not port._closed and address_equals(&port._group, group)


cdef bint hears(SimulatedPort port, int host, const Packet* packet) noexcept nogil:
    # A member of the group; or bound to port and address, and connected to the sender if to anything.
    if port._closed or port._host != host:
        return False
    if address_is_multicast(&packet.target):
        return address_equals(&port._group, &packet.target)
    if address_port(&port._local) != address_port(&packet.target):
        return False
    if not same_host(&port._local, &packet.target) and not (port._follows_host and is_loopback(&packet.target)):
        return False
    return port._peer.length == 0 or (address_port(&port._peer) == address_port(&packet.source) and same_host(&port._peer, &packet.source))


cdef bint shares_port(SimulatedPort port, SimulatedPort other) noexcept nogil:
    if port._closed or port._host != other._host or address_port(&port._local) != address_port(&other._local):
        return False
    return port._follows_host or other._follows_host or same_host(&port._local, &other._local)


cdef class SimulatedPort(DatagramPort):
    """A socket of a host; made by SimulatedNetwork.open_port. What has arrived waits in its queue, in the order of arrival."""

    def __dealloc__(self):
        cdef Packet* packet = self._oldest
        while packet is not NULL:
            self._oldest = packet.newer
            free(packet)
            packet = self._oldest

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        cdef int i, outcome
        cdef const Address* target
        self._network.arrive()
        for i in range(count):
            target = &items[i].address if items[i].address.length else &self._peer
            if self._closed or target.length == 0:
                return i if i else -ENOTCONN
            outcome = self._network.send_from(self, target, items[i].buffer, items[i].length)
            if outcome < 0:
                return i if i else (0 if outcome == -EAGAIN else outcome)
            items[i].result = items[i].length
        return count

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        cdef Packet* packet
        cdef int received = 0
        self._network.arrive()
        self.asked_max = max(self.asked_max, count)
        while received < count and self._oldest is not NULL:
            packet = self._pop()
            items[received].length = min(packet.length, items[received].capacity)
            memcpy(items[received].buffer, payload_of(packet), items[received].length)
            items[received].address = packet.source
            items[received].segment_size = 0
            items[received].timestamp_ns = 0
            free(packet)
            received += 1
        return received

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        out[0] = self._local
        return 0

    cdef int rebind(self, const Address* remote) noexcept nogil:
        self._peer = remote[0]
        return 0

    cdef bint is_stale(self) noexcept nogil:
        # its host has moved to another address, and it cannot follow
        return not same_host(&self._local, &self._network.links.records[self._host].address) and not is_loopback(&self._local)

    cdef Packet* _pop(self) noexcept nogil:
        cdef Packet* packet = self._oldest
        self._oldest = packet.newer
        if self._oldest is NULL:
            self._newest = NULL
        self._queued -= 1
        self._queued_bytes -= packet.length
        self._inbox.on_read()
        return packet

    cdef void _drop_queue(self) noexcept nogil:
        while self._oldest is not NULL:
            free(self._pop())

    def cut(self, bint off=True) -> None:
        """Take the cable out: nothing goes in or out until cut(False)."""
        self._network.arrive()
        self._cut = off

    def close(self) -> None:
        """Free the address; what is unread is gone, and what is in flight reaches nothing."""
        self._network.arrive()
        self._closed = True
        self._drop_queue()

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._closed
