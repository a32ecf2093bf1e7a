"""Datagrams of a capture as the rules see them, and the streams that their SETUPs describe.

Pure functions of bytes; knows no rule but what makes a frame.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameHeaderDecoder
from aerowire.conformance.harness.capture import Address, Datagram
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.ring import align
from aerowire.conformance.rules import DATA_TYPES, is_valid_frame

Key = tuple[int, int]


class Packet(NamedTuple):
    """One datagram: its number in the file as Wireshark counts, when it was captured, from where to where."""

    number: int
    time_ns: int
    source: Address
    destination: Address
    payload: bytes

    @property
    def type(self) -> int:
        """Frame type of its first frame."""
        return FrameHeaderDecoder(self.payload).type

    @property
    def is_multicast(self) -> bool:
        """Whether it goes to a group."""
        return is_group(self.destination)


class Frame(NamedTuple):
    """One DATA or PAD frame of a datagram."""

    position: int
    end: int
    flags: int
    type: int


@dataclass(slots=True)
class Stream:
    """What the SETUPs of a session and stream say. Positions are stream positions."""

    key: Key
    initial_term_id: int
    term_length: int
    mtu: int
    senders: set[Address] = field(default_factory=set)
    # Control addresses of the groups that it is sent to.
    controls: set[Address] = field(default_factory=set)
    # Ports of destinations without a host: a driver that captures what it receives may know no more of a group.
    unnamed: set[int] = field(default_factory=set)
    # The packet that begins it where the same sender had another stream of the same ids before.
    begins: int = 0

    def position(self, term_id: int, term_offset: int) -> int:
        """Return the position of a term id, which wraps, and an offset."""
        return wrap_i32(term_id - self.initial_term_id) * self.term_length + term_offset

    def frames(self, payload: bytes) -> list[Frame]:
        """Return the frames of a datagram; none for a heartbeat."""
        found: list[Frame] = []
        offset = 0
        while offset + DataHeaderDecoder.ENCODED_LENGTH <= len(payload):
            header = DataHeaderDecoder(payload, offset)
            if header.frame_length <= 0:
                break
            length = align(header.frame_length, DataHeaderDecoder.ALIGNMENT)
            position = self.position(header.term_id, header.term_offset)
            found.append(Frame(position, position + length, header.flags, header.type))
            offset += length
        return found


def packets(datagrams: Iterable[Datagram], ports: frozenset[int] = frozenset()) -> Iterator[Packet]:
    """Yield the datagrams that reached the wire, of some ports or of all."""
    for datagram in datagrams:
        if datagram.is_dropped or (ports and not ports & {datagram.source[1], datagram.destination[1]}):
            continue
        yield Packet(datagram.index + 1, datagram.time_ns, datagram.source, datagram.destination, datagram.payload)


def speakers(found: Iterable[Packet], streams: Container[Key]) -> set[Address]:
    """Return the addresses that sent a good frame: whatever else they send has to be one.

    Data of a stream that is not known proves nothing: a question to a name server reads like padding.
    """
    return {
        packet.source
        for packet in found
        if is_valid_frame(packet.payload) and (packet.type not in DATA_TYPES or key_of_data(packet) in streams)
    }


def key_of_data(packet: Packet) -> Key:
    """Return session and stream of a datagram of data."""
    header = DataHeaderDecoder(packet.payload)
    return header.session_id, header.stream_id


def is_group(address: Address) -> bool:
    """Say whether an address is a multicast group's."""
    return ipaddress.ip_address(address[0]).is_multicast


def control_of(group: Address) -> Address | None:
    """Return the control address of a data group: the next address, the same port; None for any other address."""
    return (str(ipaddress.ip_address(group[0]) + 1), group[1]) if is_group(group) else None
