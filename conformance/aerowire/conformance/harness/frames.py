"""Builds and reads frames with the generated scapy layers.

Importing this module imports scapy (about a second), so only what runs cases imports it.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, FrameType, ResFlags, ResType, SmFlags
from aerowire.codecs.scapy import transport as layers
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.harness.log import HEADER_LENGTH, wrap_i32
from aerowire.conformance.harness.ring import align

if TYPE_CHECKING:
    from scapy.packet import Packet

    from aerowire.conformance.harness.wire import Address

UNFRAGMENTED = DataFlags.UNFRAGMENTED
DEFAULT_MTU = int(str(OPTIONS["mtu_length"].default))


def parse(datagram: bytes) -> list[Packet]:
    """Split a datagram into its frames, up to the first bytes that are none."""
    frames: list[Packet] = []
    for frame in layers.aeron_frames(datagram):
        if not isinstance(frame, layers.FrameHeader):
            break
        frames.append(frame)
    return frames


def describe(datagram: bytes) -> str:
    """Say in a few words what a datagram is."""
    frames = parse(datagram)
    if not frames:
        return f"{len(datagram)} bytes that are no frame ({datagram[:16].hex()})"
    first = frames[0]
    fields = " ".join(
        f"{name}={value}" for name, value in first.fields.items() if name not in {"version", "type", "data", "padding", "reserved_value"}
    )
    more = f" (+{len(frames) - 1} frames)" if len(frames) > 1 else ""
    known = int(first.type) in FrameType._value2member_map_
    return f"{kind(first).name if known else f'type {int(first.type)}'}[{fields}]{more}"


def kind(frame: Packet) -> FrameType:
    """Return the frame's type."""
    return FrameType(frame.type)


def is_heartbeat(frame: Packet) -> bool:
    """Say whether a frame is a heartbeat: DATA of length zero."""
    return int(frame.type) == FrameType.DATA and int(frame.frame_length) == 0


def is_data(frame: Packet) -> bool:
    """Say whether a frame carries data: DATA or PAD but no heartbeat."""
    return int(frame.type) in (FrameType.DATA, FrameType.PAD) and int(frame.frame_length) != 0


def is_setup(frame: Packet) -> bool:
    """Say whether a frame is a SETUP."""
    return int(frame.type) == FrameType.SETUP


def is_nak(frame: Packet) -> bool:
    """Say whether a frame is a NAK."""
    return int(frame.type) == FrameType.NAK


def is_status(frame: Packet) -> bool:
    """Say whether a frame is a status message of any kind."""
    return int(frame.type) == FrameType.SM


def is_elicit(frame: Packet) -> bool:
    """Say whether a frame is a status message that asks for a SETUP."""
    return int(frame.type) == FrameType.SM and bool(int(frame.flags) & SmFlags.SEND_SETUP)


def is_plain_status(frame: Packet) -> bool:
    """Say whether a frame is a status message that reports consumption."""
    return int(frame.type) == FrameType.SM and not int(frame.flags) & SmFlags.SEND_SETUP


def is_response_setup(frame: Packet) -> bool:
    """Say whether a frame is a RSP_SETUP."""
    return int(frame.type) == FrameType.RSP_SETUP


def is_rttm(frame: Packet) -> bool:
    """Say whether a frame is a question or an answer of the round-trip measurement."""
    return int(frame.type) == FrameType.RTTM


def aligned(payload_length: int) -> int:
    """Return the bytes that a frame with such a payload takes in a term."""
    return align(HEADER_LENGTH + payload_length, FRAME_ALIGNMENT)


def pad(frame: bytes) -> bytes:
    """Fill a frame up to the frame alignment with zeros."""
    return frame + bytes(-len(frame) % FRAME_ALIGNMENT)


def resolution_entry(name: bytes, address: Address, *, is_self: bool = False, age_ms: int = 0) -> Packet:
    """A line of a RES frame: the driver of some name is at an IPv4 or IPv6 address, as was known so long ago."""
    host, port = address
    is_ipv6 = ":" in host
    return layers.ResolutionEntry(
        res_type=ResType.NAME_TO_IP6_MD if is_ipv6 else ResType.NAME_TO_IP4_MD,
        res_flags=int(ResFlags.SELF) if is_self else 0,
        udp_port=port,
        age_ms=age_ms,
        address=socket.inet_pton(socket.AF_INET6 if is_ipv6 else socket.AF_INET, host),
        entry_name=name,
    )


def resolution(*entries: Packet) -> bytes:
    """A RES frame."""
    return bytes(layers.Resolution(entries=list(entries)))


def self_resolution(name: str, address: Address) -> bytes:
    """A RES frame with which a driver of some name makes itself known."""
    return resolution(resolution_entry(name.encode(), address, is_self=True))


def is_resolution(frame: Packet) -> bool:
    """Say whether a frame is a RES frame."""
    return int(frame.type) == FrameType.RES


