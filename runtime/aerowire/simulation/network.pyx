"""A network in memory: ports, packets in flight, and what can go wrong with them. One thread; no sockets, no real time."""

from libc.errno cimport ENOTCONN
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

cimport cython

from aerowire.base.address cimport (
    Address, address_equals, address_from, address_ip, address_is_multicast, address_port, address_set_port, address_to)
from aerowire.base.errors import PortInUseError

cdef int EPHEMERAL_FIRST = 49152        # first port given to a bind without one
cdef uint64_t FNV_PRIME = 1099511628211ULL
cdef uint64_t FNV_BASIS = 14695981039346656037ULL

cdef enum:
    TRACE_SENT = 1
    TRACE_LOST = 2
    TRACE_DELIVERED = 3


@cython.final
cdef class SimulatedNetwork:
    """Delivers each datagram after `latency_ns` plus up to `jitter_ns`, which reorders; loses and repeats by chance.

    Changed by: ports that send and receive, and the test's own hand on the rates. Invariant: everything follows from the seed, the
    clock and the order of calls; `trace_hash` covers every packet's fate and time.
    """

    def __cinit__(self, ClockPort clock not None, *, seed, double loss=0.0, double duplicate=0.0, int64_t latency_ns=10_000,
                  int64_t jitter_ns=0):
        self._clock = clock
        self._random = SeededRandom(seed)
        self._ports = []
        self.loss = loss
        self.duplicate = duplicate
        self.latency_ns = latency_ns
        self.jitter_ns = jitter_ns
        self._hash = FNV_BASIS
        self._next_port = EPHEMERAL_FIRST

    def __dealloc__(self):
        free(self._natives)

    def open_port(self, bind, peer=None, group=None):
        """Return a port bound to (host, port), port 0 for any; with a peer it sends there and hears nobody else but its group."""
        cdef SimulatedPort port = SimulatedPort.__new__(SimulatedPort)
        cdef void** natives
        port._network = self
        address_from(&port._local, bind)
        address_from(&port._peer, peer)
        address_from(&port._group, group)
        if address_port(&port._local) == 0:
            address_set_port(&port._local, self._next_port)
            self._next_port += 1
        if any(other.local_address == port.local_address for other in self._ports if not other.is_closed):
            raise PortInUseError("port is in use", where=bind)
        port._heap = <Packet*>calloc(QUEUE_LENGTH_MAX, sizeof(Packet))
        # Hosts come and go for as long as a world lasts: closed ports are forgotten here.
        ports = [other for other in self._ports if not other.is_closed] + [port]
        natives = <void**>realloc(self._natives, (self._count + 1) * sizeof(void*))
        if natives is NULL or port._heap is NULL:
            raise MemoryError
        self._ports = ports
        self._natives = natives
        self._count = 0
        for other in ports:
            self._natives[self._count] = <void*>other
            self._count += 1
        return port

    def set_faults(self, *, double loss=0.0, double duplicate=0.0, int64_t latency_ns=10_000, int64_t jitter_ns=0) -> None:
        """Replace all rates and delays from now on."""
        self.loss = loss
        self.duplicate = duplicate
        self.latency_ns = latency_ns
        self.jitter_ns = jitter_ns

    def next_delivery_ns(self, int64_t again_ns) -> int:
        """Return when a packet arrives next, 2^63-1 when none is in flight; what waits unread is expected again in `again_ns`."""
        cdef int64_t next_ns = INT64_MAX
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int64_t due_ns
        cdef SimulatedPort port
        for port in self._ports:
            if port._queued and not port._closed:
                due_ns = port._heap[0].due_ns
                next_ns = min(next_ns, due_ns if due_ns > now_ns else now_ns + again_ns)
        return next_ns

    @property
    def trace_hash(self) -> int:
        """Digest of everything that happened so far."""
        return self._hash

    cdef int deliver(self, SimulatedPort source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil:
        cdef int i
        cdef bint repeated
        self.sent += 1
        self.trace(TRACE_SENT, address_port(&source._local), address_port(target), payload, length)
        if source._cut or (self.loss > 0.0 and self._random.next_double() < self.loss):
            self.lost += 1
            self.trace(TRACE_LOST, address_port(&source._local), address_port(target), payload, 0)
            return 0
        if address_is_multicast(target):
            return self.deliver_to_group(source, target, payload, length)
        repeated = self.duplicate > 0.0 and self._random.next_double() < self.duplicate
        for i in range(self._count):
            if hears(<SimulatedPort>self._natives[i], &source._local, target):
                self.put_in_flight(<SimulatedPort>self._natives[i], &source._local, payload, length)
                if repeated:
                    self.put_in_flight(<SimulatedPort>self._natives[i], &source._local, payload, length)
                return 1
        return 0

    cdef int deliver_to_group(self, SimulatedPort source, const Address* group, const uint8_t* payload, int32_t length) noexcept nogil:
        # What the sender's side lost is lost to all; beyond, each member has losses of its own.
        cdef int i
        cdef int heard = 0
        for i in range(self._count):
            if not is_member(<SimulatedPort>self._natives[i], group):
                continue
            if self.loss > 0.0 and self._random.next_double() < self.loss:
                self.lost += 1
                self.trace(TRACE_LOST, address_port(&source._local), address_port(&(<SimulatedPort>self._natives[i])._local), payload, 0)
                continue
            self.put_in_flight(<SimulatedPort>self._natives[i], &source._local, payload, length)
            heard += 1
        return heard

    cdef void put_in_flight(self, SimulatedPort target, const Address* source, const uint8_t* payload, int32_t length) noexcept nogil:
        cdef Packet packet
        packet.due_ns = self._clock.nano_time() + self.latency_ns
        if self.jitter_ns > 0:
            packet.due_ns += <int64_t>self._random.next_below(self.jitter_ns)
        self._number += 1
        packet.number = self._number
        packet.length = length
        packet.source = source[0]
        packet.payload = <uint8_t*>malloc(length if length else 1)
        if packet.payload is NULL:
            return
        memcpy(packet.payload, payload, length)
        if not target.push(&packet):
            self.overflowed += 1
            free(packet.payload)

    cdef void trace(self, int kind, int32_t a, int32_t b, const uint8_t* payload, int32_t length) noexcept nogil:
        cdef int64_t facts[4]
        cdef const uint8_t* octets = <const uint8_t*>facts
        cdef uint64_t digest = self._hash
        cdef int i
        facts[0] = kind
        facts[1] = a
        facts[2] = b
        facts[3] = self._clock.nano_time()
        for i in range(sizeof(facts)):
            digest = (digest ^ octets[i]) * FNV_PRIME
        for i in range(length):
            digest = (digest ^ payload[i]) * FNV_PRIME
        self._hash = digest


cdef bint hears(SimulatedPort port, const Address* source, const Address* target) noexcept nogil:
    # Same port number and either the same host or a wildcard bind; a connected port hears only its peer.
    if port._closed or port._cut or address_port(&port._local) != address_port(target):
        return False
    if address_ip(&port._local)[0] != 0 and not same_host(&port._local, target):
        return False
    return port._peer.length == 0 or (address_port(&port._peer) == address_port(source) and same_host(&port._peer, source))

cdef bint is_member(SimulatedPort port, const Address* group) noexcept nogil:
    return not port._closed and not port._cut and address_equals(&port._group, group)

cdef bint same_host(const Address* a, const Address* b) noexcept nogil:
    cdef int i
    if a.length != b.length:
        return False
    for i in range(4 if a.length < 20 else 16):
        if address_ip(a)[i] != address_ip(b)[i]:
            return False
    return True


@cython.final
cdef class SimulatedPort(DatagramPort):
    """One end; made by SimulatedNetwork.open_port. Packets wait in a heap ordered by the time they are due."""

    def __dealloc__(self):
        cdef int i
        for i in range(self._queued):
            free(self._heap[i].payload)
        free(self._heap)

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        cdef int i
        cdef const Address* target
        for i in range(count):
            target = &items[i].address if items[i].address.length else &self._peer
            if self._closed or target.length == 0:
                return i if i else -ENOTCONN
            self._network.deliver(self, target, items[i].buffer, items[i].length)
            items[i].result = items[i].length
        return count

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        cdef Packet packet
        cdef int received = 0
        cdef int64_t now_ns = self._network._clock.nano_time()
        self.asked_max = max(self.asked_max, count)
        while received < count and self._queued and self._heap[0].due_ns <= now_ns:
            self.pop(&packet)
            items[received].length = packet.length if packet.length < items[received].capacity else items[received].capacity
            memcpy(items[received].buffer, packet.payload, items[received].length)
            items[received].address = packet.source
            items[received].segment_size = 0
            items[received].timestamp_ns = 0
            free(packet.payload)
            self._network.delivered += 1
            self._network.trace(TRACE_DELIVERED, address_port(&packet.source), address_port(&self._local), items[received].buffer, 0)
            received += 1
        return received

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        out[0] = self._local
        return 0

    cdef int rebind(self, const Address* remote) noexcept nogil:
        self._peer = remote[0]
        return 0

    cdef bint push(self, Packet* packet) noexcept nogil:
        cdef int child, parent
        if self._queued == QUEUE_LENGTH_MAX:
            return False
        child = self._queued
        self._queued += 1
        while child > 0:
            parent = (child - 1) >> 1
            if not earlier(packet, &self._heap[parent]):
                break
            self._heap[child] = self._heap[parent]
            child = parent
        self._heap[child] = packet[0]
        return True

    cdef void pop(self, Packet* packet) noexcept nogil:
        cdef Packet last
        cdef int parent = 0
        cdef int child = 1
        packet[0] = self._heap[0]
        self._queued -= 1
        last = self._heap[self._queued]
        while child < self._queued:
            if child + 1 < self._queued and earlier(&self._heap[child + 1], &self._heap[child]):
                child += 1
            if not earlier(&self._heap[child], &last):
                break
            self._heap[parent] = self._heap[child]
            parent = child
            child = 2 * parent + 1
        self._heap[parent] = last

    def cut(self, bint off=True) -> None:
        """Take the cable out: nothing goes in or out until cut(False)."""
        self._cut = off

    def close(self) -> None:
        """Free the address; packets in flight are lost."""
        self._closed = True

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._closed


cdef bint earlier(const Packet* a, const Packet* b) noexcept nogil:
    return a.due_ns < b.due_ns or (a.due_ns == b.due_ns and a.number < b.number)
