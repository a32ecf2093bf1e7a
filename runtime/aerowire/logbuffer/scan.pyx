"""Reading a term that others write: what may be sent, what may be polled, where something is missing.

All functions read frame lengths with acquire and never write.  Aeron: TermScanner, TermBlockScanner, TermGapScanner.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH, FRAME_ALIGNMENT
from aerowire.logbuffer.frame cimport STEP_MALFORMED, STEP_NONE, Stride, frame_is_padding, frame_length_acquire, frame_step, frame_stride
from aerowire.memory.region cimport BufferView, borrow


cdef int32_t scan_for_availability(const uint8_t* term, int32_t term_length, int32_t offset, int32_t max_length,
                                   int32_t* padding) noexcept nogil:
    cdef int32_t limit = min(max_length, term_length - offset)
    cdef int32_t available = 0
    cdef int32_t step
    padding[0] = 0
    while available < limit:
        step = frame_step(frame_length_acquire(term + offset + available), term_length - offset - available)
        if step <= 0:
            if step == STEP_MALFORMED and available == 0:
                return AVAILABLE_MALFORMED
            break
        if frame_is_padding(term + offset + available):
            if available + <int32_t>DATA_HEADER_LENGTH > limit:
                return available if available else -<int32_t>DATA_HEADER_LENGTH
            padding[0] = step - <int32_t>DATA_HEADER_LENGTH
            return available + <int32_t>DATA_HEADER_LENGTH
        if step > limit - available:
            return available if available else -step
        available += step
    return available


cdef int32_t scan_block(const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit_offset) noexcept nogil:
    cdef int32_t position = offset
    cdef int32_t step
    cdef Stride stride = Stride(0, 0, 0)
    while position < limit_offset:
        step = frame_stride(&stride, frame_length_acquire(term + position), position, term_length)
        if step <= 0:
            break
        if frame_is_padding(term + position):
            return position + step if position == offset else position
        if step > limit_offset - position:
            break
        position += step
    return position


cdef int32_t scan_contiguous(const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit_offset, int32_t* step) noexcept nogil:
    cdef Stride stride = Stride(0, 0, 0)
    while offset < limit_offset:
        step[0] = frame_stride(&stride, frame_length_acquire(term + offset), offset, term_length)
        if step[0] <= 0:
            break
        offset += step[0]
    return offset


cdef int32_t scan_for_gap(const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit_offset, int32_t gap_max,
                          int32_t* gap_length) noexcept nogil:
    cdef int32_t step = STEP_NONE
    cdef int32_t begin = scan_contiguous(term, term_length, offset, limit_offset, &step)
    cdef int32_t end = begin
    gap_length[0] = 0
    if begin < limit_offset:
        if step == STEP_MALFORMED:
            gap_length[0] = GAP_MALFORMED
            return begin
        if gap_max < limit_offset - begin:
            limit_offset = begin + gap_max
        end += FRAME_ALIGNMENT
        while end < limit_offset and frame_length_acquire(term + end) == 0:
            end += FRAME_ALIGNMENT
        gap_length[0] = end - begin
    return begin


# -- Python faces --------------------------------------------------------------------------------------------------------------------

cdef int check_range(BufferView* term, int32_t offset, int32_t limit_offset) except -1:
    if not 0 <= offset <= limit_offset <= term.length:
        raise ValueError(f"[{offset}, {limit_offset}) is no part of a term of {term.length} bytes")
    if offset % FRAME_ALIGNMENT or term.length % FRAME_ALIGNMENT:
        raise ValueError(f"offset {offset} and term length {term.length}: expected multiples of {FRAME_ALIGNMENT}")
    return 0


def availability(term, int32_t offset, int32_t max_length) -> tuple:
    """Return (bytes available, bytes of padding after them) of scan_for_availability; -2^31 for a frame that cannot be stepped over."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, <int32_t>view.length)
    cdef int32_t padding = 0
    cdef int32_t available = scan_for_availability(view.address, <int32_t>view.length, offset, max_length, &padding)
    return available, padding


def block_end(term, int32_t offset, int32_t limit_offset) -> int:
    """Return the offset after the run of whole frames from `offset`."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    return scan_block(view.address, <int32_t>view.length, offset, limit_offset)


def contiguous_end(term, int32_t offset, int32_t limit_offset) -> int:
    """Return how far committed frames reach without a hole."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    cdef int32_t step = STEP_NONE
    return scan_contiguous(view.address, <int32_t>view.length, offset, limit_offset, &step)


def gap(term, int32_t offset, int32_t limit_offset, gap_max=None) -> tuple:
    """Return (offset, length) of the first hole; the length is 0 when there is none, -1 for a frame that cannot be stepped over.

    Of a hole about `gap_max` bytes are looked at; None: all.
    """
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    cdef int32_t length = 0
    cdef int32_t most = <int32_t>view.length if gap_max is None else gap_max
    cdef int32_t begin = scan_for_gap(view.address, <int32_t>view.length, offset, limit_offset, most, &length)
    return begin, length


def frames(term, int32_t offset, int32_t limit_offset) -> list:
    """Return (offset, frame length, is padding) of each committed frame in order, as a poll sees them."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    cdef int32_t length, step
    out = []
    while offset < limit_offset:
        length = frame_length_acquire(view.address + offset)
        step = frame_step(length, <int32_t>view.length - offset)
        if step <= 0:
            break
        out.append((offset, length, frame_is_padding(view.address + offset)))
        offset += step
    return out


def step(int32_t length, int32_t room) -> int:
    """Return the bytes from a frame of `length` to the next one; 0 where none is committed, -1 where it cannot be stepped over."""
    return frame_step(length, room)
