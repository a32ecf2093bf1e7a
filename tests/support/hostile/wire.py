"""The hostile datagrams of the scenes: frames that are each valid by the official rules, and logs that no reader should have to survive."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.conformance.accepted.session import HEADER, Session, fake_headers

# A datagram that follows its SETUP sooner finds no image.
IMAGE_S = 0.1
BATCH = 20
BATCH_PAUSE_S = 0.005
RANDOM_OVERLAPS = 800


class Attacker:
    """A hostile sender to one endpoint: each session is new."""

    def __init__(self, port: int, stream: int, seed: int) -> None:
        self.dice = random.Random(seed)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", port))
        self._stream = stream
        self._next_session = 10_000 + seed * 1_000
        self.sent = 0

    def close(self) -> None:
        self._socket.close()

    def session(self) -> Session:
        """Announce a session and wait until it can have an image."""
        session = Session(self._next_session, self._stream, initial_term_id=7, term_length=65536, mtu=1408)
        self._next_session += 1
        self.send(session.setup())
        time.sleep(IMAGE_S)
        return session

    def send(self, *datagrams: bytes) -> None:
        """Send datagrams, not faster than a socket takes them; what a dead driver's port answers is left to the oracles."""
        for datagram in datagrams:
            try:
                self._socket.send(datagram)
            except ConnectionRefusedError:
                continue
            self.sent += 1
            if self.sent % BATCH == 0:
                time.sleep(BATCH_PAUSE_S)


def with_length(session: Session, frame_length: int, payload_length: int) -> bytes:
    """Payload in which every 32 bytes look like a header of that length."""
    return session.frame(0, b"", frame_length=frame_length) * (payload_length // HEADER)


def chain(session: Session, frame_length: int) -> list[bytes]:
    """Three frames that overlap, the payload of the last one saying `frame_length` where the walk of the log goes on."""
    spoilt = with_length(session, frame_length, 1024 - HEADER)
    return [session.frame(1024, spoilt), session.frame(512, spoilt), session.frame(0, bytes(512 - HEADER))]


def overlap_chain(attacker: Attacker) -> None:
    """1024..2048, 512..1536 and 0..512, with lengths in payload at which arithmetic on them overflows."""
    for length in (0x7FFFFFFF, 0x7FFFFFE0, 65536, 31):
        session = attacker.session()
        attacker.send(*chain(session, length))


def random_overlap(attacker: Attacker) -> None:
    """Frames at random boundaries of the same stretch, their payloads full of headers."""
    dice = attacker.dice
    session = attacker.session()
    for number in range(RANDOM_OVERLAPS):
        if number % 100 == 99:
            session = attacker.session()
        position = dice.randrange(128) * HEADER
        payload = fake_headers(dice, session, dice.randrange(0, 1376))
        attacker.send(session.frame(position, payload))


def short_frames(attacker: Attacker) -> None:
    """Frames whose length is that of no header: each length first in its session, then all in a row."""
    for length in (1, 8, 16, 31):
        session = attacker.session()
        attacker.send(session.frame(0, b"", frame_length=length), session.frame(HEADER, b"behind"))
    session = attacker.session()
    attacker.send(*(session.frame(index * HEADER, b"", frame_length=index + 1) for index in range(31)))
    attacker.send(*(session.frame((31 + index) * HEADER, b"", frame_length=index + 1, kind=FrameType.PAD) for index in range(31)))


def huge_lengths(attacker: Attacker) -> None:
    """Lengths of gigabytes in payload on which a walk of the log lands, and in a datagram of one header."""
    for length in (0x40000000, 0x7FFFFFFF, 0x3FFFFFE0, 0x7FFF0000):
        session = attacker.session()
        attacker.send(*chain(session, length))
        attacker.send(session.frame(4096, b"", frame_length=length), session.frame(4096, b"", frame_length=length, kind=FrameType.PAD))


WIRE_SCENES: dict[str, Callable[[Attacker], None]] = {
    "overlap-chain": overlap_chain,
    "random-overlap": random_overlap,
    "short-frames": short_frames,
    "huge-lengths": huge_lengths,
}
