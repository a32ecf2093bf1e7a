"""Appending to a log: by many threads and processes at once, or by the one writer of an exclusive stream.

A call returns the stream's position after the message, or an OFFER_ code.  Neither blocks nor raises; the reader's limit, the end of
the term and the end of the stream are outcomes.  Aeron: ConcurrentPublication, ExclusivePublication, LogBufferDescriptor.rotateLog.
Knows nothing of channels, clients or closing.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.native.logbuffer cimport LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, LOG_METADATA_IS_CONNECTED_OFFSET, PARTITION_COUNT
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_FRAME_LENGTH_OFFSET, DATA_HEADER_LENGTH, FRAME_TYPE_DATA, FRAME_TYPE_PAD, MAX_MESSAGE_LENGTH,
    data_header_set_reserved_value, data_header_set_type, data_header_session_id, data_header_stream_id, data_header_term_id,
    data_header_term_offset, data_header_type)
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_BLOCK_INVALID, OFFER_MAX_POSITION_EXCEEDED, OFFER_MESSAGE_TOO_LONG,
    OFFER_NOT_CONNECTED, active_term_count, align_frame, compute_framed_length, compute_max_message_length, compute_position,
    compute_term_begin_position, index_by_term_count, max_possible_position, pack_tail, producer_position_of, rotate_log, tail_address,
    tail_term_id, tail_term_offset)
from aerowire.logbuffer.frame cimport frame_length_release, frame_write_header
from aerowire.logbuffer.frame_write cimport (
    Stream, parts_length, write_frames, write_message, write_padding, write_parts, write_rows)
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.memory.atomics cimport (
    fetch_add_i64, load_acquire_i32, load_acquire_i64, load_relaxed_i32, store_release_i32, store_release_i64)
from aerowire.memory.region cimport BufferView, borrow
from libc.string cimport memcpy

cdef enum:
    BATCH_MESSAGES_MAX = 256    # of one claim: bounds how long other writers' messages wait behind an unfinished batch
    TRIP_RETRIES_MAX = 8        # of one batch at one message: another writer may be rotating

ctypedef fused Appender:
    ConcurrentAppender
    ExclusiveAppender


cdef void claim_commit(uint8_t* frame) noexcept nogil:
    frame_length_release(frame, -load_relaxed_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET))


cdef void claim_abort(uint8_t* frame) noexcept nogil:
    data_header_set_type(frame, FRAME_TYPE_PAD)
    frame_length_release(frame, -load_relaxed_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET))


cdef inline int64_t refused(const uint8_t* metadata, int64_t position, int64_t length, int64_t max_position) noexcept nogil:
    # the limit is reached: which of the three reasons
    if position + align_frame(length + DATA_HEADER_LENGTH) >= max_position:
        return OFFER_MAX_POSITION_EXCEEDED
    if load_acquire_i32(metadata + LOG_METADATA_IS_CONNECTED_OFFSET) == 1:
        return OFFER_BACK_PRESSURED
    return OFFER_NOT_CONNECTED


cdef int attach(Appender self, LogBuffers logs, object counters, int32_t limit_counter_id, int32_t session_id, int32_t stream_id,
                object max_payload_length) except -1:
    # the counters are only asked for the memory of the limit, so that logs need not know what a counter is
    cdef BufferView limit
    self._limit_holder = borrow(counters.value_view(limit_counter_id), &limit, False)
    if limit.length < <int64_t>sizeof(int64_t) or <uintptr_t>limit.address % sizeof(int64_t):
        raise ConfigurationError("position limit is not an aligned 64-bit counter", actual=f"{limit.length} bytes at {<uintptr_t>limit.address:#x}")
    if logs.address == NULL:
        raise ConfigurationError("log buffer is closed", where=logs.path)
    self.logs = logs
    self.metadata = logs.metadata
    self.position_limit = <const int64_t*>limit.address
    self.max_position = max_possible_position(logs.term_length)
    self.session_id = session_id
    self.stream_id = stream_id
    self.initial_term_id = logs.initial_term_id
    self.term_length = logs.term_length
    self.bits = logs.bits
    self.max_payload_length = logs.mtu_length - <int32_t>DATA_HEADER_LENGTH if max_payload_length is None else max_payload_length
    if self.max_payload_length <= 0:
        raise ConfigurationError("no room for payload in a frame", expected=f"an MTU above {DATA_HEADER_LENGTH}", actual=logs.mtu_length)
    self.max_message_length = compute_max_message_length(logs.term_length, MAX_MESSAGE_LENGTH)
    self._logs_holder = logs.hold()
    return 0


cdef class ConcurrentAppender:
    """Appends from any number of threads, next to other appenders of the same log in other processes.

    Changed by: nothing after construction; all state is in the log.
    """

    def __init__(self, LogBuffers logs not None, object counters, int32_t limit_counter_id, int32_t session_id,
                 int32_t stream_id, *, max_payload_length=None):
        attach(self, logs, counters, limit_counter_id, session_id, stream_id, max_payload_length)

    cdef int64_t _begin(self, int64_t length, int* index) noexcept nogil:
        # >= 0: go on in partition *index; else an OFFER_ code
        cdef int64_t limit = load_acquire_i64(self.position_limit)
        cdef int32_t term_count = active_term_count(self.metadata)
        cdef int64_t raw_tail, position
        index[0] = index_by_term_count(term_count)
        raw_tail = load_acquire_i64(tail_address(self.metadata, index[0]))
        if term_count != tail_term_id(raw_tail) - self.initial_term_id:
            return OFFER_ADMIN_ACTION
        position = compute_position(tail_term_id(raw_tail), tail_term_offset(raw_tail, self.term_length), self.bits, self.initial_term_id)
        if position >= limit:
            return refused(self.metadata, position, length, self.max_position)
        return position

    cdef inline uint8_t* _term(self, int index) noexcept nogil:
        return self.logs.address + <int64_t>index * self.term_length

    cdef inline Stream _stream(self) noexcept nogil:
        return Stream(session_id=self.session_id, stream_id=self.stream_id, max_payload_length=self.max_payload_length)

    cdef int64_t _end_of_term(self, uint8_t* term, int32_t term_id, int32_t offset, int64_t position) noexcept nogil:
        cdef Stream stream = self._stream()
        if offset < self.term_length:
            write_padding(term, offset, self.term_length - offset, term_id, &stream)
        if position >= self.max_position:
            return OFFER_MAX_POSITION_EXCEEDED
        rotate_log(self.metadata, term_id - self.initial_term_id, term_id)
        return OFFER_ADMIN_ACTION

    cdef int64_t _claim(self, int index, int64_t framed_length, uint8_t** term, int32_t* offset, int32_t* term_id) noexcept nogil:
        # a position after framed_length bytes that are ours from *offset, or a code
        cdef int64_t raw_tail = fetch_add_i64(tail_address(self.metadata, index), framed_length)
        cdef int64_t resulting, position
        term[0] = self._term(index)
        term_id[0] = tail_term_id(raw_tail)
        offset[0] = tail_term_offset(raw_tail, self.term_length)
        resulting = offset[0] + framed_length
        position = compute_term_begin_position(term_id[0], self.bits, self.initial_term_id) + resulting
        if resulting > self.term_length:
            return self._end_of_term(term[0], term_id[0], offset[0], position)
        return position

    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        cdef Stream stream = self._stream()
        cdef int64_t result
        cdef int32_t offset, term_id
        cdef uint8_t* term
        cdef int index
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._begin(length, &index)
        if result < 0:
            return result
        result = self._claim(index, compute_framed_length(length, self.max_payload_length), &term, &offset, &term_id)
        if result >= 0:
            write_message(term, offset, term_id, &stream, message, <int32_t>length, reserved, context)
        return result

    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t length = parts_length(parts, count)
        cdef Stream stream = self._stream()
        cdef int64_t result
        cdef int32_t offset, term_id
        cdef uint8_t* term
        cdef int index
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._begin(length, &index)
        if result < 0:
            return result
        result = self._claim(index, compute_framed_length(length, self.max_payload_length), &term, &offset, &term_id)
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
        cdef Stream stream = self._stream()
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
        cdef int index
        if length < 0 or length > self.max_payload_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._begin(length, &index)
        if result < 0:
            return result
        result = self._claim(index, align_frame(length + DATA_HEADER_LENGTH), &term, &offset, &term_id)
        if result >= 0:
            frame[0] = term + offset
            frame_write_header(frame[0], <int32_t>length + <int32_t>DATA_HEADER_LENGTH, offset, self.session_id, self.stream_id, term_id)
        return result

    cdef int64_t position(self) noexcept nogil:
        return producer_position_of(self.metadata, self.term_length, self.bits, self.initial_term_id)

    cdef int64_t available_window(self) noexcept nogil:
        return load_acquire_i64(self.position_limit) - self.position()

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def append(self, message, *, reserved=None) -> int:
        """Offer one message (any buffer); reserved: callable(frame bytes) -> int."""
        return append_one(self, message, reserved)

    def append_parts(self, parts, *, reserved=None) -> int:
        """Offer the concatenation of several buffers as one message."""
        return append_vector(self, parts, reserved)

    def append_many(self, messages) -> tuple:
        """Offer messages in order until one is refused; return (last result, messages accepted)."""
        return append_batch(self, messages)

    def claim(self, int64_t length) -> tuple:
        """Claim a frame; return (result, Claim), or (code, None)."""
        return claim_one(self, length)

    @property
    def producer_position(self) -> int:
        return self.position()

    @property
    def window(self) -> int:
        """Bytes until the position limit; negative when the last message ran past it."""
        return self.available_window()

    @property
    def longest_message(self) -> int:
        return self.max_message_length

    @property
    def longest_payload(self) -> int:
        """Longest message that is not fragmented."""
        return self.max_payload_length


cdef class ExclusiveAppender:
    """Appends as the only writer of its log, so that the tail is a plain release store.

    Changed by: its one thread.  Invariant: term_begin_position + term_offset is the stream's position, and 0 <= term_offset <= term_length.
    """

    def __init__(self, LogBuffers logs not None, object counters, int32_t limit_counter_id, int32_t session_id,
                 int32_t stream_id, *, max_payload_length=None):
        attach(self, logs, counters, limit_counter_id, session_id, stream_id, max_payload_length)
        cdef int64_t raw_tail
        self.active_index = index_by_term_count(active_term_count(self.metadata))
        self.tail = tail_address(self.metadata, self.active_index)
        raw_tail = load_acquire_i64(self.tail)
        self.term_id = tail_term_id(raw_tail)
        self.term_offset = tail_term_offset(raw_tail, self.term_length)
        self.term_begin_position = compute_term_begin_position(self.term_id, self.bits, self.initial_term_id)
        self.term = logs.address + <int64_t>self.active_index * self.term_length

    cdef inline Stream _stream(self) noexcept nogil:
        return Stream(session_id=self.session_id, stream_id=self.stream_id, max_payload_length=self.max_payload_length)

    cdef void _rotate(self) noexcept nogil:
        # only this writer moves the tails, so plain stores do: the next tail FIRST, then the active term count
        self.active_index = (self.active_index + 1) % PARTITION_COUNT
        self.term_id += 1
        self.term_offset = 0
        self.term_begin_position += self.term_length
        self.tail = tail_address(self.metadata, self.active_index)
        self.term = self.logs.address + <int64_t>self.active_index * self.term_length
        store_release_i64(self.tail, pack_tail(self.term_id, 0))
        store_release_i32(self.metadata + LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, self.term_id - self.initial_term_id)

    cdef int64_t _end_of_term(self) noexcept nogil:
        cdef Stream stream = self._stream()
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

    cdef inline int64_t _claim(self, int64_t framed_length) noexcept nogil:
        # >= 0: framed_length bytes from term_offset are ours; the caller moves term_offset after writing
        store_release_i64(self.tail, (<int64_t>self.term_id << 32) + self.term_offset + framed_length)
        if self.term_offset + framed_length > self.term_length:
            return self._end_of_term()
        return 0

    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        cdef Stream stream = self._stream()
        cdef int64_t framed, result
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._begin(length)
        if result < 0:
            return result
        framed = compute_framed_length(length, self.max_payload_length)
        result = self._claim(framed)
        if result < 0:
            return result
        write_message(self.term, self.term_offset, self.term_id, &stream, message, <int32_t>length, reserved, context)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t length = parts_length(parts, count)
        cdef Stream stream = self._stream()
        cdef int64_t framed, result
        if length < 0 or length > self.max_message_length:
            return OFFER_MESSAGE_TOO_LONG
        result = self._begin(length)
        if result < 0:
            return result
        framed = compute_framed_length(length, self.max_payload_length)
        result = self._claim(framed)
        if result < 0:
            return result
        write_parts(self.term, self.term_offset, self.term_id, &stream, parts, <int32_t>length, reserved, context)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t offer_many(self, const Part* messages, int count, int* sent, ReservedValue reserved, void* context) noexcept nogil:
        cdef int64_t result = self.term_begin_position + self.term_offset
        cdef int done = 0
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
            elif result != OFFER_ADMIN_ACTION:
                break
        sent[0] = done
        return result

    cdef int _offer_run(self, const Part* messages, int count) noexcept nogil:
        # as many messages of one frame each as the term and the limit allow, with one move of the tail; 0: the first is not one of these
        cdef Stream stream = self._stream()
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
            elif result != OFFER_ADMIN_ACTION:
                break
        sent[0] = done
        return result

    cdef int _offer_row_run(self, const uint8_t* rows, int64_t length, int64_t count) noexcept nogil:
        # as _offer_run, where one division replaces the look at each message
        cdef Stream stream = self._stream()
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
        result = self._begin(length)
        if result < 0:
            return result
        result = self._claim(framed)
        if result < 0:
            return result
        frame[0] = self.term + self.term_offset
        frame_write_header(frame[0], <int32_t>length + <int32_t>DATA_HEADER_LENGTH, self.term_offset, self.session_id, self.stream_id,
                           self.term_id)
        self.term_offset += <int32_t>framed
        return self.term_begin_position + self.term_offset

    cdef int64_t append_padding(self, int64_t length) noexcept nogil:
        cdef Stream stream = self._stream()
        cdef int64_t framed = align_frame(length + DATA_HEADER_LENGTH)
        cdef int64_t result
        if length < 0 or length > compute_framed_length(self.max_message_length, self.max_payload_length):
            return OFFER_MESSAGE_TOO_LONG
        result = self._begin(length)
        if result < 0:
            return result
        result = self._claim(framed)
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

    cdef int64_t available_window(self) noexcept nogil:
        return load_acquire_i64(self.position_limit) - self.position()

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def append(self, message, *, reserved=None) -> int:
        """Offer one message (any buffer); reserved: callable(frame bytes) -> int."""
        return append_one(self, message, reserved)

    def append_parts(self, parts, *, reserved=None) -> int:
        """Offer the concatenation of several buffers as one message."""
        return append_vector(self, parts, reserved)

    def append_many(self, messages) -> tuple:
        """Offer messages in order until one is refused; return (last result, messages accepted)."""
        return append_batch(self, messages)

    def claim(self, int64_t length) -> tuple:
        """Claim a frame; return (result, Claim), or (code, None)."""
        return claim_one(self, length)

    def pad(self, int64_t length) -> int:
        """Append a padding frame over `length` bytes of payload."""
        return self.append_padding(length)

    def append_block(self, const uint8_t[::1] block) -> int:
        """Append whole frames whose headers are this stream's; OFFER_BLOCK_INVALID (-101) when they are not."""
        return self.offer_block(&block[0], <int32_t>block.shape[0]) if block.shape[0] else OFFER_BLOCK_INVALID

    @property
    def producer_position(self) -> int:
        return self.position()

    @property
    def window(self) -> int:
        """Bytes until the position limit; negative when the last message ran past it."""
        return self.available_window()

    @property
    def longest_message(self) -> int:
        return self.max_message_length

    @property
    def longest_payload(self) -> int:
        """Longest message that is not fragmented."""
        return self.max_payload_length


