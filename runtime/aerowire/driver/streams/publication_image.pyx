"""A received stream. The receiver's side inserts packets (image_packets) and answers (image_feedback); the conductor agent's side finds
loss, consumption and the end.

Nothing here allocates or takes the interpreter lock after construction.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

from aerowire.base.wrapping cimport wrapping_subtract_long
from aerowire.codecs.native.logbuffer cimport END_OF_STREAM_POSITION_UNSET
from aerowire.codecs.native.transport cimport ERROR_TEXT_LENGTH_MAX, FRAME_ALIGNMENT
from aerowire.driver.queues.events cimport EVENT_IMAGE_DONE, EVENT_IMAGE_LINGER, EVENT_IMAGE_REMOVED
from aerowire.driver.streams.image_changes cimport loss_change_write, status_change_write
from aerowire.driver.streams.publication_support cimport clean_towards, malformed_length
from aerowire.driver.streams.untethered_subscriptions cimport TETHER_TETHERED, TETHER_REJOINS
from aerowire.ipc.counters cimport CountersReader, counter_get, counter_get_relaxed, counter_propose_max
from aerowire.ipc.loss_report cimport LossReport
from aerowire.logbuffer.descriptor cimport compute_position, compute_term_id, compute_term_offset, index_by_position
from aerowire.logbuffer.frame cimport frame_length_acquire
from aerowire.logbuffer.scan cimport GAP_MALFORMED, scan_for_gap
from aerowire.memory.atomics cimport load_acquire_i32, store_release_i32, store_release_i64
from aerowire.protocol.delay cimport DelayGenerator, StaticDelay
from aerowire.protocol.lifecycle cimport IMAGE_ACTIVE, IMAGE_DRAINING, IMAGE_LINGER
from aerowire.protocol.untethered cimport UntetheredTimes

NO_RESPONSE = INT64_MAX


@cython.final
cdef class PublicationImage(Subscribable):
    """One session of a stream as it is rebuilt here. Aeron: PublicationImage.

    `tethers` maps the counter ids of `subscriber_position_ids` to their Tether; None: the stream waits for all.

    Invariant: rebuild position <= hwm position, unless a subscriber is ahead of both; the hwm never falls; bytes at or behind the last
    status position are never written again.
    """

    def __cinit__(self, LogBuffers log not None, ReceiveEndpoint endpoint not None, CountersReader counters not None,
                  SystemCounters system not None, *, int64_t correlation_id, int32_t session_id, int32_t stream_id, int32_t initial_term_id,
                  int32_t active_term_id, int32_t term_offset, control_address, int32_t hwm_position_id, int32_t rebuild_position_id,
                  int32_t naks_sent_id, subscriber_position_ids, CongestionControl congestion_control not None, int64_t now_ns,
                  int transport_index=0, int64_t nak_delay_ns=1000, nak_retry_ns=None, DelayGenerator delay=None, bint reliable=True,
                  int64_t image_liveness_timeout_ns=10_000_000_000, int64_t status_message_timeout_ns=200_000_000,
                  LossReport loss_report=None, str source_identity="", UntetheredTimes untethered=None, tethers=None,
                  ClockPort clock=None, stamp_offset=None, StreamEvents stream_events=None):
        cdef int64_t position
        self.log = log
        self._log_holder = log.hold()
        self.endpoint = endpoint
        self.set_up_subscribers(counters, untethered)
        self.system = system
        self.stream_events = stream_events
        self.clock = clock
        self.is_stamping = stamp_offset is not None and clock is not None
        self.stamp_offset = stamp_offset or 0
        self.correlation_id = correlation_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.source_identity = source_identity
        self.term_length = log.term_length
        self.bits = log.bits
        self.is_reliable = reliable
        self._liveness_timeout_ns = image_liveness_timeout_ns
        position = compute_position(active_term_id, term_offset, self.bits, initial_term_id)
        self.counters.hwm_position = counters.set_value_address(hwm_position_id, position)
        self.counters.rebuild_position = counters.set_value_address(rebuild_position_id, position)
        self.counters.naks_sent = counters.set_value_address(naks_sent_id, 0)
        self.congestion_control = congestion_control
        self.lifecycle = ImageLifecycle(status_message_timeout_ns=status_message_timeout_ns, liveness_timeout_ns=image_liveness_timeout_ns,
                                        now_ns=now_ns)
        self.is_rebuilding = True
        self.from_conductor_agent.status_change.position = position
        self.from_conductor_agent.status_change.window = congestion_control.initial_window_length()
        self.window = ReceiveWindow(position=position, term_length=self.term_length, max_window_length=congestion_control.max_window_length())
        self.missing = MissingRanges(position)
        self.status_timer = StatusTimer(timeout_ns=status_message_timeout_ns, now_ns=now_ns)
        self.connections = ImageConnections(index=transport_index, control_address=control_address, now_ns=now_ns,
                                            is_multi_destination=endpoint.is_multi_destination)
        self.from_conductor.response_session = NO_RESPONSE
        self.receiver.last_packet_ns = now_ns
        self._consumption = ConsumptionSchedule(position=position, window_length=congestion_control.initial_window_length())
        if delay is None:
            delay = StaticDelay(nak_delay_ns, 100 * nak_delay_ns if nak_retry_ns is None else nak_retry_ns)
        self._loss = LossDetector(delay if reliable else StaticDelay(0))
        self._gap_max = congestion_control.max_window_length()
        self._clean_position = position
        self._losses = LossReporter(loss_report, session_id=session_id, stream_id=stream_id, initial_term_id=initial_term_id,
                                   channel=endpoint.channel, source=source_identity)
        for counter_id, registration_id in subscriber_position_ids:
            if counters.value_address(counter_id) is NULL or not self.subscribers.add(counters.value_address(counter_id), counter_id, registration_id):
                raise IndexError(f"subscriber position counter id: expected 0 to {counters.capacity - 1}, actual {counter_id}")
            tether = TETHER_TETHERED if tethers is None else tethers[counter_id]
            if tether != TETHER_TETHERED and not self.untethered.add(counters.value_address(counter_id), counter_id, registration_id,
                                                               tether == TETHER_REJOINS, now_ns):
                raise MemoryError
        log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)
        log.set_active_transport_count(1)

    def __dealloc__(self):
        free(self.from_conductor.rejection)

    # ---- receiver

    cdef void add_connection(self, int transport_index, const Address* source, int64_t now_ns) noexcept nogil:
        self.connections.track(transport_index, source, now_ns)

    cdef void add_destination(self, ReceiveTransport transport, int64_t now_ns) noexcept nogil:
        self.connections.expect(transport.index, &transport.control, now_ns)

    cdef void remove_destination(self, int transport_index, int64_t now_ns) noexcept nogil:
        self.connections.forget(transport_index)
        self.count_transports(now_ns)

    cdef void activate(self, int64_t now_ns) noexcept nogil:
        cdef int i
        for i in range(self.connections.count):
            if not self.endpoint.has_transport(i):     # removed while the image was being made
                self.connections.forget(i)
        self.lifecycle.activate(now_ns)

    cdef void deactivate(self, int64_t now_ns) noexcept nogil:
        if self.lifecycle.state() > IMAGE_ACTIVE:
            return
        store_release_i32(&self.is_rebuilding, False)
        if not self.receiver.is_sending_eos:
            self.receiver.is_sending_eos = not self.receiver.is_end_of_stream or self.is_rebuilt_to_end()
        if self.receiver.is_sending_eos:
            self.status_timer.expire(now_ns)
        self.lifecycle.drain(now_ns)

    cdef bint is_wanted(self, int64_t now_ns) noexcept nogil:
        return (self.receiver.last_packet_ns + self._liveness_timeout_ns - now_ns > 0
                and not load_acquire_i32(&self.from_conductor_agent.release_asked))

    cdef void stop_status_messages(self) noexcept nogil:
        if self.lifecycle.state() != IMAGE_ACTIVE:
            self.status_timer.disable()

    cdef void receiver_release(self) noexcept nogil:
        store_release_i32(&self.from_receiver.is_released, True)

    cdef int64_t receiver_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = self.receiver.last_packet_ns + self._liveness_timeout_ns
        if self.status_timer.enabled and self.status_timer.deadline_ns < deadline:
            deadline = self.status_timer.deadline_ns
        return deadline

    cdef bint is_rebuilt_to_end(self) noexcept nogil:
        return counter_get(self.counters.rebuild_position) == counter_get(self.counters.hwm_position)

    cdef void count_transports(self, int64_t now_ns) noexcept nogil:
        cdef int32_t active = self.connections.active_count(self._liveness_timeout_ns, now_ns)
        if self.log.active_transport_count() != active:
            self.log.set_active_transport_count(active)

    # ---- conductor agent

    cdef int track_rebuild(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int64_t hwm, slowest, rebuild, rebuilt
        cdef int32_t offset, limit, found, window
        cdef int32_t gap_length = 0
        cdef const uint8_t* term
        cdef bint loss_found = False
        cdef bint force = False
        if not load_acquire_i32(&self.is_rebuilding):
            return 0
        hwm = counter_get(self.counters.hwm_position)
        slowest = self.subscribers.least(INT64_MAX)
        rebuild = self.subscribers.greatest(counter_get_relaxed(self.counters.rebuild_position))
        rebuilt = rebuild
        if rebuild < hwm:
            rebuild &= -<int64_t>FRAME_ALIGNMENT
            offset = compute_term_offset(rebuild, self.term_length)
            limit = compute_term_offset(hwm, self.term_length) if rebuild >> self.bits == hwm >> self.bits else self.term_length
            term = self.log.term_address(index_by_position(rebuild, self.bits))
            found = scan_for_gap(term, self.term_length, offset, limit, self._gap_max, &gap_length)
            rebuilt = rebuild - offset + found
            if gap_length == GAP_MALFORMED:
                self.on_malformed(rebuilt, frame_length_acquire(term + found), 0)
                store_release_i32(&self.is_rebuilding, False)
            elif found < limit:
                loss_found = self._loss.on_gap(compute_term_id(rebuilt, self.bits, self.initial_term_id), found, gap_length, now_ns)
                if self._loss.poll_report(now_ns):
                    loss_change_write(&self.from_conductor_agent.loss_change, self._loss.term_id, self._loss.term_offset, self._loss.length)
                    self._losses.on_gap(self._loss.term_id, self._loss.term_offset, self._loss.length, epoch_ms)
            else:
                self._loss.on_no_gap()
        counter_propose_max(self.counters.rebuild_position, rebuilt)
        window = self.congestion_control.on_track_rebuild(now_ns, slowest, self._consumption.position, hwm, rebuild, rebuilt, loss_found, &force)
        if slowest != INT64_MAX and self._consumption.poll_change(slowest, window, force):
            # BEFORE the sender is told that it may go on
            self._clean_position = clean_towards(self.log, self._clean_position, wrapping_subtract_long(slowest, self.term_length))
            status_change_write(&self.from_conductor_agent.status_change, slowest, window)
            return 1
        return 0

    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef int state = self.lifecycle.state()
        cdef bint is_over
        self._check_frame(state, events)
        if state <= IMAGE_ACTIVE:
            if self._is_over():
                self.lifecycle.drain(now_ns)
            elif self.untethered.count > 0 and state == IMAGE_ACTIVE:
                self.check_untethered(self._untethered_limit(), now_ns, events)
        elif state == IMAGE_DRAINING:
            self.check_lingering(now_ns, events)
            is_over = self._is_over()
            if not is_over and not (self._is_drained() and self.lifecycle.drain_time_over(now_ns)):
                return False
            if is_over:
                store_release_i32(&self.is_rebuilding, False)
                store_release_i32(&self.from_conductor_agent.end_asked, True)
            if events.offer_or_retry(EVENT_IMAGE_LINGER, <void*>self, 0, 0):
                self.lifecycle.linger(now_ns)
                store_release_i32(&self.from_conductor_agent.release_asked, True)
        elif state == IMAGE_LINGER:
            if self.lifecycle.linger_over(self.subscribers.count > 0, now_ns) and events.offer_or_retry(EVENT_IMAGE_DONE, <void*>self, 0, 0):
                self.lifecycle.finish()
        elif load_acquire_i32(&self.from_receiver.is_released):
            return events.offer_or_retry(EVENT_IMAGE_REMOVED, <void*>self, 0, 0)
        return False

    cdef bint _is_over(self) noexcept nogil:
        # The end for subscribers wherever they are.
        return self.log.is_revoked() or load_acquire_i32(&self.from_conductor.is_lost)

    cdef void _check_frame(self, int state, EventQueue events) noexcept nogil:
        # Once a timer interval also where nothing was received behind the frame: a process that shares the log may have written it.
        cdef int64_t position = counter_get_relaxed(self.counters.rebuild_position)
        cdef int32_t length = malformed_length(self.log, position) if state <= IMAGE_ACTIVE else 0
        if length != 0:
            self.on_malformed(position, length, 0)
        if self.is_malformed():
            self.tell_malformed(events)

    cdef int64_t _untethered_limit(self) noexcept nogil:
        # Three quarters of a window behind the fastest. Aeron: untetheredWindowLimit.
        cdef int32_t window = self.from_conductor_agent.status_change.window
        return self.subscribers.greatest(0) - window + (window >> 2)

    cdef bint may_join(self) noexcept nogil:
        cdef int state = self.lifecycle.state()
        return (self.subscribers.count > 0 or self.untethered.count > 0) and (
            state <= IMAGE_ACTIVE or (state == IMAGE_DRAINING and not self._is_drained()))

    cdef int64_t join_position(self) noexcept nogil:
        # At the slowest subscriber, where everything is still there. Aeron: PublicationImage.joinPosition.
        return self.subscribers.least(counter_get_relaxed(self.counters.rebuild_position))

    cdef void on_subscribers_changed(self) noexcept nogil:
        if self.subscribers.count == 0 and self.untethered.count == 0:
            store_release_i32(&self.is_rebuilding, False)

    cdef int64_t conductor_agent_deadline_ns(self) noexcept nogil:
        return self._loss.deadline_ns if load_acquire_i32(&self.is_rebuilding) else INT64_MAX

    cdef bint _is_drained(self) noexcept nogil:
        return self.subscribers.all_reached(counter_get_relaxed(self.counters.rebuild_position))

    # ---- conductor

    def reject(self, str reason not None) -> None:
        """Answer the sender with error frames from now on; the image dies of silence. At most 1,023 bytes of reason are sent."""
        cdef bytes text = reason.encode("utf-8")[:ERROR_TEXT_LENGTH_MAX]
        cdef const char* source = text
        if not load_acquire_i32(&self.from_conductor.is_rejected):
            self.from_conductor.rejection = <char*>malloc(len(text) + 1)
            if self.from_conductor.rejection is NULL:
                raise MemoryError("reason of a rejection")
            memcpy(self.from_conductor.rejection, source, len(text))
            self.from_conductor.rejection_length = <int32_t>len(text)
            store_release_i32(&self.from_conductor.is_rejected, True)

    def end_lost(self) -> None:
        """End the image for all of its subscribers now: what they have not read is lost with the log's file."""
        store_release_i32(&self.from_conductor.is_lost, True)

    def tell_response(self, response_session_id) -> None:
        """Tell the sender at once, and with each status message, which session answers it; None: tell it no more."""
        cdef int64_t session = NO_RESPONSE if response_session_id is None else <int64_t>response_session_id
        store_release_i64(&self.from_conductor.response_session, session)
        if response_session_id is not None:
            store_release_i32(&self.from_conductor.status_asked, True)

    @property
    def state(self) -> int:
        """The ImageState."""
        return self.lifecycle.state()

    @property
    def hwm_position(self) -> int:
        """Highest position received, in bytes."""
        return counter_get(self.counters.hwm_position)

    @property
    def rebuild_position(self) -> int:
        """Position up to which nothing is missing, in bytes."""
        return counter_get(self.counters.rebuild_position)

    @property
    def accepts_subscribers(self) -> bool:
        """Whether a subscriber is likely to be let in; link_subscriber decides."""
        return self.lifecycle.state() <= IMAGE_DRAINING
