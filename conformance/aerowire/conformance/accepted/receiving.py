"""Productions for publications: what hostile receivers can say that the rules accept."""

from __future__ import annotations

import random
from collections.abc import Callable

from aerowire.codecs.flyweights.transport import (
    DataFlags,
    DataHeaderDecoder,
    ErrorFlags,
    ErrorFrameEncoder,
    FrameType,
    NakEncoder,
    ResponseSetupEncoder,
    RttmEncoder,
    RttmFlags,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.conformance.accepted.session import HEADER
from aerowire.conformance.accepted.steps import Step
from aerowire.conformance.accepted.targets import SendTarget
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.ring import align

RECEIVER_IDS = (1, 2, 3, 0, -1, 2**63 - 1, -(2**63))
ECHOES = (0, 1, -1, 2**63 - 1, -(2**63), 10**9)
TAGS = (0, 1, -1, 2**63 - 1, 4711)


class Receiving:
    """Hostile receivers of one publication. `position` is how far its sender has come, by the data that has arrived."""

    def __init__(self, dice: random.Random, target: SendTarget) -> None:
        self._dice = dice
        self.target = target
        self.position = 0
        productions: list[tuple[str, Callable[[], bytes], int]] = [
            ("status", self._honest, 30),
            ("status-edge", self._edge_status, 12),
            ("status-elsewhere", self._status_elsewhere, 6),
            ("status-many", self._other_receiver, 8),
            ("status-setup", self._elicit, 4),
            ("status-end", self._ended, 1),
            ("nak", self._nak, 20),
            ("nak-elsewhere", self._nak_elsewhere, 8),
            ("round-trip", self._round_trip, 6),
            ("response-setup", self._response_setup, 3),
            ("error", self._error, 1),
            ("other-direction", self._data, 2),
        ]
        self._productions = [(kind, maker) for kind, maker, _ in productions]
        self._weights = [weight for *_, weight in productions]

    def steps(self) -> list[Step]:
        """Draw a production; return the datagrams that it makes."""
        dice = self._dice
        kind, maker = dice.choices(self._productions, self._weights)[0]
        sender = dice.randrange(self.target.receivers)
        return [Step(self.target.name, sender, kind, maker())] * dice.choice((1, 1, 1, 2, 3))

    def on_data(self, datagram: bytes) -> None:
        """Note how far the sender has come by a datagram of its stream."""
        header = DataHeaderDecoder(datagram)
        terms = wrap_i32(header.term_id - self.target.initial_term_id)
        self.position = max(self.position, terms * self.target.term_length + header.term_offset + align(len(datagram), HEADER) - HEADER)

    def _status(self, position: int, window: int, receiver_id: int = 1, flags: int = 0) -> bytes:
        target = self.target
        position = max(0, position) // HEADER * HEADER
        return StatusMessageEncoder.encode(
            flags=flags,
            session_id=target.session_id,
            stream_id=target.stream_id,
            consumption_term_id=wrap_i32(target.initial_term_id + position // target.term_length),
            consumption_term_offset=position % target.term_length,
            receiver_window=window,
            receiver_id=receiver_id,
            group_tag=target.group_tag if receiver_id == 1 else self._dice.choice((None, *TAGS)),
        )

    def _honest(self) -> bytes:
        return self._status(self.position, self.target.term_length // 2)

    def _edge_status(self) -> bytes:
        half = self.target.term_length // 2
        return self._status(self.position - self._dice.choice((0, 32, half)), self._dice.choice((0, 1, 31, 32, 1408, half - 1, half)))

    def _status_elsewhere(self) -> bytes:
        term_length = self.target.term_length
        offset = self._dice.choice((32, term_length // 2, term_length, 2 * term_length, 1000 * term_length, -term_length, -3 * term_length))
        return self._status(self.position + offset, self._dice.choice((0, term_length // 2)), self._dice.choice(RECEIVER_IDS))

    def _other_receiver(self) -> bytes:
        receiver_id = self._dice.choice(RECEIVER_IDS) if self._dice.random() < 0.5 else self._dice.getrandbits(63)
        return self._status(self.position - self._dice.choice((0, 4096)), self.target.term_length // 2, receiver_id)

    def _elicit(self) -> bytes:
        return self._status(self.position, 0, flags=SmFlags.SEND_SETUP)

    def _ended(self) -> bytes:
        return self._status(self.position, 0, self._dice.choice(RECEIVER_IDS[1:]), flags=SmFlags.EOS)

    def _range(self, position: int, length: int) -> bytes:
        target = self.target
        position = max(0, position) // HEADER * HEADER
        offset = position % target.term_length
        return NakEncoder.encode(
            session_id=target.session_id,
            stream_id=target.stream_id,
            term_id=wrap_i32(target.initial_term_id + position // target.term_length),
            term_offset=offset,
            length=min(length, target.term_length - offset),
        )

    def _nak(self) -> bytes:
        """A range that lies in the log."""
        back = self._dice.randrange(self.target.term_length)
        length = self._dice.choice((32, 64, 1408, 4096, self.target.term_length, 1, 33, 0))
        return self._range(self.position - back, length)

    def _nak_elsewhere(self) -> bytes:
        """A range that was cleaned or has not been written."""
        term_length = self.target.term_length
        offset = self._dice.choice((0, 32, term_length, 2 * term_length, -2 * term_length, -3 * term_length, 1000 * term_length))
        return self._range(self.position + offset, self._dice.choice((32, 1408, term_length)))

    def _round_trip(self) -> bytes:
        return RttmEncoder.encode(
            flags=self._dice.choice((0, RttmFlags.REPLY)),
            session_id=self.target.session_id,
            stream_id=self.target.stream_id,
            echo_timestamp_ns=self._dice.choice(ECHOES),
            reception_delta_ns=self._dice.choice(ECHOES),
            receiver_id=self._dice.choice(RECEIVER_IDS),
        )

    def _response_setup(self) -> bytes:
        return ResponseSetupEncoder.encode(
            session_id=self.target.session_id, stream_id=self.target.stream_id, response_session_id=self._dice.choice((0, 1, -1, 2**31 - 1))
        )

    def _error(self) -> bytes:
        text = self._dice.choice(("", "x", "rejected \x1b[31m", "y" * 1023, "\n1: 5 - forged"))
        return ErrorFrameEncoder.encode(
            flags=self._dice.choice((0, ErrorFlags.HAS_GROUP_TAG)),
            session_id=self.target.session_id,
            stream_id=self.target.stream_id,
            receiver_id=self._dice.choice(RECEIVER_IDS),
            group_tag=self._dice.choice(TAGS),
            error_code=self._dice.choice((0, 1, 11, -1, 2**31 - 1)),
            error_text=text,
        )

    def _data(self) -> bytes:
        """A frame that only a receiver takes."""
        from aerowire.codecs.flyweights.transport import DataHeaderEncoder

        return DataHeaderEncoder.encode(
            flags=DataFlags.UNFRAGMENTED,
            type=FrameType.DATA,
            session_id=self.target.session_id,
            stream_id=self.target.stream_id,
            term_id=self.target.initial_term_id,
            payload=bytes(32),
        )
