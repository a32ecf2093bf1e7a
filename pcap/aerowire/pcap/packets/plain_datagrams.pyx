"""The common case of finding UDP datagrams in packets, one look at each packet: Ethernet and Linux cooked capture, VLAN tags, an IPv4
header, or an IPv6 header without extensions, and UDP.

Everything else - fragments, extension headers, lengths that contradict each other, packets cut short, other protocols - is left to
`link_layers`, which knows all cases, counts each under its reason, and comes to the same result for the simple ones, as the tests compare.
"""

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy

cdef extern from *:
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil

cdef enum:
    AHEAD = 12                  # packets whose headers are on their way from memory
    IP4 = 0x0800
    IP6 = 0x86DD
    VLAN = 0x8100
    SERVICE_VLAN = 0x88A8
    OLD_VLANS = 0x9100
    OLDER_VLANS = 0x9200
    VLAN_TAGS_MAX = 4
    UDP = 17
    UDP_HEADER_LENGTH = 8
    KEY4_LENGTH = 12
    KEY6_LENGTH = 36
    MARK_AT = 6                 # an Ethernet source address
    MARK_LENGTH = 6

ctypedef struct Found:
    int64_t start               # of the datagram in the buffer
    int64_t length              # as sent
    const uint8_t* addresses
    const uint8_t* ports
    bint is_ip6


cdef inline int64_t read_u16(const uint8_t* at) noexcept nogil:
    return (<int64_t>at[0] << 8) | at[1]


cdef inline bint is_vlan(int64_t ethertype) noexcept nogil:
    return ethertype == VLAN or ethertype == SERVICE_VLAN or ethertype == OLD_VLANS or ethertype == OLDER_VLANS


cdef inline bint find(const uint8_t* data, int64_t start, int64_t end, int64_t ethertype_at, int64_t network_at, Found* found) noexcept nogil:
    """Whether a packet is a whole UDP datagram of the simple kind, and where it stands."""
    cdef int64_t at = start + network_at
    cdef int64_t ethertype, total, header_length, packet_end, length
    cdef int tags
    if at > end:
        return False
    ethertype = read_u16(data + start + ethertype_at)
    for tags in range(VLAN_TAGS_MAX):
        if not is_vlan(ethertype):
            break
        if end - at < 4:
            return False
        ethertype = read_u16(data + at + 2)
        at += 4
    if ethertype == IP4:
        if end - at < 20 or data[at] >> 4 != 4 or data[at + 9] != UDP or (read_u16(data + at + 6) & 0x3FFF) != 0:
            return False
        header_length = (data[at] & 15) * 4
        total = read_u16(data + at + 2)
        if header_length < 20 or total < header_length:
            return False
        found.addresses = data + at + 12
        packet_end = at + total
        at += header_length
        found.is_ip6 = False
    elif ethertype == IP6:
        if end - at < 40 or data[at] >> 4 != 6 or data[at + 6] != UDP:
            return False
        total = read_u16(data + at + 4)
        if total == 0:
            return False
        found.addresses = data + at + 8
        at += 40
        packet_end = at + total
        found.is_ip6 = True
    else:
        return False
    if end - at < UDP_HEADER_LENGTH:
        return False
    length = read_u16(data + at + 4)
    if length < UDP_HEADER_LENGTH or at + length > packet_end:
        return False
    found.ports = data + at
    found.start = at + UDP_HEADER_LENGTH
    found.length = length - UDP_HEADER_LENGTH
    return True


