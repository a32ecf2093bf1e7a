# Control frames written into a caller's buffer. Each returns the bytes to send.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, ERROR_FLAGS_HAS_GROUP_TAG, ERROR_FRAME_LENGTH, FRAME_TYPE_DATA, FRAME_TYPE_ERR, FRAME_TYPE_NAK, FRAME_TYPE_RSP_SETUP,
    FRAME_TYPE_RTTM, FRAME_TYPE_SETUP, FRAME_TYPE_SM, FRAME_VERSION, GROUP_TAG_LENGTH, NAK_LENGTH, RESPONSE_SETUP_LENGTH, RTTM_LENGTH, SETUP_LENGTH,
    STATUS_MESSAGE_GROUP_TAG_OFFSET, STATUS_MESSAGE_LENGTH, data_header_set_session_id, data_header_set_stream_id,
    data_header_set_term_id, data_header_set_term_offset, error_frame_set_error_code, error_frame_set_error_length,
    error_frame_set_group_tag, error_frame_set_receiver_id, error_frame_set_session_id, error_frame_set_stream_id,
    frame_header_set_flags, frame_header_set_frame_length, frame_header_set_type, frame_header_set_version, nak_set_length,
    nak_set_session_id, nak_set_stream_id, nak_set_term_id, nak_set_term_offset, response_setup_set_response_session_id,
    response_setup_set_session_id, response_setup_set_stream_id, rttm_set_echo_timestamp_ns, rttm_set_receiver_id,
    rttm_set_reception_delta_ns, rttm_set_session_id, rttm_set_stream_id, setup_set_active_term_id, setup_set_initial_term_id,
    setup_set_mtu, setup_set_session_id, setup_set_stream_id, setup_set_term_length, setup_set_term_offset, setup_set_ttl,
    status_message_set_consumption_term_id, status_message_set_consumption_term_offset, status_message_set_group_tag,
    status_message_set_receiver_id, status_message_set_receiver_window, status_message_set_session_id, status_message_set_stream_id)


cdef inline void build_header(uint8_t* frame, int32_t frame_length, int frame_type, int flags) noexcept nogil:
    frame_header_set_frame_length(frame, frame_length)
    frame_header_set_version(frame, FRAME_VERSION)
    frame_header_set_flags(frame, <uint8_t>flags)
    frame_header_set_type(frame, <int16_t>frame_type)

cdef inline int32_t build_heartbeat(uint8_t* frame, int flags, int32_t session_id, int32_t stream_id, int32_t term_id,
                                    int32_t term_offset) noexcept nogil:
    memset(frame, 0, DATA_HEADER_LENGTH)
    build_header(frame, 0, FRAME_TYPE_DATA, flags)
    data_header_set_term_offset(frame, term_offset)
    data_header_set_session_id(frame, session_id)
    data_header_set_stream_id(frame, stream_id)
    data_header_set_term_id(frame, term_id)
    return DATA_HEADER_LENGTH

cdef inline int32_t build_setup(uint8_t* frame, int flags, int32_t session_id, int32_t stream_id, int32_t initial_term_id,
                                int32_t active_term_id, int32_t term_offset, int32_t term_length, int32_t mtu, int32_t ttl) noexcept nogil:
    build_header(frame, SETUP_LENGTH, FRAME_TYPE_SETUP, flags)
    setup_set_term_offset(frame, term_offset)
    setup_set_session_id(frame, session_id)
    setup_set_stream_id(frame, stream_id)
    setup_set_initial_term_id(frame, initial_term_id)
    setup_set_active_term_id(frame, active_term_id)
    setup_set_term_length(frame, term_length)
    setup_set_mtu(frame, mtu)
    setup_set_ttl(frame, ttl)
    return SETUP_LENGTH

# group_tag is written only with has_group_tag, which makes the frame longer.
cdef inline int32_t build_status_message(uint8_t* frame, int flags, int32_t session_id, int32_t stream_id, int32_t term_id,
                                         int32_t term_offset, int32_t window, int64_t receiver_id, bint has_group_tag,
                                         int64_t group_tag) noexcept nogil:
    cdef int32_t length = STATUS_MESSAGE_LENGTH
    if has_group_tag:
        length = STATUS_MESSAGE_GROUP_TAG_OFFSET + GROUP_TAG_LENGTH
        status_message_set_group_tag(frame, group_tag)
    build_header(frame, length, FRAME_TYPE_SM, flags)
    status_message_set_session_id(frame, session_id)
    status_message_set_stream_id(frame, stream_id)
    status_message_set_consumption_term_id(frame, term_id)
    status_message_set_consumption_term_offset(frame, term_offset)
    status_message_set_receiver_window(frame, window)
    status_message_set_receiver_id(frame, receiver_id)
    return length

cdef inline int32_t build_nak(uint8_t* frame, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset,
                              int32_t length) noexcept nogil:
    build_header(frame, NAK_LENGTH, FRAME_TYPE_NAK, 0)
    nak_set_session_id(frame, session_id)
    nak_set_stream_id(frame, stream_id)
    nak_set_term_id(frame, term_id)
    nak_set_term_offset(frame, term_offset)
    nak_set_length(frame, length)
    return NAK_LENGTH

cdef inline int32_t build_rttm(uint8_t* frame, int flags, int32_t session_id, int32_t stream_id, int64_t echo_timestamp_ns,
                               int64_t reception_delta_ns, int64_t receiver_id) noexcept nogil:
    build_header(frame, RTTM_LENGTH, FRAME_TYPE_RTTM, flags)
    rttm_set_session_id(frame, session_id)
    rttm_set_stream_id(frame, stream_id)
    rttm_set_echo_timestamp_ns(frame, echo_timestamp_ns)
    rttm_set_reception_delta_ns(frame, reception_delta_ns)
    rttm_set_receiver_id(frame, receiver_id)
    return RTTM_LENGTH

cdef inline int32_t build_response_setup(uint8_t* frame, int32_t session_id, int32_t stream_id, int32_t response_session_id) noexcept nogil:
    build_header(frame, RESPONSE_SETUP_LENGTH, FRAME_TYPE_RSP_SETUP, 0)
    response_setup_set_session_id(frame, session_id)
    response_setup_set_stream_id(frame, stream_id)
    response_setup_set_response_session_id(frame, response_session_id)
    return RESPONSE_SETUP_LENGTH

# group_tag: -1 without has_group_tag. The caller's buffer holds ERROR_FRAME_LENGTH_MAX bytes.
cdef inline int32_t build_error(uint8_t* frame, int32_t session_id, int32_t stream_id, int64_t receiver_id, bint has_group_tag,
                                int64_t group_tag, int32_t error_code, const char* text, int32_t text_length) noexcept nogil:
    build_header(frame, ERROR_FRAME_LENGTH + text_length, FRAME_TYPE_ERR, ERROR_FLAGS_HAS_GROUP_TAG if has_group_tag else 0)
    error_frame_set_session_id(frame, session_id)
    error_frame_set_stream_id(frame, stream_id)
    error_frame_set_receiver_id(frame, receiver_id)
    error_frame_set_group_tag(frame, group_tag if has_group_tag else -1)
    error_frame_set_error_code(frame, error_code)
    error_frame_set_error_length(frame, text_length)
    memcpy(frame + ERROR_FRAME_LENGTH, text, text_length)
    return ERROR_FRAME_LENGTH + text_length
