# The sockets that images receive on, and from which their status messages, NAKs and errors go out.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.driver.media.channel_endpoint cimport ChannelEndpoint
from aerowire.driver.media.image_connections cimport IMAGE_CONNECTIONS_MAX
from aerowire.driver.media.receive_transport cimport ReceiveTransport
from aerowire.protocol.data_packet_dispatcher cimport DataPacketDispatcher


@cython.final
cdef class ReceiveEndpoint(ChannelEndpoint):
    """Its streams and sessions, on the receiver's thread."""

    cdef DataPacketDispatcher dispatcher
    cdef readonly int64_t receiver_id
    cdef readonly int64_t group_tag
    cdef readonly bint has_group_tag
    cdef readonly bint is_multi_destination
    # the receiver's: borrowed ReceiveTransports by index, NULL where there is none
    cdef void* transports[IMAGE_CONNECTIONS_MAX]
    cdef int transport_count                # places in use; those between may be empty
    # the conductor's: keeps every transport alive as long as the receiver may use it
    cdef dict _held

    # All on the transport of an index, and to `to` unless that has a control address of its own. False: nothing went out.
    cdef bint send_frame(self, int index, uint8_t* frame, int32_t length, const Address* to, int64_t now_ns) noexcept nogil
    cdef bint send_status_message(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id,
                                  int32_t term_offset, int32_t window, int flags, int64_t now_ns) noexcept nogil
    cdef bint send_nak(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id,
                       int32_t term_offset, int32_t length, int64_t now_ns) noexcept nogil
    cdef bint send_rttm(self, int index, const Address* to, int flags, int32_t session_id, int32_t stream_id,
                        int64_t echo_timestamp_ns, int64_t now_ns) noexcept nogil
    cdef bint send_error(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t error_code,
                         const char* text, int32_t text_length, int64_t now_ns) noexcept nogil
    cdef bint send_response_setup(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t response_session_id,
                                  int64_t now_ns) noexcept nogil
    cdef bint elicit_setup(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int64_t now_ns) noexcept nogil
    cdef bint has_transport(self, int index) noexcept nogil
    cdef void attach(self, ReceiveTransport transport) noexcept nogil
    cdef void detach(self, ReceiveTransport transport) noexcept nogil
