"""What an image sends back to its sender: status messages, requests to repair, measurements, refusals. The receiver's thread.

Aeron: PublicationImage.sendPendingStatusMessage, processPendingLoss, initiateAnyRttMeasurements.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_LOSS_GAP_FILLS, SYSTEM_COUNTER_NAK_MESSAGES_SENT, SYSTEM_COUNTER_STATUS_MESSAGES_SENT)
from aerowire.codecs.native.errors cimport ERROR_CODE_IMAGE_REJECTED
from aerowire.codecs.native.transport cimport RTTM_FLAGS_REPLY, SM_FLAGS_EOS
from aerowire.driver.streams.image_changes cimport loss_change_number, loss_change_read, status_change_number, status_change_read
from aerowire.driver.streams.publication_image cimport NO_RESPONSE, PublicationImage
from aerowire.ipc.counters cimport counter_increment
from aerowire.logbuffer.descriptor cimport compute_term_id, compute_term_offset
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, load_relaxed_i32, store_release_i32
from aerowire.protocol.lifecycle cimport IMAGE_ACTIVE


cdef int answer_sender(PublicationImage image, int64_t now_ns) noexcept nogil:
    cdef int work_count
    if image._end_of_stream and not image._telling_end and image.lifecycle.state() == IMAGE_ACTIVE and image._rebuilt_to_end():
        store_release_i32(&image._rebuilding, False)
        image._telling_end = True
        image._ended_draining = True
        image._status.expire(now_ns)
        image.lifecycle.drain(now_ns)
    work_count = send_status(image, now_ns)
    work_count += send_loss(image, now_ns)
    if image._congestion_control.should_measure_rtt(now_ns):
        measure_rtt(image, now_ns)
        work_count += 1
    return work_count


cdef int send_status(PublicationImage image, int64_t now_ns) noexcept nogil:
    # A message that only the timer called for is no work: it must not keep an agent awake that has a thousand quiet images.
    cdef int64_t change = status_change_number(&image._status_change)
    cdef bint is_news = change != image._status.last_change
    cdef int64_t position
    cdef int32_t window
    cdef int i
    if load_relaxed_i32(&image._end_asked) and not image._telling_end:
        image._telling_end = True
        image._status.expire(now_ns)
    if load_acquire_i32(&image._status_asked):
        store_release_i32(&image._status_asked, False)
        image._status.expire(now_ns)
    if load_acquire_i32(&image._rejected):
        if not image._status.timed_out(now_ns):
            return 0
        for i in range(image._transports.count):
            if image._transports.is_answered(i, now_ns):
                image._endpoint.send_error(i, &image._transports.items[i].source, image.session_id, image.stream_id,
                                           ERROR_CODE_IMAGE_REJECTED, image._rejection, image._rejection_length, now_ns)
        image._status.on_sent(image._status.last_change, now_ns)
        return 1
    if not image._status.due(change, now_ns):
        return 0
    if image._status.timed_out(now_ns) and load_acquire_i64(&image._response_session) != NO_RESPONSE:
        send_response_setup(image, <int32_t>load_acquire_i64(&image._response_session), now_ns)
    if not status_change_read(&image._status_change, change, &position, &window):
        return 1
    for i in range(image._transports.count):
        if image._transports.is_answered(i, now_ns):
            image._endpoint.send_status_message(i, &image._transports.items[i].source, image.session_id, image.stream_id,
                                                compute_term_id(position, image.bits, image.initial_term_id),
                                                compute_term_offset(position, image.term_length), window,
                                                SM_FLAGS_EOS if image._telling_end else 0, now_ns)
    counter_increment(image._system.address[SYSTEM_COUNTER_STATUS_MESSAGES_SENT])
    image._window.on_status_message_sent(position)
    image._status.on_sent(change, now_ns)
    image._count_transports(now_ns)
    return is_news


cdef void send_response_setup(PublicationImage image, int32_t response_session_id, int64_t now_ns) noexcept nogil:
    cdef int i
    for i in range(image._transports.count):
        if image._transports.is_answered(i, now_ns):
            image._endpoint.send_response_setup(i, &image._transports.items[i].source, image.session_id, image.stream_id,
                                                response_session_id, now_ns)


cdef int send_loss(PublicationImage image, int64_t now_ns) noexcept nogil:
    cdef int64_t change = loss_change_number(&image._loss_change)
    cdef int32_t term_id, term_offset, length
    cdef int i
    if change == image._last_loss_change or image._log.is_revoked():
        return 0
    if not loss_change_read(&image._loss_change, change, &term_id, &term_offset, &length):
        return 1
    image._last_loss_change = change
    if image._reliable:
        for i in range(image._transports.count):
            if image._transports.is_answered(i, now_ns):
                image._endpoint.send_nak(i, &image._transports.items[i].source, image.session_id, image.stream_id, term_id, term_offset,
                                         length, now_ns)
        counter_increment(image._system.address[SYSTEM_COUNTER_NAK_MESSAGES_SENT])
        counter_increment(image._naks_sent)
    elif image.fill_missing(term_id, term_offset, length):
        counter_increment(image._system.address[SYSTEM_COUNTER_LOSS_GAP_FILLS])
    return 1


cdef void measure_rtt(PublicationImage image, int64_t now_ns) noexcept nogil:
    cdef int64_t precise_ns = image._clock.nano_time() if image._clock is not None else now_ns
    cdef int i
    for i in range(image._transports.count):
        if image._transports.is_answered(i, now_ns):
            image._endpoint.send_rttm(i, &image._transports.items[i].source, RTTM_FLAGS_REPLY, image.session_id, image.stream_id,
                                      precise_ns, now_ns)
    image._congestion_control.on_rtt_measurement_sent(precise_ns)
