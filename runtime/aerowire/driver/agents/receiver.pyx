"""The agent that receives. Each cycle: commands, a few batches from every socket that may have one, then every image's turn."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uintptr_t

cimport cython

from aerowire.agents.duty_cycle cimport duty_cycle_measure
from aerowire.base.ports cimport datagram_step
from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_BYTES_RECEIVED, SYSTEM_COUNTER_INVALID_PACKETS, SYSTEM_COUNTER_POSSIBLE_TTL_ASYMMETRY,
    SYSTEM_COUNTER_RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED, SYSTEM_COUNTER_RECEIVER_MAX_CYCLE_TIME, SYSTEM_COUNTER_RECEIVER_PROXY_FAILS)
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_EOS, FRAME_TYPE_DATA, FRAME_TYPE_PAD, FRAME_TYPE_RTTM, FRAME_TYPE_SETUP, RTTM_FLAGS_REPLY, data_header_flags,
    data_header_session_id, data_header_stream_id, frame_header_type, rttm_echo_timestamp_ns, rttm_flags, rttm_receiver_id,
    rttm_reception_delta_ns, rttm_session_id, rttm_stream_id, setup_active_term_id, setup_flags, setup_initial_term_id, setup_mtu,
    setup_session_id, setup_stream_id, setup_term_length, setup_term_offset, setup_ttl)
from aerowire.driver.agents.agent_base cimport BATCH_MAX, PORTS_PER_CYCLE
from aerowire.driver.queues.events cimport (
    ERROR_IMAGE_LIMIT, ERROR_IMAGE_RATE, ERROR_RECEIVE_FAILED, ERROR_SESSION_LIMIT, ERROR_SETUP_REQUESTS, ERROR_TABLE_FULL, EVENT_CONTROL_NAME_SILENT, EVENT_CREATE_IMAGE,
    EVENT_RECEIVE_DESTINATION_REMOVED, EVENT_RECEIVE_ENDPOINT_REMOVED, EventRecord)
from aerowire.driver.streams.image_feedback cimport answer_sender, on_rtt_measurement
from aerowire.driver.streams.image_packets cimport insert_packet
from aerowire.driver.queues.system_counters cimport OWN_COUNTER_IMAGES_REFUSED, OWN_COUNTER_SETUP_REQUESTS_REFUSED
from aerowire.ipc.counters cimport counter_add, counter_atomic_add, counter_increment
from aerowire.protocol.destinations cimport DESTINATION_TIMEOUT_NS
from aerowire.protocol.frames cimport frame_is_valid, setup_has_begun, setup_is_valid
from aerowire.protocol.data_packet_dispatcher cimport (
    DISPATCH_BUSY, DISPATCH_CREATE, DISPATCH_ELICIT, DISPATCH_IMAGE, DISPATCH_LIMIT, REFUSAL_IMAGES, REFUSAL_RATE, REFUSAL_SESSIONS,
    SESSION_COOL_DOWN, SESSION_INIT_IN_PROGRESS, SESSION_PENDING_SETUP)

cdef int DATAGRAMS_PER_CYCLE = 16           # from one socket, in batches: a stream in trouble does not hold up the others
cdef int HEARTBEATS_PER_CYCLE = 256         # that say nothing new: streams that were served together once are due together
cdef int PORTS_WALKED = 4                   # asked one by one, without the help of epoll
cdef int DATAGRAM_CAPACITY = 65536          # bytes: the largest datagram


cdef int error_of_refusal(int refusal) noexcept nogil:
    if refusal == REFUSAL_SESSIONS:
        return ERROR_SESSION_LIMIT
    if refusal == REFUSAL_IMAGES:
        return ERROR_IMAGE_LIMIT
    return ERROR_IMAGE_RATE if refusal == REFUSAL_RATE else ERROR_TABLE_FULL


@cython.final
cdef class Receiver(DriverAgent):
    """Aeron: Receiver and DataPacketDispatcher.

    `batch` bounds how many datagrams are taken from a socket at once.
    """

    def __cinit__(self, *, ClockPort clock not None, SystemCounters system not None, EventQueue events not None, int batch=4,
                  int64_t cycle_threshold_ns=100_000_000, int64_t reresolution_check_interval_ns=1_000_000_000):
        if not 1 <= batch <= BATCH_MAX:
            raise ValueError(f"receiver's batch: expected 1 to {BATCH_MAX}, actual {batch}")
        self.set_up(clock, system, events, SYSTEM_COUNTER_RECEIVER_MAX_CYCLE_TIME, SYSTEM_COUNTER_RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED,
                     cycle_threshold_ns)
        self.commands.failed_offers = system.address[SYSTEM_COUNTER_RECEIVER_PROXY_FAILS]
        self._poller = PortPoller(walk_limit=PORTS_WALKED)
        self._images = PointerArray()
        self._controlled = PointerArray()
        self._lookup_interval_ns = reresolution_check_interval_ns
        self._pending = PendingSetups()
        self._batch = DatagramBatch(batch, DATAGRAM_CAPACITY)

    @property
    def role_name(self) -> str:
        """Aeron's name of the role."""
        return "receiver"

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work_count
        duty_cycle_measure(&self.cycle, now_ns)
        work_count = self.take_commands(now_ns)
        work_count += self._poll_datagrams(now_ns)
        work_count += self._serve_images(now_ns)
        if self._pending.count:
            work_count += self._pending.check(now_ns)
        if self._controlled.count and self._lookup_interval_ns and self._lookup_deadline_ns - now_ns <= 0:
            self._lookup_deadline_ns = now_ns + self._lookup_interval_ns
            self._check_names(now_ns)
        return work_count

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = self._pending.next_deadline_ns()
        cdef int64_t other
        cdef int i
        for i in range(self._images.count):
            other = (<PublicationImage>self._images.items[i]).receiver_deadline_ns()
            if other < deadline:
                deadline = other
        return deadline

    # ---- datagrams

    cdef int _poll_datagrams(self, int64_t now_ns) noexcept nogil:
        cdef void* tokens[PORTS_PER_CYCLE]
        cdef int ready = self._poller.ready(tokens, PORTS_PER_CYCLE)
        cdef int work_count = 0
        cdef int i
        cdef int64_t bytes_received = 0
        for i in range(ready):
            work_count += self._poll_socket(<ReceiveEndpoint>(<ReceiveTransport>tokens[i]).endpoint, <ReceiveTransport>tokens[i], now_ns,
                                            &bytes_received)
        self._cycle_number += 1
        work_count += ready == PORTS_PER_CYCLE and bytes_received > 0       # there may be more of them, with more to say
        if bytes_received:
            counter_add(self.system.address[SYSTEM_COUNTER_BYTES_RECEIVED], bytes_received)
        return work_count

    cdef int _poll_socket(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns,
                          int64_t* bytes_received) noexcept nogil:
        # A batch costs its set-up even when empty: it is for a socket that had something twice in a row, as often as it is asked.
        cdef bint is_consecutive = transport.heard_cycle + 1 + self._poller.count // PORTS_PER_CYCLE >= self._cycle_number
        cdef bint is_busy = is_consecutive and transport.busy_cycles > 1
        cdef int count = self._batch.count if is_busy or transport.quiet_batch > self._batch.count else transport.quiet_batch
        cdef int taken = 0
        cdef int news = 0
        cdef int received = count
        cdef int j
        while received == count and news < DATAGRAMS_PER_CYCLE and taken - news < HEARTBEATS_PER_CYCLE and (is_busy or news == 0):
            received = transport.port.receive(self._batch.items, count)
            if received < 0:
                endpoint.report(ERROR_RECEIVE_FAILED, -received, 0, now_ns)
                break
            if received:
                transport.heard_ns = now_ns
            for j in range(received):
                bytes_received[0] += self._batch.items[j].length
                taken += self._on_received(endpoint, transport, &self._batch.items[j], now_ns, &news)
        if taken:
            transport.busy_cycles = transport.busy_cycles + 1 if is_consecutive else 1
            transport.heard_cycle = self._cycle_number
        # What only says that streams are there is no work: with a thousand of them the agent would never back off.
        return news if taken - news < HEARTBEATS_PER_CYCLE else taken

    cdef int _on_received(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const Datagram* item, int64_t now_ns,
                          int* news) noexcept nogil:
        # one datagram, or several that the kernel joined
        cdef int32_t step = datagram_step(item)
        cdef int32_t offset = 0
        cdef int count = 0
        while offset < item.length or count == 0:
            news[0] += self._on_datagram(endpoint, transport, item.buffer + offset, min(step, item.length - offset), &item.address, now_ns)
            offset += step
            count += 1
        return count

    cdef bint _on_datagram(self, ReceiveEndpoint endpoint, ReceiveTransport transport, uint8_t* frame, int32_t length,
                           const Address* source, int64_t now_ns) noexcept nogil:
        cdef int frame_type
        if not frame_is_valid(frame, length):
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return True
        frame_type = frame_header_type(frame)
        if frame_type == FRAME_TYPE_DATA or frame_type == FRAME_TYPE_PAD:
            return self._on_data(endpoint, transport, frame, length, source, now_ns)
        if frame_type == FRAME_TYPE_SETUP:
            self._on_setup(endpoint, transport, frame, source, now_ns)
        elif frame_type == FRAME_TYPE_RTTM:
            self._on_rtt_measurement(endpoint, transport, frame, source, now_ns)
        return True

    cdef bint _on_data(self, ReceiveEndpoint endpoint, ReceiveTransport transport, uint8_t* frame, int32_t length,
                       const Address* source, int64_t now_ns) noexcept nogil:
        cdef int32_t stream_id = data_header_stream_id(frame)
        cdef int32_t session_id = data_header_session_id(frame)
        cdef int verdict = endpoint.dispatcher.on_data(stream_id, session_id, (data_header_flags(frame) & DATA_FLAGS_EOS) != 0, now_ns)
        if verdict == DISPATCH_IMAGE:
            return insert_packet(<PublicationImage><void*>endpoint.dispatcher.image, frame, length, transport.index, source, now_ns)
        if verdict == DISPATCH_ELICIT:
            if self._pending.add(<void*>endpoint, transport.index, session_id, stream_id, False, source, now_ns):
                endpoint.elicit_setup(transport.index, source, session_id, stream_id, now_ns)
            else:
                self._refuse_setup_request(endpoint, stream_id, session_id, now_ns)
                endpoint.dispatcher.forget_session(stream_id, session_id, SESSION_PENDING_SETUP)
        elif verdict == DISPATCH_LIMIT:
            self._refuse_setup_request(endpoint, stream_id, session_id, now_ns)
        return True

    cdef void _refuse_setup_request(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil:
        counter_increment(self.system.address[OWN_COUNTER_SETUP_REQUESTS_REFUSED])
        endpoint.report(ERROR_SETUP_REQUESTS, stream_id, session_id, now_ns)

    cdef void _on_setup(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const uint8_t* frame, const Address* source,
                        int64_t now_ns) noexcept nogil:
        cdef int32_t stream_id = setup_stream_id(frame)
        cdef int32_t session_id = setup_session_id(frame)
        cdef int verdict
        if not setup_is_valid(frame):
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return
        verdict = endpoint.dispatcher.on_setup(stream_id, session_id, now_ns)
        if verdict == DISPATCH_IMAGE:
            (<PublicationImage><void*>endpoint.dispatcher.image).add_connection(transport.index, source, now_ns)
        elif verdict == DISPATCH_CREATE:
            if transport.is_multicast and transport.ttl < setup_ttl(frame):
                counter_increment(self.system.address[SYSTEM_COUNTER_POSSIBLE_TTL_ASYMMETRY])
            # Official drivers make an image of a stream that has not begun, and drop all its data.
            if not setup_has_begun(frame):
                counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
                endpoint.dispatcher.forget_session(stream_id, session_id, SESSION_INIT_IN_PROGRESS)
            elif not self._ask_for_image(endpoint, transport, frame, source):
                endpoint.dispatcher.forget_session(stream_id, session_id, SESSION_INIT_IN_PROGRESS)
        elif verdict == DISPATCH_LIMIT:
            counter_increment(self.system.address[OWN_COUNTER_IMAGES_REFUSED])
            endpoint.report(error_of_refusal(endpoint.dispatcher.refusal), stream_id, session_id, now_ns)
        elif verdict == DISPATCH_BUSY:
            self.events.count_refusal()

    cdef bint _ask_for_image(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const uint8_t* frame,
                             const Address* source) noexcept nogil:
        cdef EventRecord* record = self.events.claim(EVENT_CREATE_IMAGE, <void*>endpoint) if self.events.has_room() else NULL
        if record is NULL:
            return False
        record.values[0] = setup_session_id(frame)
        record.values[1] = setup_stream_id(frame)
        record.values[2] = setup_initial_term_id(frame)
        record.values[3] = setup_active_term_id(frame)
        record.values[4] = setup_term_offset(frame)
        record.values[5] = setup_term_length(frame)
        record.values[6] = setup_mtu(frame)
        record.values[7] = setup_flags(frame)
        record.values[8] = transport.index
        record.control = transport.control_of(source)[0]
        record.source = source[0]
        self.events.publish(record)
        return True

    cdef void _on_rtt_measurement(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const uint8_t* frame, const Address* source,
                                  int64_t now_ns) noexcept nogil:
        cdef int64_t receiver_id = rttm_receiver_id(frame)
        cdef uintptr_t image
        if receiver_id != endpoint.receiver_id and receiver_id != 0:
            return
        image = endpoint.dispatcher.find_image(rttm_stream_id(frame), rttm_session_id(frame))
        if image == 0:
            return
        if rttm_flags(frame) & RTTM_FLAGS_REPLY:
            endpoint.send_rttm(transport.index, source, 0, rttm_session_id(frame), rttm_stream_id(frame), rttm_echo_timestamp_ns(frame),
                               now_ns)
        else:
            on_rtt_measurement(<PublicationImage><void*>image, rttm_echo_timestamp_ns(frame), rttm_reception_delta_ns(frame),
                               self.clock.nano_time())

    # ---- images

    cdef int _serve_images(self, int64_t now_ns) noexcept nogil:
        cdef int i = self._images.count - 1
        cdef int work_count = 0
        while i >= 0:
            if (<PublicationImage>self._images.items[i]).is_wanted(now_ns):
                work_count += answer_sender(<PublicationImage>self._images.items[i], now_ns)
            else:
                self._release(<PublicationImage>self._images.items[i], i, now_ns)
                work_count += 1
            i -= 1
        return work_count

    cdef void _release(self, PublicationImage image, int index, int64_t now_ns) noexcept nogil:
        self._images.remove_at(index)
        image.endpoint.dispatcher.remove_image(image.stream_id, image.session_id, <uintptr_t><void*>image, image.receiver.is_end_of_stream)
        image.deactivate(now_ns)
        image.receiver_release()

    # ---- commands

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        if command.operation == ADD_ENDPOINT:
            self._add_endpoint(<ReceiveEndpoint>command.subject, now_ns)
        elif command.operation == REMOVE_ENDPOINT:
            self._remove_endpoint(<ReceiveEndpoint>command.subject)
        elif command.operation == ADD_SUBSCRIPTION:
            self._add_subscription(<ReceiveEndpoint>command.subject, command.a, command.b, command.flag, now_ns)
        elif command.operation == REMOVE_SUBSCRIPTION:
            self._remove_subscription(<ReceiveEndpoint>command.subject, command.a, command.b, command.flag, now_ns)
        elif command.operation == ADD_IMAGE:
            self._add_image(<PublicationImage>command.subject, now_ns)
        elif command.operation == REMOVE_COOL_DOWN:
            (<ReceiveEndpoint>command.subject).dispatcher.forget_session(command.a, command.b, SESSION_COOL_DOWN)
        elif command.operation == REMOVE_INIT_IN_PROGRESS:
            (<ReceiveEndpoint>command.subject).dispatcher.forget_session(command.a, command.b, SESSION_INIT_IN_PROGRESS)
        elif command.operation == ADD_DESTINATION:
            self._add_destination(<ReceiveEndpoint>command.second, <ReceiveTransport>command.subject, now_ns)
        elif command.operation == REMOVE_DESTINATION:
            self._remove_destination(<ReceiveEndpoint>command.second, <ReceiveTransport>command.subject, now_ns)
        elif command.operation == REQUEST_SETUP:
            self._request_setup(<ReceiveEndpoint>command.subject, command.a, command.b, now_ns)
        elif command.operation == CHANGE_CONTROL:
            self._change_control(<ControlChange>command.subject)

    cdef void _add_endpoint(self, ReceiveEndpoint endpoint, int64_t now_ns) noexcept nogil:
        if endpoint.has_transport(0):
            self._listen(endpoint, <ReceiveTransport>endpoint.transports[0], now_ns)

    cdef void _remove_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil:
        cdef int i
        self._pending.forget(<void*>endpoint, -1)
        for i in range(endpoint.transport_count):
            if endpoint.has_transport(i):
                self._poller.detach((<ReceiveTransport>endpoint.transports[i]).port)
                self._controlled.remove(endpoint.transports[i])
                # An image may be served once more before it hears that it has ended: by then its transports may be gone.
                endpoint.detach(<ReceiveTransport>endpoint.transports[i])
        self.events.offer(EVENT_RECEIVE_ENDPOINT_REMOVED, <void*>endpoint, 0, 0)

    cdef void _listen(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns) noexcept nogil:
        cdef int outcome = self._poller.attach(transport.port, <void*>transport)
        if outcome < 0:
            endpoint.report(ERROR_RECEIVE_FAILED, -outcome, 0, now_ns)
        transport.heard_ns = now_ns
        if transport.is_named:
            self._controlled.add(<void*>transport)
        if transport.has_explicit_control:
            self._pending.add(<void*>endpoint, transport.index, 0, 0, True, &transport.control, now_ns)
            endpoint.elicit_setup(transport.index, &transport.control, 0, 0, now_ns)

    cdef void _add_destination(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns) noexcept nogil:
        cdef int i
        endpoint.attach(transport)
        self._listen(endpoint, transport, now_ns)
        for i in range(self._images.count):
            if (<PublicationImage>self._images.items[i]).endpoint is endpoint:
                (<PublicationImage>self._images.items[i]).add_destination(transport, now_ns)

    cdef void _remove_destination(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns) noexcept nogil:
        cdef int i
        self._pending.forget(<void*>endpoint, transport.index)
        self._poller.detach(transport.port)
        self._controlled.remove(<void*>transport)
        endpoint.detach(transport)
        for i in range(self._images.count):
            if (<PublicationImage>self._images.items[i]).endpoint is endpoint:
                (<PublicationImage>self._images.items[i]).remove_destination(transport.index, now_ns)
        self.events.offer(EVENT_RECEIVE_DESTINATION_REMOVED, <void*>transport, 0, 0)

    cdef void _add_subscription(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint all_sessions,
                            int64_t now_ns) noexcept nogil:
        cdef bint added
        if all_sessions:
            added = endpoint.dispatcher.add_stream(stream_id)
        else:
            added = endpoint.dispatcher.add_session(stream_id, session_id)
            self._request_setup(endpoint, stream_id, session_id, now_ns)
        if not added:
            endpoint.report(ERROR_TABLE_FULL, stream_id, session_id, now_ns)

    cdef void _request_setup(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil:
        if endpoint.has_transport(0) and (<ReceiveTransport>endpoint.transports[0]).has_explicit_control:
            endpoint.elicit_setup(0, &(<ReceiveTransport>endpoint.transports[0]).control, session_id, stream_id, now_ns)

    cdef void _change_control(self, ControlChange change) noexcept nogil:
        change.transport.control = change.address

    cdef void _check_names(self, int64_t now_ns) noexcept nogil:
        # Nothing has come for a while: whoever is asked at a control address may have moved. Aeron: checkForReResolution.
        cdef int i
        for i in range(self._controlled.count):
            if ((<ReceiveTransport>self._controlled.items[i]).heard_ns + DESTINATION_TIMEOUT_NS - now_ns < 0 and self.events.has_room()):
                (<ReceiveTransport>self._controlled.items[i]).heard_ns = now_ns
                self.events.offer(EVENT_CONTROL_NAME_SILENT, (<ReceiveTransport>self._controlled.items[i]).endpoint,
                                   (<ReceiveTransport>self._controlled.items[i]).index, 0)

    cdef void _remove_subscription(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint all_sessions,
                               int64_t now_ns) noexcept nogil:
        if all_sessions:
            endpoint.dispatcher.remove_stream(stream_id)
        else:
            endpoint.dispatcher.remove_session(stream_id, session_id)
        while endpoint.dispatcher.poll_orphan():
            (<PublicationImage><void*>endpoint.dispatcher.image).deactivate(now_ns)

    cdef void _add_image(self, PublicationImage image, int64_t now_ns) noexcept nogil:
        cdef int i
        for i in range(self._images.count):
            if ((<PublicationImage>self._images.items[i]).endpoint is image.endpoint
                    and (<PublicationImage>self._images.items[i]).stream_id == image.stream_id
                    and (<PublicationImage>self._images.items[i]).session_id == image.session_id):
                (<PublicationImage>self._images.items[i]).stop_status_messages()
        if not self._images.add(<void*>image):
            image.endpoint.report(ERROR_TABLE_FULL, image.stream_id, image.session_id, now_ns)
            image.deactivate(now_ns)
            image.receiver_release()
        elif image.endpoint.dispatcher.add_image(image.stream_id, image.session_id, <uintptr_t><void*>image):
            image.activate(now_ns)
        else:
            image.deactivate(now_ns)
