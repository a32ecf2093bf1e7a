"""The driver's own packet capture: every datagram with made-up IP headers, into a file, without privileges.

Agents append whole records to one buffer under a lock held for the length of a copy, so records stand in the order of their times;
who fills the buffer, or the owner's flush, writes it out. A full disk ends the capture, never the driver.

pcapng: four interfaces of link type RAW named sent, received, sent-dropped, received-dropped; what induced loss ate stands on the
last two with the comment "dropped", what it repeated has the comment "duplicate". Classic pcap: Ethernet, the source address says
the same: 02:00:00:00:00:01 plain, :0d dropped, :02 repeated; destination 02:00:00:00:01:00 sent, :01:01 received.
"""

from libc.errno cimport EINTR, errno
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from posix.unistd cimport close as posix_close, write as posix_write

cimport cython

import os

from aerowire.base.errors import StorageError, StorageSpaceError
from aerowire.base.address cimport AF_INET6, Address, address_family, address_from, address_ip, address_port
from aerowire.memory.atomics cimport cpu_relax, exchange_i32, store_release_i32

cdef extern from "<arpa/inet.h>" nogil:
    uint16_t htons(uint16_t value)

cdef enum:
    BUFFER_LENGTH = 1 << 20             # bytes gathered before a write
    RECORD_LENGTH_MAX = 66000           # of one datagram with all its headers and options

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

    ETHERNET_HEADER_LENGTH = 14
    ETHERTYPE_IP4 = 0x0800
    ETHERTYPE_IP6 = 0x86DD
    IP4_HEADER_LENGTH = 20
    IP6_HEADER_LENGTH = 40
    UDP_HEADER_LENGTH = 8
    PROTOCOL_UDP = 17
    HOP_LIMIT = 64

INTERFACES = ("sent", "received", "sent-dropped", "received-dropped")


