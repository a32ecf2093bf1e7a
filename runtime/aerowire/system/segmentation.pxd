# UDP segmentation offload: the kernel cuts one buffer into datagrams of equal length, and joins datagrams that arrived together.
#
# What is on a network does not change; over the loopback the datagrams stay joined. Linux: udp(7), UDP_SEGMENT and UDP_GRO.

from libc.stdint cimport int32_t, int64_t, uint16_t
from aerowire.base.address cimport address_equals
from aerowire.base.ports cimport Datagram

cdef extern from *:
    """
    #ifndef _GNU_SOURCE
    #define _GNU_SOURCE
    #endif
    #include <errno.h>
    #include <stdint.h>
    #include <string.h>
    #include <sys/socket.h>
    #include <sys/uio.h>
    #include <netinet/in.h>

    #ifndef SOL_UDP
    #define SOL_UDP 17
    #endif
    #ifdef __linux__
    #define AW_UDP_SEGMENT 103
    #define AW_UDP_GRO 104
    #else
    #define AW_UDP_SEGMENT -1
    #define AW_UDP_GRO -1
    #endif

    /* sendmsg of `length` bytes that the kernel cuts into datagrams of `segment`; bytes sent or -1 with errno */
    static inline ssize_t aw_send_segments(int fd, void *buffer, size_t length, uint16_t segment, void *address, socklen_t address_length)
    {
        union { char space[CMSG_SPACE(sizeof(uint16_t))]; struct cmsghdr align; } control;
        struct iovec vector = { buffer, length };
        struct msghdr header;
        struct cmsghdr *c;
        memset(&header, 0, sizeof(header));
        memset(&control, 0, sizeof(control));
        header.msg_name = address_length ? address : 0;
        header.msg_namelen = address_length;
        header.msg_iov = &vector;
        header.msg_iovlen = 1;
        header.msg_control = control.space;
        header.msg_controllen = sizeof(control.space);
        c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = AW_UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        memcpy(CMSG_DATA(c), &segment, sizeof(segment));
        return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    }

    /* length of the datagrams that the kernel joined, 0 for a single one */
    static inline int32_t aw_segment_size(struct msghdr *header)
    {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
            if (c->cmsg_level == SOL_UDP && c->cmsg_type == AW_UDP_GRO) {
                int size;
                memcpy(&size, CMSG_DATA(c), sizeof(size));
                return size;
            }
        return 0;
    }

    /* whether the kernel cuts datagrams for this socket */
    static inline int aw_can_segment(int fd)
    {
        int none = 0;
        return setsockopt(fd, SOL_UDP, AW_UDP_SEGMENT, &none, sizeof(none)) == 0;
    }

    /* have datagrams that arrived together joined; whether the kernel does */
    static inline int aw_join_segments(int fd)
    {
        int on = 1;
        return setsockopt(fd, SOL_UDP, AW_UDP_GRO, &on, sizeof(on)) == 0;
    }
    """
    ssize_t aw_send_segments(int fd, void* buffer, size_t length, uint16_t segment, void* address, unsigned int address_length) nogil
    bint aw_can_segment(int fd)
    bint aw_join_segments(int fd)
    int SEGMENTS_CONTROL_LENGTH "CMSG_SPACE(sizeof(int))"

cdef enum:
    SEGMENTS_MAX = 64                   # of one call: UDP_MAX_SEGMENTS of every kernel that has the option
    SEGMENTS_LENGTH_MAX = 65_000        # bytes of one call: with its headers an IP packet of 65,535


# How many of the leading datagrams lie one behind the other, go to one address and are equally long (the last one at most): one call
# can send them.
cdef inline int segments_in_row(const Datagram* items, int count) noexcept nogil:
    cdef int32_t segment = items[0].length
    cdef int64_t total = segment
    cdef int length = 1
    while length < count and length < SEGMENTS_MAX and items[length - 1].length == segment:
        if items[length].buffer != items[length - 1].buffer + segment or items[length].length > segment or items[length].length == 0:
            break
        total += items[length].length
        if total > SEGMENTS_LENGTH_MAX or not address_equals(&items[0].address, &items[length].address):
            break
        length += 1
    return length
