"""One hostile session to a receive endpoint: what it has announced, how far it has come, and its frames.

Positions are stream positions. The window is that of the last status message, or what a receiver grants before the first one.
"""

from __future__ import annotations

import random
import struct

from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    DataFlags,
    DataHeaderDecoder,
    DataHeaderEncoder,
    FrameType,
    RttmEncoder,
    SetupEncoder,
)
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.ring import align

HEADER = DataHeaderDecoder.ENCODED_LENGTH
# Lengths that a walk of a log must not trust, for headers that stand in payload.
FAKE_LENGTHS = (0x7FFFFFFF, 0x40000000, -(2**31), -1, 0, 1, 31, 32, 33, 64, 1024, 65535, 65536, 65537, 1 << 20, 2**31 - 32, 2**31 - 31)
RESERVED = (0, 1, -1, 2**63 - 1, -(2**63), 0x0102030405060708)
FAKE_HEADER = struct.Struct("<ibBhiiiiq")


class Session:
    """A stream of one session, as its sender knows it."""

    def __init__(
        self, session_id: int, stream_id: int, *, initial_term_id: int, term_length: int, mtu: int, begin: int = 0, sender: int = 0
    ) -> None:
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.term_length = term_length
        self.mtu = mtu
        self.sender = sender
        self.is_orderly = False
        self.begin(begin)

    def begin(self, position: int) -> None:
        """Start again at a position: nothing has been sent or consumed."""
        self.position = position
        self.high = position
        self.consumed = position
        self.window = self.term_length // 2
        self.quiet_steps = 0
        self.is_ended = False

    @property
    def limit(self) -> int:
        """Up to which position a receiver takes data: half a term behind what it has consumed, at most one past a term."""
        return self.consumed + self.term_length // 2

    def on_status(self, term_id: int, term_offset: int, window: int) -> None:
        """Note what a status message says."""
        position = wrap_i32(term_id - self.initial_term_id) * self.term_length + term_offset
        if position > self.consumed:
            self.consumed = position
            self.quiet_steps = 0
        self.window = window
        self.position = max(self.position, self.consumed)
        self.high = max(self.high, self.position)

    def room_at(self, position: int) -> int:
        """Return how many bytes fit between a position and the end of its term, of the window and of a datagram."""
        in_term = self.term_length - position % self.term_length
        return max(0, min(in_term, self.limit - position, align(self.mtu, FRAME_ALIGNMENT)))

    def term(self, position: int) -> tuple[int, int]:
        """Return (term_id, term_offset) of a position."""
        return wrap_i32(self.initial_term_id + position // self.term_length), position % self.term_length

    def setup(self, position: int | None = None, *, flags: int = 0, ttl: int = 0, **changed: int) -> bytes:
        """A SETUP at a position; `changed` fields replace those of the session."""
        term_id, term_offset = self.term(self.position if position is None else position)
        fields = {
            "initial_term_id": self.initial_term_id,
            "active_term_id": term_id,
            "term_offset": term_offset,
            "term_length": self.term_length,
            "mtu": self.mtu,
        }
        return SetupEncoder.encode(flags=flags, session_id=self.session_id, stream_id=self.stream_id, ttl=ttl, **{**fields, **changed})

    def frame(
        self,
        position: int,
        payload: bytes,
        *,
        flags: int = DataFlags.UNFRAGMENTED,
        frame_length: int | None = None,
        kind: FrameType = FrameType.DATA,
        reserved_value: int = 0,
    ) -> bytes:
        """A DATA or PAD frame with its alignment."""
        term_id, term_offset = self.term(position)
        length = HEADER + len(payload) if frame_length is None else frame_length
        frame = DataHeaderEncoder.encode(
            frame_length=length,
            flags=int(flags),
            type=int(kind),
            term_offset=term_offset,
            session_id=self.session_id,
            stream_id=self.stream_id,
            term_id=term_id,
            reserved_value=reserved_value,
            payload=payload,
        )
        return frame + bytes(-len(frame) % FRAME_ALIGNMENT)

    def heartbeat(self, position: int, *, flags: int = DataFlags.UNFRAGMENTED) -> bytes:
        """A heartbeat at a position."""
        return self.frame(position, b"", flags=flags, frame_length=0)

    def rttm(self, echo_ns: int, delta_ns: int, *, flags: int = 0, receiver_id: int = 0) -> bytes:
        """A question or an answer of the round-trip measurement."""
        return RttmEncoder.encode(
            flags=flags,
            session_id=self.session_id,
            stream_id=self.stream_id,
            echo_timestamp_ns=echo_ns,
            reception_delta_ns=delta_ns,
            receiver_id=receiver_id,
        )


def fake_headers(dice: random.Random, session: Session, length: int) -> bytes:
    """Payload of that length in which every 32 bytes look like a header with a length that no walk may trust."""
    few = b"".join(
        FAKE_HEADER.pack(
            dice.choice(FAKE_LENGTHS),
            0,
            dice.choice((0xC0, 0x80, 0x40, 0, 0xFF)),
            dice.choice((0, 1, 1, 1, 5, -1)),
            dice.choice((0, 32, 1024, 0x7FFFFFFF, -32)),
            session.session_id,
            session.stream_id,
            session.initial_term_id,
            dice.choice(RESERVED),
        )
        for _ in range(3)
    )
    return (few * (length // len(few) + 1))[:length]
