"""A socket that publications of one channel send on. It knows bytes and peers, and of frames only where a time stamp goes."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

cimport cython

from aerowire.base.address cimport Address, address_from
from aerowire.base.ports cimport ClockPort, Datagram, DatagramPort, datagram_to_peer
from aerowire.codecs.native.cnc cimport CHANNEL_STATUS_ACTIVE, CHANNEL_STATUS_ERRORED
from aerowire.codecs.native.counters cimport SYSTEM_COUNTER_SHORT_SENDS
from aerowire.codecs.native.transport cimport DATA_FLAGS_BEGIN, DATA_HEADER_LENGTH, FRAME_TYPE_DATA, data_header_flags, data_header_type
from aerowire.driver.queues.events cimport ERROR_RECEIVERS_FULL, ERROR_SEND_FAILED, ERROR_TABLE_FULL, EventQueue
from aerowire.driver.queues.system_counters cimport OWN_COUNTER_RECEIVERS_REFUSED, SystemCounters
from aerowire.ipc.counters cimport CountersReader, counter_atomic_add, counter_increment, counter_set
from aerowire.memory.atomics cimport cas_i64
from aerowire.protocol.destinations cimport NO_REGISTRATION
from aerowire.protocol.frames cimport data_is_heartbeat

PUBLICATIONS_MAX = 65536            # of one endpoint
NO_STAMP_OFFSET = -1                # a channel's offset when nothing is stamped


@cython.final
cdef class SendEndpoint(ChannelEndpoint):
    """The peer is the one that `port` is connected to, or `peer`, or all of `destinations`. Used by the sender until the event SEND_ENDPOINT_REMOVED.

    `destination_count_id` is the counter that shows how many destinations there are; `status_id` the one of the channel's status, which
    is errored while the port cannot be connected to where the peer's name has moved, and otherwise the conductor's. With a `stamp_clock` each datagram that begins
    a message gets the epoch time in ns at `stamp_offset` bytes from its payload. Aeron: SendChannelEndpoint.
    """

    def __cinit__(self, DatagramPort port not None, SystemCounters system not None, *, int32_t ttl=0, bint group=False, str channel="",
                  peer=None, Destinations destinations=None, CountersReader counters=None, int32_t destination_count_id=-1, int32_t status_id=-1,
                  bint named=False, ClockPort stamp_clock=None, int32_t stamp_offset=NO_STAMP_OFFSET, int64_t now_ns=0, EventQueue events=None):
        if stamp_clock is not None and stamp_offset < -DATA_HEADER_LENGTH:
            raise ValueError(f"time stamp offset: expected at least {-DATA_HEADER_LENGTH}, actual {stamp_offset}")
        self.set_up(port, system, events, ttl, channel)
        self.publications = PointerMap(PUBLICATIONS_MAX)
        self.group = group
        self.destinations = destinations
        self.has_destinations = destinations is not None
        if destinations is not None:
            if counters is None:
                raise ValueError("destinations: expected counters and the id of their count beside them, actual none")
            self._destination_count = counters.set_value_address(destination_count_id, 0)
        if counters is not None and status_id >= 0:
            self._status = counters.value_address(status_id)
        self.is_named = named
        self.looked_up_ns = now_ns
        self._stamp_clock = stamp_clock
        self._stamp_offset = stamp_offset
        address_from(&self._peer, peer)
        self._is_plain = stamp_clock is None and destinations is None and peer is None

    cdef int send(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil:
        cdef int sent, i
        sent = self._transmit(items, count, now_ns) if self._is_plain else self._send_specially(items, count, now_ns)
        for i in range(sent):
            bytes_sent[0] += items[i].length
        if sent < count:
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_SHORT_SENDS], 1)
        return sent

    cdef int send_to(self, Datagram* items, int count, const Address* to, int64_t* bytes_sent, int64_t now_ns) noexcept nogil:
        cdef int sent = 0
        cdef int i
        if self._stamp_clock is not None:
            self._stamp(items, count)
        for i in range(count):
            items[i].address = to[0]
        if to.length:
            sent = self._transmit(items, count, now_ns)
        for i in range(sent):
            bytes_sent[0] += items[i].length
        if sent < count:
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_SHORT_SENDS], 1)
        return sent

    cdef int _transmit(self, Datagram* items, int count, int64_t now_ns) noexcept nogil:
        cdef int taken = self.port.send(items, count)
        cdef int sent = 0
        if taken < 0:
            self.report(ERROR_SEND_FAILED, -taken, 0, now_ns)
            return 0
        while sent < taken and items[sent].result >= items[sent].length:
            sent += 1
        return sent

    cdef int _send_specially(self, Datagram* items, int count, int64_t now_ns) noexcept nogil:
        # Sent is what every destination was sent: what one of them missed goes to all of them again.
        cdef int least = count
        cdef int first, i, j, sent
        if self._stamp_clock is not None:
            self._stamp(items, count)
        if self._peer.length:
            return self._send_copies(items, count, &self._peer, now_ns)
        if not self.has_destinations:
            return self._transmit(items, count, now_ns)
        if self.destinations.remove_silent(now_ns):
            counter_set(self._destination_count, self.destinations.count)
        first = self.destinations.next_first()
        for i in range(first, first + self.destinations.count):
            j = i if i < self.destinations.count else i - self.destinations.count
            if self.destinations.items[j].address.length == 0:
                continue
            sent = self._send_copies(items, count, &self.destinations.items[j].address, now_ns)
            if sent < least:
                least = sent
        return least

    cdef int _send_copies(self, Datagram* items, int count, const Address* to, int64_t now_ns) noexcept nogil:
        cdef int i
        for i in range(count):
            items[i].address = to[0]
        return self._transmit(items, count, now_ns)

    cdef void _stamp(self, Datagram* items, int count) noexcept nogil:
        cdef int64_t now = self._stamp_clock.epoch_ns()
        cdef int i
        for i in range(count):
            if (items[i].length >= DATA_HEADER_LENGTH and data_header_type(items[i].buffer) == FRAME_TYPE_DATA
                    and data_header_flags(items[i].buffer) & DATA_FLAGS_BEGIN and not data_is_heartbeat(items[i].buffer, items[i].length)
                    and <int64_t>DATA_HEADER_LENGTH + self._stamp_offset + <int64_t>sizeof(int64_t) <= items[i].length):
                memcpy(items[i].buffer + DATA_HEADER_LENGTH + self._stamp_offset, &now, sizeof(now))

    cdef bint send_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil:
        cdef Datagram item
        cdef int64_t bytes_sent = 0
        datagram_to_peer(&item, frame, length)
        return self.send(&item, 1, &bytes_sent, now_ns) == 1

    cdef void on_status_message(self, int64_t receiver_id, const Address* source, int64_t now_ns) noexcept nogil:
        if not self.has_destinations:
            return
        if self.destinations.on_status_message(receiver_id, source, now_ns):
            counter_set(self._destination_count, self.destinations.count)
        elif self.destinations.is_full:
            counter_increment(self.system.address[OWN_COUNTER_RECEIVERS_REFUSED])
            self.report(ERROR_RECEIVERS_FULL, 0, 0, now_ns)

    cdef int64_t registration_of(self, int64_t receiver_id, const Address* source) noexcept nogil:
        return self.destinations.find_registration_id(receiver_id, source) if self.has_destinations else NO_REGISTRATION

    cdef void change_destination(self, int kind, int64_t registration_id, const Address* address, int64_t now_ns) noexcept nogil:
        if not self.has_destinations:
            if kind == DESTINATION_UPDATE:
                self._change_peer(address, now_ns)
            return
        if kind == DESTINATION_ADD:
            if not self.destinations.add(registration_id, address, now_ns):
                self.report(ERROR_TABLE_FULL, 0, 0, now_ns)
        elif kind == DESTINATION_REMOVE:
            self.destinations.remove(registration_id)
        else:
            self.destinations.update(registration_id, address)
        counter_set(self._destination_count, self.destinations.count)

    cdef void _change_peer(self, const Address* address, int64_t now_ns) noexcept nogil:
        # By exchange: that the channel is being closed, which the conductor writes, stays. Aeron: UdpChannelTransport.updateEndpoint.
        cdef int outcome = 0
        if self._peer.length:
            self._peer = address[0]
        else:
            outcome = self.port.rebind(address)
        if outcome < 0:
            self.report(ERROR_SEND_FAILED, -outcome, 0, now_ns)
        if self._status is not NULL and outcome < 0:
            cas_i64(self._status, CHANNEL_STATUS_ACTIVE, CHANNEL_STATUS_ERRORED)
        elif self._status is not NULL:
            cas_i64(self._status, CHANNEL_STATUS_ERRORED, CHANNEL_STATUS_ACTIVE)


@cython.final
cdef class DestinationChange:
    """One destination of an endpoint: which registration, and its address (None to remove it)."""

    def __cinit__(self, SendEndpoint endpoint not None, int64_t registration_id, address=None):
        self.endpoint = endpoint
        self.registration_id = registration_id
        address_from(&self.address, address)