@cython.final
cdef class CaptureWriter:
    """Created and closed by the driver's owner. Invariant: the buffer begins and ends on record boundaries while unlocked."""

    def __cinit__(self, path, ClockPort clock not None):
        self._fd = -1
        self._clock = clock
        self._path = os.fspath(path)
        self._classic = str(self._path).endswith(".pcap")
        self._buffer = <uint8_t*>malloc(BUFFER_LENGTH)
        if self._buffer is NULL:
            raise MemoryError
        try:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError("capture cannot be written", where=self._path, expected="a file that can be made or replaced",
                               actual=error.strerror, hint="give another file, in a folder that exists") from None
        if self._classic:
            self._begin_classic()
        else:
            self._begin_ng()
        self.flush()

    def __dealloc__(self):
        if self._fd >= 0:
            posix_close(self._fd)
        free(self._buffer)

    def flush(self) -> None:
        """Write out what was gathered; StorageSpaceError when the capture ended because it could not be written."""
        with nogil:
            self._acquire()
            self._flush()
            self._release()
        if self._error:
            raise StorageSpaceError("capture ended before the driver did", where=self._path, expected="room for every datagram",
                                    actual=os.strerror(self._error), hint="free space, or capture to another file system")

    def close(self) -> None:
        """Write out the rest and close the file; packets that come later are ignored."""
        cdef int fd
        with nogil:
            self._acquire()
            if self._fd >= 0:
                self._flush()
            fd = self._fd
            self._fd = -1
            self._release()
        if fd >= 0:
            os.close(fd)

    @property
    def packet_count(self) -> int:
        """Packets recorded, lost ones included."""
        return self._packets

    @property
    def error(self) -> int:
        """errno that ended the capture, 0 while it goes on."""
        return self._error

    @property
    def path(self):
        """The file."""
        return self._path

    cdef void write_packet(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                           int32_t length) noexcept nogil:
        if length > RECORD_LENGTH_MAX - 256:
            return
        self._acquire()
        if self._fd >= 0 and not self._error:
            if self._used + RECORD_LENGTH_MAX > BUFFER_LENGTH:
                self._flush()
            if self._classic:
                self._append_classic(outgoing, mark, source, target, payload, length)
            else:
                self._append_ng(outgoing, mark, source, target, payload, length)
            self._packets += 1
        self._release()

    cdef void _append_ng(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                         int32_t length) noexcept nogil:
        cdef int64_t start = self._used
        cdef int64_t now_ns = self._clock.epoch_ns()
        cdef uint32_t flags = DIRECTION_OUT if outgoing else DIRECTION_IN
        cdef uint32_t total
        cdef int64_t packet
        self._put_u32(BLOCK_PACKET)
        self._put_u32(0)
        self._put_u32((0 if outgoing else 1) + (2 if mark == CAPTURE_LOST else 0))
        self._put_u32(now_ns >> 32)
        self._put_u32(now_ns)
        self._used += 8
        packet = self._used
        self._put_ip(source, target, payload, length)
        total = <uint32_t>(self._used - packet)
        memcpy(self._buffer + packet - 8, &total, 4)
        memcpy(self._buffer + packet - 4, &total, 4)
        while self._used & 3 != start & 3:
            self._buffer[self._used] = 0
            self._used += 1
        self._put_option(OPTION_FLAGS, &flags, 4)
        if mark == CAPTURE_LOST:
            self._put_option(OPTION_COMMENT, <const char*>"dropped", 7)
        elif mark == CAPTURE_DUPLICATE:
            self._put_option(OPTION_COMMENT, <const char*>"duplicate", 9)
        self._put_u32(0)
        total = <uint32_t>(self._used - start + 4)
        self._put_u32(total)
        memcpy(self._buffer + start + 4, &total, 4)

    cdef void _append_classic(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                              int32_t length) noexcept nogil:
        cdef int64_t start = self._used
        cdef int64_t now_ns = self._clock.epoch_ns()
        cdef uint8_t mac[12]
        cdef uint16_t ether_type = htons(ETHERTYPE_IP6 if address_family(source) == AF_INET6 else ETHERTYPE_IP4)
        cdef uint32_t total
        memset(mac, 0, 12)
        mac[0] = mac[6] = 0x02
        mac[4] = 0x01
        mac[5] = 0 if outgoing else 1
        mac[11] = 0x0D if mark == CAPTURE_LOST else (0x02 if mark == CAPTURE_DUPLICATE else 0x01)
        self._put_u32(now_ns // 1000000000)
        self._put_u32(now_ns % 1000000000)
        self._used += 8
        self._put(mac, 12)
        self._put(&ether_type, 2)
        self._put_ip(source, target, payload, length)
        total = <uint32_t>(self._used - start - 16)
        memcpy(self._buffer + start + 8, &total, 4)
        memcpy(self._buffer + start + 12, &total, 4)

    cdef void _put_ip(self, const Address* source, const Address* target, const uint8_t* payload, int32_t length) noexcept nogil:
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
        self._put(header, ip_length + UDP_HEADER_LENGTH)
        self._put(payload, length)

    cdef void _put(self, const void* bytes_, int64_t length) noexcept nogil:
        memcpy(self._buffer + self._used, bytes_, length)
        self._used += length

    cdef void _put_u16(self, int value) noexcept nogil:
        cdef uint16_t small = <uint16_t>value
        self._put(&small, 2)

    cdef void _put_u32(self, int64_t value) noexcept nogil:
        cdef uint32_t small = <uint32_t>value
        self._put(&small, 4)

    cdef void _put_option(self, int code, const void* value, int length) noexcept nogil:
        self._put_u16(code)
        self._put_u16(length)
        self._put(value, length)
        while length & 3:
            self._buffer[self._used] = 0
            self._used += 1
            length += 1

    cdef int _flush(self) noexcept nogil:
        cdef int64_t done = 0
        cdef int64_t written
        while done < self._used and self._fd >= 0 and not self._error:
            written = posix_write(self._fd, self._buffer + done, self._used - done)
            if written < 0:
                if errno != EINTR:
                    self._error = errno
            else:
                done += written
        self._used = 0
        return self._error

    cdef void _acquire(self) noexcept nogil:
        while exchange_i32(&self._lock, 1) != 0:
            cpu_relax()

    cdef void _release(self) noexcept nogil:
        store_release_i32(&self._lock, 0)

    def _begin_ng(self):
        cdef uint8_t resolution = 9
        cdef int64_t start
        cdef bytes text
        cdef uint32_t total
        cdef const char* value
        for name in (None, *INTERFACES):
            start = self._used
            self._put_u32(BLOCK_SECTION if name is None else BLOCK_INTERFACE)
            self._put_u32(0)
            if name is None:
                self._put_u32(BYTE_ORDER_MARK)
                self._put_u16(1)
                self._put_u16(0)
                self._put_u32(-1)
                self._put_u32(-1)
                text = b"aerowire"
            else:
                self._put_u16(LINK_RAW)
                self._put_u16(0)
                self._put_u32(SNAPSHOT_LENGTH)
                self._put_option(OPTION_RESOLUTION, &resolution, 1)
                text = name.encode()
            value = text
            self._put_option(OPTION_APPLICATION if name is None else OPTION_NAME, value, <int>len(text))
            self._put_u32(0)
            total = <uint32_t>(self._used - start + 4)
            self._put_u32(total)
            memcpy(self._buffer + start + 4, &total, 4)

    def _begin_classic(self):
        self._put_u32(MAGIC_CLASSIC_NS)
        self._put_u16(2)
        self._put_u16(4)
        self._put_u32(0)
        self._put_u32(0)
        self._put_u32(SNAPSHOT_LENGTH)
        self._put_u32(LINK_ETHERNET)


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


@cython.final
cdef class CaptureTap:
    """Knows the two ends of a socket; a datagram without an address of its own goes to or comes from `remote`."""

    def __cinit__(self, CaptureWriter writer not None, *, local, remote=None):
        self._writer = writer
        address_from(&self._local, local)
        address_from(&self._remote, remote)

    cdef void record(self, bint outgoing, int mark, const uint8_t* payload, int32_t length, const Address* peer) noexcept nogil:
        if peer.length == 0:
            peer = &self._remote
        if outgoing:
            self._writer.write_packet(True, mark, &self._local, peer, payload, length)
        else:
            self._writer.write_packet(False, mark, peer, &self._local, payload, length)

    cdef void set_remote(self, const Address* remote) noexcept nogil:
        self._remote = remote[0]


@cython.final
cdef class CapturePort(DatagramPort):
    """Records what the socket takes and gives."""

    def __cinit__(self, DatagramPort inner not None, CaptureTap tap not None):
        self._inner = inner
        self._tap = tap

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        cdef int sent = self._inner.send(items, count)
        cdef int i
        for i in range(sent):
            if items[i].result >= items[i].length:
                self._tap.record(True, CAPTURE_PLAIN, items[i].buffer, items[i].length, &items[i].address)
        return sent

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        cdef int received = self._inner.receive(items, count)
        cdef int i
        for i in range(received):
            self._tap.record(False, CAPTURE_PLAIN, items[i].buffer, items[i].length, &items[i].address)
        return received

    cdef int file_descriptor(self) noexcept nogil:
        return self._inner.file_descriptor()

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        return self._inner.copy_local_address(out)

    cdef int rebind(self, const Address* remote) noexcept nogil:
        self._tap.set_remote(remote)
        return self._inner.rebind(remote)

    def close(self) -> None:
        """Close the socket."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()
