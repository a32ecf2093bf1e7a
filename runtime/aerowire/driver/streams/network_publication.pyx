"""A stream that is sent over a network. The sender's side sends and connects; the conductor agent's side limits, cleans and ends it.

What comes back to it is for sender_feedback and retransmission.

Bytes go from the log to the socket without a copy. Nothing here allocates or takes the interpreter lock after construction.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

cimport cython

from aerowire.base.ports cimport Datagram, datagram_to_peer
from aerowire.base.wrapping cimport wrapping_add_long, wrapping_subtract_long
from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_BYTES_SENT, SYSTEM_COUNTER_HEARTBEATS_SENT, SYSTEM_COUNTER_PUBLICATIONS_REVOKED,
    SYSTEM_COUNTER_SENDER_FLOW_CONTROL_LIMITS, SYSTEM_COUNTER_UNBLOCKED_PUBLICATIONS)
from aerowire.codecs.native.events cimport DRIVER_EVENT_CODE_PUBLICATION_REVOKE
from aerowire.codecs.native.logbuffer cimport END_OF_STREAM_POSITION_UNSET
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_EOS, DATA_FLAGS_REVOKED, DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, MAX_MESSAGE_LENGTH, SETUP_FLAGS_GROUP,
    SETUP_FLAGS_SEND_RESPONSE, SETUP_LENGTH)
from aerowire.driver.queues.events cimport EVENT_PUBLICATION_DONE, EVENT_PUBLICATION_LINGER, EVENT_PUBLICATION_REMOVED
from aerowire.driver.streams.publication_support cimport (
    claimed_length, clean_towards, possibly_blocked, publish_end, publish_end_at, show_connected)
from aerowire.ipc.counters cimport CountersReader, counter_add, counter_get, counter_get_relaxed, counter_increment, counter_set
from aerowire.logbuffer.descriptor cimport compute_frame_offset, compute_max_message_length, compute_term_id, compute_term_offset, index_by_position
from aerowire.logbuffer.rebuild cimport UNBLOCK_MALFORMED, UNBLOCK_NO_ACTION, unblock_log
from aerowire.logbuffer.scan cimport AVAILABLE_MALFORMED, scan_for_availability
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, store_release_i32, store_release_i64
from aerowire.protocol.delay cimport StaticDelay
from aerowire.protocol.frame_build cimport build_heartbeat, build_setup
from aerowire.protocol.lifecycle cimport PUBLICATION_ACTIVE, PUBLICATION_DONE, PUBLICATION_DRAINING, PUBLICATION_LINGER
from aerowire.protocol.untethered cimport UntetheredTimes


@cython.final
cdef class NetworkPublication(Subscribable):
    """One publication of one session over UDP. Aeron: NetworkPublication.

    Invariant: clean position <= sender position - term length + what was cleaned ahead; publisher limit <= min consumer + window;
    sender position <= sender limit, or as far as one datagram reached before the limit shrank.
    """

    def __cinit__(self, LogBuffers log not None, SendEndpoint endpoint not None, CountersReader counters not None,
                  SystemCounters system not None, *, int64_t registration_id, int32_t session_id, int32_t stream_id,
                  int32_t initial_term_id, int64_t starting_position=0, int32_t publisher_position_id, int32_t publisher_limit_id,
                  int32_t sender_position_id, int32_t sender_limit_id, int32_t sender_bpe_id, int32_t naks_received_id, int32_t mtu,
                  int32_t publication_window, bint exclusive, FlowControl flow_control not None, int64_t now_ns, bint signal_eos=True,
                  int max_resend=16, int64_t retransmit_delay_ns=0, int64_t retransmit_linger_ns=10_000_000, int64_t retransmit_byte_rate=0,
                  int64_t setup_timeout_ns=100_000_000, int64_t heartbeat_timeout_ns=100_000_000,
                  int64_t connection_timeout_ns=5_000_000_000, int64_t linger_ns=5_000_000_000,
                  int64_t unblock_timeout_ns=15_000_000_000, int messages_per_send=4, bint response=False, bint asks_for_response=False,
                  bint spies_simulate_connection=False, UntetheredTimes untethered=None, StreamEvents stream_events=None):
        if not 1 <= messages_per_send <= MESSAGES_PER_SEND_MAX:
            raise ValueError(f"messages per send: expected 1 to {MESSAGES_PER_SEND_MAX}, actual {messages_per_send}")
        self.log = log
        self._log_holder = log.hold()
        self.endpoint = endpoint
        self.system = system
        self.stream_events = stream_events
        self.set_up_subscribers(counters, untethered)
        self._spies_simulate_connection = spies_simulate_connection
        self.from_conductor_agent.spy_position = starting_position
        self.registration_id = registration_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.mtu = mtu
        self.is_exclusive = exclusive
        self.term_length = log.term_length
        self.bits = log.bits
        self._window_length = publication_window
        self.max_message_length = compute_max_message_length(log.term_length, MAX_MESSAGE_LENGTH)
        self._signal_eos = signal_eos
        self.is_response = response
        self.setup_flags = (SETUP_FLAGS_GROUP if endpoint.group else 0) | (SETUP_FLAGS_SEND_RESPONSE if asks_for_response else 0)
        self.sender.status_message_ns = now_ns
        self._messages_per_send = messages_per_send
        self._connection_timeout_ns = connection_timeout_ns
        self.counters.publisher_position = counters.set_value_address(publisher_position_id, starting_position)
        self.counters.publisher_limit = counters.set_value_address(publisher_limit_id, starting_position)
        self.counters.sender_position = counters.set_value_address(sender_position_id, starting_position)
        self.counters.sender_limit = counters.set_value_address(sender_limit_id, starting_position)
        self.counters.sender_bpe = counters.set_value_address(sender_bpe_id, 0)
        self.counters.naks_received = counters.set_value_address(naks_received_id, 0)
        self.schedule = SendSchedule(setup_timeout_ns=setup_timeout_ns, heartbeat_timeout_ns=heartbeat_timeout_ns, now_ns=now_ns)
        self.receiver_liveness = ReceiverLiveness()
        self.retransmit_handler = RetransmitHandler(StaticDelay(retransmit_delay_ns), StaticDelay(retransmit_linger_ns),
                                                    group=endpoint.group, max_resend=max_resend)
        self.resend_budget.byte_rate = retransmit_byte_rate
        self.resend_budget.allowance = max(retransmit_byte_rate // 10, mtu)
        self.resend_budget.filled_ns = now_ns
        self.report_budget.since_ns = now_ns
        self.flow_control = flow_control
        self.lifecycle = PublicationLifecycle(linger_ns=linger_ns)
        self._unblock = UnblockTimer(timeout_ns=unblock_timeout_ns, position=starting_position, now_ns=now_ns)
        self._clean_position = starting_position
        self.sender.over_run_limit = starting_position + (log.term_length >> 1)
        log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)
        log.set_connected(False)
        log.set_active_transport_count(0)

    # ---- sender

    cdef int64_t send(self, int64_t now_ns) noexcept nogil:
        cdef int64_t position = counter_get_relaxed(self.counters.sender_position)
        cdef int64_t limit, bytes_sent
        if self.schedule.setup_due(now_ns):
            self._send_setup(position, now_ns)
        bytes_sent = self._send_data(position, now_ns)
        if bytes_sent == 0:
            if self.schedule.heartbeat_due(now_ns):
                self._send_heartbeat(position, now_ns)
            limit = counter_get_relaxed(self.counters.sender_limit)
            if (self._spies_simulate_connection and load_acquire_i32(&self.from_conductor_agent.has_spies)
                    and not self.from_sender.has_receivers):
                position = limit = self._follow_spies(position)
            position = self.flow_control.on_idle(now_ns, limit, position, load_acquire_i32(&self.from_conductor_agent.is_end_of_stream))
            if position != limit:
                counter_set(self.counters.sender_limit, position)
            if self.receiver_liveness.on_idle(now_ns, self._connection_timeout_ns) and self.receiver_liveness.count == 0:
                store_release_i32(&self.from_sender.has_receivers, False)
        return bytes_sent

    cdef int64_t _follow_spies(self, int64_t position) noexcept nogil:
        # Nobody is there to send to: what spies have read counts as sent. Aeron: spies simulate connection.
        cdef int64_t spy_position = load_acquire_i64(&self.from_conductor_agent.spy_position)
        if spy_position > position:
            position = spy_position
            counter_set(self.counters.sender_position, position)
        if counter_get_relaxed(self.counters.sender_limit) != position:
            counter_set(self.counters.sender_limit, position)
        return position

    cdef int64_t _send_data(self, int64_t position, int64_t now_ns) noexcept nogil:
        cdef Datagram items[MESSAGES_PER_SEND_MAX]
        cdef int64_t ends[MESSAGES_PER_SEND_MAX]
        cdef int64_t window = wrapping_subtract_long(counter_get_relaxed(self.counters.sender_limit), position)
        cdef int64_t end = position
        cdef int64_t bytes_sent = 0
        cdef int32_t offset = compute_frame_offset(position, self.term_length)
        cdef int32_t available = 0
        cdef int32_t padding
        cdef int count = 0
        cdef int sent
        cdef uint8_t* term = self.log.term_address(index_by_position(position, self.bits))
        while count < self._messages_per_send and window > 0 and offset < self.term_length:
            padding = 0
            available = scan_for_availability(term, self.term_length, offset, <int32_t>(window if window < self.mtu else self.mtu), &padding)
            if available == AVAILABLE_MALFORMED:
                available = 0
                self.on_malformed(end, claimed_length(self.log, end), 0)
                break
            if padding > 0 and end + available + padding > self.sender.over_run_limit and not self.endpoint.group:
                available = -padding        # only its header is in the window: the receiver would drop it
            if available <= 0:
                break
            datagram_to_peer(&items[count], term + offset, available)
            offset += available + padding
            window -= available + padding
            end += available + padding
            ends[count] = end
            count += 1
        self.sender.is_blocked = available < 0 or (window <= 0 and offset < self.term_length)
        if available < 0 or (count == 0 and window <= 0):
            self._count_limit()
        if count == 0:
            return 0
        sent = self.transmit(items, count, &bytes_sent, now_ns)
        if sent > 0:
            self.schedule.on_sent(now_ns)
            self._track_limits = available >= 0
            counter_set(self.counters.sender_position, ends[sent - 1])
        return bytes_sent

    cdef void _count_limit(self) noexcept nogil:
        if self._track_limits:
            self._track_limits = False
            counter_increment(self.counters.sender_bpe)
            counter_increment(self.system.address[SYSTEM_COUNTER_SENDER_FLOW_CONTROL_LIMITS])

    cdef void _send_setup(self, int64_t position, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[SETUP_LENGTH]
        build_setup(frame, self.setup_flags, self.session_id, self.stream_id, self.initial_term_id,
                    compute_term_id(position, self.bits, self.initial_term_id), compute_term_offset(position, self.term_length),
                    self.term_length, self.mtu, self.endpoint.ttl)
        if self.schedule.is_setup_elicited:
            counter_set(self.counters.sender_limit,
                        self.flow_control.on_setup(counter_get_relaxed(self.counters.sender_limit), position, now_ns))
        self.transmit_frame(frame, SETUP_LENGTH, now_ns)
        self.schedule.on_setup_sent(now_ns, self.from_sender.has_receivers)

    cdef void _send_heartbeat(self, int64_t position, int64_t now_ns) noexcept nogil:
        # Counted here, and not as work: a thousand streams that say nothing would keep the agent from ever backing off.
        cdef uint8_t frame[DATA_HEADER_LENGTH]
        cdef int flags = DATA_FLAGS_UNFRAGMENTED
        if self.log.is_revoked():
            flags |= DATA_FLAGS_EOS | DATA_FLAGS_REVOKED
        elif self._signal_eos and load_acquire_i32(&self.from_conductor_agent.is_end_of_stream):
            flags |= DATA_FLAGS_EOS
        build_heartbeat(frame, flags, self.session_id, self.stream_id, compute_term_id(position, self.bits, self.initial_term_id),
                        compute_term_offset(position, self.term_length))
        self.schedule.on_sent(now_ns)
        counter_increment(self.system.address[SYSTEM_COUNTER_HEARTBEATS_SENT])
        if self.transmit_frame(frame, DATA_HEADER_LENGTH, now_ns):
            counter_add(self.system.address[SYSTEM_COUNTER_BYTES_SENT], DATA_HEADER_LENGTH)

    cdef int transmit(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil:
        if self.is_response:
            return self.endpoint.send_to(items, count, &self.sender.response_address, bytes_sent, now_ns)
        return self.endpoint.send(items, count, bytes_sent, now_ns)

    cdef bint transmit_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil:
        cdef Datagram item
        cdef int64_t bytes_sent = 0
        datagram_to_peer(&item, frame, length)
        return self.transmit(&item, 1, &bytes_sent, now_ns) == 1

    cdef void sender_release(self) noexcept nogil:
        store_release_i32(&self.from_sender.is_released, True)

    cdef int64_t sender_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = self.schedule.next_deadline_ns()
        cdef int64_t other = self.retransmit_handler.next_deadline_ns()
        if other < deadline:
            deadline = other
        other = self.receiver_liveness.next_deadline_ns(self._connection_timeout_ns)
        return other if other < deadline else deadline

    # ---- conductor agent

    cdef int update_limit(self) noexcept nogil:
        # Publisher position and limit, and cleaning one term behind. Aeron: updatePublisherPositionAndLimit.
        cdef int64_t sender_position, slowest, limit
        cdef int32_t term_gap
        if self.lifecycle.state() != PUBLICATION_ACTIVE:
            return 0
        sender_position = counter_get(self.counters.sender_position)
        counter_set(self.counters.publisher_position, self.log.producer_position())
        if self.has_subscribers():
            slowest = sender_position
            if self.subscribers.count > 0:
                slowest = self.subscribers.least(sender_position)
                limit = self.subscribers.greatest(sender_position)
                if limit > self.from_conductor_agent.spy_position:
                    store_release_i64(&self.from_conductor_agent.spy_position, limit)
            limit = wrapping_add_long(slowest, self._window_length)
            if limit <= counter_get_relaxed(self.counters.publisher_limit):
                return 0
            self._clean_position = clean_towards(self.log, self._clean_position, wrapping_subtract_long(slowest, self.term_length))
            # Counted from positions: term ids wrap.
            term_gap = <int32_t>((limit >> self.bits) - (self._clean_position >> self.bits))
            if term_gap < 2 or (term_gap == 2 and compute_term_offset(self._clean_position, self.term_length) != 0):
                counter_set(self.counters.publisher_limit, limit)
            return 1
        if counter_get_relaxed(self.counters.publisher_limit) > sender_position:
            show_connected(self.log, False)
            counter_set(self.counters.publisher_limit, sender_position)
            self._clean_position = clean_towards(self.log, self._clean_position, wrapping_subtract_long(sender_position, self.term_length))
            return 1
        return 0

    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef int state = self.lifecycle.state()
        cdef int64_t producer_position
        if state == PUBLICATION_ACTIVE:
            if self.log.is_revoked():
                publish_end(self.log, self.counters.publisher_limit)
                show_connected(self.log, False)
                store_release_i32(&self.from_conductor_agent.is_end_of_stream, True)
                self.lifecycle.on_revoked(now_ns)
                if self.stream_events is not None:
                    self.stream_events.revoked(DRIVER_EVENT_CODE_PUBLICATION_REVOKE, self.log.producer_position())
                counter_increment(self.system.address[SYSTEM_COUNTER_PUBLICATIONS_REVOKED])
            else:
                if self.untethered.count > 0:
                    self.check_untethered(wrapping_subtract_long(
                        counter_get(self.counters.sender_position), self._window_length - (self._window_length >> 2)), now_ns, events)
                show_connected(self.log, self.has_subscribers())
                producer_position = self.log.producer_position()
                counter_set(self.counters.publisher_position, producer_position)
                if not self.is_exclusive and self._unblock.poll_unblock(
                        counter_get(self.counters.sender_position),
                        possibly_blocked(self.log, producer_position, counter_get(self.counters.sender_position)), now_ns):
                    self._free_blocked(counter_get(self.counters.sender_position))
                self._check_frames(now_ns)
        elif state == PUBLICATION_DRAINING:
            self.check_lingering(now_ns, events)
            self._drain(now_ns)
            self._check_frames(now_ns)
        elif state == PUBLICATION_LINGER and self._linger_posted:
            self.lifecycle.poll_done(load_acquire_i32(&self.from_sender.unicast_eos), now_ns)
        if self.is_malformed() and not self.tell_malformed(events):
            return False
        if self.lifecycle.state() == PUBLICATION_DONE:
            if not self._done_posted:
                self._done_posted = events.offer_or_retry(EVENT_PUBLICATION_DONE, <void*>self, 0, 0)
            elif load_acquire_i32(&self.from_sender.is_released):
                return events.offer_or_retry(EVENT_PUBLICATION_REMOVED, <void*>self, 0, 0)
        elif not self._linger_posted and self.lifecycle.state() == PUBLICATION_LINGER:
            self._linger_posted = events.offer_or_retry(EVENT_PUBLICATION_LINGER, <void*>self, self.log.is_revoked(), 0)
        return False

    cdef void _drain(self, int64_t now_ns) noexcept nogil:
        cdef int64_t producer_position = self.log.producer_position()
        cdef int64_t sender_position = counter_get(self.counters.sender_position)
        counter_set(self.counters.publisher_position, producer_position)
        if producer_position > sender_position:
            if self._free_blocked(sender_position):
                return
            if load_acquire_i32(&self.from_sender.has_receivers):
                return
        else:
            store_release_i32(&self.from_conductor_agent.is_end_of_stream, True)
        if self._spies_are_done(producer_position):
            self.lifecycle.on_drained(now_ns)

    cdef bint _free_blocked(self, int64_t position) noexcept nogil:
        cdef int status = unblock_log(self.log, position)
        if status == UNBLOCK_MALFORMED:
            self.on_malformed(position, claimed_length(self.log, position), 0)
        elif status != UNBLOCK_NO_ACTION:
            counter_increment(self.system.address[SYSTEM_COUNTER_UNBLOCKED_PUBLICATIONS])
            return True
        return False

    cdef void _check_frames(self, int64_t now_ns) noexcept nogil:
        # The stream ends where a frame cannot be stepped over: what lies behind it cannot be sent.
        if self.is_malformed():
            publish_end_at(self.log, self.counters.publisher_limit, counter_get(self.counters.sender_position))
            show_connected(self.log, False)
            store_release_i32(&self.from_conductor_agent.is_end_of_stream, True)
            self.lifecycle.on_malformed(now_ns)

    cdef bint _spies_are_done(self, int64_t producer_position) noexcept nogil:
        if not self.subscribers.all_reached(producer_position):
            return False
        store_release_i32(&self.from_conductor_agent.has_spies, False)
        return True

    cdef void on_closed(self) noexcept nogil:
        cdef bint revoked = self.log.is_revoked()
        publish_end(self.log, self.counters.publisher_limit)
        if not revoked and counter_get(self.counters.sender_position) >= self.log.producer_position():
            store_release_i32(&self.from_conductor_agent.is_end_of_stream, True)
        self.lifecycle.on_closed(revoked)

    cdef bint has_subscribers(self) noexcept nogil:
        return (load_acquire_i32(&self.from_sender.has_receivers) and self.flow_control.has_required_receivers()) or (
            self._spies_simulate_connection and load_acquire_i32(&self.from_conductor_agent.has_spies))

    # ---- conductor agent: spies

    cdef bint may_join(self) noexcept nogil:
        cdef int state = self.lifecycle.state()
        return state == PUBLICATION_ACTIVE or (
            state == PUBLICATION_DRAINING and self.from_conductor_agent.has_spies
            and self.log.producer_position() > counter_get(self.counters.sender_position))

    cdef int64_t join_position(self) noexcept nogil:
        return counter_get(self.counters.sender_position)

    cdef void on_subscribers_changed(self) noexcept nogil:
        store_release_i32(&self.from_conductor_agent.has_spies, self.subscribers.count > 0)
        if self._spies_simulate_connection and self.lifecycle.state() == PUBLICATION_ACTIVE:
            show_connected(self.log, self.has_subscribers())

    # ---- conductor

    def revoke(self) -> None:
        """Mark the stream as revoked: nothing is drained. Then close it."""
        self.log.set_revoked()

    @property
    def state(self) -> int:
        """The PublicationState."""
        return self.lifecycle.state()

    @property
    def producer_position(self) -> int:
        """Position of the log's tail, in bytes."""
        return self.log.producer_position()

    @property
    def consumer_position(self) -> int:
        """Position that was sent, in bytes."""
        return counter_get(self.counters.sender_position)

    @property
    def is_connected(self) -> bool:
        """Whether publishers are told that somebody listens."""
        return self.log.is_connected()

    @property
    def accepts_subscribers(self) -> bool:
        """Whether a spy is likely to be let in; link_subscriber decides."""
        return self.lifecycle.state() <= PUBLICATION_DRAINING
