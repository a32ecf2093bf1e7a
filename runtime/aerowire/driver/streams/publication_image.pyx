"""A received stream. The receiver's half inserts packets; the conductor agent's half finds loss, consumption and the end. image_feedback answers.

The halves share counters and two records of news (image_changes): what to tell the sender, and which gap to ask for. Nothing here
allocates or takes the interpreter lock after construction.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
from aerowire.base.wrapping cimport wrapping_subtract_long
from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS, SYSTEM_COUNTER_FLOW_CONTROL_UNDER_RUNS, SYSTEM_COUNTER_HEARTBEATS_RECEIVED,
    SYSTEM_COUNTER_INVALID_PACKETS, SYSTEM_COUNTER_PUBLICATION_IMAGES_REVOKED)
from aerowire.codecs.native.events cimport DRIVER_EVENT_CODE_PUBLICATION_IMAGE_REVOKE
from aerowire.codecs.native.logbuffer cimport END_OF_STREAM_POSITION_UNSET
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_EOS, DATA_FLAGS_REVOKED, FRAME_ALIGNMENT, data_header_flags, data_header_frame_length, data_header_term_id,
    data_header_term_offset)
from aerowire.driver.queues.events cimport ERROR_END_DISBELIEVED, EVENT_IMAGE_DONE, EVENT_IMAGE_LINGER, EVENT_IMAGE_REMOVED
from aerowire.driver.streams.image_changes cimport loss_change_write, status_change_write
from aerowire.driver.streams.publication_support cimport clean_towards, malformed_length
from aerowire.driver.media.receive_transport cimport ReceiveTransport
from aerowire.driver.queues.system_counters cimport OWN_COUNTER_STREAM_ENDS_DISBELIEVED
from aerowire.driver.streams.untethered_subscriptions cimport TETHER_TETHERED, TETHER_REJOINS
from aerowire.ipc.counters cimport CountersReader, counter_atomic_add, counter_get, counter_get_relaxed, counter_increment, counter_propose_max
from aerowire.ipc.loss_report cimport LossReport
from aerowire.logbuffer.descriptor cimport align_frame, compute_position, compute_term_id, compute_term_offset, index_by_position
from aerowire.logbuffer.rebuild cimport fill_gap, rebuild_insert
from aerowire.logbuffer.frame cimport frame_length_acquire
from aerowire.logbuffer.scan cimport GAP_MALFORMED, scan_for_gap
from aerowire.memory.atomics cimport load_acquire_i32, store_release_i32, store_release_i64
from aerowire.protocol.congestion_control cimport RTT_UNKNOWN_NS
from aerowire.protocol.delay cimport DelayGenerator, StaticDelay
from aerowire.protocol.frames cimport PACKET_HEARTBEAT, PACKET_INVALID, data_packet_length
from aerowire.protocol.lifecycle cimport IMAGE_ACTIVE, IMAGE_DRAINING, IMAGE_LINGER
from aerowire.protocol.missing_ranges cimport RANGE_CONFLICT, RANGE_MISSING, RANGE_NO_ROOM, RANGE_PRESENT, MissingRanges
from aerowire.protocol.receive_stamp cimport stamp_arrivals
from aerowire.protocol.receive_window cimport WINDOW_ACCEPT, WINDOW_OVER_RUN, WINDOW_RECENT
from aerowire.protocol.untethered cimport UntetheredTimes

NO_RESPONSE = INT64_MAX
# Heartbeats without the end, in a row, that belie it: one of them may have been overtaken by the end.
cdef int HEARTBEATS_PAST_END = 2


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
        self._log = log
        self._log_holder = log.hold()
        self._endpoint = endpoint
        self._set_up_subscribers(counters, untethered)
        self._system = system
        self._stream_events = stream_events
        self._clock = clock
        self._is_stamping = stamp_offset is not None and clock is not None
        self._stamp_offset = stamp_offset or 0
        self.correlation_id = correlation_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.source_identity = source_identity
        self.term_length = log.term_length
        self.bits = log.bits
        self._reliable = reliable
        self._liveness_timeout_ns = image_liveness_timeout_ns
        position = compute_position(active_term_id, term_offset, self.bits, initial_term_id)
        self._hwm_position = counters.set_value_address(hwm_position_id, position)
        self._rebuild_position = counters.set_value_address(rebuild_position_id, position)
        self._naks_sent = counters.set_value_address(naks_sent_id, 0)
        self._congestion_control = congestion_control
        self.lifecycle = ImageLifecycle(status_message_timeout_ns=status_message_timeout_ns, liveness_timeout_ns=image_liveness_timeout_ns,
                                        now_ns=now_ns)
        self._rebuilding = True
        self._status_change.position = position
        self._status_change.window = congestion_control.initial_window_length()
        self._window = ReceiveWindow(position=position, term_length=self.term_length, max_window_length=congestion_control.max_window_length())
        self._missing = MissingRanges(position)
        self._status = StatusTimer(timeout_ns=status_message_timeout_ns, now_ns=now_ns)
        self._transports = ImageConnections(index=transport_index, control_address=control_address, now_ns=now_ns,
                                           is_multi_destination=endpoint.is_multi_destination)
        self._response_session = NO_RESPONSE
        self._last_packet_ns = now_ns
        self._consumption = ConsumptionSchedule(position=position, window_length=congestion_control.initial_window_length())
        if delay is None:
            delay = StaticDelay(nak_delay_ns, 100 * nak_delay_ns if nak_retry_ns is None else nak_retry_ns)
        self._loss = LossDetector(delay if reliable else StaticDelay(0))
        self._gap_max = congestion_control.max_window_length()
        self._clean_position = position
        self._losses = LossReporter(loss_report, session_id=session_id, stream_id=stream_id, initial_term_id=initial_term_id,
                                   channel=endpoint.channel, source=source_identity)
        for counter_id, registration_id in subscriber_position_ids:
            if counters.value_address(counter_id) is NULL or not self._subscribers.add(counters.value_address(counter_id), counter_id, registration_id):
                raise IndexError(f"subscriber position counter id: expected 0 to {counters.capacity - 1}, actual {counter_id}")
            tether = TETHER_TETHERED if tethers is None else tethers[counter_id]
            if tether != TETHER_TETHERED and not self._untethered.add(counters.value_address(counter_id), counter_id, registration_id,
                                                               tether == TETHER_REJOINS, now_ns):
                raise MemoryError
        log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)
        log.set_active_transport_count(1)

    def __dealloc__(self):
        free(self._rejection)

    # ---- receiver: packets

    cdef bint insert_packet(self, uint8_t* packet, int32_t length, int transport_index, const Address* source, int64_t now_ns) noexcept nogil:
        cdef int32_t covered, term_offset
        cdef int64_t position
        cdef int verdict
        if load_acquire_i32(&self._rejected):
            return True
        covered = data_packet_length(packet, length, self.term_length)
        if covered == PACKET_INVALID:
            counter_atomic_add(self._system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return True
        term_offset = data_header_term_offset(packet)
        position = compute_position(data_header_term_id(packet), term_offset, self.bits, self.initial_term_id)
        if covered == PACKET_HEARTBEAT:
            return self._on_heartbeat(packet, position, transport_index, source, now_ns)
        verdict = self._window.classify_data(position, covered)
        if verdict == WINDOW_ACCEPT:
            self._last_packet_ns = now_ns
            self._transports.track(transport_index, source, now_ns)
            if self._is_stamping:
                stamp_arrivals(packet, length, self._stamp_offset, self._clock.epoch_ns())
            self._insert(packet, length, position, covered)
            counter_propose_max(self._hwm_position, self._missing.end)
            if self._end_of_stream and position + covered > self._end_position:
                self._take_back_end(now_ns)
        elif verdict == WINDOW_OVER_RUN:
            counter_increment(self._system.address[SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS])
        else:
            counter_increment(self._system.address[SYSTEM_COUNTER_FLOW_CONTROL_UNDER_RUNS])
            if verdict == WINDOW_RECENT:
                self._transports.track(transport_index, source, now_ns)
        return True

    cdef void _insert(self, const uint8_t* packet, int32_t length, int64_t position, int32_t covered) noexcept nogil:
        # Only where nothing was received before: a frame never lies across another one.
        cdef int outcome
        if position == self._missing.end:       # most datagrams, without a call
            self._missing.end = position + covered
            outcome = RANGE_MISSING
        else:
            outcome = self._missing.receive(position, position + covered)
        if outcome == RANGE_NO_ROOM:
            self._missing.forget_before(self._window.last_status_position)
            outcome = self._missing.receive(position, position + covered)
        if outcome == RANGE_MISSING:
            rebuild_insert(self._log.term_address(index_by_position(position, self.bits)), compute_term_offset(position, self.term_length),
                           packet, length)
        elif outcome == RANGE_CONFLICT:
            self._missing.forget_before(self._window.last_status_position)
            self._insert_frames(packet, length, position)
        elif outcome == RANGE_NO_ROOM:
            counter_increment(self._system.address[SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS])

    cdef void _insert_frames(self, const uint8_t* packet, int32_t length, int64_t position) noexcept nogil:
        # A datagram of which something is there: the frames that are missing are taken, those that overlap others are not.
        cdef uint8_t* term = self._log.term_address(index_by_position(position, self.bits))
        cdef int32_t offset = compute_term_offset(position, self.term_length)
        cdef int32_t done = 0, step
        cdef int64_t begin
        cdef int outcome
        while done < length:
            step = <int32_t>align_frame(data_header_frame_length(packet + done))
            begin = position + done
            outcome = self._missing.receive(begin, begin + step)
            if outcome == RANGE_MISSING:
                rebuild_insert(term, offset + done, packet + done, min(step, length - done))
            elif outcome != RANGE_PRESENT:
                counter_atomic_add(self._system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
                if outcome == RANGE_CONFLICT and begin == self._missing.first():
                    # What the stream waits for does not fit what was received: it can never go on.
                    self.on_malformed(begin, data_header_frame_length(packet + done), <int32_t>self._missing.first_length())
                return
            done += step

    cdef bint fill_missing(self, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil:
        cdef int64_t position = compute_position(term_id, term_offset, self.bits, self.initial_term_id)
        cdef int outcome = self._missing.receive(position, position + length)
        return (outcome == RANGE_MISSING or outcome == RANGE_PRESENT) and fill_gap(
            self._log.metadata, self._log.term_address(index_by_position(position, self.bits)), term_id, term_offset, length)

    cdef bint _on_heartbeat(self, const uint8_t* packet, int64_t position, int transport_index, const Address* source, int64_t now_ns) noexcept nogil:
        cdef int verdict = self._window.classify_heartbeat(position)
        cdef bint is_news = position > counter_get_relaxed(self._hwm_position)
        if verdict == WINDOW_OVER_RUN:
            counter_increment(self._system.address[SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS])
            return True
        if verdict != WINDOW_ACCEPT:
            counter_increment(self._system.address[SYSTEM_COUNTER_FLOW_CONTROL_UNDER_RUNS])
            return True
        self._last_packet_ns = now_ns
        self._transports.track(transport_index, source, now_ns)
        if data_header_flags(packet) & DATA_FLAGS_EOS:
            self._heartbeats_past_end = 0
            self._transports.end(transport_index, position)
            if not self._end_of_stream and self._transports.all_ended(self._endpoint.transports):
                is_news = self._end((data_header_flags(packet) & DATA_FLAGS_REVOKED) != 0, now_ns)
        else:
            self._transports.go_on(transport_index)
            if self._end_of_stream and position >= self._end_position:
                self._heartbeats_past_end += 1
                if self._heartbeats_past_end == HEARTBEATS_PAST_END:
                    self._take_back_end(now_ns)
        counter_propose_max(self._hwm_position, position)
        counter_increment(self._system.address[SYSTEM_COUNTER_HEARTBEATS_RECEIVED])
        return is_news

    cdef bint _end(self, bint is_revoked, int64_t now_ns) noexcept nogil:
        # A sender ends where it stopped sending: what was received beyond that belies the end. Official drivers believe any.
        cdef int64_t position = self._transports.end_position()
        if position < counter_get_relaxed(self._hwm_position):
            self._disbelieve_end(now_ns)
            return False
        if is_revoked:
            self._log.set_revoked()
            if self._stream_events is not None:
                self._stream_events.revoked(DRIVER_EVENT_CODE_PUBLICATION_IMAGE_REVOKE, position)
            counter_increment(self._system.address[SYSTEM_COUNTER_PUBLICATION_IMAGES_REVOKED])
        self._log.set_end_of_stream_position(position)
        self._end_position = position
        self._end_of_stream = True
        return True

    cdef void _take_back_end(self, int64_t now_ns) noexcept nogil:
        # Data lies behind the end of stream: another host sent that end, or the sender came back with the same session. A revocation stays.
        if self._log.is_revoked() or (self.lifecycle.state() != IMAGE_ACTIVE and not (self._ended_draining and self.lifecycle.resume(now_ns))):
            return
        self._ended_draining = False
        self._end_of_stream = False
        self._telling_end = False
        self._transports.go_on_all()
        self._log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)
        store_release_i32(&self._rebuilding, True)
        self._status.expire(now_ns)
        self._disbelieve_end(now_ns)

    cdef void _disbelieve_end(self, int64_t now_ns) noexcept nogil:
        counter_increment(self._system.address[OWN_COUNTER_STREAM_ENDS_DISBELIEVED])
        self._endpoint.report(ERROR_END_DISBELIEVED, self.stream_id, self.session_id, now_ns)

    cdef void add_connection(self, int transport_index, const Address* source, int64_t now_ns) noexcept nogil:
        self._transports.track(transport_index, source, now_ns)

    cdef void add_destination(self, ReceiveTransport transport, int64_t now_ns) noexcept nogil:
        self._transports.expect(transport.index, &transport.control, now_ns)

    cdef void remove_destination(self, int transport_index, int64_t now_ns) noexcept nogil:
        self._transports.forget(transport_index)
        self._count_transports(now_ns)

    # ---- receiver: life

    cdef void activate(self, int64_t now_ns) noexcept nogil:
        cdef int i
        for i in range(self._transports.count):
            if not self._endpoint.has_transport(i):     # removed while the image was being made
                self._transports.forget(i)
        self.lifecycle.activate(now_ns)

    cdef void deactivate(self, int64_t now_ns) noexcept nogil:
        if self.lifecycle.state() > IMAGE_ACTIVE:
            return
        store_release_i32(&self._rebuilding, False)
        if not self._telling_end:
            self._telling_end = not self._end_of_stream or self._rebuilt_to_end()
        if self._telling_end:
            self._status.expire(now_ns)
        self.lifecycle.drain(now_ns)

    cdef bint is_wanted(self, int64_t now_ns) noexcept nogil:
        return self._last_packet_ns + self._liveness_timeout_ns - now_ns > 0 and not load_acquire_i32(&self._release_asked)

    cdef void stop_status_messages(self) noexcept nogil:
        if self.lifecycle.state() != IMAGE_ACTIVE:
            self._status.disable()

    cdef void receiver_release(self) noexcept nogil:
        store_release_i32(&self._receiver_released, True)

    cdef int64_t receiver_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = self._last_packet_ns + self._liveness_timeout_ns
        if self._status.enabled and self._status.deadline_ns < deadline:
            deadline = self._status.deadline_ns
        return deadline

    cdef void on_rtt_measurement(self, int64_t echo_timestamp_ns, int64_t reception_delta_ns, int64_t now_ns) noexcept nogil:
        # Both times come from the network: they are checked before the difference, which a forged time would make overflow.
        cdef int64_t rtt_ns = RTT_UNKNOWN_NS
        if 0 <= echo_timestamp_ns <= now_ns and 0 <= reception_delta_ns <= now_ns - echo_timestamp_ns:
            rtt_ns = now_ns - echo_timestamp_ns - reception_delta_ns
        self._congestion_control.on_rtt_measurement(now_ns, rtt_ns)

    cdef bint _rebuilt_to_end(self) noexcept nogil:
        return counter_get(self._rebuild_position) == counter_get(self._hwm_position)

    cdef void _count_transports(self, int64_t now_ns) noexcept nogil:
        cdef int32_t active = self._transports.active_count(self._liveness_timeout_ns, now_ns)
        if self._log.active_transport_count() != active:
            self._log.set_active_transport_count(active)

    # ---- conductor agent

    cdef int track_rebuild(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int64_t hwm, slowest, rebuild, rebuilt
        cdef int32_t offset, limit, found, window
        cdef int32_t gap_length = 0
        cdef const uint8_t* term
        cdef bint loss_found = False
        cdef bint force = False
        if not load_acquire_i32(&self._rebuilding):
            return 0
        hwm = counter_get(self._hwm_position)
        slowest = self._subscribers.least(INT64_MAX)
        rebuild = self._subscribers.greatest(counter_get_relaxed(self._rebuild_position))
        rebuilt = rebuild
        if rebuild < hwm:
            rebuild &= -<int64_t>FRAME_ALIGNMENT
            offset = compute_term_offset(rebuild, self.term_length)
            limit = compute_term_offset(hwm, self.term_length) if rebuild >> self.bits == hwm >> self.bits else self.term_length
            term = self._log.term_address(index_by_position(rebuild, self.bits))
            found = scan_for_gap(term, self.term_length, offset, limit, self._gap_max, &gap_length)
            rebuilt = rebuild - offset + found
            if gap_length == GAP_MALFORMED:
                self.on_malformed(rebuilt, frame_length_acquire(term + found), 0)
                store_release_i32(&self._rebuilding, False)
            elif found < limit:
                loss_found = self._loss.on_gap(compute_term_id(rebuilt, self.bits, self.initial_term_id), found, gap_length, now_ns)
                if self._loss.poll_report(now_ns):
                    loss_change_write(&self._loss_change, self._loss.term_id, self._loss.term_offset, self._loss.length)
                    self._losses.on_gap(self._loss.term_id, self._loss.term_offset, self._loss.length, epoch_ms)
            else:
                self._loss.on_no_gap()
        counter_propose_max(self._rebuild_position, rebuilt)
        window = self._congestion_control.on_track_rebuild(now_ns, slowest, self._consumption.position, hwm, rebuild, rebuilt, loss_found, &force)
        if slowest != INT64_MAX and self._consumption.poll_change(slowest, window, force):
            # BEFORE the sender is told that it may go on
            self._clean_position = clean_towards(self._log, self._clean_position, wrapping_subtract_long(slowest, self.term_length))
            status_change_write(&self._status_change, slowest, window)
            return 1
        return 0

    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef int state = self.lifecycle.state()
        cdef bint is_over
        self._check_frame(state, events)
        if state <= IMAGE_ACTIVE:
            if self._is_over():
                self.lifecycle.drain(now_ns)
            elif self._untethered.count > 0 and state == IMAGE_ACTIVE:
                self.check_untethered(self._untethered_limit(), now_ns, events)
        elif state == IMAGE_DRAINING:
            self.check_lingering(now_ns, events)
            is_over = self._is_over()
            if not is_over and not (self._is_drained() and self.lifecycle.drain_time_over(now_ns)):
                return False
            if is_over:
                store_release_i32(&self._rebuilding, False)
                store_release_i32(&self._end_asked, True)
            if events.offer_or_retry(EVENT_IMAGE_LINGER, <void*>self, 0, 0):
                self.lifecycle.linger(now_ns)
                store_release_i32(&self._release_asked, True)
        elif state == IMAGE_LINGER:
            if self.lifecycle.linger_over(self._subscribers.count > 0, now_ns) and events.offer_or_retry(EVENT_IMAGE_DONE, <void*>self, 0, 0):
                self.lifecycle.finish()
        elif load_acquire_i32(&self._receiver_released):
            return events.offer_or_retry(EVENT_IMAGE_REMOVED, <void*>self, 0, 0)
        return False

    cdef bint _is_over(self) noexcept nogil:
        # The end for subscribers wherever they are.
        return self._log.is_revoked() or load_acquire_i32(&self._is_lost)

    cdef void _check_frame(self, int state, EventQueue events) noexcept nogil:
        # Once a timer interval also where nothing was received behind the frame: a process that shares the log may have written it.
        cdef int64_t position = counter_get_relaxed(self._rebuild_position)
        cdef int32_t length = malformed_length(self._log, position) if state <= IMAGE_ACTIVE else 0
        if length != 0:
            self.on_malformed(position, length, 0)
        if self.is_malformed():
            self.tell_malformed(events)

    cdef int64_t _untethered_limit(self) noexcept nogil:
        # Three quarters of a window behind the fastest. Aeron: untetheredWindowLimit.
        return self._subscribers.greatest(0) - self._status_change.window + (self._status_change.window >> 2)

    cdef bint _may_join(self) noexcept nogil:
        cdef int state = self.lifecycle.state()
        return (self._subscribers.count > 0 or self._untethered.count > 0) and (
            state <= IMAGE_ACTIVE or (state == IMAGE_DRAINING and not self._is_drained()))

    cdef int64_t _join_position(self) noexcept nogil:
        # At the slowest subscriber, where everything is still there. Aeron: PublicationImage.joinPosition.
        return self._subscribers.least(counter_get_relaxed(self._rebuild_position))

    cdef void _on_subscribers_changed(self) noexcept nogil:
        if self._subscribers.count == 0 and self._untethered.count == 0:
            store_release_i32(&self._rebuilding, False)

    cdef int64_t conductor_agent_deadline_ns(self) noexcept nogil:
        return self._loss.deadline_ns if load_acquire_i32(&self._rebuilding) else INT64_MAX

    cdef bint _is_drained(self) noexcept nogil:
        return self._subscribers.all_reached(counter_get_relaxed(self._rebuild_position))

    # ---- conductor

    def reject(self, str reason not None) -> None:
        """Answer the sender with error frames from now on; the image dies of silence. At most 1,023 bytes of reason are sent."""
        cdef bytes text = reason.encode("utf-8")[:ERROR_TEXT_LENGTH_MAX]
        cdef const char* source = text
        if not load_acquire_i32(&self._rejected):
            self._rejection = <char*>malloc(len(text) + 1)
            if self._rejection is NULL:
                raise MemoryError("reason of a rejection")
            memcpy(self._rejection, source, len(text))
            self._rejection_length = <int32_t>len(text)
            store_release_i32(&self._rejected, True)

    def end_lost(self) -> None:
        """End the image for all of its subscribers now: what they have not read is lost with the log's file."""
        store_release_i32(&self._is_lost, True)

    def tell_response(self, response_session_id) -> None:
        """Tell the sender at once, and with each status message, which session answers it; None: tell it no more."""
        store_release_i64(&self._response_session, NO_RESPONSE if response_session_id is None else <int64_t>response_session_id)
        if response_session_id is not None:
            store_release_i32(&self._status_asked, True)

    @property
    def state(self) -> int:
        """The ImageState."""
        return self.lifecycle.state()

    @property
    def log(self):
        """The LogBuffers."""
        return self._log

    @property
    def endpoint(self):
        """The ReceiveEndpoint."""
        return self._endpoint

    @property
    def hwm_position(self) -> int:
        """Highest position received, in bytes."""
        return counter_get(self._hwm_position)

    @property
    def rebuild_position(self) -> int:
        """Position up to which nothing is missing, in bytes."""
        return counter_get(self._rebuild_position)

    @property
    def accepts_subscribers(self) -> bool:
        """Whether a subscriber is likely to be let in; link_subscriber decides."""
        return self.lifecycle.state() <= IMAGE_DRAINING
