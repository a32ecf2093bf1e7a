"""Writing a received term, filling holes, releasing abandoned claims, and zeroing what was read.

Aeron: TermRebuilder, TermGapFiller, TermUnblocker, LogBufferUnblocker.  The caller owns that side of the log.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from aerowire.base.wrapping cimport wrapping_subtract
from aerowire.codecs.native.logbuffer cimport LOG_METADATA_DEFAULT_HEADER_OFFSET
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_FRAME_LENGTH_OFFSET, DATA_HEADER_LENGTH, FRAME_ALIGNMENT, FRAME_TYPE_PAD, data_header_set_term_id,
    data_header_set_term_offset, data_header_set_type)
from aerowire.logbuffer.descriptor cimport (
    active_term_count, compute_frame_offset, index_by_term_count, rotate_log, tail_address, tail_term_id, tail_term_offset)
from aerowire.logbuffer.frame cimport frame_length_acquire, frame_length_release, frame_step
from aerowire.memory.atomics cimport load_acquire_i64, load_relaxed_i32, load_relaxed_i64, release_fence, store_release_i64
from aerowire.memory.region cimport BufferView, borrow


cdef bint rebuild_insert(uint8_t* term, int32_t offset, const uint8_t* packet, int32_t length) noexcept nogil:
    cdef uint8_t* frame = term + offset
    cdef int64_t first
    if load_relaxed_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET) != 0:
        return False
    memcpy(frame + sizeof(int64_t), packet + sizeof(int64_t), length - sizeof(int64_t))
    memcpy(&first, packet, sizeof(int64_t))
    store_release_i64(frame, first)
    return True


cdef void write_padding_header(uint8_t* metadata, uint8_t* term, int32_t term_id, int32_t offset, int32_t length) noexcept nogil:
    # the frame's length is published LAST; until then the slot looks as empty or as claimed as before
    cdef const uint8_t* template = metadata + LOG_METADATA_DEFAULT_HEADER_OFFSET
    cdef uint8_t* frame = term + offset
    cdef size_t after_length = DATA_HEADER_FRAME_LENGTH_OFFSET + sizeof(int32_t)
    memcpy(frame + after_length, template + after_length, DATA_HEADER_LENGTH - after_length)
    data_header_set_type(frame, FRAME_TYPE_PAD)
    data_header_set_term_offset(frame, offset)
    data_header_set_term_id(frame, term_id)
    frame_length_release(frame, length)


cdef bint fill_gap(uint8_t* metadata, uint8_t* term, int32_t term_id, int32_t offset, int32_t length) noexcept nogil:
    cdef int32_t position = offset + length - <int32_t>FRAME_ALIGNMENT
    while position >= offset:
        if load_relaxed_i32(term + position + DATA_HEADER_FRAME_LENGTH_OFFSET) != 0:
            return False
        position -= FRAME_ALIGNMENT
    write_padding_header(metadata, term, term_id, offset, length)
    return True


cdef bint is_zeroed(const uint8_t* term, int32_t begin, int32_t end) noexcept nogil:
    # backwards, so that a claim that comes alive meanwhile is seen
    cdef int32_t position = end - <int32_t>FRAME_ALIGNMENT
    while position >= begin:
        if frame_length_acquire(term + position) != 0:
            return False
        position -= FRAME_ALIGNMENT
    return True


cdef int unblock_term(uint8_t* metadata, uint8_t* term, int32_t term_length, int32_t blocked_offset, int32_t tail_offset,
                      int32_t term_id) noexcept nogil:
    cdef int32_t length = frame_length_acquire(term + blocked_offset)
    cdef int32_t offset
    cdef int32_t room = term_length - blocked_offset
    if length < 0:
        if frame_step(wrapping_subtract(0, length), room) <= 0:
            return UNBLOCK_MALFORMED
        write_padding_header(metadata, term, term_id, blocked_offset, -length)
        return UNBLOCKED
    if length > 0:
        return UNBLOCK_NO_ACTION if frame_step(length, room) > 0 else UNBLOCK_MALFORMED
    offset = blocked_offset + <int32_t>FRAME_ALIGNMENT
    while offset < tail_offset:
        if frame_length_acquire(term + offset) != 0:
            if not is_zeroed(term, blocked_offset, offset):
                return UNBLOCK_NO_ACTION
            write_padding_header(metadata, term, term_id, blocked_offset, offset - blocked_offset)
            return UNBLOCKED
        offset += FRAME_ALIGNMENT
    if offset == term_length and frame_length_acquire(term + blocked_offset) == 0:
        write_padding_header(metadata, term, term_id, blocked_offset, offset - blocked_offset)
        return UNBLOCKED_TO_END
    return UNBLOCK_NO_ACTION


cdef int unblock_log(LogBuffers logs, int64_t blocked_position) noexcept nogil:
    cdef uint8_t* metadata = logs.metadata
    cdef int32_t blocked_count = <int32_t>(blocked_position >> logs.bits)
    cdef int32_t blocked_offset = compute_frame_offset(blocked_position, logs.term_length)
    cdef int32_t active_count = active_term_count(metadata)
    cdef int64_t raw_tail
    cdef int index, status
    if active_count == wrapping_subtract(blocked_count, 1) and blocked_offset == 0:
        # the term is full, and whoever filled it died before it rotated
        raw_tail = load_acquire_i64(tail_address(metadata, index_by_term_count(active_count)))
        rotate_log(metadata, active_count, tail_term_id(raw_tail))
        return UNBLOCKED
    index = index_by_term_count(blocked_count)
    raw_tail = load_acquire_i64(tail_address(metadata, index))
    status = unblock_term(metadata, logs.term_address(index), logs.term_length, blocked_offset,
                          tail_term_offset(raw_tail, logs.term_length), tail_term_id(raw_tail))
    if status == UNBLOCKED_TO_END:
        rotate_log(metadata, blocked_count, tail_term_id(raw_tail))
    return status


cdef void clean_block(uint8_t* term, int32_t offset, int32_t length) noexcept nogil:
    memset(term + offset + sizeof(int64_t), 0, length - sizeof(int64_t))
    store_release_i64(term + offset, 0)


# -- Python faces --------------------------------------------------------------------------------------------------------------------

def insert(term, int32_t offset, packet) -> bool:
    """Copy a datagram's frames into a term unless its first frame is there; the datagram holds whole aligned frames."""
    cdef BufferView target, source
    holders = borrow(term, &target, True), borrow(packet, &source, False)
    if source.length < DATA_HEADER_LENGTH or offset < 0 or offset + source.length > target.length:
        raise ValueError(f"{source.length} bytes do not fit at {offset} of {target.length}")
    return rebuild_insert(target.address, offset, source.address, <int32_t>source.length)