class StreamFrames:
    """Makes the frames of one stream: its ids and term geometry are filled in. Positions are stream positions."""

    def __init__(self, session_id: int, stream_id: int, *, initial_term_id: int, term_length: int, mtu: int = DEFAULT_MTU) -> None:
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.term_length = term_length
        self.mtu = mtu

    def term(self, position: int) -> tuple[int, int]:
        """Return (term_id, term_offset) of a position."""
        return wrap_i32(self.initial_term_id + position // self.term_length), position % self.term_length

    def position(self, term_id: int, term_offset: int) -> int:
        """Return the position of a place in a term."""
        return wrap_i32(term_id - self.initial_term_id) * self.term_length + term_offset

    def data(
        self, position: int, payload: bytes, *, flags: int = UNFRAGMENTED, frame_length: int | None = None, reserved_value: int = 0
    ) -> bytes:
        """A DATA frame with its alignment padding, as it stands in a datagram."""
        term_id, term_offset = self.term(position)
        frame = layers.DataHeader(
            frame_length=HEADER_LENGTH + len(payload) if frame_length is None else frame_length,
            type=FrameType.DATA,
            flags=int(flags),
            term_offset=term_offset,
            session_id=self.session_id,
            stream_id=self.stream_id,
            term_id=term_id,
            reserved_value=reserved_value,
        )
        return pad(bytes(frame) + payload)

    def padding(self, position: int, length: int) -> bytes:
        """A PAD frame of `length` bytes of the term: the header alone."""
        term_id, term_offset = self.term(position)
        return bytes(
            layers.DataHeader(
                frame_length=length,
                type=FrameType.PAD,
                flags=int(UNFRAGMENTED),
                term_offset=term_offset,
                session_id=self.session_id,
                stream_id=self.stream_id,
                term_id=term_id,
            )
        )

    def heartbeat(self, position: int, *, flags: int = UNFRAGMENTED) -> bytes:
        """A heartbeat at `position`."""
        return self.data(position, b"", flags=flags, frame_length=0)

    def setup(self, position: int = 0, *, ttl: int = 0, flags: int = 0) -> bytes:
        """A SETUP whose active term and offset are those of `position`."""
        term_id, term_offset = self.term(position)
        return bytes(
            layers.Setup(
                flags=flags,
                term_offset=term_offset,
                session_id=self.session_id,
                stream_id=self.stream_id,
                initial_term_id=self.initial_term_id,
                active_term_id=term_id,
                term_length=self.term_length,
                mtu=self.mtu,
                ttl=ttl,
            )
        )

    def status(self, position: int, window: int, receiver_id: int, *, flags: int = 0) -> bytes:
        """A status message: consumed up to `position`, `window` bytes more are welcome."""
        term_id, term_offset = self.term(position)
        return bytes(
            layers.StatusMessage(
                flags=flags,
                session_id=self.session_id,
                stream_id=self.stream_id,
                consumption_term_id=term_id,
                consumption_term_offset=term_offset,
                receiver_window=window,
                receiver_id=receiver_id,
            )
        )

    def elicit(self, receiver_id: int) -> bytes:
        """A status message that asks for a SETUP."""
        return bytes(
            layers.StatusMessage(
                flags=int(SmFlags.SEND_SETUP), session_id=self.session_id, stream_id=self.stream_id, receiver_id=receiver_id
            )
        )

    def nak(self, position: int, length: int, *, term_offset: int | None = None) -> bytes:
        """A NAK for `length` bytes from `position`, or from another offset in its term."""
        term_id, offset = self.term(position)
        return bytes(
            layers.Nak(
                session_id=self.session_id,
                stream_id=self.stream_id,
                term_id=term_id,
                term_offset=offset if term_offset is None else term_offset,
                length=length,
            )
        )

    def error(self, receiver_id: int, code: int, text: str) -> bytes:
        """An ERR frame without a group tag."""
        return bytes(
            layers.ErrorFrame(
                session_id=self.session_id,
                stream_id=self.stream_id,
                receiver_id=receiver_id,
                error_code=code,
                error_text=text.encode(),
            )
        )

    def response_setup(self, response_session_id: int) -> bytes:
        """A RSP_SETUP: the session in which this stream will be answered."""
        return bytes(layers.ResponseSetup(session_id=self.session_id, stream_id=self.stream_id, response_session_id=response_session_id))

    def rttm(self, echo_ns: int, delta_ns: int = 0, *, receiver_id: int, flags: int = 0) -> bytes:
        """A question of the round-trip measurement, with the flag that asks for a reply, or an answer without it."""
        return bytes(
            layers.Rttm(
                flags=int(flags),
                session_id=self.session_id,
                stream_id=self.stream_id,
                echo_timestamp_ns=echo_ns,
                reception_delta_ns=delta_ns,
                receiver_id=receiver_id,
            )
        )