cdef class Claim:
    """A claimed frame for tests: write into `payload`, then commit() or abort(), once."""

    cdef uint8_t* _frame
    cdef int32_t _length
    cdef object _holder

    @property
    def payload(self) -> memoryview:
        return memoryview(<uint8_t[:self._length]>(self._frame + DATA_HEADER_LENGTH)) if self._length else memoryview(bytearray())

    def set_reserved_value(self, int64_t value) -> None:
        data_header_set_reserved_value(self._frame, value)

    def commit(self) -> None:
        claim_commit(self._frame)

    def abort(self) -> None:
        claim_abort(self._frame)


cdef object claim_one(Appender self, int64_t length):
    cdef uint8_t* frame = NULL
    cdef int64_t result = self.try_claim(length, &frame)
    if result < 0:
        return result, None
    cdef Claim claim = Claim.__new__(Claim)
    claim._frame = frame
    claim._length = <int32_t>length
    claim._holder = self._logs_holder
    return result, claim


cdef int64_t append_one(Appender self, object message, object reserved) except? -1:
    cdef Py_buffer view
    cdef int64_t result
    PyObject_GetBuffer(message, &view, PyBUF_SIMPLE)
    try:
        if reserved is None:
            with nogil:
                result = self.offer(<const uint8_t*>view.buf, view.len, NULL, NULL)
        else:
            result = self.offer(<const uint8_t*>view.buf, view.len, call_reserved, <void*>reserved)
        return result
    finally:
        PyBuffer_Release(&view)