cdef int64_t find_all(const uint8_t* data, const int64_t* starts, const int64_t* ends, int64_t count, int64_t ethertype_at, int64_t network_at,
                      const uint8_t* mark, int64_t* rows, int64_t* begins, int64_t* lengths, int64_t* captured_ends, uint8_t* keys4,
                      uint8_t* keys6, uint8_t* is_ip6, uint8_t* marked, int64_t* count6) noexcept nogil:
    """Fill the columns of the simple packets; return their number.  keys6 has room for them all, and so has keys4."""
    cdef int64_t row, at = 0, four = 0, six = 0, captured_end
    cdef Found found
    for row in range(count):
        if row + AHEAD < count:
            prefetch_read(data + starts[row + AHEAD])
        if not find(data, starts[row], ends[row], ethertype_at, network_at, &found):
            continue
        rows[at] = row
        begins[at] = found.start
        lengths[at] = found.length
        captured_end = found.start + found.length
        captured_ends[at] = captured_end if captured_end < ends[row] else ends[row]
        is_ip6[at] = found.is_ip6
        if mark != NULL:
            marked[at] = memcmp(data + starts[row] + MARK_AT, mark, MARK_LENGTH) == 0
        if found.is_ip6:
            memcpy(keys6 + six * KEY6_LENGTH, found.addresses, 32)
            memcpy(keys6 + six * KEY6_LENGTH + 32, found.ports, 4)
            six += 1
        else:
            memcpy(keys4 + four * KEY4_LENGTH, found.addresses, 8)
            memcpy(keys4 + four * KEY4_LENGTH + 8, found.ports, 4)
            four += 1
        at += 1
    count6[0] = six
    return at


def find_plain_datagrams(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] ends, int64_t ethertype_at, int64_t network_at, bytes mark):
    """Find the simple ones among packets that stand at [starts, ends) of the buffer.

    ethertype_at, network_at: offsets of the ethertype in a packet and of what follows its link header.  mark: an Ethernet source address, or
    nothing.  Return (rows, starts, lengths as sent, captured ends, keys of IPv4 (n4, 12), keys of IPv6 (n6, 36), which are IPv6, which have
    the mark); rows ascend.  Raises ValueError where a packet leaves the buffer.
    """
    cdef int64_t count = starts.shape[0], row, found = 0, six = 0
    if ends.shape[0] != count or (mark and len(mark) != MARK_LENGTH):
        raise ValueError(f"{count} starts, {ends.shape[0]} ends, a mark of {len(mark)} bytes")
    for row in range(count):
        if starts[row] < 0 or starts[row] > ends[row] or ends[row] > buffer.shape[0]:
            raise ValueError(f"packet [{starts[row]}, {ends[row]}) leaves a buffer of {buffer.shape[0]} bytes")
    rows, begins, lengths, captured_ends = (np.empty(count, dtype=np.int64) for _ in range(4))
    keys4, keys6 = np.empty(count * KEY4_LENGTH, dtype=np.uint8), np.empty(count * KEY6_LENGTH, dtype=np.uint8)
    is_ip6, marked = np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.uint8)
    cdef int64_t[::1] rows_, begins_, lengths_, captured_ends_
    cdef uint8_t[::1] keys4_, keys6_, is_ip6_, marked_
    cdef const uint8_t* mark_ = NULL
    if count:
        rows_, begins_, lengths_, captured_ends_ = rows, begins, lengths, captured_ends
        keys4_, keys6_, is_ip6_, marked_ = keys4, keys6, is_ip6, marked
        if mark and network_at >= MARK_AT + MARK_LENGTH:
            mark_ = <const uint8_t*><char*>mark
        with nogil:
            found = find_all(&buffer[0] if buffer.shape[0] else NULL, &starts[0], &ends[0], count, ethertype_at, network_at, mark_, &rows_[0],
                             &begins_[0], &lengths_[0], &captured_ends_[0], &keys4_[0], &keys6_[0], &is_ip6_[0], &marked_[0], &six)
    return (rows[:found], begins[:found], lengths[:found], captured_ends[:found], keys4[: (found - six) * KEY4_LENGTH].reshape(-1, KEY4_LENGTH),
            keys6[: six * KEY6_LENGTH].reshape(-1, KEY6_LENGTH), is_ip6[:found].view(np.bool_), marked[:found].view(np.bool_))
