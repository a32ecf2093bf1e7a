"""Sending again what a receiver misses. The sender's thread. Aeron: NetworkPublication.onNak, resend."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.ports cimport Datagram, datagram_to_peer
from aerowire.base.wrapping cimport wrapping_subtract_long
from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_RETRANSMIT_OVERFLOW, SYSTEM_COUNTER_RETRANSMITS_SENT, SYSTEM_COUNTER_RETRANSMITTED_BYTES)
from aerowire.codecs.native.transport cimport nak_length, nak_term_id, nak_term_offset
from aerowire.driver.queues.events cimport ERROR_RETRANSMIT_RATE
from aerowire.driver.streams.network_publication cimport MESSAGES_PER_SEND_MAX, NetworkPublication, ResendBudget
from aerowire.driver.queues.system_counters cimport OWN_COUNTER_RETRANSMIT_BYTES_REFUSED
from aerowire.ipc.counters cimport counter_add, counter_get_relaxed, counter_increment
from aerowire.logbuffer.descriptor cimport compute_position, index_by_position
from aerowire.logbuffer.scan cimport scan_for_availability
from aerowire.protocol.retransmit_handler cimport NAK_OVERFLOW, NAK_RESEND


cdef int64_t on_nak(NetworkPublication publication, const uint8_t* frame, int64_t now_ns, int64_t budget) noexcept nogil:
    # Sends again what is missing, or, beyond `budget` bytes, remembers it for `resend_due` of the next cycle.
    cdef int32_t offset = nak_term_offset(frame)
    cdef int32_t length = publication.flow_control.max_retransmission_length(offset, nak_length(frame), publication.term_length)
    cdef int64_t bytes_sent = 0
    cdef int outcome
    counter_increment(publication.counters.naks_received)
    while length > 0:
        outcome = publication.retransmit_handler.on_nak(nak_term_id(frame), offset, length, now_ns, bytes_sent >= budget)
        if outcome == NAK_RESEND:
            bytes_sent += resend(publication, publication.retransmit_handler.resend_term_id,
                                 publication.retransmit_handler.resend_term_offset, publication.retransmit_handler.resend_length, now_ns)
        elif outcome == NAK_OVERFLOW:
            counter_increment(publication.system.address[SYSTEM_COUNTER_RETRANSMIT_OVERFLOW])
        offset = publication.retransmit_handler.rest_offset
        length = publication.retransmit_handler.rest_length
    return bytes_sent


cdef int64_t resend_due(NetworkPublication publication, int64_t now_ns, int64_t budget) noexcept nogil:
    cdef int64_t bytes_sent = 0
    while bytes_sent < budget and publication.retransmit_handler.poll_resend(now_ns):
        bytes_sent += resend(publication, publication.retransmit_handler.resend_term_id, publication.retransmit_handler.resend_term_offset,
                             publication.retransmit_handler.resend_length, now_ns)
    return bytes_sent


cdef int64_t resend(NetworkPublication publication, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns) noexcept nogil:
    # Only what was sent and cannot have been cleaned yet. Aeron: NetworkPublication.resend.
    cdef Datagram items[MESSAGES_PER_SEND_MAX]
    cdef int32_t spans[MESSAGES_PER_SEND_MAX]
    cdef int64_t position = compute_position(term_id, term_offset, publication.bits, publication.initial_term_id)
    cdef int64_t sender_position = counter_get_relaxed(publication.counters.sender_position)
    cdef int64_t oldest, bytes_sent = 0, total = 0
    cdef int32_t available = 1
    cdef int32_t padding
    cdef int count, sent, i
    cdef uint8_t* term
    if publication.stream_events is not None:
        publication.stream_events.resend(term_id, term_offset, length)
    oldest = wrapping_subtract_long(sender_position, (publication.term_length >> 1) + publication.max_message_length)
    if not oldest <= position < sender_position:
        return 0
    length = allowed_length(publication, length, now_ns)
    term = publication.log.term_address(index_by_position(position, publication.bits))
    while length > 0 and available > 0:
        count = 0
        while count < MESSAGES_PER_SEND_MAX and length > 0:
            padding = 0
            available = scan_for_availability(term, publication.term_length, term_offset, min(length, publication.mtu), &padding)
            if available <= 0:
                break
            datagram_to_peer(&items[count], term + term_offset, available)
            spans[count] = available + padding
            term_offset += spans[count]
            length -= spans[count]
            count += 1
        if count == 0:
            break
        sent = publication.transmit(items, count, &bytes_sent, now_ns)
        for i in range(sent):
            total += spans[i]
        if sent < count:
            break
    if total > 0:
        counter_increment(publication.system.address[SYSTEM_COUNTER_RETRANSMITS_SENT])
        counter_add(publication.system.address[SYSTEM_COUNTER_RETRANSMITTED_BYTES], total)
        publication.resend_budget.allowance -= total
    return bytes_sent


cdef int32_t allowed_length(NetworkPublication publication, int32_t length, int64_t now_ns) noexcept nogil:
    # A bucket that holds a tenth of a second's bytes, and a datagram at least: what a receiver did not get it asks for again.
    cdef ResendBudget* budget = &publication.resend_budget
    cdef int64_t rate = budget.byte_rate
    cdef int64_t most = rate // 10 if rate // 10 > publication.mtu else publication.mtu
    cdef int64_t elapsed_ns = now_ns - budget.filled_ns
    cdef int64_t filled
    cdef int32_t allowed = length
    if rate == 0:
        return length
    filled = <int64_t>(<double>rate * elapsed_ns / 1e9)
    if filled > 0:
        budget.filled_ns = now_ns
        budget.allowance = min(most, budget.allowance + filled)
    if budget.allowance < length:
        allowed = <int32_t>max(budget.allowance, 0)
        counter_add(publication.system.address[OWN_COUNTER_RETRANSMIT_BYTES_REFUSED], length - allowed)
        publication.endpoint.report(ERROR_RETRANSMIT_RATE, publication.stream_id, publication.session_id, now_ns)
    return allowed
