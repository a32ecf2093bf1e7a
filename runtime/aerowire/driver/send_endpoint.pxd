# A socket that publications of one channel send on, and from which their receivers' answers come.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.ports cimport Datagram
from aerowire.driver.channel_endpoint cimport ChannelEndpoint
from aerowire.protocol.pointer_map cimport PointerMap


@cython.final
cdef class SendEndpoint(ChannelEndpoint):
    """Its publications by session and stream, on the sender's thread."""

    cdef PointerMap publications            # (stream, session) -> NetworkPublication*, borrowed
    cdef readonly bint group                # multicast or several destinations: receivers back off, many may answer

    # Datagrams sent whole, in order; fewer than count is a short send, counted. *bytes_sent is increased.
    cdef int send(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil
    cdef bint send_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil
