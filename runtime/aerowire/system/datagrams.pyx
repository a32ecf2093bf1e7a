"""A UDP socket as a DatagramPort: sendmmsg and recvmmsg straight over the caller's buffers, never blocking.

ICMP refusals of datagrams sent earlier come back as errors of a later call; they say nothing of that call and are only counted.
"""

from libc.errno cimport EAGAIN, ECONNREFUSED, EINTR, EINVAL, EIO, EMSGSIZE, ENOBUFS, EOPNOTSUPP, errno
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import socket

from aerowire.base.address cimport Address, address_from, address_sockaddr, address_to
from aerowire.base.errors import ClosedError
from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.system.segmentation cimport aw_can_segment, aw_join_segments, aw_send_segments, segments_in_row

cdef extern from *:
    """
    #ifndef _GNU_SOURCE
    #define _GNU_SOURCE
    #endif
    #include <sys/socket.h>
    #include <sys/uio.h>
    #include <netinet/in.h>
    #include <time.h>
    #include <stdint.h>
    #include <string.h>

    #define AW_CONTROL_LENGTH 64

    /* epoch ns of the kernel's receive timestamp among the control messages, 0 without one */
    static inline int64_t aw_receive_timestamp(struct msghdr *header)
    {
    #ifdef SCM_TIMESTAMPNS
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
                struct timespec at;
                memcpy(&at, CMSG_DATA(c), sizeof(at));
                return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
            }
    #endif
        return 0;
    }
    /* Connect to another peer. What the first one made of the local address goes, or it would stay the source of all that is sent; the
       port stays. */
    static inline int aw_reconnect(int fd, const struct sockaddr *remote, socklen_t length)
    {
        struct sockaddr_storage before, after;
        struct sockaddr none;
        socklen_t before_length = sizeof(before), after_length = sizeof(after);
        memset(&none, 0, sizeof(none));
        none.sa_family = AF_UNSPEC;
        if (getsockname(fd, (struct sockaddr *)&before, &before_length) < 0 || connect(fd, &none, sizeof(none)) < 0
                || getsockname(fd, (struct sockaddr *)&after, &after_length) < 0)
            return -1;
        /* a port of the system's choice is lost with the peer; in both families it is at the same place */
        if (((struct sockaddr_in *)&after)->sin_port == 0) {
            ((struct sockaddr_in *)&after)->sin_port = ((struct sockaddr_in *)&before)->sin_port;
            if (bind(fd, (struct sockaddr *)&after, after_length) < 0)
                return -1;
        }
        return connect(fd, remote, length);
    }
    #ifndef SO_TIMESTAMPNS
    #define SO_TIMESTAMPNS -1
    #endif
    """
    ctypedef unsigned int socklen_t
    cdef struct iovec:
        void* iov_base
        size_t iov_len
    cdef struct msghdr:
        void* msg_name
        socklen_t msg_namelen
        iovec* msg_iov
        size_t msg_iovlen
        void* msg_control
        size_t msg_controllen
        int msg_flags
    cdef struct mmsghdr:
        msghdr msg_hdr
        unsigned int msg_len
    cdef struct sockaddr:
        pass
    int sendmmsg(int fd, mmsghdr* messages, unsigned int count, int flags) nogil
    int recvmmsg(int fd, mmsghdr* messages, unsigned int count, int flags, void* timeout) nogil
    ssize_t sendto(int fd, const void* buffer, size_t length, int flags, const sockaddr* destination, socklen_t destination_length) nogil
    ssize_t recvmsg(int fd, msghdr* message, int flags) nogil
    ssize_t recvfrom(int fd, void* buffer, size_t length, int flags, sockaddr* source, socklen_t* source_length) nogil
    int getsockname(int fd, sockaddr* address, socklen_t* length) nogil
    int aw_reconnect(int fd, const sockaddr* remote, socklen_t length) nogil
    int setsockopt(int fd, int level, int name, const void* value, socklen_t length) nogil
    int SOL_SOCKET, SO_TIMESTAMPNS, MSG_DONTWAIT, MSG_NOSIGNAL
    int AW_CONTROL_LENGTH
    int64_t aw_receive_timestamp(msghdr* header) nogil
    int32_t aw_segment_size(msghdr* header) nogil       # of segmentation.pxd, which has no msghdr

