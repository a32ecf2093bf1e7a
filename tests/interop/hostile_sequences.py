"""Hostile sequences that both drivers get, and what of a delivery has to be the same.

Payloads stand for themselves: the first four bytes of each 32 are zero, so that a walk which lands in one finds no frame there, and the
rest tells which frame it is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder, FrameType
from aerowire.conformance.accepted.sending import Sending
from aerowire.conformance.accepted.session import HEADER, Session
from aerowire.conformance.accepted.targets import ReceiveTarget
from aerowire.conformance.harness.ring import align

# A sequence begins in order, so that there is something to deliver, and goes on with frames over one another.
ORDERLY = ("_in_order", "_in_order", "_in_order", "_batch", "_batch", "_fragments", "_heartbeats", "_round_trip")
HOSTILE = (
    "_in_order",
    "_batch",
    "_overlap_chain",
    "_overlaps",
    "_gap",
    "_padding",
    "_fragments",
    "_again",
    "_heartbeats",
    "_edges",
    "_end",
)
DATAGRAMS_MAX = 30


class _Marked(Sending):
    """A sender whose payloads tell which frame they belong to."""

    _number = 0

    def _payload(self, session: Session, length: int) -> bytes:
        del session
        self._number += 1
        mark = bytes(4) + self._number.to_bytes(4, "little") * 7
        return (mark * (length // HEADER + 1))[:length]


@dataclass
class Sequence:
    """One session's datagrams, and the frames in them by position."""

    seed: int
    session_id: int
    setup: bytes
    datagrams: list[bytes]
    frames: dict[tuple[int, int], list[bytes]] = field(default_factory=dict)

    def is_undisputed(self, begin: int, end: int) -> bool:
        """Return whether all frames that were sent for these bytes of the stream have these bounds and one content."""
        touching = [bounds for bounds in self.frames if bounds[0] < end and begin < bounds[1]]
        return touching == [(begin, end)] and len(set(self.frames[begin, end])) == 1


def draw(seed: int, stream: int, session_id: int) -> Sequence:
    """Draw a sequence that stays within the first window of its session."""
    dice = random.Random(seed)
    sending = _Marked(dice, ReceiveTarget("receive", (stream,), session_id, senders=1))
    session = Session(session_id, stream, initial_term_id=dice.choice((0, -1, 2**31 - 1)), term_length=65536, mtu=1408)
    orderly = dice.randrange(DATAGRAMS_MAX)
    datagrams: list[bytes] = []
    while len(datagrams) < DATAGRAMS_MAX:
        production = getattr(sending, dice.choice(ORDERLY if len(datagrams) < orderly else HOSTILE))
        datagrams += [payload for _, payload in production(session)]
    sequence = Sequence(seed, session_id, session.setup(0), datagrams)
    for datagram in datagrams:
        _note(sequence.frames, datagram)
    return sequence


def _note(frames: dict[tuple[int, int], list[bytes]], datagram: bytes) -> None:
    offset = 0
    while offset + HEADER <= len(datagram):
        header = DataHeaderDecoder(datagram, offset)
        if header.type not in (FrameType.DATA, FrameType.PAD) or header.frame_length <= 0:
            return
        begin = header.term_offset
        end = begin + align(header.frame_length, FRAME_ALIGNMENT)
        content = b"" if header.type == FrameType.PAD else datagram[offset + HEADER : offset + header.frame_length]
        frames.setdefault((begin, end), []).append(content)
        offset += end - begin


def undisputed_part(sequence: Sequence, delivered: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Return what was delivered, (position, payload), up to the first frame or padding of which frames at other bounds were sent."""
    kept: list[tuple[int, bytes]] = []
    cursor = 0
    for position, payload in delivered:
        while cursor < position:
            ends = [end for begin, end in sequence.frames if begin == cursor]
            if len(ends) != 1 or not sequence.is_undisputed(cursor, ends[0]):
                return kept
            cursor = ends[0]
        end = position + align(HEADER + len(payload), FRAME_ALIGNMENT)
        if cursor != position or not sequence.is_undisputed(position, end):
            return kept
        kept.append((position, payload))
        cursor = end
    return kept
