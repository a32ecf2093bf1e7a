"""Reads UDP datagrams out of classic pcap and pcapng files: just enough to replay a stream.

File and link layouts here are those of the capture formats and of IP, not of Aeron. Bytes that do not make a
UDP datagram are skipped; a file that is no capture, or ends in the middle of a record, is a CaptureError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aerowire.conformance.errors import ConformanceError

Address = tuple[str, int]

PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG_SECTION = 0x0A0D0D0A
PCAPNG_INTERFACE = 1
PCAPNG_SIMPLE_PACKET = 3
PCAPNG_ENHANCED_PACKET = 6
BODY_MIN = {PCAPNG_INTERFACE: 8, PCAPNG_SIMPLE_PACKET: 4, PCAPNG_ENHANCED_PACKET: 20}
OPTION_END = 0
OPTION_COMMENT = 1
OPTION_IF_NAME = 2
OPTION_IF_TSRESOL = 9
MICROSECONDS = b"\x06"
BLOCK_MAX = 16 * 1024 * 1024
ETHERNET = 1
# Link type -> bytes before the network header, and where the ether type stands in them (None: taken from the IP version).
LINK_LAYERS: dict[int, tuple[int, int | None]] = {
    0: (4, None),  # BSD loopback
    ETHERNET: (14, 12),
    12: (0, None),  # raw IP
    101: (0, None),  # raw IP
    113: (16, 14),  # Linux cooked
    228: (0, None),  # IPv4
    229: (0, None),  # IPv6
    276: (20, 0),  # Linux cooked v2
}
# How aerowire's driver marks what induced loss ate: a comment and the interface's name, or (classic pcap) a made-up address.
DROPPED_MARK = "dropped"
DROPPED_ADDRESS = bytes.fromhex("02000000000d")
ETHER_VLAN = {0x8100, 0x88A8}
UDP_PROTOCOL = 17
IPV4_HEADER_MIN = 20


class CaptureError(ConformanceError):
    """The file is not a capture that can be read; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """One captured UDP datagram. `note` holds the packet's comments and its interface's name, if any."""

    index: int
    time_ns: int
    source: Address
    destination: Address
    payload: bytes
    note: str

    @property
    def is_dropped(self) -> bool:
        """Whether the capturing driver marked the datagram as one that induced loss kept from its way."""
        return DROPPED_MARK in self.note


class _Interface(NamedTuple):
    link_type: int
    ticks_per_second: int
    name: str


def read_datagrams(path: Path) -> Iterator[Datagram]:
    """Yield the UDP datagrams of a capture in file order; `index` counts packets of the file from 0."""
    with path.open("rb") as file:
        magic = file.read(4)
        if magic in PCAP_MAGICS:
            records = _read_pcap(file.read(), *PCAP_MAGICS[magic], path)
        elif magic == PCAPNG_SECTION.to_bytes(4, "little"):
            records = _read_pcapng(magic + file.read(), path)
        else:
            raise CaptureError(f"{path}: neither pcap nor pcapng; it begins with {magic.hex() or 'nothing'}")
    for index, (time_ns, link_type, packet, note) in enumerate(records):
        found = parse_packet(link_type, packet)
        if found is not None:
            yield Datagram(index, time_ns, *found, note)


def _read_pcap(data: bytes, order: str, tick_ns: int, path: Path) -> Iterator[tuple[int, int, bytes, str]]:
    header = struct.Struct(order + "HHiIII")
    record = struct.Struct(order + "IIII")
    if len(data) < header.size:
        raise CaptureError(f"{path}: ends inside the file header")
    link_type = header.unpack_from(data)[5] & 0x0FFFFFFF
    offset = header.size
    while offset < len(data):
        if offset + record.size > len(data):
            raise CaptureError(f"{path}: ends inside a record header at byte {offset + 4}")
        seconds, fraction, captured, _ = record.unpack_from(data, offset)
        offset += record.size
        if offset + captured > len(data):
            raise CaptureError(f"{path}: a record at byte {offset + 4} needs {captured} bytes, the file has {len(data) - offset}")
        packet = data[offset : offset + captured]
        note = DROPPED_MARK if link_type == ETHERNET and packet[6:12] == DROPPED_ADDRESS else ""
        yield seconds * 1_000_000_000 + fraction * tick_ns, link_type, packet, note
        offset += captured


