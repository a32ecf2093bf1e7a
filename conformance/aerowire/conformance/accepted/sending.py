"""Productions for receive endpoints: what a hostile sender can say that the rules accept, frame by frame."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate

from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    TERM_LENGTH_MIN,
    DataFlags,
    FrameType,
    RttmFlags,
    SetupFlags,
    StatusMessageDecoder,
)
from aerowire.conformance.accepted.session import HEADER, RESERVED, Session, fake_headers
from aerowire.conformance.accepted.steps import Step, pause
from aerowire.conformance.accepted.targets import ReceiveTarget
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.ring import align

SESSIONS_AT_ONCE = 4
# Steps after which a session whose window does not move is left for another one.
QUIET_STEPS_MAX = 120
ORDERLY_SHARE = 0.4
# Time in which a driver makes an image; data that comes earlier is lost.
IMAGE_NS = 5_000_000
TERM_LENGTHS = (TERM_LENGTH_MIN,) * 6 + (2 * TERM_LENGTH_MIN, 4 * TERM_LENGTH_MIN)
MTUS = (1408,) * 4 + (64, 96, 512, 4096, 65504)
INITIAL_TERM_IDS = (0, 1, 7, -1, 2**31 - 1, 2**31 - 2, -(2**31))
FRAME_FLAGS = (0xC0, 0x80, 0x40, 0x00, 0xE0, 0xD0, 0xFF, 0x20)
TTLS = (0, 1, 255, 2**31 - 1, -1)
ECHOES = (0, 1, -1, 2**63 - 1, -(2**63), 10**9)

# Positions at which sessions begin, by their term length; the last ones reach the highest count of terms, 2^31 - 1.
BEGINS: tuple[Callable[[int], int], ...] = (
    *(lambda _: 0,) * 6,
    lambda length: length - FRAME_ALIGNMENT,
    lambda length: length,
    lambda length: 5 * length + 1024,
    lambda length: length // 2,
    lambda length: (2**31 - 2) * length,
    lambda length: (2**31 - 1) * length + length // 2,
)

Datagrams = list[tuple[str, bytes]]


class Sending:
    """Hostile senders to one receive endpoint."""

    def __init__(self, dice: random.Random, target: ReceiveTarget) -> None:
        self._dice = dice
        self.target = target
        self.sessions: dict[tuple[int, int], Session] = {}
        self._next_session = target.first_session
        self._past: list[Session] = []
        self._productions: list[tuple[Callable[[Session], Datagrams], int]] = [
            (self._in_order, 26),
            (self._batch, 12),
            (self._overlap_chain, 9),
            (self._overlaps, 14),
            (self._gap, 6),
            (self._term_end, 5),
            (self._next_term, 2),
            (self._padding, 6),
            (self._fragments, 8),
            (self._edges, 4),
            (self._short, 3),
            (self._heartbeats, 5),
            (self._again, 4),
            (self._changed_setup, 3),
            (self._end, 1),
            (self._revoke, 1),
            (self._round_trip, 2),
            (self._other_direction, 1),
            (self._strange_session, 1),
            (self._outside, 1),
        ]
        self._makers = [maker for maker, _ in self._productions]
        self._weights = list(accumulate(weight for _, weight in self._productions))
        # Streams of orderly sessions have no gaps and no overlaps, so that they come far and their logs wrap.
        orderly = {self._in_order, self._batch, self._term_end, self._padding, self._fragments, self._heartbeats, self._round_trip}
        orderly |= {self._changed_setup, self._end, self._revoke}
        self._orderly = list(accumulate(weight if maker in orderly else 0 for maker, weight in self._productions))

    def steps(self) -> list[Step]:
        """Draw a session and a production; return the datagrams that it makes."""
        dice = self._dice
        if len(self.sessions) < SESSIONS_AT_ONCE and (not self.sessions or dice.random() < 0.06):
            session, made = self._begin()
        else:
            session = dice.choice(list(self.sessions.values()))
            session.quiet_steps += 1
            made = dice.choices(self._makers, cum_weights=self._orderly if session.is_orderly else self._weights)[0](session)
            if session.quiet_steps > QUIET_STEPS_MAX or session.position >= session.term_length * 64:
                self._leave(session)
        steps = [Step(self.target.name, session.sender, kind, payload) for kind, payload in made]
        if made[0][0] == "setup" and dice.random() < 0.9:
            steps.append(pause(IMAGE_NS))
        return steps

    def on_status(self, message: StatusMessageDecoder) -> None:
        """Note a status message of the driver."""
        session = self.sessions.get((message.stream_id, message.session_id))
        if session is not None:
            session.on_status(message.consumption_term_id, message.consumption_term_offset, message.receiver_window)

    # ---- sessions

    def _begin(self) -> tuple[Session, Datagrams]:
        dice = self._dice
        if self._past and dice.random() < 0.2:
            session = self._past.pop(dice.randrange(len(self._past)))
            begin = session.position if dice.random() < 0.5 else dice.choice((0, session.term_length))
            session.begin(begin)
        else:
            term_length = dice.choice(TERM_LENGTHS)
            begin = dice.choice(BEGINS)(term_length)
            session = Session(
                self._next_session,
                dice.choice(self.target.streams),
                initial_term_id=dice.choice(INITIAL_TERM_IDS),
                term_length=term_length,
                mtu=dice.choice(MTUS),
                begin=begin,
                sender=dice.randrange(self.target.senders),
            )
            session.is_orderly = dice.random() < ORDERLY_SHARE
            self._next_session += 1
        self.sessions[session.stream_id, session.session_id] = session
        made = [("setup", session.setup(ttl=dice.choice(TTLS), flags=dice.choice((0, 0, 0, SetupFlags.GROUP, SetupFlags.SEND_RESPONSE))))]
        return session, made * dice.choice((1, 1, 2))

    def _leave(self, session: Session) -> None:
        self.sessions.pop((session.stream_id, session.session_id), None)
        self._past = [*self._past[-20:], session]

    # ---- data

    def _payload(self, session: Session, length: int) -> bytes:
        chance = self._dice.random()
        if chance < 0.4:
            return fake_headers(self._dice, session, length)
        return bytes(length) if chance < 0.6 else b"\x5a" * length

    def _length(self, room: int) -> int:
        """Return the length of a payload whose frame takes at most `room` bytes, of which there are at least a header's."""
        most = room - HEADER
        if most <= 0:
            return 0
        return self._dice.choice((0, 1, most, min(most, 32), min(most, 480), self._dice.randrange(most + 1)))

    def _in_order(self, session: Session) -> Datagrams:
        room = session.room_at(session.position)
        if room < HEADER:
            return [("heartbeat", session.heartbeat(session.position))]
        payload = self._payload(session, self._length(room))
        frame = session.frame(session.position, payload, reserved_value=self._dice.choice(RESERVED))
        self._advance(session, session.position + len(frame))
        return [("data", frame)]

    def _batch(self, session: Session) -> Datagrams:
        """Several frames in one datagram, the last of which may be padding."""
        dice = self._dice
        start = position = session.position
        room = session.room_at(start)
        datagram = b""
        for _ in range(dice.randrange(2, 9)):
            left = room - len(datagram)
            if left < HEADER:
                break
            kind = FrameType.PAD if dice.random() < 0.1 else FrameType.DATA
            payload = self._payload(session, min(self._length(left), dice.choice((0, 32, 200, 1000))))
            datagram += session.frame(position, payload, flags=dice.choice(FRAME_FLAGS), kind=kind)
            position = start + len(datagram)
        if not datagram:
            return [("heartbeat", session.heartbeat(start))]
        self._advance(session, position)
        return [("batch", datagram)]

    def _overlap_chain(self, session: Session) -> Datagrams:
        """Frames that overlap from the back to the front, so that a walk from the front meets payload."""
        base = session.position
        step = self._dice.choice((32, 64, 256, 512))
        count = self._dice.randrange(2, 6)
        made: Datagrams = []
        for index in reversed(range(count)):
            position = base + index * step
            length = 2 * step if index else step
            if session.room_at(position) < length:
                continue
            if (position % session.term_length) + length <= session.term_length:
                made.append(("overlap", session.frame(position, self._payload(session, length - HEADER))))
                session.high = max(session.high, position + length)
        return made or self._in_order(session)

    def _overlaps(self, session: Session) -> Datagrams:
        """Frames at random boundaries over the same stretch of the log."""
        dice = self._dice
        reach = dice.choice((256, 2048, 8192))
        made: Datagrams = []
        for _ in range(dice.randrange(1, 6)):
            position = session.position + dice.randrange(reach // FRAME_ALIGNMENT) * FRAME_ALIGNMENT
            room = session.room_at(position)
            if room >= HEADER:
                frame = session.frame(position, self._payload(session, self._length(min(room, reach))), flags=dice.choice(FRAME_FLAGS))
                session.high = max(session.high, position + len(frame))
                made.append(("overlap", frame))
        return made or self._in_order(session)

    def _gap(self, session: Session) -> Datagrams:
        """Two frames in the wrong order; the first is left out now and then."""
        room = session.room_at(session.position)
        if room < 4 * HEADER:
            return self._in_order(session)
        first = session.frame(session.position, self._payload(session, self._length(room // 2 // HEADER * HEADER)))
        behind = session.position + len(first)
        second = session.frame(behind, self._payload(session, self._length(session.room_at(behind)) if session.room_at(behind) else 0))
        if session.room_at(behind) < len(second):
            return self._in_order(session)
        self._advance(session, behind + len(second))
        return [("gap", second)] if self._dice.random() < 0.3 else [("gap", second), ("gap", first)]

    def _again(self, session: Session) -> Datagrams:
        """The same place again with other contents."""
        start = max(session.consumed, session.position - 2048)
        room = session.room_at(start)
        if room < HEADER:
            return self._in_order(session)
        return [("again", session.frame(start, self._payload(session, self._length(room))))]

    def _short(self, session: Session) -> Datagrams:
        """A frame that is shorter than its header."""
        if session.room_at(session.position) < HEADER:
            return self._in_order(session)
        kind = self._dice.choice((FrameType.DATA, FrameType.PAD))
        frame = session.frame(session.position, b"", frame_length=self._dice.randrange(1, HEADER), kind=kind)
        self._advance(session, session.position + HEADER)
        return [("short", frame)]

    def _padding(self, session: Session) -> Datagrams:
        """Padding of any length, its header alone or with its bytes."""
        dice = self._dice
        start = session.position
        in_term = session.term_length - start % session.term_length
        most = min(in_term, session.limit - start)
        if most < HEADER:
            return self._in_order(session)
        length = dice.choice(
            (HEADER, min(HEADER + 1, most), most, dice.randrange(HEADER, most + 1), most // 2 // HEADER * HEADER or HEADER)
        )
        if length <= session.room_at(start) and dice.random() < 0.2:
            frame = session.frame(start, self._payload(session, length - HEADER), kind=FrameType.PAD)
        else:
            frame = session.frame(start, b"", frame_length=length, kind=FrameType.PAD)
        self._advance(session, start + align(length, FRAME_ALIGNMENT))
        return [("padding", frame)]

    def _term_end(self, session: Session) -> Datagrams:
        """The rest of the term as padding, or as a frame that ends with it, and the first frame of the next."""
        start = session.position
        in_term = session.term_length - start % session.term_length
        if session.limit - start < in_term + HEADER:
            return self._in_order(session)
        if in_term <= session.mtu and self._dice.random() < 0.5:
            last = session.frame(start, self._payload(session, in_term - HEADER))
        else:
            last = session.frame(start, b"", frame_length=in_term, kind=FrameType.PAD)
        self._advance(session, start + in_term)
        first = session.frame(session.position, self._payload(session, min(512, session.room_at(session.position) - HEADER)))
        self._advance(session, session.position + len(first))
        return self._shuffled([("term-end", last), ("term-end", first)])

    def _next_term(self, session: Session) -> Datagrams:
        """The begin of the next term while this one has a gap."""
        start = (session.position // session.term_length + 1) * session.term_length
        room = session.room_at(start)
        if room < HEADER:
            return self._in_order(session)
        frame = session.frame(start, self._payload(session, self._length(room)))
        session.high = max(session.high, start + len(frame))
        return [("next-term", frame)]

    def _fragments(self, session: Session) -> Datagrams:
        """Fragments of a message, whose flags or order may be wrong."""
        dice = self._dice
        count = dice.randrange(2, 6)
        made: Datagrams = []
        for index in range(count):
            room = min(session.room_at(session.position), 1024)
            if room < HEADER:
                break
            flags = DataFlags.BEGIN if index == 0 else DataFlags.END if index == count - 1 else 0
            if dice.random() < 0.2:
                flags = dice.choice(FRAME_FLAGS)
            frame = session.frame(session.position, self._payload(session, self._length(room)), flags=flags)
            self._advance(session, session.position + len(frame))
            made.append(("fragment", frame))
        return (made if session.is_orderly or dice.random() < 0.7 else self._shuffled(made)) or self._in_order(session)

    def _edges(self, session: Session) -> Datagrams:
        """Frames that end with the window, begin with it, or follow what was consumed."""
        dice = self._dice
        length = dice.choice((HEADER, 64, 512))
        position = dice.choice((session.limit - length, session.consumed, session.limit - HEADER))
        if position < session.consumed or length > session.room_at(position):
            return self._in_order(session)
        session.high = max(session.high, position + length)
        return [("edge", session.frame(position, self._payload(session, length - HEADER)))]

    def _heartbeats(self, session: Session) -> Datagrams:
        """Heartbeats at positions with data, without, and at odd offsets of both."""
        dice = self._dice
        position = dice.choice((session.position, session.high, session.limit, session.consumed, max(0, session.consumed - HEADER)))
        if dice.random() < 0.3:
            position = dice.randrange(session.consumed, session.limit + 1) // HEADER * HEADER
        return [("heartbeat", session.heartbeat(position, flags=dice.choice((0xC0, 0xC0, 0, 0xFF & ~0x30))))]

    # ---- ends

    def _end(self, session: Session, flags: int = 0xE0, kind: str = "end") -> Datagrams:
        """The end of the stream, here or elsewhere, and what comes behind it."""
        dice = self._dice
        position = dice.choice((session.position, session.position, session.high, session.consumed, session.limit))
        made = [(kind, session.heartbeat(position, flags=flags))]
        chance = dice.random()
        if chance < 0.4:
            made += self._in_order(session)
        if chance < 0.3:
            made.append((kind, session.heartbeat(session.position, flags=flags)))
        if chance < 0.1:
            made.append(("setup", session.setup()))
        if dice.random() < 0.5:
            self._leave(session)
        return made

    def _revoke(self, session: Session) -> Datagrams:
        return self._end(session, 0xF0, "revoke")

    # ---- what is not data

    def _changed_setup(self, session: Session) -> Datagrams:
        """A SETUP of a session that lives, with something of it changed."""
        dice = self._dice
        changed: dict[str, int] = {}
        for name, values in (
            ("mtu", MTUS),
            ("term_length", TERM_LENGTHS),
            ("initial_term_id", INITIAL_TERM_IDS),
            ("active_term_id", (session.initial_term_id, wrap_i32(session.initial_term_id + 1))),
        ):
            if dice.random() < 0.3:
                changed[name] = dice.choice(values)
        if "term_length" in changed:
            changed["term_offset"] = session.position % min(session.term_length, changed["term_length"])
        return [("changed-setup", session.setup(ttl=dice.choice(TTLS), flags=dice.choice((0, 0x40, 0x80, 0xC0)), **changed))]

    def _round_trip(self, session: Session) -> Datagrams:
        dice = self._dice
        flags = dice.choice((0, RttmFlags.REPLY))
        return [("round-trip", session.rttm(dice.choice(ECHOES), dice.choice(ECHOES), flags=flags, receiver_id=0))]

    def _other_direction(self, session: Session) -> Datagrams:
        """A frame that only a sender takes."""
        frame = StatusFrames.of(self._dice, session)
        return [("other-direction", frame)]

    def _strange_session(self, session: Session) -> Datagrams:
        """Data of a session that has announced nothing."""
        self._next_session += 1
        strange = Session(
            self._next_session - 1,
            session.stream_id,
            initial_term_id=session.initial_term_id,
            term_length=session.term_length,
            mtu=session.mtu,
            sender=session.sender,
        )
        frames = [strange.frame(0, b"stranger"), strange.heartbeat(0), strange.heartbeat(64, flags=0xE0)]
        return [("strange", self._dice.choice(frames))]

    def _outside(self, session: Session) -> Datagrams:
        """Data of another term: before the window or far behind it."""
        dice = self._dice
        position = session.position + dice.choice((-1, 1, 2, 4, 1000)) * session.term_length
        return [("outside", session.frame(max(0, position), b""))]

    # ---- helpers

    def _advance(self, session: Session, position: int) -> None:
        session.position = position
        session.high = max(session.high, position)

    def _shuffled(self, made: Datagrams) -> Datagrams:
        if self._dice.random() < 0.5:
            self._dice.shuffle(made)
        return made


class StatusFrames:
    """Frames of receivers, sent where senders' frames are expected."""

    @staticmethod
    def of(dice: random.Random, session: Session) -> bytes:
        """Return a status message or a NAK of a session."""
        from aerowire.codecs.flyweights.transport import NakEncoder, StatusMessageEncoder

        if dice.random() < 0.5:
            return NakEncoder.encode(
                session_id=session.session_id, stream_id=session.stream_id, term_id=session.initial_term_id, term_offset=0, length=1024
            )
        return StatusMessageEncoder.encode(
            session_id=session.session_id, stream_id=session.stream_id, consumption_term_id=session.initial_term_id, receiver_window=1024
        )
