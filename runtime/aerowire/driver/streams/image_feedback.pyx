"""What an image sends back to its sender: status messages, requests to repair, measurements, refusals. The receiver's thread.

Aeron: PublicationImage.sendPendingStatusMessage, processPendingLoss, initiateAnyRttMeasurements.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_LOSS_GAP_FILLS, SYSTEM_COUNTER_NAK_MESSAGES_SENT, SYSTEM_COUNTER_STATUS_MESSAGES_SENT)
from aerowire.codecs.native.errors cimport ERROR_CODE_IMAGE_REJECTED
from aerowire.codecs.native.transport cimport RTTM_FLAGS_REPLY, SM_FLAGS_EOS
from aerowire.driver.streams.image_changes cimport loss_change_number, loss_change_read, status_change_number, status_change_read
from aerowire.driver.streams.image_packets cimport fill_missing
from aerowire.driver.streams.publication_image cimport NO_RESPONSE, PublicationImage
from aerowire.ipc.counters cimport counter_increment
from aerowire.logbuffer.descriptor cimport compute_term_id, compute_term_offset
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, load_relaxed_i32, store_release_i32
from aerowire.protocol.congestion_control cimport RTT_UNKNOWN_NS
from aerowire.protocol.lifecycle cimport IMAGE_ACTIVE


cdef int answer_sender(PublicationImage image, int64_t now_ns) noexcept nogil:
    cdef int work_count
    if (image.receiver.is_end_of_stream and not image.receiver.is_sending_eos and image.lifecycle.state() == IMAGE_ACTIVE
            and image.is_rebuilt_to_end()):
        store_release_i32(&image.is_rebuilding, False)
        image.receiver.is_sending_eos = True
        image.receiver.ended_draining = True
        image.status_timer.expire(now_ns)
        image.lifecycle.drain(now_ns)
    work_count = send_status(image, now_ns)
    work_count += send_loss(image, now_ns)
    if image.congestion_control.should_measure_rtt(now_ns):
        measure_rtt(image, now_ns)
        work_count += 1
    return work_count


cdef int send_status(PublicationImage image, int64_t now_ns) noexcept nogil:
    # A message that only the timer called for is no work: it must not keep an agent awake that has a thousand quiet images.
    cdef int64_t change = status_change_number(&image.from_conductor_agent.status_change)
    cdef bint is_news = change != image.status_timer.last_change
    cdef int64_t position
    cdef int32_t window
    cdef int i
    if load_relaxed_i32(&image.from_conductor_agent.end_asked) and not image.receiver.is_sending_eos:
        image.receiver.is_sending_eos = True
        image.status_timer.expire(now_ns)
    if load_acquire_i32(&image.from_conductor.status_asked):
        store_release_i32(&image.from_conductor.status_asked, False)
        image.status_timer.expire(now_ns)
    if load_acquire_i32(&image.from_conductor.is_rejected):
        if not image.status_timer.timed_out(now_ns):
            return 0
        for i in range(image.connections.count):
            if image.connections.is_answered(i, now_ns):
                image.endpoint.send_error(i, &image.connections.items[i].source, image.session_id, image.stream_id,
                                          ERROR_CODE_IMAGE_REJECTED, image.from_conductor.rejection,
                                          image.from_conductor.rejection_length, now_ns)
        image.status_timer.on_sent(image.status_timer.last_change, now_ns)
        return 1
    if not image.status_timer.due(change, now_ns):
        return 0
    if image.status_timer.timed_out(now_ns) and load_acquire_i64(&image.from_conductor.response_session) != NO_RESPONSE:
        send_response_setup(image, <int32_t>load_acquire_i64(&image.from_conductor.response_session), now_ns)
    if not status_change_read(&image.from_conductor_agent.status_change, change, &position, &window):
        return 1
    for i in range(image.connections.count):
        if image.connections.is_answered(i, now_ns):
            image.endpoint.send_status_message(i, &image.connections.items[i].source, image.session_id, image.stream_id,
                                               compute_term_id(position, image.bits, image.initial_term_id),
                                               compute_term_offset(position, image.term_length), window,
                                               SM_FLAGS_EOS if image.receiver.is_sending_eos else 0, now_ns)
    counter_increment(image.system.address[SYSTEM_COUNTER_STATUS_MESSAGES_SENT])
    image.window.on_status_message_sent(position)
    image.status_timer.on_sent(change, now_ns)
    image.count_transports(now_ns)
    return is_news


cdef void send_response_setup(PublicationImage image, int32_t response_session_id, int64_t now_ns) noexcept nogil:
    cdef int i
    for i in range(image.connections.count):
        if image.connections.is_answered(i, now_ns):
            image.endpoint.send_response_setup(i, &image.connections.items[i].source, image.session_id, image.stream_id,
                                               response_session_id, now_ns)


cdef int send_loss(PublicationImage image, int64_t now_ns) noexcept nogil:
    cdef int64_t change = loss_change_number(&image.from_conductor_agent.loss_change)
    cdef int32_t term_id, term_offset, length
    cdef int i
    if change == image.receiver.last_loss_change or image.log.is_revoked():
        return 0
    if not loss_change_read(&image.from_conductor_agent.loss_change, change, &term_id, &term_offset, &length):
        return 1
    image.receiver.last_loss_change = change
    if image.is_reliable:
        for i in range(image.connections.count):
            if image.connections.is_answered(i, now_ns):
                image.endpoint.send_nak(i, &image.connections.items[i].source, image.session_id, image.stream_id, term_id, term_offset,
                                        length, now_ns)
        counter_increment(image.system.address[SYSTEM_COUNTER_NAK_MESSAGES_SENT])
        counter_increment(image.counters.naks_sent)
    elif fill_missing(image, term_id, term_offset, length):
        counter_increment(image.system.address[SYSTEM_COUNTER_LOSS_GAP_FILLS])
    return 1


cdef void measure_rtt(PublicationImage image, int64_t now_ns) noexcept nogil:
    cdef int64_t precise_ns = image.clock.nano_time() if image.clock is not None else now_ns
    cdef int i
    for i in range(image.connections.count):
        if image.connections.is_answered(i, now_ns):
            image.endpoint.send_rttm(i, &image.connections.items[i].source, RTTM_FLAGS_REPLY, image.session_id, image.stream_id,
                                     precise_ns, now_ns)
    image.congestion_control.on_rtt_measurement_sent(precise_ns)


cdef void on_rtt_measurement(PublicationImage image, int64_t echo_timestamp_ns, int64_t reception_delta_ns, int64_t now_ns) noexcept nogil:
    # The times are checked before the difference, which a forged time would make overflow.
    cdef int64_t rtt_ns = RTT_UNKNOWN_NS
    if 0 <= echo_timestamp_ns <= now_ns and 0 <= reception_delta_ns <= now_ns - echo_timestamp_ns:
        rtt_ns = now_ns - echo_timestamp_ns - reception_delta_ns
    image.congestion_control.on_rtt_measurement(now_ns, rtt_ns)