def _read_pcapng(data: bytes, path: Path) -> Iterator[tuple[int, int, bytes, str]]:
    order = "<"
    interfaces: list[_Interface] = []
    offset = 0
    while offset + 12 <= len(data):
        kind, length = struct.unpack_from(order + "II", data, offset)
        if kind == PCAPNG_SECTION:
            order = "<" if data[offset + 8 : offset + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            length = struct.unpack_from(order + "I", data, offset + 4)[0]
            interfaces = []
        if length < 12 or length % 4 or length > BLOCK_MAX or offset + length > len(data):
            raise CaptureError(f"{path}: a block at byte {offset} declares {length} bytes, the file has {len(data) - offset}")
        body = data[offset + 8 : offset + length - 4]
        if len(body) < BODY_MIN.get(kind, 0):
            raise CaptureError(f"{path}: a block at byte {offset} has {len(body)} bytes of content, its type {BODY_MIN[kind]}")
        if kind == PCAPNG_INTERFACE:
            interfaces.append(_interface(order, body))
        elif kind == PCAPNG_ENHANCED_PACKET:
            yield _enhanced_packet(order, body, interfaces, path, offset)
        elif kind == PCAPNG_SIMPLE_PACKET and interfaces:
            original = struct.unpack_from(order + "I", body)[0]
            yield 0, interfaces[0].link_type, body[4 : 4 + original], interfaces[0].name
        offset += length
    if offset != len(data):
        raise CaptureError(f"{path}: ends inside a block at byte {offset}")


def _interface(order: str, body: bytes) -> _Interface:
    link_type = struct.unpack_from(order + "H", body)[0]
    options = _options(order, body[8:])
    resolution = (options.get(OPTION_IF_TSRESOL, [b""])[0] or MICROSECONDS)[0]
    ticks = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    name = options.get(OPTION_IF_NAME, [b""])[0].decode("utf-8", "replace")
    return _Interface(link_type, ticks, name)


def _enhanced_packet(order: str, body: bytes, interfaces: list[_Interface], path: Path, offset: int) -> tuple[int, int, bytes, str]:
    number, high, low, captured, _ = struct.unpack_from(order + "IIIII", body)
    if number >= len(interfaces) or 20 + captured > len(body):
        raise CaptureError(f"{path}: the packet at byte {offset} names interface {number} of {len(interfaces)}, length {captured}")
    interface = interfaces[number]
    time_ns = ((high << 32) | low) * 1_000_000_000 // interface.ticks_per_second
    options = _options(order, body[20 + (captured + 3) // 4 * 4 :])
    comments = [comment.decode("utf-8", "replace") for comment in options.get(OPTION_COMMENT, [])]
    return time_ns, interface.link_type, body[20 : 20 + captured], " ".join([interface.name, *comments]).strip()


def _options(order: str, data: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    offset = 0
    while offset + 4 <= len(data):
        code, length = struct.unpack_from(order + "HH", data, offset)
        if code == OPTION_END:
            break
        found.setdefault(code, []).append(data[offset + 4 : offset + 4 + length])
        offset += 4 + (length + 3) // 4 * 4
    return found


def parse_packet(link_type: int, packet: bytes) -> tuple[Address, Address, bytes] | None:
    """Return (source, destination, payload) of a whole UDP datagram, or None for anything else."""
    layer = LINK_LAYERS.get(link_type)
    if layer is None:
        return None
    skip, type_offset = layer
    if type_offset is not None:
        while len(packet) >= skip and int.from_bytes(packet[type_offset : type_offset + 2], "big") in ETHER_VLAN:
            packet = packet[:type_offset] + packet[type_offset + 4 :]
    network = packet[skip:]
    if not network:
        return None
    version = network[0] >> 4
    if version == 4:
        return _parse_ipv4(network)
    return _parse_ipv6(network) if version == 6 else None


def _parse_ipv4(network: bytes) -> tuple[Address, Address, bytes] | None:
    header = (network[0] & 0x0F) * 4
    # A fragment's offset or a more-fragments flag: the datagram is not whole.
    if header < IPV4_HEADER_MIN or len(network) < header + 8 or network[9] != UDP_PROTOCOL or int.from_bytes(network[6:8], "big") & 0x3FFF:
        return None
    source = ".".join(map(str, network[12:16]))
    destination = ".".join(map(str, network[16:20]))
    return _parse_udp(network[header:], source, destination)


def _parse_ipv6(network: bytes) -> tuple[Address, Address, bytes] | None:
    if len(network) < 48 or network[6] != UDP_PROTOCOL:
        return None
    import socket

    source = socket.inet_ntop(socket.AF_INET6, network[8:24])
    destination = socket.inet_ntop(socket.AF_INET6, network[24:40])
    return _parse_udp(network[40:], source, destination)


def _parse_udp(segment: bytes, source: str, destination: str) -> tuple[Address, Address, bytes] | None:
    source_port, destination_port, length, _ = struct.unpack_from(">HHHH", segment)
    if length < 8 or length > len(segment):
        return None
    return (source, source_port), (destination, destination_port), segment[8:length]