cdef enum:
    BATCH_MAX = 64              # datagrams of one system call; longer batches take several
    REFUSALS_MAX = 8            # ICMP errors skipped in one receive: a flood of them must not hold the agent
    SOCKADDR_MAX = 28           # of an IPv6 address

cdef struct Headers:
    mmsghdr messages[BATCH_MAX]
    iovec vectors[BATCH_MAX]
    uint8_t control[BATCH_MAX][64]


cdef class UdpPort(DatagramPort):
    """A bound, non-blocking socket.  Owns it: close() closes it.

    Changed by: one thread at a time.  A port is connected when the socket is; then the peer alone is heard and ICMP refusals arrive.
    cut: let the kernel cut datagrams that lie in a row in memory; it sends the same ones, and where it cannot they are sent one by one.
    join: let the kernel join datagrams of one source that arrived together; an item's segment_size then says where to part them.
    """

    def __init__(self, sock, *, timestamps=False, cut=True, join=False):
        cdef int on = 1
        self._fd = -1
        self._socket = sock
        sock.setblocking(False)
        self._headers = calloc(1, sizeof(Headers))
        if self._headers == NULL:
            raise MemoryError("datagram headers")
        self._fd = sock.fileno()
        memset(&self._remote, 0, sizeof(Address))
        try:
            sock.getpeername()
            self._connected = True
        except OSError:
            self._connected = False
        if timestamps:
            self._timestamps = setsockopt(self._fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0
        self._cuts = cut and aw_can_segment(self._fd)
        self._joins = join and aw_join_segments(self._fd)

    def __dealloc__(self):
        free(self._headers)

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        cdef int done = 0
        cdef int chunk, sent
        if count == 1:
            return self._send_one(items)
        while done < count:
            chunk = segments_in_row(items + done, count - done) if self._cuts else 1
            if chunk > 1:
                sent = self._send_row(items + done, chunk)
            else:
                chunk = min(count - done, <int>BATCH_MAX)
                sent = self._send_chunk(items + done, chunk)
            if sent < 0:
                return done if done else sent
            done += sent
            if sent < chunk:
                break
        return done

    cdef int _send_row(self, Datagram* items, int count) noexcept nogil:
        cdef Address* remote = &items[0].address if items[0].address.length else &self._remote
        cdef socklen_t length = remote.length if items[0].address.length or not self._connected else 0
        cdef int32_t total = <int32_t>(items[count - 1].buffer - items[0].buffer) + items[count - 1].length
        cdef bint retried = False
        cdef int outcome, index
        while aw_send_segments(self._fd, items[0].buffer, total, <uint16_t>items[0].length, address_sockaddr(remote), length) < 0:
            if errno == EINVAL or errno == EIO or errno == EMSGSIZE or errno == EOPNOTSUPP:
                self._cuts = False      # this route does not: a datagram is longer than its MTU, or the device has no checksums
                return self._send_chunk(items, count)
            outcome = self._failed_send(errno, &retried)
            if outcome <= 0:
                return outcome
        for index in range(count):
            items[index].result = items[index].length
        return count

    cdef int _send_chunk(self, Datagram* items, int count) noexcept nogil:
        cdef Headers* headers = <Headers*>self._headers
        cdef msghdr* header
        cdef int index, sent
        cdef bint retried = False
        for index in range(count):
            items[index].result = 0
            headers.vectors[index].iov_base = items[index].buffer
            headers.vectors[index].iov_len = items[index].length
            header = &headers.messages[index].msg_hdr
            memset(header, 0, sizeof(msghdr))
            header.msg_iov = &headers.vectors[index]
            header.msg_iovlen = 1
            if items[index].address.length:
                header.msg_name = address_sockaddr(&items[index].address)
                header.msg_namelen = items[index].address.length
            elif not self._connected and self._remote.length:
                header.msg_name = address_sockaddr(&self._remote)
                header.msg_namelen = self._remote.length
        while True:
            sent = sendmmsg(self._fd, headers.messages, count, MSG_DONTWAIT | MSG_NOSIGNAL)
            if sent >= 0:
                break
            sent = self._failed_send(errno, &retried)
            if sent <= 0:
                return sent
        for index in range(sent):
            items[index].result = <int32_t>headers.messages[index].msg_len
            if items[index].result < items[index].length:
                self._short_sends += 1
        return sent

    cdef int _send_one(self, Datagram* item) noexcept nogil:
        # A quiet stream sends one datagram at a time: without the headers of a batch.
        cdef Address* remote = &item.address if item.address.length else &self._remote
        cdef socklen_t length = remote.length if item.address.length or not self._connected else 0
        cdef ssize_t sent
        cdef bint retried = False
        cdef int outcome
        item.result = 0
        while True:
            sent = sendto(self._fd, item.buffer, item.length, MSG_DONTWAIT | MSG_NOSIGNAL,
                          <const sockaddr*>address_sockaddr(remote) if length else NULL, length)
            if sent >= 0:
                break
            outcome = self._failed_send(errno, &retried)
            if outcome <= 0:
                return outcome
        item.result = <int32_t>sent
        if item.result < item.length:
            self._short_sends += 1
        return 1

    cdef int _failed_send(self, int error, bint* retried) noexcept nogil:
        # 1: try again; 0: nothing is sent now; else the negative error
        if error == EINTR:
            return 1
        if error == ECONNREFUSED:
            self._refusals += 1
            if not retried[0]:
                retried[0] = True
                return 1
            return 0
        if error == EAGAIN or error == ENOBUFS:
            return 0
        return -error

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        cdef Headers* headers = <Headers*>self._headers
        cdef int refusals = 0
        cdef int index, received
        cdef msghdr* header
        if count == 1:
            return self._receive_told(items) if self._timestamps or self._joins else self._receive_one(items)
        count = min(count, <int>BATCH_MAX)
        for index in range(count):
            headers.vectors[index].iov_base = items[index].buffer
            headers.vectors[index].iov_len = items[index].capacity
            header = &headers.messages[index].msg_hdr
            memset(header, 0, sizeof(msghdr))
            header.msg_iov = &headers.vectors[index]
            header.msg_iovlen = 1
            header.msg_name = address_sockaddr(&items[index].address)
            header.msg_namelen = SOCKADDR_MAX
            if self._timestamps or self._joins:
                header.msg_control = headers.control[index]
                header.msg_controllen = AW_CONTROL_LENGTH
        while True:
            received = recvmmsg(self._fd, headers.messages, count, MSG_DONTWAIT, NULL)
            if received >= 0:
                break
            received = self._failed_receive(errno, &refusals)
            if received <= 0:
                return received
        for index in range(received):
            items[index].length = <int32_t>headers.messages[index].msg_len
            items[index].segment_size = aw_segment_size(&headers.messages[index].msg_hdr) if self._joins else 0
            items[index].address.length = headers.messages[index].msg_hdr.msg_namelen
            items[index].timestamp_ns = aw_receive_timestamp(&headers.messages[index].msg_hdr) if self._timestamps else 0
        return received

    cdef int _receive_one(self, Datagram* item) noexcept nogil:
        # A quiet socket is asked for one datagram at a time: cheaper than a batch of one.
        cdef socklen_t length = SOCKADDR_MAX
        cdef ssize_t received
        cdef int refusals = 0
        cdef int outcome
        while True:
            received = recvfrom(self._fd, item.buffer, item.capacity, MSG_DONTWAIT, <sockaddr*>address_sockaddr(&item.address), &length)
            if received >= 0:
                item.length = <int32_t>received
                item.segment_size = 0
                item.address.length = length
                item.timestamp_ns = 0
                return 1
            outcome = self._failed_receive(errno, &refusals)
            if outcome <= 0:
                return outcome

    cdef int _receive_told(self, Datagram* item) noexcept nogil:
        # The same of a socket whose control messages tell something: recvmsg costs a quarter less than a recvmmsg of one.
        cdef Headers* headers = <Headers*>self._headers
        cdef msghdr* header = &headers.messages[0].msg_hdr
        cdef ssize_t received
        cdef int refusals = 0
        cdef int outcome
        headers.vectors[0].iov_base = item.buffer
        headers.vectors[0].iov_len = item.capacity
        header.msg_iov = &headers.vectors[0]
        header.msg_iovlen = 1
        header.msg_control = headers.control[0]
        header.msg_flags = 0
        while True:
            header.msg_name = address_sockaddr(&item.address)
            header.msg_namelen = SOCKADDR_MAX
            header.msg_controllen = AW_CONTROL_LENGTH
            received = recvmsg(self._fd, header, MSG_DONTWAIT)
            if received >= 0:
                item.length = <int32_t>received
                item.segment_size = aw_segment_size(header) if self._joins else 0
                item.address.length = header.msg_namelen
                item.timestamp_ns = aw_receive_timestamp(header) if self._timestamps else 0
                return 1
            outcome = self._failed_receive(errno, &refusals)
            if outcome <= 0:
                return outcome

    cdef int _failed_receive(self, int error, int* refusals) noexcept nogil:
        # 1: try again; 0: nothing is there now; else the negative error
        if error == EINTR:
            return 1
        if error == ECONNREFUSED:
            self._refusals += 1
            refusals[0] += 1
            return 1 if refusals[0] <= REFUSALS_MAX else 0
        return 0 if error == EAGAIN else -error

    cdef int file_descriptor(self) noexcept nogil:
        return self._fd

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        cdef socklen_t length = SOCKADDR_MAX
        memset(out, 0, sizeof(Address))
        if getsockname(self._fd, <sockaddr*>address_sockaddr(out), &length) < 0:
            return -errno
        out.length = length
        return 0

    cdef int rebind(self, const Address* remote) noexcept nogil:
        if self._connected:
            if aw_reconnect(self._fd, <const sockaddr*>address_sockaddr(remote), remote.length) < 0:
                return -errno
            return 0
        self._remote = remote[0]
        return 0

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    @property
    def short_sends(self) -> int:
        """Datagrams that the system took only in part."""
        return self._short_sends

    @property
    def refusals(self) -> int:
        """ICMP errors that came back to this socket."""
        return self._refusals

    @property
    def connected(self) -> bool:
        return self._connected

    @property
    def cuts(self) -> bool:
        """Whether the kernel cuts datagrams that lie in a row; False for good after a route that cannot."""
        return self._cuts

    @property
    def joins(self) -> bool:
        """Whether the kernel joins datagrams that arrived together."""
        return self._joins

    @property
    def peer(self):
        """(host, port) that datagrams without a destination go to, or None."""
        if self._connected:
            return self._socket.getpeername()[:2]
        return address_to(&self._remote)

    @property
    def send_buffer_length(self) -> int:
        """SO_SNDBUF as the system reports it."""
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    @property
    def receive_buffer_length(self) -> int:
        """SO_RCVBUF as the system reports it."""
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    @property
    def socket(self):
        """The Python socket, for options; reading or writing it bypasses the port."""
        if self._socket is None:
            raise ClosedError("datagram port is closed", where="UdpPort.socket", expected="an open port")
        return self._socket

    @property
    def closed(self) -> bool:
        return self._socket is None

    def close(self) -> None:
        """Close the socket. Not while an agent uses the port. Idempotent."""
        sock, self._socket = self._socket, None
        self._fd = -1
        if sock is not None:
            sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()
