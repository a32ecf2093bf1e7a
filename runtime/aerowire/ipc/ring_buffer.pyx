"""The to-driver ring: many writers in many processes, one reader, messages in shared memory.

    records: capacity bytes (a power of two), then the trailer with tail, head cache, head, correlation counter and heartbeat

A record's length is negative while it is written, positive when it may be read, zero where the ring is free.  Positions only
grow; an index is a position modulo the capacity.  Aeron: ManyToOneRingBuffer, aeron_mpsc_rb.
Knows nothing of what the messages mean.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerowire.base.errors import ForeignDirectoryError, RingBufferFullError
from aerowire.codecs.native.cnc cimport (
    RING_MESSAGE_CAPACITY_SHIFT, RING_PADDING_TYPE, RING_RECORD_ALIGNMENT, RING_RECORD_BODY_OFFSET, RING_RECORD_LENGTH_OFFSET,
    RING_TRAILER_CONSUMER_HEARTBEAT_OFFSET, RING_TRAILER_CORRELATION_COUNTER_OFFSET, RING_TRAILER_HEAD_CACHE_POSITION_OFFSET,
    RING_TRAILER_HEAD_POSITION_OFFSET, RING_TRAILER_LENGTH, RING_TRAILER_TAIL_POSITION_OFFSET, ring_record_set_type, ring_record_type)
from aerowire.memory.atomics cimport (
    cas_i64, fetch_add_i64, load_acquire_i32, load_acquire_i64, load_relaxed_i64, release_fence, store_relaxed_i32, store_release_i32,
    store_release_i64)
from aerowire.memory.region cimport BufferView, borrow

READ_LIMIT_DEFAULT = 64     # messages per poll unless told otherwise: a registrar's cycle stays short
INSUFFICIENT_CAPACITY = RING_FULL


cdef inline int32_t align_record(int32_t length) noexcept nogil:
    return (length + (RING_RECORD_ALIGNMENT - 1)) & ~<int32_t>(RING_RECORD_ALIGNMENT - 1)


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
            if required > self.capacity - <int32_t>(tail - head):
                head = load_acquire_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET)
                if required > self.capacity - <int32_t>(tail - head):
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
            if cas_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET, tail, tail + required + padding):
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
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int64_t head = load_relaxed_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET)
        cdef int32_t begin = <int32_t>head & (self.capacity - 1)
        cdef int32_t contiguous = self.capacity - begin
        cdef int32_t consumed = 0
        cdef int32_t length
        cdef uint8_t* record
        cdef int messages = 0
        while consumed < contiguous and messages < limit:
            record = self.address + begin + consumed
            length = load_acquire_i32(record + RING_RECORD_LENGTH_OFFSET)
            if length <= 0:
                break
            if length < RING_RECORD_BODY_OFFSET or align_record(length) > contiguous - consumed:
                # a damaged record: nothing that is behind it now can be trusted
                consumed = <int32_t>min(<int64_t>contiguous, load_acquire_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET) - head)
                break
            consumed += align_record(length)
            if ring_record_type(record) == RING_PADDING_TYPE:
                continue
            messages += 1
            handler(context, ring_record_type(record), record + RING_RECORD_BODY_OFFSET, length - <int32_t>RING_RECORD_BODY_OFFSET)
        if consumed:
            memset(self.address + begin, 0, consumed)       # zero BEFORE the head moves: writers rely on it
            store_release_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET, head + consumed)
        at_end[0] = consumed == contiguous
        return messages

    cdef bint unblock_record(self) noexcept nogil:
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int32_t mask = self.capacity - 1
        cdef int64_t head = load_acquire_i64(trailer + RING_TRAILER_HEAD_POSITION_OFFSET)
        cdef int64_t tail = load_acquire_i64(trailer + RING_TRAILER_TAIL_POSITION_OFFSET)
        cdef int32_t consumer = <int32_t>head & mask
        cdef int32_t producer = <int32_t>tail & mask
        cdef int32_t length, limit, index
        if head == tail:
            return False
        length = load_acquire_i32(self.address + consumer + RING_RECORD_LENGTH_OFFSET)
        if length < 0:
            self._pad(consumer, -length)
            return True
        if length > 0:
            return False
        limit = producer if producer > consumer else self.capacity
        index = consumer + <int32_t>RING_RECORD_ALIGNMENT
        while index < limit:
            if load_acquire_i32(self.address + index + RING_RECORD_LENGTH_OFFSET) != 0:
                if not self._is_zero(consumer, index):
                    return False
                self._pad(consumer, index - consumer)
                return True
            index += RING_RECORD_ALIGNMENT
        return False

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
        cdef int64_t tail
        cdef int64_t head = self.consumer_position()
        while True:
            before = head
            tail = self.producer_position()
            head = self.consumer_position()
            if head == before:
                return <int32_t>(tail - head)

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


cdef inline void begin_record(uint8_t* record, int32_t message_type, int32_t record_length) noexcept nogil:
    # the negative length goes FIRST, so that a reader or unblock never takes the type for a finished record
    store_relaxed_i32(record + RING_RECORD_LENGTH_OFFSET, -record_length)
    release_fence()
    ring_record_set_type(record, message_type)


cdef void append_message(void* context, int32_t message_type, const uint8_t* body, int32_t length) noexcept with gil:
    (<list><PyObject*>context).append((message_type, (<const char*>body)[:length]))
