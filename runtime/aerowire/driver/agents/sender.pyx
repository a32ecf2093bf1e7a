"""The agent that sends. Each cycle: commands, one turn of every publication (round robin), then answers of receivers when due."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

cimport cython

from aerowire.agents.duty_cycle cimport duty_cycle_measure
from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_BYTES_SENT, SYSTEM_COUNTER_ERROR_FRAMES_RECEIVED, SYSTEM_COUNTER_INVALID_PACKETS, SYSTEM_COUNTER_NAK_MESSAGES_RECEIVED,
    SYSTEM_COUNTER_SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED, SYSTEM_COUNTER_SENDER_MAX_CYCLE_TIME, SYSTEM_COUNTER_SENDER_PROXY_FAILS,
    SYSTEM_COUNTER_SHORT_SENDS, SYSTEM_COUNTER_STATUS_MESSAGES_RECEIVED, SYSTEM_COUNTER_STATUS_MESSAGES_REJECTED)
from aerowire.codecs.native.transport cimport (
    FRAME_TYPE_ERR, FRAME_TYPE_NAK, FRAME_TYPE_RSP_SETUP, FRAME_TYPE_RTTM, FRAME_TYPE_SM, SM_FLAGS_SEND_SETUP, TERM_LENGTH_MAX, error_frame_session_id,
    error_frame_receiver_id, error_frame_stream_id, frame_header_type, nak_session_id, nak_stream_id, response_setup_session_id,
    response_setup_stream_id, rttm_session_id, rttm_stream_id, status_message_flags, status_message_receiver_id, status_message_session_id,
    status_message_stream_id)
from aerowire.driver.agents.agent_base cimport BATCH_MAX, PORTS_PER_CYCLE
from aerowire.driver.queues.events cimport ERROR_RECEIVE_FAILED, ERROR_TABLE_FULL, EVENT_SEND_ENDPOINT_REMOVED, EVENT_SEND_NAME_SILENT
from aerowire.driver.streams.sender_feedback cimport (
    accepts_status_message, on_error, on_response_setup, on_rtt_measurement, on_setup_request, on_status_message)
from aerowire.driver.streams.retransmission cimport resend_due, on_nak
from aerowire.driver.media.send_endpoint cimport DESTINATION_ADD, DESTINATION_REMOVE, DESTINATION_UPDATE
from aerowire.ipc.counters cimport counter_add, counter_atomic_add, counter_get_relaxed, counter_increment
from aerowire.protocol.destinations cimport DESTINATION_TIMEOUT_NS, NO_REGISTRATION
from aerowire.protocol.frames cimport error_frame_is_valid, frame_is_valid, nak_is_valid, status_message_is_valid
from aerowire.protocol.pointer_map cimport PointerEntry, pair_key

cdef int64_t IDLE_POLL_INTERVAL_NS = 40_000 # a spinning sender with nothing to send asks its sockets no more often: a look costs 0.5 us
cdef int NEWS_PER_CYCLE = 16                # of them, that move something or ask for a repair
cdef int ANSWERS_PER_CYCLE = 256            # from one socket, in batches: receivers that answered together once are due together
cdef int64_t RESENT_PER_CYCLE = 1 << 20     # bytes sent again, and one range more: the next ones wait for the next cycle
cdef int ANSWER_CAPACITY = 65536            # bytes: the largest datagram, so that a long one is seen as what it is


@cython.final
cdef class Sender(DriverAgent):
    """Aeron: Sender.

    Answers are read when a publication waits for its receiver, every 40 us while nothing is sent, after `poll_ratio` busy cycles, half a
    status interval after the last time, or when the socket refused a datagram; so a full-rate sender still hears its receivers. `batch`
    bounds how many are taken from a socket at once.
    """

    def __cinit__(self, *, ClockPort clock not None, SystemCounters system not None, EventQueue events not None, int poll_ratio=6, int batch=4,
                  int64_t status_message_timeout_ns=200_000_000, int64_t cycle_threshold_ns=100_000_000,
                  int64_t reresolution_check_interval_ns=1_000_000_000):
        if not 1 <= batch <= BATCH_MAX:
            raise ValueError(f"sender's batch: expected 1 to {BATCH_MAX}, actual {batch}")
        self.set_up(clock, system, events, SYSTEM_COUNTER_SENDER_MAX_CYCLE_TIME, SYSTEM_COUNTER_SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED,
                     cycle_threshold_ns)
        self.commands.failed_offers = system.address[SYSTEM_COUNTER_SENDER_PROXY_FAILS]
        self._poller = PortPoller()
        self._publications = PointerArray()
        self._named_endpoints = PointerArray()
        self._batch = DatagramBatch(batch, ANSWER_CAPACITY)
        self._poll_ratio = poll_ratio
        self._poll_interval_ns = status_message_timeout_ns >> 1
        self._lookup_interval_ns = reresolution_check_interval_ns

    @property
    def role_name(self) -> str:
        """Aeron's name of the role."""
        return "sender"

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work_count
        cdef int64_t short_sends = counter_get_relaxed(self.system.address[SYSTEM_COUNTER_SHORT_SENDS])
        cdef int64_t bytes_sent
        duty_cycle_measure(&self.cycle, now_ns)
        work_count = self.take_commands(now_ns)
        self._bytes_resent = 0
        bytes_sent = self._send_all(now_ns)
        if bytes_sent > self._bytes_resent:     # what is sent again has a counter of its own
            counter_add(self.system.address[SYSTEM_COUNTER_BYTES_SENT], bytes_sent - self._bytes_resent)
        self._sends_since_poll += 1
        if ((bytes_sent == 0 and (self._blocked or now_ns - self._last_poll_ns >= IDLE_POLL_INTERVAL_NS))
                or self._sends_since_poll >= self._poll_ratio and bytes_sent > 0 or self._poll_deadline_ns - now_ns <= 0
                or short_sends != counter_get_relaxed(self.system.address[SYSTEM_COUNTER_SHORT_SENDS])):
            work_count += self._poll_answers(now_ns)
            self._sends_since_poll = 0
            self._last_poll_ns = now_ns
            self._poll_deadline_ns = now_ns + self._poll_interval_ns
        if bytes_sent + self._bytes_resent > 0:
            work_count += 1
        if self._named_endpoints.count and self._lookup_interval_ns and self._lookup_deadline_ns - now_ns <= 0:
            self._lookup_deadline_ns = now_ns + self._lookup_interval_ns
            self._check_names(now_ns)
        return work_count

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = INT64_MAX
        cdef int64_t other
        cdef int i
        for i in range(self._publications.count):
            other = (<NetworkPublication>self._publications.items[i]).sender_deadline_ns()
            if other < deadline:
                deadline = other
        return deadline

    cdef int64_t _send_all(self, int64_t now_ns) noexcept nogil:
        cdef int count = self._publications.count
        cdef int64_t bytes_sent = 0
        cdef int start, i
        if count == 0:
            return 0
        start = self._round_robin if self._round_robin < count else 0
        self._round_robin = start + 1
        self._blocked = False
        for i in range(start, start + count):
            bytes_sent += self._send_one(<NetworkPublication>self._publications.items[i if i < count else i - count], now_ns)
        return bytes_sent

    cdef int64_t _send_one(self, NetworkPublication publication, int64_t now_ns) noexcept nogil:
        cdef int64_t bytes_sent = publication.send(now_ns)
        cdef int64_t bytes_resent = resend_due(publication, now_ns, RESENT_PER_CYCLE - self._bytes_resent)
        self._bytes_resent += bytes_resent
        if publication.sender.is_blocked:
            self._blocked = True
        return bytes_sent + bytes_resent

    # ---- answers

    cdef int _poll_answers(self, int64_t now_ns) noexcept nogil:
        cdef void* tokens[PORTS_PER_CYCLE]
        cdef int ready = self._poller.ready(tokens, PORTS_PER_CYCLE)
        cdef int work_count = 0
        cdef int taken = 0
        cdef int i
        for i in range(ready):
            work_count += self._poll_socket(<SendEndpoint>tokens[i], now_ns, &taken)
        return work_count + (ready == PORTS_PER_CYCLE and taken > 0)        # there may be more of them, with more to say

    cdef int _poll_socket(self, SendEndpoint endpoint, int64_t now_ns, int* all_taken) noexcept nogil:
        cdef int received = self._batch.count
        cdef int taken = 0
        cdef int work_count = 0
        cdef int j
        while received == self._batch.count and work_count < NEWS_PER_CYCLE and taken < ANSWERS_PER_CYCLE:
            received = endpoint.port.receive(self._batch.items, self._batch.count)
            if received < 0:
                endpoint.report(ERROR_RECEIVE_FAILED, -received, 0, now_ns)
                break
            for j in range(received):
                work_count += self._on_datagram(endpoint, self._batch.items[j].buffer, self._batch.items[j].length,
                                                &self._batch.items[j].address, now_ns)
            taken += received
        all_taken[0] += taken
        # What only says that receivers are there is no work, unless more of it may be waiting.
        return work_count if taken < ANSWERS_PER_CYCLE else taken

    cdef bint _on_datagram(self, SendEndpoint endpoint, const uint8_t* frame, int32_t length, const Address* source, int64_t now_ns) noexcept nogil:
        cdef int frame_type
        cdef PointerEntry* entry
        if not frame_is_valid(frame, length):
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return True
        frame_type = frame_header_type(frame)
        if frame_type == FRAME_TYPE_SM:
            return self._on_status_message(endpoint, frame, length, source, now_ns)
        if frame_type == FRAME_TYPE_NAK:
            self._on_nak(endpoint, frame, now_ns)
        elif frame_type == FRAME_TYPE_ERR:
            self._on_error(endpoint, frame, source, now_ns)
        elif frame_type == FRAME_TYPE_RTTM:
            entry = endpoint.publications.find(pair_key(rttm_stream_id(frame), rttm_session_id(frame)))
            if entry is not NULL:
                on_rtt_measurement(<NetworkPublication>entry.value, frame, now_ns)
        elif frame_type == FRAME_TYPE_RSP_SETUP:
            entry = endpoint.publications.find(pair_key(response_setup_stream_id(frame), response_setup_session_id(frame)))
            if entry is not NULL:
                on_response_setup(<NetworkPublication>entry.value, frame, self.events, now_ns)
        return True

    cdef bint _on_status_message(self, SendEndpoint endpoint, const uint8_t* frame, int32_t length, const Address* source, int64_t now_ns) noexcept nogil:
        cdef PointerEntry* entry = endpoint.publications.find(pair_key(status_message_stream_id(frame), status_message_session_id(frame)))
        cdef bint elicits = (status_message_flags(frame) & SM_FLAGS_SEND_SETUP) != 0
        if not status_message_is_valid(frame, TERM_LENGTH_MAX if entry is NULL else (<NetworkPublication>entry.value).term_length):
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return True
        counter_increment(self.system.address[SYSTEM_COUNTER_STATUS_MESSAGES_RECEIVED])
        if entry is not NULL and not elicits and not accepts_status_message(<NetworkPublication>entry.value, frame):
            counter_increment(self.system.address[SYSTEM_COUNTER_STATUS_MESSAGES_REJECTED])
            return True
        endpoint.on_status_message(status_message_receiver_id(frame), source, now_ns)
        if entry is NULL:
            return True
        if elicits:
            on_setup_request(<NetworkPublication>entry.value, frame, length, source, now_ns)
            return True
        return on_status_message(<NetworkPublication>entry.value, frame, length, self.events, now_ns)

    cdef void _on_nak(self, SendEndpoint endpoint, const uint8_t* frame, int64_t now_ns) noexcept nogil:
        cdef PointerEntry* entry = endpoint.publications.find(pair_key(nak_stream_id(frame), nak_session_id(frame)))
        if entry is NULL:
            return
        if not nak_is_valid(frame, (<NetworkPublication>entry.value).term_length):
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return
        counter_increment(self.system.address[SYSTEM_COUNTER_NAK_MESSAGES_RECEIVED])
        self._bytes_resent += on_nak(<NetworkPublication>entry.value, frame, now_ns, RESENT_PER_CYCLE - self._bytes_resent)

    cdef void _on_error(self, SendEndpoint endpoint, const uint8_t* frame, const Address* source, int64_t now_ns) noexcept nogil:
        cdef PointerEntry* entry
        if not error_frame_is_valid(frame):
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            return
        counter_increment(self.system.address[SYSTEM_COUNTER_ERROR_FRAMES_RECEIVED])
        entry = endpoint.publications.find(pair_key(error_frame_stream_id(frame), error_frame_session_id(frame)))
        if entry is not NULL:
            on_error(<NetworkPublication>entry.value, frame, source, endpoint.registration_of(error_frame_receiver_id(frame), source),
                       self.events, now_ns)

    # ---- names

    cdef void _check_names(self, int64_t now_ns) noexcept nogil:
        cdef int i
        for i in range(self._named_endpoints.count):
            self._check_names_of(<SendEndpoint>self._named_endpoints.items[i], now_ns)

    cdef void _check_names_of(self, SendEndpoint endpoint, int64_t now_ns) noexcept nogil:
        # Who has not been heard for a while may have moved: the conductor looks the name up again. Aeron: checkForReResolution.
        cdef int64_t registration_id = NO_REGISTRATION
        if endpoint.has_destinations:
            registration_id = endpoint.destinations.poll_silent(now_ns)
            while registration_id != NO_REGISTRATION and self.events.has_room():
                self.events.offer(EVENT_SEND_NAME_SILENT, <void*>endpoint, registration_id, 0)
                registration_id = endpoint.destinations.poll_silent(now_ns)
        elif endpoint.looked_up_ns + DESTINATION_TIMEOUT_NS - now_ns < 0 and not self._is_heard(endpoint, now_ns) and self.events.has_room():
            endpoint.looked_up_ns = now_ns
            self.events.offer(EVENT_SEND_NAME_SILENT, <void*>endpoint, NO_REGISTRATION, 0)

    cdef bint _is_heard(self, SendEndpoint endpoint, int64_t now_ns) noexcept nogil:
        cdef int i
        for i in range(self._publications.count):
            if ((<NetworkPublication>self._publications.items[i]).endpoint is endpoint
                    and (<NetworkPublication>self._publications.items[i]).sender.status_message_ns + DESTINATION_TIMEOUT_NS - now_ns >= 0):
                return True
        return False

    # ---- commands

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        if command.operation == ADD_ENDPOINT:
            self._add_endpoint(<SendEndpoint>command.subject, now_ns)
        elif command.operation == REMOVE_ENDPOINT:
            self._remove_endpoint(<SendEndpoint>command.subject)
        elif command.operation == ADD_PUBLICATION:
            self._add_publication(<NetworkPublication>command.subject, now_ns)
        elif command.operation == REMOVE_PUBLICATION:
            self._remove_publication(<NetworkPublication>command.subject)
        elif command.operation == ADD_DESTINATION:
            self._change_destination(<DestinationChange>command.subject, DESTINATION_ADD, now_ns)
        elif command.operation == REMOVE_DESTINATION:
            self._change_destination(<DestinationChange>command.subject, DESTINATION_REMOVE, now_ns)
        elif command.operation == UPDATE_DESTINATION:
            self._change_destination(<DestinationChange>command.subject, DESTINATION_UPDATE, now_ns)

    cdef void _add_endpoint(self, SendEndpoint endpoint, int64_t now_ns) noexcept nogil:
        cdef int outcome = self._poller.attach(endpoint.port, <void*>endpoint)
        if outcome < 0:
            endpoint.report(ERROR_RECEIVE_FAILED, -outcome, 0, now_ns)
        if endpoint.is_named:
            self._named_endpoints.add(<void*>endpoint)

    cdef void _change_destination(self, DestinationChange change, int kind, int64_t now_ns) noexcept nogil:
        change.endpoint.change_destination(kind, change.registration_id, &change.address, now_ns)

    cdef void _add_publication(self, NetworkPublication publication, int64_t now_ns) noexcept nogil:
        cdef int64_t key = pair_key(publication.stream_id, publication.session_id)
        if not self._publications.add(<void*>publication) or publication.endpoint.publications.put(key, <void*>publication) is NULL:
            publication.endpoint.report(ERROR_TABLE_FULL, publication.stream_id, publication.session_id, now_ns)

    cdef void _remove_publication(self, NetworkPublication publication) noexcept nogil:
        self._publications.remove(<void*>publication)
        publication.endpoint.publications.remove(pair_key(publication.stream_id, publication.session_id))
        publication.sender_release()

    cdef void _remove_endpoint(self, SendEndpoint endpoint) noexcept nogil:
        self._poller.detach(endpoint.port)
        self._named_endpoints.remove(<void*>endpoint)
        self.events.offer(EVENT_SEND_ENDPOINT_REMOVED, <void*>endpoint, 0, 0)
