"""Appending to a log by many threads and processes at once. Aeron: ConcurrentPublication, LogBufferDescriptor.rotateLog."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.wrapping cimport wrapping_subtract
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH
from aerowire.logbuffer.append cimport Appender, Part, ReservedValue, Stream, refused
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_MAX_POSITION_EXCEEDED, OFFER_MESSAGE_TOO_LONG, active_term_count, align_frame,
    compute_framed_length, compute_position, compute_term_begin_position, index_by_term_count, producer_position_of, rotate_log,
    tail_address, tail_term_id, tail_term_offset)
from aerowire.logbuffer.frame cimport frame_write_header
from aerowire.logbuffer.frame_write cimport parts_length, write_frames, write_message, write_padding, write_parts
from aerowire.memory.atomics cimport fetch_add_i64, load_acquire_i64

cdef enum:
    BATCH_MESSAGES_MAX = 256    # of one claim: bounds how long other writers' messages wait behind an unfinished batch
    TRIP_RETRIES_MAX = 8        # of one batch at one message: another writer may be rotating


@cython.final
cdef class ConcurrentAppender(Appender):
    """Appends from any number of threads, next to other appenders of the same log in other processes.

    Changed by: nothing after construction; all state is in the log.
    """

    cdef int64_t _begin(self, int64_t length, int* index) noexcept nogil:
        # >= 0: go on in partition *index; else an OFFER_ code
        cdef int64_t limit = load_acquire_i64(self.position_limit)
        cdef int32_t term_count = active_term_count(self.metadata)
        cdef int64_t raw_tail, position
        index[0] = index_by_term_count(term_count)
        raw_tail = load_acquire_i64(tail_address(self.metadata, index[0]))
        if term_count != wrapping_subtract(tail_term_id(raw_tail), self.initial_term_id):
            return OFFER_ADMIN_ACTION
        position = compute_position(tail_term_id(raw_tail), tail_term_offset(raw_tail, self.term_length), self.bits, self.initial_term_id)
        if position >= limit:
            return refused(self.metadata, position, length, self.max_position)
        return position

    cdef inline uint8_t* _term(self, int index) noexcept nogil:
        return self.logs.address + <int64_t>index * self.term_length

    cdef int64_t _end_of_term(self, uint8_t* term, int32_t term_id, int32_t offset, int64_t position) noexcept nogil:
        cdef Stream stream = self.stream()
        if offset < self.term_length:
            write_padding(term, offset, self.term_length - offset, term_id, &stream)
        if position >= self.max_position:
            return OFFER_MAX_POSITION_EXCEEDED
        rotate_log(self.metadata, wrapping_subtract(term_id, self.initial_term_id), term_id)
        return OFFER_ADMIN_ACTION

    cdef int64_t _reserve(self, int64_t length, int64_t framed_length, uint8_t** term, int32_t* offset, int32_t* term_id) noexcept nogil:
        # a position after framed_length bytes that are ours from *offset, or a code
        cdef int index
        cdef int64_t raw_tail, resulting
        cdef int64_t position = self._begin(length, &index)
        if position < 0:
            return position
        raw_tail = fetch_add_i64(tail_address(self.metadata, index), framed_length)
        term[0] = self._term(index)
        term_id[0] = tail_term_id(raw_tail)
        offset[0] = tail_term_offset(raw_tail, self.term_length)
        resulting = offset[0] + framed_length
        position = compute_term_begin_position(term_id[0], self.bits, self.initial_term_id) + resulting
        if resulting > self.term_length:
            return self._end_of_term(term[0], term_id[0], offset[0], position)
        return position

    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        cdef Stream stream = self.stream()
        cdef int64_t result
        cdef int32_t offset, term_id
        cdef uint8_t* term
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, compute_framed_length(length, self.max_payload_length), &term, &offset, &term_id)
        if result >= 0:
            write_message(term, offset, term_id, &stream, message, <int32_t>length, reserved, context)
        return result

    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t length = parts_length(parts, count)
        cdef Stream stream = self.stream()
        cdef int64_t result
        cdef int32_t offset, term_id
        cdef uint8_t* term
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, compute_framed_length(length, self.max_payload_length), &term, &offset, &term_id)
        if result >= 0:
            write_parts(term, offset, term_id, &stream, parts, <int32_t>length, reserved, context)
        return result

    cdef int64_t offer_many(self, const Part* messages, int count, int* sent, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t result = OFFER_BACK_PRESSURED
        cdef int done = 0
        cdef int taken
        cdef int trips = 0
        sent[0] = 0
        while done < count:
            taken = 0
            result = self._offer_run(messages + done, count - done, &taken, reserved, context)
            done += taken
            if taken:
                trips = 0
            if result >= 0:
                continue
            trips += 1
            if result != OFFER_ADMIN_ACTION or trips > TRIP_RETRIES_MAX:
                break
        sent[0] = done
        return result if count > 0 else self.position()

    cdef int64_t _offer_run(self, const Part* messages, int count, int* taken, ReservedValue reserved, void* context) noexcept nogil:
        # as many messages as the term and the limit allow, with one claim
        cdef Stream stream = self.stream()
        cdef int64_t limit = load_acquire_i64(self.position_limit)
        cdef int64_t position, total, framed, result
        cdef int32_t offset, term_id
        cdef int64_t end
        cdef uint8_t* term
        cdef int index
        cdef int fit = 0
        cdef int written = 0
        cdef bint is_plain = reserved == NULL           # one frame each, nothing asked for
        if messages[0].length < 0 or messages[0].length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        position = self._begin(messages[0].length, &index)
        if position < 0:
            return position
        offset = <int32_t>(position & (self.term_length - 1))
        total = compute_framed_length(messages[0].length, self.max_payload_length)     # the first is claimed even if it trips the term
        is_plain = is_plain and messages[0].length <= self.max_payload_length
        fit = 1
        while fit < count and fit < BATCH_MESSAGES_MAX and position + total < limit:
            if messages[fit].length < 0 or messages[fit].length > self.max_message_length:
                break
            framed = compute_framed_length(messages[fit].length, self.max_payload_length)
            if offset + total + framed > self.term_length:
                break
            is_plain = is_plain and messages[fit].length <= self.max_payload_length
            total += framed
            fit += 1
        cdef int64_t raw_tail = fetch_add_i64(tail_address(self.metadata, index), total)
        term = self._term(index)
        term_id = tail_term_id(raw_tail)
        offset = tail_term_offset(raw_tail, self.term_length)
        end = offset + total
        position = compute_term_begin_position(term_id, self.bits, self.initial_term_id)
        if is_plain and end <= self.term_length:
            write_frames(term, offset, term_id, &stream, messages, fit)
            written = fit
        while written < fit:
            framed = compute_framed_length(messages[written].length, self.max_payload_length)
            if offset + framed > self.term_length:
                break
            write_message(term, offset, term_id, &stream, messages[written].address, <int32_t>messages[written].length, reserved, context)
            offset += <int32_t>framed
            written += 1
        taken[0] = written
        if written < fit:           # other writers were faster than our look at the tail: the claim crosses the end of the term
            return self._end_of_term(term, term_id, offset, position + end)
        return position + end

    cdef int64_t try_claim(self, int64_t length, uint8_t** frame) noexcept nogil:
        cdef int64_t result
        cdef int32_t offset, term_id
        cdef uint8_t* term
        if length < 0 or length > self.max_payload_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, align_frame(length + DATA_HEADER_LENGTH), &term, &offset, &term_id)
        if result >= 0:
            frame[0] = term + offset
            frame_write_header(frame[0], <int32_t>length + <int32_t>DATA_HEADER_LENGTH, offset, self.session_id, self.stream_id, term_id)
        return result

    cdef int64_t position(self) noexcept nogil:
        return producer_position_of(self.metadata, self.term_length, self.bits, self.initial_term_id)
