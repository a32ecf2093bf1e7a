# Arithmetic of log buffers: positions, terms, partitions, tails, rotation. Leaf functions, term ids and counts wrap.
#
# A position is the byte count since the stream began: (term_id - initial_term_id) << bits | offset, where term ids wrap.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from aerowire.base.wrapping cimport wrapping_add, wrapping_subtract
from aerowire.codecs.native.logbuffer cimport (
    LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, LOG_METADATA_TAIL_COUNTERS_OFFSET, PARTITION_COUNT)
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH, FRAME_ALIGNMENT
from aerowire.memory.atomics cimport cas_i32, cas_i64, load_acquire_i32, load_acquire_i64

cdef extern from *:
    int __builtin_ctz(unsigned int) noexcept nogil

cdef enum:                              # what an offer returns instead of a position
    OFFER_NOT_CONNECTED = -1
    OFFER_BACK_PRESSURED = -2
    OFFER_ADMIN_ACTION = -3
    OFFER_CLOSED = -4
    OFFER_MAX_POSITION_EXCEEDED = -5
    OFFER_MESSAGE_TOO_LONG = -100       # ours, never seen by users: the caller raises MessageTooLongError
    OFFER_BLOCK_INVALID = -101          # ours: a block does not fit the term or its first frame is not this stream's next


cdef inline int position_bits_to_shift(int32_t term_length) noexcept nogil:
    return __builtin_ctz(<unsigned int>term_length)

cdef inline int64_t align_frame(int64_t length) noexcept nogil:
    return (length + (FRAME_ALIGNMENT - 1)) & ~<int64_t>(FRAME_ALIGNMENT - 1)

cdef inline int64_t compute_term_begin_position(int32_t term_id, int bits, int32_t initial_term_id) noexcept nogil:
    return <int64_t>wrapping_subtract(term_id, initial_term_id) * (<int64_t>1 << bits)

cdef inline int64_t compute_position(int32_t term_id, int32_t term_offset, int bits, int32_t initial_term_id) noexcept nogil:
    return compute_term_begin_position(term_id, bits, initial_term_id) + term_offset

cdef inline int32_t compute_term_id(int64_t position, int bits, int32_t initial_term_id) noexcept nogil:
    return wrapping_add(<int32_t>(position >> bits), initial_term_id)

cdef inline int32_t compute_term_offset(int64_t position, int32_t term_length) noexcept nogil:
    return <int32_t>(position & (<int64_t>term_length - 1))

# Where in its term the frame at a position begins. A position that shared memory gives may be no multiple of the alignment: it is rounded down.
cdef inline int32_t compute_frame_offset(int64_t position, int32_t term_length) noexcept nogil:
    return <int32_t>(position & (<int64_t>term_length - FRAME_ALIGNMENT))

# Where in its term a poll from `position`, which is at `offset` and before the limit, ends at the latest. The distance of two positions that
# shared memory gives can be more than a signed number holds.
cdef inline int32_t compute_limit_offset(int64_t position, int64_t limit_position, int32_t offset, int32_t term_length) noexcept nogil:
    cdef uint64_t distance = <uint64_t>limit_position - <uint64_t>position
    return offset + <int32_t>distance if distance < <uint64_t>(term_length - offset) else term_length

cdef inline int64_t max_possible_position(int32_t term_length) noexcept nogil:
    return <int64_t>term_length << 31

cdef inline int index_by_term_count(int64_t term_count) noexcept nogil:
    return <int>(<uint64_t>term_count % PARTITION_COUNT)

cdef inline int index_by_term(int32_t initial_term_id, int32_t active_term_id) noexcept nogil:
    return <int>(<uint32_t>wrapping_subtract(active_term_id, initial_term_id) % PARTITION_COUNT)

cdef inline int index_by_position(int64_t position, int bits) noexcept nogil:
    return <int>((<uint64_t>position >> bits) % PARTITION_COUNT)

# Tails: term_id in the upper half; the offset may run past the term's end.
cdef inline int64_t pack_tail(int32_t term_id, int32_t term_offset) noexcept nogil:
    return <int64_t>((<uint64_t><uint32_t>term_id << 32) | <uint32_t>term_offset)

cdef inline int32_t tail_term_id(int64_t raw_tail) noexcept nogil:
    return <int32_t>(raw_tail >> 32)

cdef inline int32_t tail_term_offset(int64_t raw_tail, int32_t term_length) noexcept nogil:
    cdef int64_t tail = raw_tail & <int64_t>0xFFFFFFFF
    return <int32_t>tail if tail < term_length else term_length

cdef inline int64_t* tail_address(uint8_t* metadata, int index) noexcept nogil:
    return <int64_t*>(metadata + LOG_METADATA_TAIL_COUNTERS_OFFSET) + index

cdef inline int32_t active_term_count(const uint8_t* metadata) noexcept nogil:
    return load_acquire_i32(metadata + LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET)

cdef inline int64_t producer_position_of(const uint8_t* metadata, int32_t term_length, int bits, int32_t initial_term_id) noexcept nogil:
    # position of the active term's tail, clamped to the term's end
    cdef int64_t raw = load_acquire_i64(metadata + LOG_METADATA_TAIL_COUNTERS_OFFSET + 8 * index_by_term_count(active_term_count(metadata)))
    return compute_position(tail_term_id(raw), tail_term_offset(raw, term_length), bits, initial_term_id)

cdef inline int64_t compute_framed_length(int64_t length, int32_t max_payload_length) noexcept nogil:
    # log bytes that a message takes, headers and alignment included, fragmented or not
    cdef int64_t whole, rest
    if length <= max_payload_length:        # the common case, without a division
        return align_frame(length + DATA_HEADER_LENGTH)
    whole = <int32_t>length // max_payload_length
    rest = length - whole * max_payload_length
    return whole * align_frame(<int64_t>max_payload_length + DATA_HEADER_LENGTH) + (align_frame(rest + DATA_HEADER_LENGTH) if rest > 0 else 0)

cdef inline int32_t compute_max_message_length(int32_t term_length, int32_t upper_bound) noexcept nogil:
    return term_length // 8 if term_length // 8 < upper_bound else upper_bound

# Move to the next partition: next tail by CAS FIRST, then the active term count by CAS. True for the one that moved the count.
cdef inline bint rotate_log(uint8_t* metadata, int32_t term_count, int32_t term_id) noexcept nogil:
    cdef int32_t next_term_id = wrapping_add(term_id, 1)
    cdef int32_t next_term_count = wrapping_add(term_count, 1)
    cdef int32_t expected_term_id = wrapping_subtract(next_term_id, PARTITION_COUNT)
    cdef int64_t* tail = tail_address(metadata, index_by_term_count(next_term_count))
    cdef int64_t raw
    while True:
        raw = load_acquire_i64(tail)
        if tail_term_id(raw) != expected_term_id or cas_i64(tail, raw, pack_tail(next_term_id, 0)):
            break
    return cas_i32(metadata + LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, term_count, next_term_count)
