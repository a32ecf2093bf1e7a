"""The time of arrival, written into frames before anybody reads them."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_BEGIN, DATA_HEADER_LENGTH, FRAME_ALIGNMENT, FRAME_TYPE_DATA, data_header_flags, data_header_frame_length, data_header_type)
from aerowire.memory.region cimport BufferView, borrow


cdef void stamp_arrivals(uint8_t* packet, int32_t length, int32_t offset, int64_t timestamp) noexcept nogil:
    cdef int64_t start = 0
    cdef int64_t place
    cdef int32_t frame_length
    while start <= length - DATA_HEADER_LENGTH:
        frame_length = data_header_frame_length(packet + start)
        if frame_length <= 0:
            return
        place = <int64_t>DATA_HEADER_LENGTH + offset
        if (data_header_type(packet + start) == FRAME_TYPE_DATA and data_header_flags(packet + start) & DATA_FLAGS_BEGIN
                and start + frame_length <= length and place + <int64_t>sizeof(int64_t) <= frame_length):
            memcpy(packet + start + place, &timestamp, sizeof(timestamp))
        start += (<int64_t>frame_length + FRAME_ALIGNMENT - 1) & ~<int64_t>(FRAME_ALIGNMENT - 1)


def stamp(packet, int32_t offset, int64_t timestamp) -> None:
    """Stamp the frames of a writable datagram."""
    cdef BufferView view
    holder = borrow(packet, &view, True)
    stamp_arrivals(view.address, <int32_t>view.length, offset, timestamp)
