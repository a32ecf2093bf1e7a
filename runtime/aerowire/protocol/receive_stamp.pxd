# The time of arrival, written into frames.

from libc.stdint cimport int32_t, int64_t, uint8_t

# Write `timestamp` at `offset` bytes from the payload of every frame that begins a message and has room for it. The packet has passed
# data_packet_length and is no heartbeat. Aeron: PublicationImage.validatePacket.
cdef void stamp_arrivals(uint8_t* packet, int32_t length, int32_t offset, int64_t timestamp) noexcept nogil
