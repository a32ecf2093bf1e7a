"""Reading a term that others write: what may be sent, what may be polled, where something is missing.

All functions read frame lengths with acquire and never write.  Aeron: TermScanner, TermBlockScanner, TermGapScanner.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH, FRAME_ALIGNMENT
from aerowire.logbuffer.descriptor cimport align_frame
from aerowire.logbuffer.frame cimport frame_is_padding, frame_length_acquire, guessed
from aerowire.memory.region cimport BufferView, borrow


cdef int32_t scan_for_availability(const uint8_t* term, int32_t term_length, int32_t offset, int32_t max_length,
                                   int32_t* padding) noexcept nogil:
    cdef int32_t limit = min(max_length, term_length - offset)
    cdef int32_t available = 0
    cdef int32_t length
    padding[0] = 0
    while available < limit:
        length = frame_length_acquire(term + offset + available)
        if length <= 0:
            break
        length = <int32_t>align_frame(length)
        if frame_is_padding(term + offset + available):
            if available + <int32_t>DATA_HEADER_LENGTH > limit:
                return available if available else -<int32_t>DATA_HEADER_LENGTH
            padding[0] = length - <int32_t>DATA_HEADER_LENGTH
            return available + <int32_t>DATA_HEADER_LENGTH
        if available + length > limit:
            return available if available else -length
        available += length
    return available


cdef int32_t scan_block(const uint8_t* term, int32_t offset, int32_t limit_offset) noexcept nogil:
    cdef int32_t position = offset
    cdef int32_t length, stride = 0
    while position < limit_offset:
        length = frame_length_acquire(term + position)
        if length <= 0:
            break
        length = <int32_t>align_frame(length)
        if frame_is_padding(term + position):
            return position + length if position == offset else position
        if position + length > limit_offset:
            break
        stride = guessed(stride, length)
        position += stride
    return position


cdef int32_t scan_contiguous(const uint8_t* term, int32_t offset, int32_t limit_offset) noexcept nogil:
    cdef int32_t length
    while offset < limit_offset:
        length = frame_length_acquire(term + offset)
        if length <= 0:
            break
        offset += <int32_t>align_frame(length)
    return offset


cdef int32_t scan_for_gap(const uint8_t* term, int32_t offset, int32_t limit_offset, int32_t* gap_length) noexcept nogil:
    cdef int32_t begin = scan_contiguous(term, offset, limit_offset)
    cdef int32_t end = begin
    gap_length[0] = 0
    if begin < limit_offset:
        end += FRAME_ALIGNMENT
        while end < limit_offset and frame_length_acquire(term + end) == 0:
            end += FRAME_ALIGNMENT
        gap_length[0] = end - begin
    return begin


# -- Python faces --------------------------------------------------------------------------------------------------------------------

cdef int check_range(BufferView* term, int32_t offset, int32_t limit_offset) except -1:
    if not 0 <= offset <= limit_offset <= term.length:
        raise ValueError(f"[{offset}, {limit_offset}) is no part of a term of {term.length} bytes")
    return 0


def availability(term, int32_t offset, int32_t max_length) -> tuple:
    """Return (bytes available, bytes of padding after them) of scan_for_availability."""
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
    return scan_block(view.address, offset, limit_offset)


def contiguous_end(term, int32_t offset, int32_t limit_offset) -> int:
    """Return how far committed frames reach without a hole."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    return scan_contiguous(view.address, offset, limit_offset)


def gap(term, int32_t offset, int32_t limit_offset) -> tuple:
    """Return (offset, length) of the first hole; the length is 0 when there is none."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    cdef int32_t length = 0
    cdef int32_t begin = scan_for_gap(view.address, offset, limit_offset, &length)
    return begin, length


def frames(term, int32_t offset, int32_t limit_offset) -> list:
    """Return (offset, frame length, is padding) of each committed frame in order, as a poll sees them."""
    cdef BufferView view
    holder = borrow(term, &view, False)
    check_range(&view, offset, limit_offset)
    cdef bint is_padding = False
    cdef int32_t next_offset = offset
    cdef const uint8_t* frame
    out = []
    while True:
        frame = next_frame(view.address, offset, limit_offset, &next_offset, &is_padding)
        if frame == NULL:
            return out
        out.append((offset, frame_length_acquire(frame), is_padding))
        offset = next_offset
