"""Which frames are well formed; the inline checks are in the .pxd, this adds the packet walk and Python faces for tests.

A datagram that fails any of these is counted as invalid and dropped without a reply, whoever sent it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.memory.region cimport BufferView, borrow


cdef int32_t data_packet_length(const uint8_t* packet, int32_t length, int32_t term_length) noexcept nogil:
    cdef int32_t term_offset = data_header_term_offset(packet)
    cdef int64_t next_offset = term_offset
    cdef int64_t offset = 0
    cdef int64_t aligned
    cdef int32_t frame_length
    cdef int frame_type = FRAME_TYPE_DATA
    if term_offset < 0 or term_offset >= term_length or not is_frame_aligned(term_offset):
        return PACKET_INVALID
    if data_is_heartbeat(packet, length):
        return PACKET_HEARTBEAT
    while offset <= length - DATA_HEADER_LENGTH:
        frame_length = data_header_frame_length(packet + offset)
        frame_type = data_header_type(packet + offset)
        if frame_length < DATA_HEADER_LENGTH or (frame_type != FRAME_TYPE_DATA and frame_type != FRAME_TYPE_PAD):
            return PACKET_INVALID
        if data_header_term_offset(packet + offset) != next_offset:
            return PACKET_INVALID
        aligned = (<int64_t>frame_length + FRAME_ALIGNMENT - 1) & ~<int64_t>(FRAME_ALIGNMENT - 1)
        next_offset += aligned
        if next_offset > term_length:
            return PACKET_INVALID
        offset += aligned
    if offset == length or (offset > length and frame_type == FRAME_TYPE_PAD):
        return <int32_t>offset
    return PACKET_INVALID


def is_valid_frame(packet) -> bool:
    """Return whether a datagram passes the first layer."""
    cdef BufferView view
    holder = borrow(packet, &view, False)
    return view.length > 0 and frame_is_valid(view.address, <int32_t>view.length)


def is_valid_setup(packet) -> bool:
    """Return whether a SETUP frame (at least SETUP_LENGTH bytes) is consistent."""
    cdef BufferView view
    holder = borrow(packet, &view, False)
    return setup_is_valid(view.address)


def is_valid_status_message(packet, int32_t term_length) -> bool:
    """Return whether a status message fits a stream of this term length in bytes."""
    cdef BufferView view
    holder = borrow(packet, &view, False)
    return status_message_is_valid(view.address, term_length)


def is_valid_nak(packet, int32_t term_length) -> bool:
    """Return whether a NAK names a range inside a term of this length in bytes."""
    cdef BufferView view
    holder = borrow(packet, &view, False)
    return nak_is_valid(view.address, term_length)


def is_valid_error(packet) -> bool:
    """Return whether an ERR frame's text lies inside the frame."""
    cdef BufferView view
    holder = borrow(packet, &view, False)
    return error_frame_is_valid(view.address)


def packet_length(packet, int32_t term_length) -> int:
    """Return the term bytes that a DATA/PAD datagram covers, 0 for a heartbeat, -1 for an invalid one."""
    cdef BufferView view
    holder = borrow(packet, &view, False)
    return data_packet_length(view.address, <int32_t>view.length, term_length)
