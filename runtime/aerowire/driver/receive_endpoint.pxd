# A socket that images receive on, and from which their status messages, NAKs and errors go out.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.driver.channel_endpoint cimport ChannelEndpoint
from aerowire.protocol.interest cimport InterestTable


@cython.final
cdef class ReceiveEndpoint(ChannelEndpoint):
    """Its streams and sessions, on the receiver's thread."""

    cdef InterestTable interest
    cdef readonly int64_t receiver_id
    cdef readonly int64_t group_tag
    cdef readonly bint has_group_tag
    cdef Address multicast_control          # length 0: unicast, answers go to the source
    cdef Address explicit_control           # length 0: none
    cdef int quiet_batch                    # datagrams asked for at once while little comes

    cdef bint send_frame(self, uint8_t* frame, int32_t length, const Address* to, int64_t now_ns) noexcept nogil
    cdef bint send_status_message(self, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset,
                                  int32_t window, int flags, int64_t now_ns) noexcept nogil
    cdef bint send_nak(self, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset,
                       int32_t length, int64_t now_ns) noexcept nogil
    cdef bint send_rttm(self, const Address* to, int flags, int32_t session_id, int32_t stream_id, int64_t echo_timestamp_ns,
                        int64_t now_ns) noexcept nogil
    cdef bint send_error(self, const Address* to, int32_t session_id, int32_t stream_id, int32_t error_code, const char* text,
                         int32_t text_length, int64_t now_ns) noexcept nogil
    cdef bint elicit_setup(self, const Address* to, int32_t session_id, int32_t stream_id, int64_t now_ns) noexcept nogil
    cdef const Address* control_of(self, const Address* source) noexcept nogil
