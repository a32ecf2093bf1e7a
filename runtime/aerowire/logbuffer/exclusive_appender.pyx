"""Appending to a log by the one writer of an exclusive stream. Aeron: ExclusivePublication."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerowire.base.wrapping cimport wrapping_add, wrapping_subtract
from aerowire.codecs.native.logbuffer cimport LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, PARTITION_COUNT
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_FRAME_LENGTH_OFFSET, DATA_HEADER_LENGTH, FRAME_TYPE_DATA, data_header_session_id, data_header_stream_id,
    data_header_term_id, data_header_term_offset, data_header_type)
from aerowire.logbuffer.append cimport Appender, Part, ReservedValue, Stream, refused
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BLOCK_INVALID, OFFER_MAX_POSITION_EXCEEDED, OFFER_MESSAGE_TOO_LONG, active_term_count, align_frame,
    compute_framed_length, compute_term_begin_position, index_by_term_count, pack_tail, tail_address, tail_term_id, tail_term_offset)
from aerowire.logbuffer.frame cimport frame_length_release, frame_write_header
from aerowire.logbuffer.frame_write cimport parts_length, write_frames, write_message, write_padding, write_parts, write_rows
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.memory.atomics cimport load_acquire_i64, load_relaxed_i32, store_release_i32, store_release_i64

cdef enum:
    BATCH_MESSAGES_MAX = 256    # of one move of the tail: bounds how far it is ahead of what readers see


@cython.final
cdef class ExclusiveAppender(Appender):
    """Appends as the only writer of its log, so that the tail is a plain release store.

    Changed by: its one thread.  Invariant: term_begin_position + term_offset is the stream's position, and 0 <= term_offset <= term_length.
    """

    def __init__(self, LogBuffers logs not None, object counters, int32_t limit_counter_id, int32_t session_id,
                 int32_t stream_id, *, max_payload_length=None):
        cdef int64_t raw_tail
        super().__init__(logs, counters, limit_counter_id, session_id, stream_id, max_payload_length=max_payload_length)
        self.active_index = index_by_term_count(active_term_count(self.metadata))
        self.tail = tail_address(self.metadata, self.active_index)
        raw_tail = load_acquire_i64(self.tail)
        self.term_id = tail_term_id(raw_tail)
        self.term_offset = tail_term_offset(raw_tail, self.term_length)
        self.term_begin_position = compute_term_begin_position(self.term_id, self.bits, self.initial_term_id)
        self.term = logs.address + <int64_t>self.active_index * self.term_length

    cdef void _rotate(self) noexcept nogil:
        # only this writer moves the tails, so plain stores do: the next tail FIRST, then the active term count
        self.active_index = (self.active_index + 1) % PARTITION_COUNT
        self.term_id = wrapping_add(self.term_id, 1)
        self.term_offset = 0
        self.term_begin_position += self.term_length
        self.tail = tail_address(self.metadata, self.active_index)
        self.term = self.logs.address + <int64_t>self.active_index * self.term_length
        store_release_i64(self.tail, pack_tail(self.term_id, 0))
        store_release_i32(self.metadata + LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, wrapping_subtract(self.term_id, self.initial_term_id))

    cdef int64_t _end_of_term(self) noexcept nogil:
        cdef Stream stream = self.stream()
        if self.term_offset < self.term_length:
            write_padding(self.term, self.term_offset, self.term_length - self.term_offset, self.term_id, &stream)
        if self.term_begin_position + self.term_length >= self.max_position:
            return OFFER_MAX_POSITION_EXCEEDED
        self._rotate()
        return OFFER_ADMIN_ACTION

    cdef inline int64_t _begin(self, int64_t length) noexcept nogil:
        cdef int64_t position = self.term_begin_position + self.term_offset
        if position >= load_acquire_i64(self.position_limit):
            return refused(self.metadata, position, length, self.max_position)
        return position

    cdef inline int64_t _reserve(self, int64_t length, int64_t framed_length) noexcept nogil:
        # >= 0: framed_length bytes from term_offset are ours; the caller moves term_offset after writing
        cdef int64_t result = self._begin(length)
        if result < 0:
            return result
        store_release_i64(self.tail, pack_tail(self.term_id, 0) + self.term_offset + framed_length)
        if self.term_offset + framed_length > self.term_length:
            return self._end_of_term()
        return 0

    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        cdef Stream stream = self.stream()
        cdef int64_t framed = compute_framed_length(length, self.max_payload_length)
        cdef int64_t result
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, framed)
        if result < 0:
            return result
        write_message(self.term, self.term_offset, self.term_id, &stream, message, <int32_t>length, reserved, context)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t length = parts_length(parts, count)
        cdef Stream stream = self.stream()
        cdef int64_t framed = compute_framed_length(length, self.max_payload_length)
        cdef int64_t result
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, framed)
        if result < 0:
            return result
        write_parts(self.term, self.term_offset, self.term_id, &stream, parts, <int32_t>length, reserved, context)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t offer_many(self, const Part* messages, int count, int* sent, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t result = self.term_begin_position + self.term_offset
        cdef int done = 0
        cdef int tripped = -1
        cdef int taken
        while done < count:
            taken = self._offer_run(messages + done, count - done) if reserved == NULL else 0
            if taken:
                done += taken
                result = self.term_begin_position + self.term_offset
                continue
            result = self.offer(messages[done].address, messages[done].length, reserved, context)
            if result >= 0:
                done += 1
            elif result != OFFER_ADMIN_ACTION or done == tripped:
                break           # twice for one message: no term is long enough for it
            else:
                tripped = done
        sent[0] = done
        return result

    cdef int _offer_run(self, const Part* messages, int count) noexcept nogil:
        # as many messages of one frame each as the term and the limit allow, with one move of the tail; 0: the first is not one of these
        cdef Stream stream = self.stream()
        cdef int64_t allowed = load_acquire_i64(self.position_limit) - self.term_begin_position - self.term_offset
        cdef int64_t room = self.term_length - self.term_offset
        cdef int64_t total = 0, framed
        cdef int fit = 0
        while fit < count and fit < BATCH_MESSAGES_MAX and total < allowed:
            if not 0 <= messages[fit].length <= self.max_payload_length:
                break
            framed = align_frame(messages[fit].length + DATA_HEADER_LENGTH)
            if total + framed > room:
                break
            total += framed
            fit += 1
        if fit > 0:
            store_release_i64(self.tail, pack_tail(self.term_id, self.term_offset + <int32_t>total))
            write_frames(self.term, self.term_offset, self.term_id, &stream, messages, fit)
            self.term_offset += <int32_t>total
        return fit

    cdef int64_t offer_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil:
        cdef int64_t result = self.term_begin_position + self.term_offset
        cdef int64_t done = 0
        cdef int64_t tripped = -1
        cdef int taken
        while done < count:
            taken = self._offer_row_run(rows + done * length, length, count - done)
            if taken:
                done += taken
                result = self.term_begin_position + self.term_offset
                continue
            result = self.offer(rows + done * length, length, NULL, NULL)
            if result >= 0:
                done += 1
            elif result != OFFER_ADMIN_ACTION or done == tripped:
                break           # twice for one message: no term is long enough for it
            else:
                tripped = done
        sent[0] = done
        return result

    cdef int _offer_row_run(self, const uint8_t* rows, int64_t length, int64_t count) noexcept nogil:
        # as _offer_run, where one division replaces the look at each message
        cdef Stream stream = self.stream()
        cdef int64_t allowed = load_acquire_i64(self.position_limit) - self.term_begin_position - self.term_offset
        cdef int64_t framed = align_frame(length + DATA_HEADER_LENGTH)
        cdef int64_t fit
        if allowed <= 0 or length > self.max_payload_length:
            return 0
        fit = min(count, (self.term_length - self.term_offset) // framed, (allowed + framed - 1) // framed, <int64_t>BATCH_MESSAGES_MAX)
        if fit > 0:
            store_release_i64(self.tail, pack_tail(self.term_id, self.term_offset + <int32_t>(fit * framed)))
            write_rows(self.term, self.term_offset, self.term_id, &stream, rows, <int32_t>length, <int>fit)
            self.term_offset += <int32_t>(fit * framed)
        return <int>fit

    cdef int64_t try_claim(self, int64_t length, uint8_t** frame) noexcept nogil:
        cdef int64_t framed = align_frame(length + DATA_HEADER_LENGTH)
        cdef int64_t result
        if length < 0 or length > self.max_payload_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, framed)
        if result < 0:
            return result
        frame[0] = self.term + self.term_offset
        frame_write_header(frame[0], <int32_t>length + <int32_t>DATA_HEADER_LENGTH, self.term_offset, self.session_id, self.stream_id,
                           self.term_id)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t append_padding(self, int64_t length) noexcept nogil:
        cdef Stream stream = self.stream()
        cdef int64_t framed = align_frame(length + DATA_HEADER_LENGTH)
        cdef int64_t result
        if length < 0 or length > compute_framed_length(self.max_message_length, self.max_payload_length):
            return OFFER_MESSAGE_TOO_LONG
        result = self._reserve(length, framed)
        if result < 0:
            return result
        write_padding(self.term, self.term_offset, <int32_t>length + <int32_t>DATA_HEADER_LENGTH, self.term_id, &stream)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t offer_block(self, const uint8_t* block, int32_t length) noexcept nogil:
        cdef int64_t result
        cdef uint8_t* frame
        if self.term_offset >= self.term_length:
            if self.term_begin_position + self.term_length >= self.max_position:
                return OFFER_MAX_POSITION_EXCEEDED
            self._rotate()
        result = self._begin(length)
        if result < 0:
            return result
        if not self._block_fits(block, length):
            return OFFER_BLOCK_INVALID
        store_release_i64(self.tail, pack_tail(self.term_id, self.term_offset + length))
        frame = self.term + self.term_offset
        memcpy(frame + sizeof(int32_t), block + sizeof(int32_t), length - sizeof(int32_t))
        frame_length_release(frame, load_relaxed_i32(block + DATA_HEADER_FRAME_LENGTH_OFFSET))     # LAST: nobody reads past it before
        self.term_offset += length
        return self.term_begin_position + self.term_offset

    cdef bint _block_fits(self, const uint8_t* block, int32_t length) noexcept nogil:
        # the block lies in this term, and its first frame is the stream's next one
        return (DATA_HEADER_LENGTH <= length <= self.term_length - self.term_offset
                and align_frame(length) == length
                and data_header_type(block) == FRAME_TYPE_DATA
                and data_header_term_offset(block) == self.term_offset
                and data_header_term_id(block) == self.term_id
                and data_header_session_id(block) == self.session_id
                and data_header_stream_id(block) == self.stream_id)

    cdef int64_t position(self) noexcept nogil:
        return self.term_begin_position + self.term_offset

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def pad(self, int64_t length) -> int:
        """Append a padding frame over `length` bytes of payload."""
        return self.append_padding(length)

    def append_block(self, const uint8_t[::1] block) -> int:
        """Append whole frames whose headers are this stream's; OFFER_BLOCK_INVALID (-101) when they are not."""
        return self.offer_block(&block[0], <int32_t>block.shape[0]) if block.shape[0] else OFFER_BLOCK_INVALID
