"""Finds the senders' streams in captured datagrams: their geometry, their frames by position, what was sent when.

Pure functions of datagrams; knows nothing of sockets or drivers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aerowire.codecs.flyweights.transport import (
    FRAME_VERSION,
    DataFlags,
    DataHeaderDecoder,
    FrameHeaderDecoder,
    FrameType,
    SetupDecoder,
)
from aerowire.conformance.harness.capture import Address, Datagram
from aerowire.conformance.harness.log import HEADER_LENGTH
from aerowire.conformance.harness.ring import align

ALIGNMENT = DataHeaderDecoder.ALIGNMENT


class Frame(NamedTuple):
    """One DATA or PAD frame of a datagram: where it stands and its header's values."""

    position: int
    frame_length: int
    type: int
    flags: int
    offset: int

    @property
    def length(self) -> int:
        """Bytes of the stream that the frame takes."""
        return align(self.frame_length, ALIGNMENT)

    @property
    def end(self) -> int:
        """Position behind the frame."""
        return self.position + self.length


class Sent(NamedTuple):
    """One datagram that the captured sender gave to its socket."""

    time_ns: int
    payload: bytes
    type: int
    # Stream positions that it spans; equal for a heartbeat or a SETUP.
    position: int
    end: int
    flags: int


@dataclass(slots=True)
class CapturedStream:
    """The sender's side of one stream, as its first destination got it.

    `content` maps positions to whole frames (header, payload, alignment). Invariant: frames in it do not overlap
    unless the sender contradicted itself.
    """

    session_id: int
    stream_id: int
    destination: Address
    setup: bytes
    initial_term_id: int
    term_length: int
    mtu: int
    start: int
    # Everywhere that the sender sent the stream, in order of first use.
    destinations: list[Address] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    content: dict[int, bytes] = field(default_factory=dict)

    def position(self, term_id: int, term_offset: int) -> int:
        """Return the stream position of a term id, which wraps, and an offset."""
        return ((term_id - self.initial_term_id) & 0xFFFFFFFF) * self.term_length + term_offset

    def locate(self, position: int) -> tuple[int, int]:
        """Return (term_id, term_offset) of a position."""
        from aerowire.conformance.harness.log import wrap_i32

        return wrap_i32(self.initial_term_id + position // self.term_length), position % self.term_length

    @property
    def is_multicast(self) -> bool:
        """Whether the stream went to a multicast group."""
        return ipaddress.ip_address(self.destination[0]).is_multicast

    @property
    def host(self) -> str:
        """Loopback's address to replay the stream on: of its family, but IPv4's for groups, as loopback routes none of IPv6."""
        return "::1" if ":" in self.destination[0] and not self.is_multicast else "127.0.0.1"

    def contiguous_end(self) -> int:
        """Return the position of the first byte that the content lacks, from the start of the stream."""
        position = self.start
        while position in self.content:
            position = next_position(position, self.content[position])
        return position

    def content_end(self) -> int:
        """Return the highest position that any frame of the content reaches."""
        return max((next_position(at, frame) for at, frame in self.content.items()), default=self.start)

    def add(self, time_ns: int, payload: bytes, *, is_sent: bool) -> None:
        """Take in a DATA or PAD datagram of the stream."""
        frames = list(self.walk(payload))
        for frame in frames:
            # A PAD's payload is not on the wire; its header stands for it.
            whole = payload[frame.offset : frame.offset + (frame.length if frame.type == FrameType.DATA else HEADER_LENGTH)]
            self.content.setdefault(frame.position, whole)
        header = DataHeaderDecoder(payload)
        first = frames[0].position if frames else self.position(header.term_id, header.term_offset)
        end = frames[-1].end if frames else first
        if is_sent:
            self.sent.append(Sent(time_ns, payload, header.type, first, end, header.flags))

    def walk(self, payload: bytes) -> Iterator[Frame]:
        """Yield the frames of a datagram; none for a heartbeat or bytes that break the chain."""
        return walk_frames(payload, self.position)


def walk_frames(payload: bytes, position_of: Callable[[int, int], int]) -> Iterator[Frame]:
    """Yield the frames of a datagram of a stream whose positions `position_of` tells from term id and offset."""
    offset = 0
    while offset + HEADER_LENGTH <= len(payload):
        header = DataHeaderDecoder(payload, offset)
        if header.frame_length < HEADER_LENGTH or header.type not in (FrameType.DATA, FrameType.PAD):
            return
        position = position_of(header.term_id, header.term_offset)
        frame = Frame(position, header.frame_length, header.type, header.flags, offset)
        yield frame
        offset += frame.length


def join_messages(content: Mapping[int, bytes], start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the position and the payload of each message that is whole in a content of frames by their positions."""
    begin = expected = start
    parts: bytes | None = None
    for position, frame in sorted(content.items()):
        header = DataHeaderDecoder(frame)
        if position != expected:
            parts = None
        expected = next_position(position, frame)
        if header.type != FrameType.DATA:
            continue
        if header.flags & DataFlags.BEGIN:
            begin, parts = position, b""
        if parts is not None:
            parts += frame[HEADER_LENGTH : header.frame_length]
            if header.flags & DataFlags.END:
                yield begin, parts
                parts = None


def next_position(position: int, frame: bytes) -> int:
    """Return the position behind a frame of the content."""
    return position + align(DataHeaderDecoder(frame).frame_length, ALIGNMENT)


def find_streams(datagrams: Iterable[Datagram]) -> tuple[list[CapturedStream], int]:
    """Return the streams in order of their first SETUP, and how many datagrams belong to none.

    A stream that several destinations got (one session to many receivers) counts once, with what its first
    destination got. DATA before the stream's first SETUP cannot be placed and is left out.
    """
    streams: dict[tuple[int, int], CapturedStream] = {}
    skipped = 0
    for datagram in datagrams:
        if not _take(streams, datagram):
            skipped += 1
    return [stream for stream in streams.values() if stream.content], skipped


def _take(streams: dict[tuple[int, int], CapturedStream], datagram: Datagram) -> bool:
    payload = datagram.payload
    if len(payload) < FrameHeaderDecoder.ENCODED_LENGTH:
        return False
    head = FrameHeaderDecoder(payload)
    if head.version != FRAME_VERSION or head.frame_length < 0:
        return False
    is_sent = not datagram.is_dropped
    if head.type == FrameType.SETUP and len(payload) >= SetupDecoder.ENCODED_LENGTH:
        setup = SetupDecoder(payload)
        key = (setup.session_id, setup.stream_id)
        stream = streams.get(key)
        if stream is None:
            stream = streams[key] = _new_stream(setup, payload, datagram.destination)
        _note_destination(stream, datagram.destination)
        if datagram.destination == stream.destination and is_sent:
            at = stream.position(setup.active_term_id, setup.term_offset)
            stream.sent.append(Sent(datagram.time_ns, payload, head.type, at, at, head.flags))
        return True
    if head.type in (FrameType.DATA, FrameType.PAD) and len(payload) >= HEADER_LENGTH:
        data = DataHeaderDecoder(payload)
        stream = streams.get((data.session_id, data.stream_id))
        if stream is not None:
            _note_destination(stream, datagram.destination)
            if datagram.destination == stream.destination:
                stream.add(datagram.time_ns, payload, is_sent=is_sent)
            return True
    return False


def _note_destination(stream: CapturedStream, destination: Address) -> None:
    if destination not in stream.destinations:
        stream.destinations.append(destination)


def _new_stream(setup: SetupDecoder, payload: bytes, destination: Address) -> CapturedStream:
    stream = CapturedStream(
        session_id=setup.session_id,
        stream_id=setup.stream_id,
        destination=destination,
        setup=payload,
        initial_term_id=setup.initial_term_id,
        term_length=setup.term_length,
        mtu=setup.mtu,
        start=0,
    )
    stream.start = stream.position(setup.active_term_id, setup.term_offset)
    return stream


def is_end_of_stream(flags: int) -> bool:
    """Say whether a heartbeat's flags end the stream."""
    return bool(flags & (DataFlags.EOS | DataFlags.REVOKED))
