# Which frames are well formed: both layers of checks that a driver makes before it believes a datagram.
#
# First layer: is this datagram a frame at all (Aeron: UdpChannelTransport.isValidFrame). Second layer: are the fields of a
# set-up, status message, NAK, error frame or data packet consistent (the isValid methods of the flyweights, validatePacket).

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, ERROR_FRAME_LENGTH, ERROR_TEXT_LENGTH_MAX, FRAME_ALIGNMENT, FRAME_HEADER_LENGTH, FRAME_TYPE_DATA, FRAME_TYPE_ERR,
    FRAME_TYPE_NAK, FRAME_TYPE_PAD, FRAME_TYPE_RES, FRAME_TYPE_RSP_SETUP, FRAME_TYPE_RTTM, FRAME_TYPE_SETUP, FRAME_TYPE_SM, FRAME_VERSION,
    MAX_UDP_PAYLOAD, NAK_LENGTH, RESOLUTION_FRAME_LENGTH_MIN, RESPONSE_SETUP_LENGTH, RTTM_LENGTH, SETUP_LENGTH, SETUP_MTU_MIN,
    STATUS_MESSAGE_LENGTH, TERM_LENGTH_MAX, TERM_LENGTH_MIN, data_header_frame_length, data_header_term_offset, data_header_type,
    error_frame_error_length, error_frame_frame_length, frame_header_frame_length, frame_header_type, frame_header_version, nak_length,
    nak_term_offset, setup_active_term_id, setup_initial_term_id, setup_mtu, setup_term_length, setup_term_offset,
    status_message_consumption_term_offset, status_message_receiver_window)

cdef enum:
    PACKET_INVALID = -1         # data_packet_length: not a run of frames
    PACKET_HEARTBEAT = 0        # data_packet_length: a bare header that declares no bytes


cdef inline bint is_frame_aligned(int64_t value) noexcept nogil:
    return (value & (FRAME_ALIGNMENT - 1)) == 0

cdef inline int32_t frame_length_required(int frame_type) noexcept nogil:
    # Least bytes of a datagram that starts with this type; 0 for a type that never stands on the wire.
    if frame_type == FRAME_TYPE_DATA or frame_type == FRAME_TYPE_PAD:
        return DATA_HEADER_LENGTH
    if frame_type == FRAME_TYPE_SM:
        return STATUS_MESSAGE_LENGTH
    if frame_type == FRAME_TYPE_NAK:
        return NAK_LENGTH
    if frame_type == FRAME_TYPE_SETUP:
        return SETUP_LENGTH
    if frame_type == FRAME_TYPE_RTTM:
        return RTTM_LENGTH
    if frame_type == FRAME_TYPE_ERR:
        return ERROR_FRAME_LENGTH
    if frame_type == FRAME_TYPE_RSP_SETUP:
        return RESPONSE_SETUP_LENGTH
    if frame_type == FRAME_TYPE_RES:
        return RESOLUTION_FRAME_LENGTH_MIN
    return 0

cdef inline bint frame_is_valid(const uint8_t* packet, int32_t length) noexcept nogil:
    cdef int32_t frame_length, required
    cdef int frame_type
    if length < FRAME_HEADER_LENGTH or frame_header_version(packet) != FRAME_VERSION:
        return False
    frame_length = frame_header_frame_length(packet)
    frame_type = frame_header_type(packet)
    required = frame_length_required(frame_type)
    if frame_length < 0 or required == 0 or length < required:
        return False
    if required == DATA_HEADER_LENGTH:
        return is_frame_aligned(length)
    return frame_length <= length

cdef inline bint setup_is_valid(const uint8_t* packet) noexcept nogil:
    cdef int32_t term_length = setup_term_length(packet)
    cdef int32_t offset = setup_term_offset(packet)
    cdef int32_t mtu = setup_mtu(packet)
    return (TERM_LENGTH_MIN <= term_length <= TERM_LENGTH_MAX and (term_length & (term_length - 1)) == 0
            and 0 <= offset < term_length and is_frame_aligned(offset)
            and SETUP_MTU_MIN <= mtu <= MAX_UDP_PAYLOAD and is_frame_aligned(mtu))


cdef inline bint setup_has_begun(const uint8_t* packet) noexcept nogil:
    # No stream is before its beginning. Ids wrap.
    return <int32_t>(<uint32_t>setup_active_term_id(packet) - <uint32_t>setup_initial_term_id(packet)) >= 0

cdef inline bint status_message_is_valid(const uint8_t* packet, int32_t term_length) noexcept nogil:
    # term_length: TERM_LENGTH_MAX when the publication is unknown
    cdef int32_t offset = status_message_consumption_term_offset(packet)
    cdef int32_t window = status_message_receiver_window(packet)
    return 0 <= offset < term_length and is_frame_aligned(offset) and 0 <= window <= (term_length >> 1)

cdef inline bint nak_is_valid(const uint8_t* packet, int32_t term_length) noexcept nogil:
    cdef int32_t offset = nak_term_offset(packet)
    cdef int32_t length = nak_length(packet)
    return (0 <= offset < term_length and is_frame_aligned(offset) and length >= 0
            and <int64_t>offset + length <= term_length)

cdef inline bint error_frame_is_valid(const uint8_t* packet) noexcept nogil:
    cdef int32_t length = error_frame_error_length(packet)
    return 0 <= length <= ERROR_TEXT_LENGTH_MAX and ERROR_FRAME_LENGTH + length <= error_frame_frame_length(packet)

cdef inline bint data_is_heartbeat(const uint8_t* packet, int32_t length) noexcept nogil:
    return length == DATA_HEADER_LENGTH and data_header_frame_length(packet) == 0

# Bytes of the term that a DATA/PAD datagram covers, PACKET_HEARTBEAT or PACKET_INVALID. Session, stream, term, version and flags of
# later frames are not looked at. The datagram has passed frame_is_valid. Aeron: PublicationImage.validatePacket.
cdef int32_t data_packet_length(const uint8_t* packet, int32_t length, int32_t term_length) noexcept nogil
