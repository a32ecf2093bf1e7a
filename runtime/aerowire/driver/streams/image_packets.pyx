"""What an image takes from datagrams: frames, heartbeats, the end of its stream. On the receiver. Aeron: PublicationImage.insertPacket."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS, SYSTEM_COUNTER_FLOW_CONTROL_UNDER_RUNS, SYSTEM_COUNTER_HEARTBEATS_RECEIVED,
    SYSTEM_COUNTER_INVALID_PACKETS, SYSTEM_COUNTER_PUBLICATION_IMAGES_REVOKED)
from aerowire.codecs.native.events cimport DRIVER_EVENT_CODE_PUBLICATION_IMAGE_REVOKE
from aerowire.codecs.native.logbuffer cimport END_OF_STREAM_POSITION_UNSET
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_EOS, DATA_FLAGS_REVOKED, data_header_flags, data_header_frame_length, data_header_term_id, data_header_term_offset)
from aerowire.driver.queues.events cimport ERROR_END_DISBELIEVED
from aerowire.driver.queues.system_counters cimport OWN_COUNTER_STREAM_ENDS_DISBELIEVED
from aerowire.ipc.counters cimport counter_atomic_add, counter_get_relaxed, counter_increment, counter_propose_max
from aerowire.logbuffer.descriptor cimport align_frame, compute_position, compute_term_offset, index_by_position
from aerowire.logbuffer.rebuild cimport fill_gap, rebuild_insert
from aerowire.memory.atomics cimport load_acquire_i32, store_release_i32
from aerowire.protocol.frames cimport PACKET_HEARTBEAT, PACKET_INVALID, data_packet_length
from aerowire.protocol.lifecycle cimport IMAGE_ACTIVE
from aerowire.protocol.missing_ranges cimport RANGE_CONFLICT, RANGE_MISSING, RANGE_NO_ROOM, RANGE_PRESENT
from aerowire.protocol.receive_stamp cimport stamp_arrivals
from aerowire.protocol.receive_window cimport WINDOW_ACCEPT, WINDOW_OVER_RUN, WINDOW_RECENT

# Heartbeats without the end, in a row, that belie it: one of them may have been overtaken by the end.
cdef int HEARTBEATS_PAST_END = 2


cdef bint insert_packet(PublicationImage image, uint8_t* packet, int32_t length, int transport_index, const Address* source,
                        int64_t now_ns) noexcept nogil:
    cdef int32_t covered
    cdef int64_t position
    cdef int verdict
    if load_acquire_i32(&image.from_conductor.is_rejected):
        return True
    covered = data_packet_length(packet, length, image.term_length)
    if covered == PACKET_INVALID:
        counter_atomic_add(image.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
        return True
    position = compute_position(data_header_term_id(packet), data_header_term_offset(packet), image.bits, image.initial_term_id)
    if covered == PACKET_HEARTBEAT:
        return on_heartbeat(image, packet, position, transport_index, source, now_ns)
    verdict = image.window.classify_data(position, covered)
    if verdict == WINDOW_ACCEPT:
        image.receiver.last_packet_ns = now_ns
        image.connections.track(transport_index, source, now_ns)
        if image.is_stamping:
            stamp_arrivals(packet, length, image.stamp_offset, image.clock.epoch_ns())
        insert(image, packet, length, position, covered)
        counter_propose_max(image.counters.hwm_position, image.missing.end)
        if image.receiver.is_end_of_stream and position + covered > image.receiver.end_position:
            take_back_end(image, now_ns)
    elif verdict == WINDOW_OVER_RUN:
        counter_increment(image.system.address[SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS])
    else:
        counter_increment(image.system.address[SYSTEM_COUNTER_FLOW_CONTROL_UNDER_RUNS])
        if verdict == WINDOW_RECENT:
            image.connections.track(transport_index, source, now_ns)
    return True


cdef void insert(PublicationImage image, const uint8_t* packet, int32_t length, int64_t position, int32_t covered) noexcept nogil:
    # Only where nothing was received before: a frame never lies across another one.
    cdef int outcome
    if position == image.missing.end:       # most datagrams, without a call
        image.missing.end = position + covered
        outcome = RANGE_MISSING
    else:
        outcome = image.missing.receive(position, position + covered)
    if outcome == RANGE_NO_ROOM:
        image.missing.forget_before(image.window.last_status_position)
        outcome = image.missing.receive(position, position + covered)
    if outcome == RANGE_MISSING:
        rebuild_insert(image.log.term_address(index_by_position(position, image.bits)), compute_term_offset(position, image.term_length),
                       packet, length)
    elif outcome == RANGE_CONFLICT:
        image.missing.forget_before(image.window.last_status_position)
        insert_frames(image, packet, length, position)
    elif outcome == RANGE_NO_ROOM:
        counter_increment(image.system.address[SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS])


cdef void insert_frames(PublicationImage image, const uint8_t* packet, int32_t length, int64_t position) noexcept nogil:
    # A datagram of which something is there: the frames that are missing are taken, those that overlap others are not.
    cdef uint8_t* term = image.log.term_address(index_by_position(position, image.bits))
    cdef int32_t offset = compute_term_offset(position, image.term_length)
    cdef int32_t done = 0, step
    cdef int64_t begin
    cdef int outcome
    while done < length:
        step = <int32_t>align_frame(data_header_frame_length(packet + done))
        begin = position + done
        outcome = image.missing.receive(begin, begin + step)
        if outcome == RANGE_MISSING:
            rebuild_insert(term, offset + done, packet + done, min(step, length - done))
        elif outcome != RANGE_PRESENT:
            counter_atomic_add(image.system.address[SYSTEM_COUNTER_INVALID_PACKETS], 1)
            if outcome == RANGE_CONFLICT and begin == image.missing.first():
                # What the stream waits for does not fit what was received: it can never go on.
                image.on_malformed(begin, data_header_frame_length(packet + done), <int32_t>image.missing.first_length())
            return
        done += step


cdef bint fill_missing(PublicationImage image, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil:
    cdef int64_t position = compute_position(term_id, term_offset, image.bits, image.initial_term_id)
    cdef int outcome = image.missing.receive(position, position + length)
    return (outcome == RANGE_MISSING or outcome == RANGE_PRESENT) and fill_gap(
        image.log.metadata, image.log.term_address(index_by_position(position, image.bits)), term_id, term_offset, length)


cdef bint on_heartbeat(PublicationImage image, const uint8_t* packet, int64_t position, int transport_index, const Address* source,
                       int64_t now_ns) noexcept nogil:
    cdef int verdict = image.window.classify_heartbeat(position)
    cdef bint is_news = position > counter_get_relaxed(image.counters.hwm_position)
    if verdict == WINDOW_OVER_RUN:
        counter_increment(image.system.address[SYSTEM_COUNTER_FLOW_CONTROL_OVER_RUNS])
        return True
    if verdict != WINDOW_ACCEPT:
        counter_increment(image.system.address[SYSTEM_COUNTER_FLOW_CONTROL_UNDER_RUNS])
        return True
    image.receiver.last_packet_ns = now_ns
    image.connections.track(transport_index, source, now_ns)
    if data_header_flags(packet) & DATA_FLAGS_EOS:
        image.receiver.heartbeats_past_end = 0
        image.connections.end(transport_index, position)
        if not image.receiver.is_end_of_stream and image.connections.all_ended(image.endpoint.transports):
            is_news = on_end(image, (data_header_flags(packet) & DATA_FLAGS_REVOKED) != 0, now_ns)
    else:
        image.connections.go_on(transport_index)
        if image.receiver.is_end_of_stream and position >= image.receiver.end_position:
            image.receiver.heartbeats_past_end += 1
            if image.receiver.heartbeats_past_end == HEARTBEATS_PAST_END:
                take_back_end(image, now_ns)
    counter_propose_max(image.counters.hwm_position, position)
    counter_increment(image.system.address[SYSTEM_COUNTER_HEARTBEATS_RECEIVED])
    return is_news


cdef bint on_end(PublicationImage image, bint is_revoked, int64_t now_ns) noexcept nogil:
    # A sender ends where it stopped sending: what was received beyond that belies the end. Official drivers believe any.
    cdef int64_t position = image.connections.end_position()
    if position < counter_get_relaxed(image.counters.hwm_position):
        disbelieve_end(image, now_ns)
        return False
    if is_revoked:
        image.log.set_revoked()
        if image.stream_events is not None:
            image.stream_events.revoked(DRIVER_EVENT_CODE_PUBLICATION_IMAGE_REVOKE, position)
        counter_increment(image.system.address[SYSTEM_COUNTER_PUBLICATION_IMAGES_REVOKED])
    image.log.set_end_of_stream_position(position)
    image.receiver.end_position = position
    image.receiver.is_end_of_stream = True
    return True


cdef void take_back_end(PublicationImage image, int64_t now_ns) noexcept nogil:
    # Data lies behind the end of stream: another host sent that end, or the sender came back with the same session. A revocation stays.
    if image.log.is_revoked() or (
            image.lifecycle.state() != IMAGE_ACTIVE and not (image.receiver.ended_draining and image.lifecycle.resume(now_ns))):
        return
    image.receiver.ended_draining = False
    image.receiver.is_end_of_stream = False
    image.receiver.is_sending_eos = False
    image.connections.go_on_all()
    image.log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)
    store_release_i32(&image.is_rebuilding, True)
    image.status_timer.expire(now_ns)
    disbelieve_end(image, now_ns)


cdef void disbelieve_end(PublicationImage image, int64_t now_ns) noexcept nogil:
    counter_increment(image.system.address[OWN_COUNTER_STREAM_ENDS_DISBELIEVED])
    image.endpoint.report(ERROR_END_DISBELIEVED, image.stream_id, image.session_id, now_ns)
