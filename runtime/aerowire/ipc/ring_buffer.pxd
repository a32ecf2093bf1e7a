# Many writers, one reader, messages in shared memory: the to-driver command ring. Byte-compatible with the official one.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.ipc.messages cimport MessageHandler

cdef enum:
    RING_FULL = -2              # claim: no room now


@cython.final
cdef class ManyToOneRingBuffer:
    """ManyToOneRingBuffer(buffer): buffer is any writable buffer of capacity + RING_TRAILER_LENGTH bytes, 8-aligned."""

    cdef uint8_t* address
    cdef int32_t capacity
    cdef int32_t message_length_max
    cdef int64_t damages                # found by this reader; Python: damage_count
    cdef int64_t _head                  # the reader's own position; -1 before its first read
    cdef int _damaged_field
    cdef int64_t _damaged_position
    cdef int64_t _damaged_actual
    cdef int64_t _damaged_limit
    cdef object _holder
    cdef object __weakref__

    # Writers, any thread. claim returns the offset of the body from `address`, or RING_FULL; the caller checks type > 0 and
    # 0 <= length <= message_length_max. Follow it by commit or abort with the same offset.
    cdef int32_t claim_record(self, int32_t message_type, int32_t length) noexcept nogil
    cdef void commit_record(self, int32_t index) noexcept nogil
    cdef void abort_record(self, int32_t index) noexcept nogil
    cdef bint write_message(self, int32_t message_type, const uint8_t* body, int32_t length) noexcept nogil   # False: full
    cdef int64_t correlation_id(self) noexcept nogil                       # fetch-add; Python: next_correlation_id()
    # The reader's thread only
    cdef int read_messages(self, MessageHandler handler, void* context, int limit) noexcept nogil
    cdef bint unblock_record(self) noexcept nogil                          # True: a hole was padded (call when the head stands still)
    cdef void set_consumer_heartbeat(self, int64_t epoch_ms) noexcept nogil
    # Any thread
    cdef int64_t consumer_heartbeat(self) noexcept nogil
    cdef int64_t producer_position(self) noexcept nogil
    cdef int64_t consumer_position(self) noexcept nogil
    cdef int32_t pending(self) noexcept nogil                              # bytes between head and tail; > 0: something to read

    cdef int _read_run(self, MessageHandler handler, void* context, int limit, bint* at_end) noexcept nogil
    cdef int64_t _reader_position(self) noexcept nogil
    cdef bint _is_plausible(self, int64_t tail) noexcept nogil
    cdef int64_t _claimed(self, int64_t head, int32_t consumed) noexcept nogil
    cdef void _check_tail(self) noexcept nogil
    cdef void _note_damage(self, int field, int64_t position, int64_t actual, int64_t limit) noexcept nogil
    cdef bint _unblock_empty(self, int32_t consumer, int32_t claimed, int64_t pending) noexcept nogil
    cdef void _pad(self, int32_t index, int32_t length) noexcept nogil
    cdef bint _is_zero(self, int32_t begin, int32_t end) noexcept nogil
    cdef int _check(self, int32_t message_type, int64_t length) except -1
    cdef int32_t _check_claimed(self, int32_t index) except -1
