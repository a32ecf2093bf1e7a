"""The to-driver ring: many writers in many processes, one reader, messages in shared memory.

    records: capacity bytes (a power of two), then the trailer with tail, head cache, head, correlation counter and heartbeat

A record's length is negative while it is written, positive when it may be read, zero where the ring is free.  Positions only
grow; an index is a position modulo the capacity.  Aeron: ManyToOneRingBuffer, aeron_mpsc_rb.
Knows nothing of what the messages mean.

Every process that may send a command can write anything into the memory.  The reader's position is its own; the shared copy is for writers.
Lengths and positions are read once and checked before use.  A record that cannot be stepped over is skipped with everything that is
claimed behind it; positions that no writer leaves are set back to the reader's.  Both are damage, which take_damage() returns.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerowire.base.wrapping cimport wrapping_add_long, wrapping_subtract_long
from aerowire.base.errors import ForeignDirectoryError, RingBufferFullError
from aerowire.ipc.damage import Damage
from aerowire.codecs.native.cnc cimport (
    RING_MESSAGE_CAPACITY_SHIFT, RING_PADDING_TYPE, RING_RECORD_ALIGNMENT, RING_RECORD_BODY_OFFSET, RING_RECORD_LENGTH_OFFSET,
    RING_TRAILER_CONSUMER_HEARTBEAT_OFFSET, RING_TRAILER_CORRELATION_COUNTER_OFFSET, RING_TRAILER_HEAD_CACHE_POSITION_OFFSET,
    RING_TRAILER_HEAD_POSITION_OFFSET, RING_TRAILER_LENGTH, RING_TRAILER_TAIL_POSITION_OFFSET, ring_record_set_type, ring_record_type)
from aerowire.memory.atomics cimport (
    cas_i32, cas_i64, fetch_add_i64, load_acquire_i32, load_acquire_i64, load_relaxed_i64, release_fence, store_relaxed_i32, store_release_i32,
    store_release_i64)
from aerowire.memory.region cimport BufferView, borrow

READ_LIMIT_DEFAULT = 64     # messages per poll unless told otherwise: a conductor's cycle stays short
INSUFFICIENT_CAPACITY = RING_FULL


cdef enum DamagedField:
    DAMAGED_NONE = 0
    DAMAGED_LENGTH = 1
    DAMAGED_HEAD = 2
    DAMAGED_TAIL = 3

FIELD_NAMES = {DAMAGED_LENGTH: "record length", DAMAGED_HEAD: "head position", DAMAGED_TAIL: "tail position"}

# Times that a tail which is no writer's is set back before the next read tries again.
cdef int RESTORE_ATTEMPTS = 8
# Reads of two positions that are not from one moment, before they are taken as they are.
cdef int PENDING_ATTEMPTS = 64


cdef inline int32_t align_record(int32_t length) noexcept nogil:
    return (length + (RING_RECORD_ALIGNMENT - 1)) & ~<int32_t>(RING_RECORD_ALIGNMENT - 1)


cdef inline bint is_aligned(int64_t position) noexcept nogil:
    return position & (RING_RECORD_ALIGNMENT - 1) == 0


cdef class ManyToOneRingBuffer:
    """A ring over `buffer`, which holds a power of two of bytes and the trailer and is aligned to 8.

    Changed by: writers (tail, records), the one reader (head, zeroing).  Invariant: head <= tail <= head + capacity, and the bytes
    outside [head, tail) are zero.
    """

    def __init__(self, buffer):
        cdef BufferView view
        self._holder = borrow(buffer, &view, True)
        cdef int64_t capacity = view.length - RING_TRAILER_LENGTH
        if capacity < RING_RECORD_ALIGNMENT or capacity & (capacity - 1) or capacity > (1 << 30):
            raise ForeignDirectoryError("ring buffer has a bad length", expected=f"a power of two + {RING_TRAILER_LENGTH} bytes",
                                        actual=view.length)
        self.address = view.address
        self.capacity = <int32_t>capacity
        self.message_length_max = <int32_t>(capacity >> RING_MESSAGE_CAPACITY_SHIFT)
        self._head = -1

    # -- writers -------------------------------------------------------------------------------------------------------------------

    cdef int32_t claim_record(self, int32_t message_type, int32_t length) noexcept nogil:
        cdef int32_t record_length = length + <int32_t>RING_RECORD_BODY_OFFSET
        cdef int32_t required = align_record(record_length)
        cdef int32_t mask = self.capacity - 1
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int64_t* head_cache = <int64_t*>(trailer + RING_TRAILER_HEAD_CACHE_POSITION_OFFSET)
        cdef int64_t head = load_acquire_i64(head_cache)
        cdef int64_t tail
        cdef int32_t index, to_end, padding
        while True:
            tail = load_acquire_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET)
            if not is_aligned(tail):
                return RING_FULL                    # until the reader has set it back
            if wrapping_subtract_long(tail, head) < 0 or required > self.capacity - wrapping_subtract_long(tail, head):
                head = load_acquire_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET)
                if wrapping_subtract_long(tail, head) < 0:
                    if load_acquire_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET) == tail:
                        return RING_FULL            # as above
                    continue                        # other writers and the reader went past the tail that was read
                if required > self.capacity - wrapping_subtract_long(tail, head):
                    return RING_FULL
                store_release_i64(head_cache, head)
            padding = 0
            index = <int32_t>tail & mask
            to_end = self.capacity - index
            if required > to_end:
                if required > (<int32_t>head & mask):
                    head = load_acquire_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET)
                    if required > (<int32_t>head & mask):
                        return RING_FULL
                    store_release_i64(head_cache, head)
                padding = to_end
            if cas_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET, tail, wrapping_add_long(tail, required + padding)):
                break
        if padding:
            begin_record(self.address + index, RING_PADDING_TYPE, padding)
            store_release_i32(self.address + index + RING_RECORD_LENGTH_OFFSET, padding)
            index = 0
        begin_record(self.address + index, message_type, record_length)
        return index + <int32_t>RING_RECORD_BODY_OFFSET

    cdef void commit_record(self, int32_t index) noexcept nogil:
        cdef uint8_t* record = self.address + index - RING_RECORD_BODY_OFFSET
        store_release_i32(record + RING_RECORD_LENGTH_OFFSET, -load_acquire_i32(record + RING_RECORD_LENGTH_OFFSET))

    cdef void abort_record(self, int32_t index) noexcept nogil:
        cdef uint8_t* record = self.address + index - RING_RECORD_BODY_OFFSET
        ring_record_set_type(record, RING_PADDING_TYPE)
        store_release_i32(record + RING_RECORD_LENGTH_OFFSET, -load_acquire_i32(record + RING_RECORD_LENGTH_OFFSET))

    cdef bint write_message(self, int32_t message_type, const uint8_t* body, int32_t length) noexcept nogil:
        cdef int32_t index = self.claim_record(message_type, length)
        if index == RING_FULL:
            return False
        memcpy(self.address + index, body, length)
        self.commit_record(index)
        return True

    cdef int64_t correlation_id(self) noexcept nogil:
        return fetch_add_i64(self.address + self.capacity + RING_TRAILER_CORRELATION_COUNTER_OFFSET, 1)

    # -- the reader ----------------------------------------------------------------------------------------------------------------

    cdef int read_messages(self, MessageHandler handler, void* context, int limit) noexcept nogil:
        # two runs at most: up to the end of the memory, and on from its start
        cdef bint at_end = False
        cdef int messages = self._read_run(handler, context, limit, &at_end)
        if at_end and messages < limit:
            messages += self._read_run(handler, context, limit - messages, &at_end)
        return messages

    cdef int _read_run(self, MessageHandler handler, void* context, int limit, bint* at_end) noexcept nogil:
        cdef int64_t head = self._reader_position()
        cdef int32_t begin = <int32_t>head & (self.capacity - 1)
        cdef int32_t contiguous = self.capacity - begin
        cdef int32_t consumed = 0
        cdef int32_t length = 1
        cdef int32_t message_type
        cdef int64_t claimed
        cdef uint8_t* record
        cdef int messages = 0
        while consumed < contiguous and messages < limit:
            record = self.address + begin + consumed
            length = load_acquire_i32(record + RING_RECORD_LENGTH_OFFSET)
            if length == 0:
                break
            claimed = self._claimed(head, consumed)
            if not is_record(length, claimed):
                self._note_damage(DAMAGED_LENGTH, wrapping_add_long(head, consumed), length, claimed)
                consumed += <int32_t>claimed        # where the next record begins is unknown
                if claimed == 0:
                    cas_i32(record + RING_RECORD_LENGTH_OFFSET, length, 0)      # bytes that no claim covers; a new claim keeps its own
                break
            if length < 0:
                break
            message_type = ring_record_type(record)
            consumed += align_record(length)
            if message_type == RING_PADDING_TYPE:
                continue
            messages += 1
            handler(context, message_type, record + RING_RECORD_BODY_OFFSET, length - <int32_t>RING_RECORD_BODY_OFFSET)
        if consumed:
            memset(self.address + begin, 0, consumed)       # zero BEFORE the head moves: writers rely on it
            self._head = wrapping_add_long(head, consumed)
            store_release_i64(self.address + self.capacity + RING_TRAILER_HEAD_POSITION_OFFSET, self._head)
        if length <= 0:
            self._check_tail()
        at_end[0] = consumed == contiguous
        return messages

    cdef int64_t _reader_position(self) noexcept nogil:
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int64_t head = load_acquire_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET)
        if self._head < 0 and head >= 0 and is_aligned(head):
            self._head = head                       # a reader's first look
        elif head != self._head or self._head < 0:
            self._note_damage(DAMAGED_HEAD, max(self._head, <int64_t>0), head, 0)
            if self._head < 0:
                self._head = 0
                self._check_tail()
            store_release_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET, self._head)
        if load_relaxed_i64(trailer + RING_TRAILER_HEAD_CACHE_POSITION_OFFSET) > self._head:
            store_release_i64(trailer + RING_TRAILER_HEAD_CACHE_POSITION_OFFSET, self._head)
        return self._head

    cdef bint _is_plausible(self, int64_t tail) noexcept nogil:
        return is_aligned(tail) and 0 <= wrapping_subtract_long(tail, self._head) <= self.capacity

    cdef int64_t _claimed(self, int64_t head, int32_t consumed) noexcept nogil:
        # bytes behind head + consumed that writers have claimed, up to the end of the memory; all of them when the tail is no writer's
        cdef int64_t tail = load_acquire_i64(self.address + self.capacity + RING_TRAILER_TAIL_POSITION_OFFSET)
        cdef int64_t to_end = self.capacity - (head & (self.capacity - 1)) - consumed
        if not self._is_plausible(tail):
            return to_end
        return min(to_end, max(wrapping_subtract_long(tail, head) - consumed, <int64_t>0))

    cdef void _check_tail(self) noexcept nogil:
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int64_t tail = load_acquire_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET)
        cdef int attempt
        if self._is_plausible(tail):
            return
        self._note_damage(DAMAGED_TAIL, self._head, tail, self.capacity)
        memset(self.address, 0, self.capacity)
        store_release_i64(trailer + RING_TRAILER_HEAD_CACHE_POSITION_OFFSET, self._head)
        store_release_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET, self._head)
        for attempt in range(RESTORE_ATTEMPTS):
            if cas_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET, tail, self._head):
                return
            tail = load_acquire_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET)

    cdef void _note_damage(self, int field, int64_t position, int64_t actual, int64_t limit) noexcept nogil:
        self.damages += 1
        self._damaged_field = field
        self._damaged_position = position
        self._damaged_actual = actual
        self._damaged_limit = limit

    cdef bint unblock_record(self) noexcept nogil:
        cdef int64_t head = self._reader_position()
        cdef int64_t tail = load_acquire_i64(self.address + self.capacity + RING_TRAILER_TAIL_POSITION_OFFSET)
        cdef int64_t claimed = self._claimed(head, 0)
        cdef int32_t consumer = <int32_t>head & (self.capacity - 1)
        cdef int32_t limit = consumer + <int32_t>claimed
        cdef int32_t length, index
        if head == tail or not self._is_plausible(tail):
            return False                            # the next read sets a tail back
        length = load_acquire_i32(self.address + consumer + RING_RECORD_LENGTH_OFFSET)
        if length < 0 and is_record(length, claimed):
            self._pad(consumer, -length)
            return True
        if length != 0:
            return False                            # the next read hands it out, or skips it
        index = consumer + <int32_t>RING_RECORD_ALIGNMENT
        while index < limit:
            if load_acquire_i32(self.address + index + RING_RECORD_LENGTH_OFFSET) != 0:
                if not self._is_zero(consumer, index):
                    return False
                self._pad(consumer, index - consumer)
                return True
            index += RING_RECORD_ALIGNMENT
        return self._unblock_empty(consumer, <int32_t>claimed, wrapping_subtract_long(tail, head))

    cdef bint _unblock_empty(self, int32_t consumer, int32_t claimed, int64_t pending) noexcept nogil:
        # Claims without a byte in them.  They may still be written, and are left alone while the longest message fits beside them.
        if pending <= self.capacity // 2 or not self._is_zero(consumer, consumer + claimed):
            return False
        if pending > claimed and self._is_zero(0, <int32_t>pending - claimed):
            self._pad(0, <int32_t>pending - claimed)
        self._pad(consumer, claimed)
        return True

    cdef void _pad(self, int32_t index, int32_t length) noexcept nogil:
        ring_record_set_type(self.address + index, RING_PADDING_TYPE)
        store_release_i32(self.address + index + RING_RECORD_LENGTH_OFFSET, length)

    cdef bint _is_zero(self, int32_t begin, int32_t end) noexcept nogil:
        # backwards, so that a writer that wakes up meanwhile is seen
        cdef int32_t index = end - <int32_t>RING_RECORD_ALIGNMENT
        while index >= begin:
            if load_acquire_i32(self.address + index + RING_RECORD_LENGTH_OFFSET) != 0:
                return False
            index -= RING_RECORD_ALIGNMENT
        return True

    cdef void set_consumer_heartbeat(self, int64_t epoch_ms) noexcept nogil:
        store_release_i64(self.address + self.capacity + RING_TRAILER_CONSUMER_HEARTBEAT_OFFSET, epoch_ms)

    # -- anyone --------------------------------------------------------------------------------------------------------------------

    cdef int64_t consumer_heartbeat(self) noexcept nogil:
        return load_acquire_i64(self.address + self.capacity + RING_TRAILER_CONSUMER_HEARTBEAT_OFFSET)

    cdef int64_t producer_position(self) noexcept nogil:
        return load_acquire_i64(self.address + self.capacity + RING_TRAILER_TAIL_POSITION_OFFSET)

    cdef int64_t consumer_position(self) noexcept nogil:
        return load_acquire_i64(self.address + self.capacity + RING_TRAILER_HEAD_POSITION_OFFSET)

    cdef int32_t pending(self) noexcept nogil:
        # the head is read on both sides of the tail, or a reader in between makes the difference negative
        cdef int64_t before
        cdef int64_t tail = 0
        cdef int64_t head = self.consumer_position()
        cdef int attempt
        for attempt in range(PENDING_ATTEMPTS):
            before = head
            tail = self.producer_position()
            head = self.consumer_position()
            if head == before:
                break
        return <int32_t>max(<int64_t>0, min(wrapping_subtract_long(tail, head), <int64_t>self.capacity))

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def try_claim(self, int32_t message_type, int32_t length) -> int:
        """Claim a record for `length` body bytes; return the index for claimed(), commit() or abort(), or INSUFFICIENT_CAPACITY."""
        self._check(message_type, length)
        return self.claim_record(message_type, length)

    def claimed(self, int32_t index) -> memoryview:
        """Writable body of a claimed record. Not to be used after commit() or abort()."""
        cdef int32_t length = -load_acquire_i32(self.address + index - RING_RECORD_BODY_OFFSET + RING_RECORD_LENGTH_OFFSET)
        return memoryview(self._holder)[index:index + length - RING_RECORD_BODY_OFFSET]

    def commit(self, int32_t index) -> None:
        """Let the reader see a claimed record."""
        self.commit_record(self._check_claimed(index))

    def abort(self, int32_t index) -> None:
        """Turn a claimed record into padding."""
        self.abort_record(self._check_claimed(index))

    def offer(self, int32_t message_type, body) -> bool:
        """Write a message; False when there is no room now. ValueError for a type <= 0 or a body longer than message_length_max."""
        cdef BufferView view
        holder = borrow(body, &view, False)
        self._check(message_type, view.length)
        return self.write_message(message_type, view.address, <int32_t>view.length)

    def write(self, int32_t message_type, body) -> None:
        """Write a message or raise RingBufferFullError."""
        if not self.offer(message_type, body):
            raise RingBufferFullError("command ring is full", expected=f"room for {len(body)} bytes", actual=f"{self.pending()} bytes pending",
                                      hint="the driver does not keep up, or it is dead")

    def read(self, handler, int limit=READ_LIMIT_DEFAULT) -> int:
        """Call handler(type, bytes) for up to `limit` messages; return how many. They count as read even when it raises."""
        messages = self.poll(limit)
        for message_type, body in messages:
            handler(message_type, body)
        return len(messages)

    def poll(self, int limit=READ_LIMIT_DEFAULT) -> list:
        """Return up to `limit` messages as (type, bytes)."""
        cdef list messages = []
        self.read_messages(append_message, <void*>messages, limit)
        return messages

    def unblock(self) -> bool:
        """Pad a hole that a dead writer left at the head; True when there was one."""
        return self.unblock_record()

    def take_damage(self):
        """Return the last Damage that this reader has found since the last call, or None; for a position, `offset` is the reader's own."""
        cdef int field = self._damaged_field
        if field == DAMAGED_NONE:
            return None
        self._damaged_field = DAMAGED_NONE
        if field == DAMAGED_LENGTH:
            expected = f"{RING_RECORD_BODY_OFFSET} to {self._damaged_limit}"
        else:
            expected = f"a multiple of {RING_RECORD_ALIGNMENT}"
            expected += f" from {self._damaged_position} to {self._damaged_position + self._damaged_limit}"
        return Damage(self._damaged_position, FIELD_NAMES[field], expected, self._damaged_actual)

    @property
    def damage_count(self) -> int:
        """Times that this reader has found damage."""
        return self.damages

    def next_correlation_id(self) -> int:
        """An id that no other client of this ring gets."""
        return self.correlation_id()

    @property
    def consumer_heartbeat_ms(self) -> int:
        """Epoch milliseconds at which the reader last said that it lives."""
        return self.consumer_heartbeat()

    @consumer_heartbeat_ms.setter
    def consumer_heartbeat_ms(self, int64_t epoch_ms):
        self.set_consumer_heartbeat(epoch_ms)

    @property
    def size(self) -> int:
        """Bytes between head and tail."""
        return self.pending()

    @property
    def head(self) -> int:
        return self.consumer_position()

    @property
    def tail(self) -> int:
        return self.producer_position()

    @property
    def max_message_length(self) -> int:
        """Longest body."""
        return self.message_length_max

    cdef int _check(self, int32_t message_type, int64_t length) except -1:
        if message_type <= 0:
            raise ValueError(f"message type: expected more than 0, actual {message_type}")
        if not 0 <= length <= self.message_length_max:
            raise ValueError(f"message: expected at most {self.message_length_max} bytes, actual {length}")
        return 0

    cdef int32_t _check_claimed(self, int32_t index) except -1:
        if not RING_RECORD_BODY_OFFSET <= index <= self.capacity or index % RING_RECORD_ALIGNMENT:
            raise ValueError(f"claimed record: expected an index that try_claim returned, actual {index}")
        if load_acquire_i32(self.address + index - RING_RECORD_BODY_OFFSET + RING_RECORD_LENGTH_OFFSET) >= 0:
            raise ValueError(f"record at index {index}: expected a claimed one, actual one that is committed or was never claimed")
        return index


cdef inline bint is_record(int32_t length, int64_t claimed) noexcept nogil:
    # whether a record of this length, negative while it is written, fits into what is claimed
    cdef int64_t whole = length if length > 0 else -<int64_t>length
    return RING_RECORD_BODY_OFFSET <= whole and (whole + (RING_RECORD_ALIGNMENT - 1)) & ~<int64_t>(RING_RECORD_ALIGNMENT - 1) <= claimed


cdef inline void begin_record(uint8_t* record, int32_t message_type, int32_t record_length) noexcept nogil:
    # the negative length goes FIRST, so that a reader or unblock never takes the type for a finished record
    store_relaxed_i32(record + RING_RECORD_LENGTH_OFFSET, -record_length)
    release_fence()
    ring_record_set_type(record, message_type)


cdef void append_message(void* context, int32_t message_type, const uint8_t* body, int32_t length) noexcept with gil:
    (<list><PyObject*>context).append((message_type, (<const char*>body)[:length]))