cdef int64_t append_vector(Appender self, object parts, object reserved) except? -1:
    cdef PartArray array = PartArray(parts)
    if reserved is None:
        return self.offer_parts(array.parts, array.count, NULL, NULL)
    return self.offer_parts(array.parts, array.count, call_reserved, <void*>reserved)


cdef object append_batch(Appender self, object messages):
    cdef PartArray array = PartArray(messages)
    cdef int64_t result
    cdef int sent = 0
    with nogil:
        result = self.offer_many(array.parts, array.count, &sent, NULL, NULL)
    return result, sent


cdef int64_t call_reserved(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept with gil:
    return (<object><PyObject*>context)((<const char*>(term + term_offset))[:frame_length])


cdef class PartArray:
    """Native addresses of a sequence of buffers, which stay exported while this lives."""

    def __cinit__(self, sources):
        cdef int index = 0
        sources = list(sources)
        self.parts = <Part*>calloc(max(1, len(sources)), sizeof(Part))
        self._views = <Py_buffer*>calloc(max(1, len(sources)), sizeof(Py_buffer))
        if self.parts == NULL or self._views == NULL:
            raise MemoryError(f"table of {len(sources)} buffers")
        for source in sources:
            PyObject_GetBuffer(source, &self._views[index], PyBUF_SIMPLE)
            self.parts[index].address = <const uint8_t*>self._views[index].buf
            self.parts[index].length = self._views[index].len
            index += 1
            self.count = index

    def __dealloc__(self):
        cdef int index
        for index in range(self.count):
            PyBuffer_Release(&self._views[index])
        free(self._views)
        free(self.parts)
