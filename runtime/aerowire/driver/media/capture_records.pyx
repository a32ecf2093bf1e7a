"""The forms of a capture file, appended to a buffer. Datagrams get made-up IP and UDP headers with right checksums.

pcapng: four interfaces of link type RAW named sent, received, sent-dropped, received-dropped; what induced loss ate stands on the
last two with the comment "dropped", what it repeated has the comment "duplicate". Classic pcap: Ethernet, the source address says
the same: 02:00:00:00:00:01 plain, :0d dropped, :02 repeated; destination 02:00:00:00:01:00 sent, :01:01 received.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from aerowire.base.address cimport AF_INET6, Address, address_family, address_ip, address_port

cdef extern from "<arpa/inet.h>" nogil:
    uint16_t htons(uint16_t value)

cdef enum:
    BLOCK_SECTION = 0x0A0D0D0A          # pcapng
    BLOCK_INTERFACE = 1
    BLOCK_PACKET = 6
    BYTE_ORDER_MARK = 0x1A2B3C4D
    OPTION_COMMENT = 1
    OPTION_APPLICATION = 4              # of a section
    OPTION_NAME = 2                     # of an interface
    OPTION_RESOLUTION = 9
    OPTION_FLAGS = 2                    # of a packet
    LINK_RAW = 101
    DIRECTION_IN = 1
    DIRECTION_OUT = 2

    MAGIC_CLASSIC_NS = 0xA1B23C4D       # classic pcap
    LINK_ETHERNET = 1
    SNAPSHOT_LENGTH = 262144

    ETHERTYPE_IP4 = 0x0800
    ETHERTYPE_IP6 = 0x86DD
    IP4_HEADER_LENGTH = 20
    IP6_HEADER_LENGTH = 40
    UDP_HEADER_LENGTH = 8
    PROTOCOL_UDP = 17
    HOP_LIMIT = 64

INTERFACES = ("sent", "received", "sent-dropped", "received-dropped")


cdef int begin_pcapng(RecordBuffer* out) except -1:
    cdef uint8_t resolution = 9
    cdef int64_t start
    cdef bytes text
    cdef uint32_t total
    cdef const char* value
    for name in (None, *INTERFACES):
        start = out.used
        put_u32(out, BLOCK_SECTION if name is None else BLOCK_INTERFACE)
        put_u32(out, 0)
        if name is None:
            put_u32(out, BYTE_ORDER_MARK)
            put_u16(out, 1)
            put_u16(out, 0)
            put_u32(out, -1)
            put_u32(out, -1)
            text = b"aerowire"
        else:
            put_u16(out, LINK_RAW)
            put_u16(out, 0)
            put_u32(out, SNAPSHOT_LENGTH)
            put_option(out, OPTION_RESOLUTION, &resolution, 1)
            text = name.encode()
        value = text
        put_option(out, OPTION_APPLICATION if name is None else OPTION_NAME, value, <int>len(text))
        put_u32(out, 0)
        total = <uint32_t>(out.used - start + 4)
        put_u32(out, total)
        memcpy(out.bytes_ + start + 4, &total, 4)
    return 0


cdef int begin_classic(RecordBuffer* out) except -1:
    put_u32(out, MAGIC_CLASSIC_NS)
    put_u16(out, 2)
    put_u16(out, 4)
    put_u32(out, 0)
    put_u32(out, 0)
    put_u32(out, SNAPSHOT_LENGTH)
    put_u32(out, LINK_ETHERNET)
    return 0


cdef void append_pcapng(RecordBuffer* out, int64_t epoch_ns, bint outgoing, int mark, const Address* source, const Address* target,
                        const uint8_t* payload, int32_t length) noexcept nogil:
    cdef int64_t start = out.used
    cdef uint32_t flags = DIRECTION_OUT if outgoing else DIRECTION_IN
    cdef uint32_t total
    cdef int64_t packet
    put_u32(out, BLOCK_PACKET)
    put_u32(out, 0)
    put_u32(out, (0 if outgoing else 1) + (2 if mark == CAPTURE_LOST else 0))
    put_u32(out, epoch_ns >> 32)
    put_u32(out, epoch_ns)
    out.used += 8
    packet = out.used
    put_ip(out, source, target, payload, length)
    total = <uint32_t>(out.used - packet)
    memcpy(out.bytes_ + packet - 8, &total, 4)
    memcpy(out.bytes_ + packet - 4, &total, 4)
    while out.used & 3 != start & 3:
        out.bytes_[out.used] = 0
        out.used += 1
    put_option(out, OPTION_FLAGS, &flags, 4)
    if mark == CAPTURE_LOST:
        put_option(out, OPTION_COMMENT, <const char*>"dropped", 7)
    elif mark == CAPTURE_DUPLICATE:
        put_option(out, OPTION_COMMENT, <const char*>"duplicate", 9)
    put_u32(out, 0)
    total = <uint32_t>(out.used - start + 4)
    put_u32(out, total)
    memcpy(out.bytes_ + start + 4, &total, 4)


cdef void append_classic(RecordBuffer* out, int64_t epoch_ns, bint outgoing, int mark, const Address* source, const Address* target,
                         const uint8_t* payload, int32_t length) noexcept nogil:
    cdef int64_t start = out.used
    cdef uint8_t mac[12]
    cdef uint16_t ether_type = htons(ETHERTYPE_IP6 if address_family(source) == AF_INET6 else ETHERTYPE_IP4)
    cdef uint32_t total
    memset(mac, 0, 12)
    mac[0] = mac[6] = 0x02
    mac[4] = 0x01
    mac[5] = 0 if outgoing else 1
    mac[11] = 0x0D if mark == CAPTURE_LOST else (0x02 if mark == CAPTURE_DUPLICATE else 0x01)
    put_u32(out, epoch_ns // 1000000000)
    put_u32(out, epoch_ns % 1000000000)
    out.used += 8
    put(out, mac, 12)
    put(out, &ether_type, 2)
    put_ip(out, source, target, payload, length)
    total = <uint32_t>(out.used - start - 16)
    memcpy(out.bytes_ + start + 8, &total, 4)
    memcpy(out.bytes_ + start + 12, &total, 4)


cdef void put_ip(RecordBuffer* out, const Address* source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil:
    cdef uint8_t header[IP6_HEADER_LENGTH + UDP_HEADER_LENGTH]
    cdef bint six = address_family(source) == AF_INET6
    cdef int ip_length = IP6_HEADER_LENGTH if six else IP4_HEADER_LENGTH
    cdef uint8_t* udp = header + ip_length
    cdef uint32_t checksum
    memset(header, 0, sizeof(header))
    store_be16(udp, address_port(source))
    store_be16(udp + 2, address_port(target))
    store_be16(udp + 4, UDP_HEADER_LENGTH + length)
    if six:
        header[0] = 0x60
        store_be16(header + 4, UDP_HEADER_LENGTH + length)
        header[6] = PROTOCOL_UDP
        header[7] = HOP_LIMIT
        memcpy(header + 8, address_ip(source), 16)
        if address_family(target) == AF_INET6:
            memcpy(header + 24, address_ip(target), 16)
        checksum = fold(sum_be16(header + 8, 32) + PROTOCOL_UDP + UDP_HEADER_LENGTH + length + sum_be16(udp, 8) + sum_be16(payload, length))
        store_be16(udp + 6, checksum if checksum else 0xFFFF)
    else:
        header[0] = 0x45
        store_be16(header + 2, IP4_HEADER_LENGTH + UDP_HEADER_LENGTH + length)
        header[6] = 0x40
        header[8] = HOP_LIMIT
        header[9] = PROTOCOL_UDP
        if source.length:
            memcpy(header + 12, address_ip(source), 4)
        if target.length and address_family(target) != AF_INET6:
            memcpy(header + 16, address_ip(target), 4)
        store_be16(header + 10, fold(sum_be16(header, IP4_HEADER_LENGTH)))
    put(out, header, ip_length + UDP_HEADER_LENGTH)
    put(out, payload, length)


cdef void put(RecordBuffer* out, const void* bytes_, int64_t length) noexcept nogil:
    memcpy(out.bytes_ + out.used, bytes_, length)
    out.used += length

cdef void put_u16(RecordBuffer* out, int value) noexcept nogil:
    cdef uint16_t small = <uint16_t>value
    put(out, &small, 2)

cdef void put_u32(RecordBuffer* out, int64_t value) noexcept nogil:
    cdef uint32_t small = <uint32_t>value
    put(out, &small, 4)

cdef void put_option(RecordBuffer* out, int code, const void* value, int length) noexcept nogil:
    put_u16(out, code)
    put_u16(out, length)
    put(out, value, length)
    while length & 3:
        out.bytes_[out.used] = 0
        out.used += 1
        length += 1


cdef inline void store_be16(uint8_t* out, uint32_t value) noexcept nogil:
    out[0] = <uint8_t>(value >> 8)
    out[1] = <uint8_t>value

cdef uint32_t sum_be16(const uint8_t* data, int32_t length) noexcept nogil:
    cdef uint32_t total = 0
    cdef int32_t i
    for i in range(0, length - 1, 2):
        total += (<uint32_t>data[i] << 8) | data[i + 1]
    if length & 1:
        total += <uint32_t>data[length - 1] << 8
    return total

cdef uint32_t fold(uint32_t total) noexcept nogil:
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
