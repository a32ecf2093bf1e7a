"""The to-clients buffer: one transmitter, any number of readers, none of which can hold it up.

    records: capacity bytes (a power of two), then the trailer with tail intent, tail and latest

A writer announces how far it will write BEFORE it writes, so that a reader who checks the intent after copying knows whether what it
copied was overwritten.  Aeron: BroadcastTransmitter, BroadcastReceiver, CopyBroadcastReceiver.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerowire.base.errors import BroadcastLappedError, ForeignDirectoryError
from aerowire.codecs.native.cnc cimport (
    BROADCAST_MESSAGE_CAPACITY_SHIFT, BROADCAST_PADDING_TYPE, BROADCAST_RECORD_ALIGNMENT, BROADCAST_RECORD_BODY_OFFSET,
    BROADCAST_TRAILER_LATEST_OFFSET, BROADCAST_TRAILER_LENGTH, BROADCAST_TRAILER_TAIL_INTENT_OFFSET, BROADCAST_TRAILER_TAIL_OFFSET,
    broadcast_record_length, broadcast_record_set_length, broadcast_record_set_type, broadcast_record_type)
from aerowire.memory.atomics cimport acquire_fence, load_acquire_i64, load_relaxed_i64, release_fence, store_relaxed_i64, store_release_i64
from aerowire.memory.region cimport BufferView, borrow

POLL_LIMIT_DEFAULT = 64     # messages per poll unless told otherwise


cdef inline int32_t align_record(int32_t length) noexcept nogil:
    return (length + (BROADCAST_RECORD_ALIGNMENT - 1)) & ~<int32_t>(BROADCAST_RECORD_ALIGNMENT - 1)


cdef int32_t check_capacity(int64_t length) except -1:
    cdef int64_t capacity = length - BROADCAST_TRAILER_LENGTH
    if capacity < BROADCAST_RECORD_ALIGNMENT or capacity & (capacity - 1) or capacity > (1 << 30):
        raise ForeignDirectoryError("broadcast buffer has a bad length", expected=f"a power of two + {BROADCAST_TRAILER_LENGTH} bytes",
                                    actual=length)
    return <int32_t>capacity


cdef class BroadcastTransmitter:
    """The one writer.  Invariant: latest <= tail <= tail_intent, all on record boundaries."""

    def __init__(self, buffer):
        cdef BufferView view
        self._holder = borrow(buffer, &view, True)
        self.capacity = check_capacity(view.length)
        self.address = view.address
        self.message_length_max = self.capacity >> BROADCAST_MESSAGE_CAPACITY_SHIFT

    cdef bint transmit_message(self, int32_t message_type, const uint8_t* body, int32_t length) noexcept nogil:
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int64_t tail = load_relaxed_i64(trailer + BROADCAST_TRAILER_TAIL_OFFSET)
        cdef int32_t offset = <int32_t>tail & (self.capacity - 1)
        cdef int32_t record_length = length + <int32_t>BROADCAST_RECORD_BODY_OFFSET
        cdef int32_t aligned = align_record(record_length)
        cdef int32_t to_end = self.capacity - offset
        cdef uint8_t* record
        if message_type <= 0 or length < 0 or length > self.message_length_max:
            return False
        if to_end < aligned:
            store_relaxed_i64(trailer + BROADCAST_TRAILER_TAIL_INTENT_OFFSET, tail + to_end + aligned)
            release_fence()
            broadcast_record_set_length(self.address + offset, to_end)
            broadcast_record_set_type(self.address + offset, BROADCAST_PADDING_TYPE)
            tail += to_end
            offset = 0
        else:
            store_relaxed_i64(trailer + BROADCAST_TRAILER_TAIL_INTENT_OFFSET, tail + aligned)
            release_fence()
        record = self.address + offset
        broadcast_record_set_length(record, record_length)
        broadcast_record_set_type(record, message_type)
        memcpy(record + BROADCAST_RECORD_BODY_OFFSET, body, length)
        store_release_i64(trailer + BROADCAST_TRAILER_LATEST_OFFSET, tail)
        store_release_i64(trailer + BROADCAST_TRAILER_TAIL_OFFSET, tail + aligned)
        return True

    def transmit(self, int32_t message_type, body) -> None:
        """Send a message to all readers. ValueError for a type <= 0 or a body longer than max_message_length."""
        cdef BufferView view
        holder = borrow(body, &view, False)
        if view.length > self.message_length_max or not self.transmit_message(message_type, view.address, <int32_t>view.length):
            raise ValueError(f"cannot broadcast type {message_type} of {view.length} bytes; types are > 0 and at most {self.message_length_max}"
                             " bytes fit")

    @property
    def max_message_length(self) -> int:
        """Longest body."""
        return self.message_length_max


cdef class BroadcastReceiver:
    """One reader.  Begins at the newest message there is, or at the first one ever when asked to and nothing is overwritten yet.

    Changed by: receive_next() and poll, on its one thread.
    """

    def __init__(self, buffer, *, bint from_start=False):
        cdef BufferView view
        self._holder = borrow(buffer, &view, False)
        self.capacity = check_capacity(view.length)
        self.address = view.address
        self._scratch = <uint8_t*>malloc(max(<int64_t>BROADCAST_RECORD_ALIGNMENT, self.capacity))
        if self._scratch == NULL:
            raise MemoryError("broadcast scratch buffer")
        self._next = load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_LATEST_OFFSET)
        if from_start and self._is_whole(0):
            self._next = 0
        self._record = self._next
        self._offset = <int32_t>self._next & (self.capacity - 1)

    def __dealloc__(self):
        free(self._scratch)

    cdef bint _is_whole(self, int64_t position) noexcept nogil:
        # nothing at or behind position has been, or is being, overwritten
        acquire_fence()
        return position + self.capacity > load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_TAIL_INTENT_OFFSET)

    cdef void _catch_up(self) noexcept nogil:
        self.lapped += 1
        self._next = load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_LATEST_OFFSET)

    cdef bint receive_next(self) noexcept nogil:
        cdef int64_t tail = load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_TAIL_OFFSET)
        cdef int64_t cursor = self._next
        cdef int32_t offset
        cdef const uint8_t* record
        if tail <= cursor:
            return False
        if not self._is_whole(cursor):
            self._catch_up()
            cursor = self._next
        offset = <int32_t>cursor & (self.capacity - 1)
        record = self.address + offset
        if broadcast_record_type(record) == BROADCAST_PADDING_TYPE:
            cursor += align_record(broadcast_record_length(record))
            offset = 0
            record = self.address
        self._record = cursor
        self._offset = offset
        self._next = cursor + align_record(broadcast_record_length(record))
        return True

    cdef int32_t message_type(self) noexcept nogil:
        return broadcast_record_type(self.address + self._offset)

    cdef const uint8_t* message_body(self) noexcept nogil:
        return self.address + self._offset + BROADCAST_RECORD_BODY_OFFSET

    cdef int32_t message_length(self) noexcept nogil:
        return broadcast_record_length(self.address + self._offset) - <int32_t>BROADCAST_RECORD_BODY_OFFSET

    cdef bint valid(self) noexcept nogil:
        return self._is_whole(self._record)

    cdef int poll_messages(self, MessageHandler handler, void* context, int limit) noexcept nogil:
        cdef int64_t lapped = self.lapped
        cdef int32_t message_type, length
        cdef int messages = 0
        while messages < limit and self.receive_next():
            if self.lapped != lapped:
                self._next = self._record       # the newest message is delivered by the next poll
                return -1
            message_type = self.message_type()
            length = self.message_length()
            if 0 <= length <= self.capacity - self._offset - <int32_t>BROADCAST_RECORD_BODY_OFFSET:
                memcpy(self._scratch, self.message_body(), length)
            if not self.valid():                # also when the length was torn
                self._catch_up()
                return -1
            messages += 1
            handler(context, message_type, self._scratch, length)
        return messages

    def poll(self, int limit=POLL_LIMIT_DEFAULT) -> list:
        """Return up to `limit` messages as (type, bytes). BroadcastLappedError when some were overwritten unread; the next poll
        goes on at the newest message. Messages from before the gap are returned first, and the call after them raises."""
        cdef list messages = []
        if self._is_lap_untold:
            self._is_lap_untold = False
            raise self._lapped_error()
        if self.poll_messages(append_message, <void*>messages, limit) < 0:
            if not messages:
                raise self._lapped_error()
            self._is_lap_untold = True
        return messages

    def receive(self):
        """Return the next message as (type, bytes), or None. Raises BroadcastLappedError as poll() does."""
        messages = self.poll(1)
        return messages[0] if messages else None

    @property
    def lapped_count(self) -> int:
        """Times that the transmitter overran this reader."""
        return self.lapped

    cdef object _lapped_error(self):
        return BroadcastLappedError("driver messages were overwritten before they were read", actual=f"lapped {self.lapped} times",
                                    hint="poll the client more often, or enlarge the to-clients buffer of the driver")


cdef void append_message(void* context, int32_t message_type, const uint8_t* body, int32_t length) noexcept with gil:
    (<list><PyObject*>context).append((message_type, (<const char*>body)[:length]))
