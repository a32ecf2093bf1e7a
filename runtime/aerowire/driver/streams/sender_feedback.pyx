"""What a publication makes of the frames that come back to it, but for requests to repair. The sender's thread. Aeron: NetworkPublication."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerowire.base.wrapping cimport wrapping_subtract_long
from aerowire.codecs.native.commands cimport NULL_CORRELATION_ID
from aerowire.codecs.native.transport cimport (
    ERROR_FLAGS_HAS_GROUP_TAG, ERROR_FRAME_LENGTH, RTTM_FLAGS_REPLY, RTTM_LENGTH, SETUP_FLAGS_SEND_RESPONSE, SM_FLAGS_EOS,
    error_frame_error_code, error_frame_error_length, error_frame_flags, error_frame_group_tag, error_frame_receiver_id,
    response_setup_response_session_id, rttm_echo_timestamp_ns, rttm_flags, rttm_receiver_id, status_message_consumption_term_id,
    status_message_consumption_term_offset, status_message_flags, status_message_receiver_id)
from aerowire.driver.queues.events cimport ERROR_RECEIVERS_FULL, EVENT_PUBLICATION_ERROR, EVENT_RESPONSE_CONNECTED, EVENT_RESPONSE_SETUP, EventQueue, EventRecord
from aerowire.driver.streams.network_publication cimport NetworkPublication, ReportBudget
from aerowire.driver.streams.publication_support cimport show_connected
from aerowire.driver.queues.system_counters cimport OWN_COUNTER_ERROR_FRAMES_IGNORED, OWN_COUNTER_RECEIVERS_REFUSED
from aerowire.ipc.counters cimport counter_get_relaxed, counter_increment, counter_set
from aerowire.logbuffer.descriptor cimport compute_position
from aerowire.memory.atomics cimport load_acquire_i32, store_release_i32
from aerowire.protocol.frame_build cimport build_rttm
from aerowire.protocol.lifecycle cimport PUBLICATION_ACTIVE


# Reports of peers on one publication that are passed on to the conductor and the clients in a second. Each receiver repeats a response's
# set-up five times a second, and sends ERR frames at the same pace.
cdef int64_t TOLD_INTERVAL_NS = 1_000_000_000
cdef int TOLD_PER_INTERVAL = 64


cdef bint accepts_status_message(NetworkPublication publication, const uint8_t* frame) noexcept nogil:
    cdef int64_t position = compute_position(status_message_consumption_term_id(frame), status_message_consumption_term_offset(frame),
                                             publication.bits, publication.initial_term_id)
    cdef int64_t distance = wrapping_subtract_long(position, counter_get_relaxed(publication.counters.sender_position))
    return -(publication.term_length >> 1) <= distance <= (publication.term_length >> 1)


cdef bint on_status_message(NetworkPublication publication, const uint8_t* frame, int32_t length, EventQueue events,
                              int64_t now_ns) noexcept nogil:
    cdef int64_t limit = counter_get_relaxed(publication.counters.sender_limit)
    cdef bint had_receivers = publication.from_sender.has_receivers
    cdef int64_t position = compute_position(status_message_consumption_term_id(frame), status_message_consumption_term_offset(frame),
                                             publication.bits, publication.initial_term_id)
    if status_message_flags(frame) & SM_FLAGS_EOS:
        publication.receiver_liveness.on_remote_close(status_message_receiver_id(frame))
        if not publication.endpoint.group:
            store_release_i32(&publication.from_sender.unicast_eos, True)
    else:
        publication.receiver_liveness.on_status_message(status_message_receiver_id(frame), now_ns)
        if publication.receiver_liveness.is_full:
            counter_increment(publication.system.address[OWN_COUNTER_RECEIVERS_REFUSED])
            publication.endpoint.report(ERROR_RECEIVERS_FULL, publication.stream_id, publication.session_id, now_ns)
        # An end that its receiver takes back was none.
        if publication.from_sender.unicast_eos:
            store_release_i32(&publication.from_sender.unicast_eos, False)
    publication.sender.status_message_ns = now_ns
    store_release_i32(&publication.from_sender.has_receivers, publication.receiver_liveness.count > 0)
    if not had_receivers:
        publication.sender.connection_told = False
    if publication.is_response and publication.from_sender.has_receivers and not publication.sender.connection_told:
        publication.sender.connection_told = (may_tell(&publication.report_budget, events, now_ns)
                                              and events.offer(EVENT_RESPONSE_CONNECTED, <void*>publication, 0, 0))
    if position + (publication.term_length >> 1) > publication.sender.over_run_limit:
        publication.sender.over_run_limit = position + (publication.term_length >> 1)
    publication.schedule.on_status_message()
    counter_set(publication.counters.sender_limit, publication.flow_control.on_status_message(frame, length, position, limit, now_ns))
    show_connected(publication.log, publication.has_subscribers() and publication.lifecycle.state() == PUBLICATION_ACTIVE)
    # What waits for a window may go on for other reasons than this limit: the next cycle tells.
    return (publication.sender.is_blocked or counter_get_relaxed(publication.counters.sender_limit) != limit
            or publication.from_sender.has_receivers != had_receivers)


cdef void on_setup_request(NetworkPublication publication, const uint8_t* frame, int32_t length, const Address* source,
                             int64_t now_ns) noexcept nogil:
    if not load_acquire_i32(&publication.from_conductor_agent.is_end_of_stream):
        publication.sender.status_message_ns = now_ns
        publication.schedule.on_setup_elicited()
        publication.flow_control.on_trigger_send_setup(frame, length, now_ns)
        if publication.is_response:
            publication.sender.response_address = source[0]


cdef void on_rtt_measurement(NetworkPublication publication, const uint8_t* frame, int64_t now_ns) noexcept nogil:
    cdef uint8_t reply[RTTM_LENGTH]
    if rttm_flags(frame) & RTTM_FLAGS_REPLY:
        build_rttm(reply, 0, publication.session_id, publication.stream_id, rttm_echo_timestamp_ns(frame), 0, rttm_receiver_id(frame))
        publication.transmit_frame(reply, RTTM_LENGTH, now_ns)


cdef void on_error(NetworkPublication publication, const uint8_t* frame, const Address* source, int64_t destination_registration_id,
                     EventQueue events, int64_t now_ns) noexcept nogil:
    cdef EventRecord* record
    publication.flow_control.on_error(frame, now_ns)
    if not publication.receiver_liveness.on_remote_close(error_frame_receiver_id(frame)):
        return
    store_release_i32(&publication.from_sender.has_receivers, publication.receiver_liveness.count > 0)
    record = events.claim(EVENT_PUBLICATION_ERROR, <void*>publication) if may_tell(&publication.report_budget, events, now_ns) else NULL
    if record is NULL:
        counter_increment(publication.system.address[OWN_COUNTER_ERROR_FRAMES_IGNORED])
    else:
        record.values[0] = error_frame_receiver_id(frame)
        record.values[1] = group_tag_of(frame)
        record.values[2] = error_frame_error_code(frame)
        record.values[3] = destination_registration_id
        record.source = source[0]
        record.text_length = error_frame_error_length(frame)
        memcpy(record.text, frame + ERROR_FRAME_LENGTH, record.text_length)
        events.publish(record)


cdef int64_t group_tag_of(const uint8_t* frame) noexcept nogil:
    # Without the flag the field says nothing: the official Java driver leaves in it what was there.
    return error_frame_group_tag(frame) if error_frame_flags(frame) & ERROR_FLAGS_HAS_GROUP_TAG else NULL_CORRELATION_ID


cdef bint may_tell(ReportBudget* budget, EventQueue events, int64_t now_ns) noexcept nogil:
    # Whether the conductor may be told now of what a peer said. Peers must not fill its queue, nor the clients' buffer.
    if now_ns - budget.since_ns >= TOLD_INTERVAL_NS:
        budget.since_ns = now_ns
        budget.count = 0
    if budget.count >= TOLD_PER_INTERVAL or not events.has_room():
        return False
    budget.count += 1
    return True


cdef void on_response_setup(NetworkPublication publication, const uint8_t* frame, EventQueue events, int64_t now_ns) noexcept nogil:
    # It comes again and again until the response is heard: one that finds no room is not missed.
    if publication.setup_flags & SETUP_FLAGS_SEND_RESPONSE and may_tell(&publication.report_budget, events, now_ns):
        events.offer(EVENT_RESPONSE_SETUP, <void*>publication, response_setup_response_session_id(frame), 0)