def fill(LogBuffers logs not None, int index, int32_t term_id, int32_t offset, int32_t length) -> bool:
    """Fill a hole of a partition with one padding frame if it is still empty."""
    return fill_gap(logs.metadata, logs.term_address(index), term_id, offset, length)


def unblock_in_term(LogBuffers logs not None, int index, int32_t blocked_offset, int32_t tail_offset, int32_t term_id) -> str:
    """Release an abandoned claim; return "none", "unblocked", "unblocked to end" or "malformed"."""
    cdef int status = unblock_term(logs.metadata, logs.term_address(index), logs.term_length, blocked_offset, tail_offset, term_id)
    return ("none", "unblocked", "unblocked to end", "malformed")[status]


def unblock(LogBuffers logs not None, int64_t blocked_position) -> bool:
    """Release what consumers at `blocked_position` wait for; True when something was done."""
    return unblock_log(logs, blocked_position) in (UNBLOCKED, UNBLOCKED_TO_END)


def clean(term, int32_t offset, int32_t length) -> None:
    """Zero a range of at least 8 bytes, its first 8 bytes last."""
    cdef BufferView view
    holder = borrow(term, &view, True)
    if offset < 0 or length < <int32_t>sizeof(int64_t) or offset > view.length - length:
        raise ValueError(f"cannot clean {length} bytes at {offset} of {view.length}")
    clean_block(view.address, offset, length)
