# A UDP socket as a DatagramPort: sendmmsg and recvmmsg over the caller's buffers, never blocking.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram, DatagramPort


@cython.final
cdef class UdpPort(DatagramPort):
    """UdpPort(sock): owns a non-blocking bound (and perhaps connected) socket made by system.udp."""

    cdef object _socket
    cdef int _fd
    cdef bint _connected
    cdef bint _timestamps
    cdef bint _cuts             # datagrams that lie in a row are sent by one call, and the kernel cuts them apart
    cdef bint _joins            # datagrams that arrived together are received by one call, with the length of each
    cdef Address _remote
    cdef void* _headers         # struct mmsghdr[], iovec[], control: owned
    cdef int64_t _short_sends   # datagrams that the OS took only in part
    cdef int64_t _refusals      # ICMP errors seen on this socket

    cdef int _send_chunk(self, Datagram* items, int count) noexcept nogil
    cdef int _send_row(self, Datagram* items, int count) noexcept nogil
    cdef int _send_one(self, Datagram* item) noexcept nogil
    cdef int _failed_send(self, int error, bint* retried) noexcept nogil
    cdef int _receive_one(self, Datagram* item) noexcept nogil
    cdef int _receive_told(self, Datagram* item) noexcept nogil
    cdef int _failed_receive(self, int error, int* refusals) noexcept nogil
