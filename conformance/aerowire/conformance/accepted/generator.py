"""Draws hostile sequences of accepted datagrams to several targets of one driver, from one seed.

Hears what the driver answers, so that most datagrams are accepted: windows and positions come from status messages and data. Knows
frames; knows nothing of sockets.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from aerowire.codecs.flyweights.transport import (
    ADDRESS_LENGTH_IP4,
    DataHeaderDecoder,
    FrameHeaderDecoder,
    FrameType,
    ResFlags,
    ResolutionEncoder,
    ResolutionEntryEncoder,
    ResType,
    SmFlags,
    StatusMessageDecoder,
)
from aerowire.conformance.accepted.receiving import Receiving
from aerowire.conformance.accepted.sending import Sending
from aerowire.conformance.accepted.steps import Step, pause
from aerowire.conformance.accepted.targets import ReceiveTarget, SendTarget, Target

MS = 1_000_000
# Pauses between the datagrams: most follow each other at once.
PAUSES_NS = (0,) * 60 + (MS // 10, MS, 5 * MS, 20 * MS)
# Once in so many productions, time passes in which sessions end by their silence.
LONG_PAUSE_EVERY = 400
_TYPE = slice(FrameHeaderDecoder.TYPE_OFFSET, FrameHeaderDecoder.TYPE_OFFSET + 2)
NAMES = ("a", "b.c", "x" * 64, "localhost", "driver-1")


class AcceptedGenerator:
    """Sequences for a set of targets. `feed` takes what the driver sent to a target's sockets."""

    def __init__(self, seed: int | str, targets: Sequence[Target], *, long_pause_ns: int = 0, pauses: bool = True) -> None:
        self._dice = random.Random(seed)
        self._long_pause_ns = long_pause_ns
        self._pauses = pauses
        self._senders: dict[str, Sending] = {}
        self._receivers: dict[str, Receiving] = {}
        self._resolvers: list[str] = []
        for target in targets:
            if isinstance(target, ReceiveTarget):
                self._senders[target.name] = Sending(self._dice, target)
            elif isinstance(target, SendTarget):
                self._receivers[target.name] = Receiving(self._dice, target)
            else:
                self._resolvers.append(target.name)
        self._names = (
            [name for name, it in self._senders.items() for _ in range(it.target.weight)] + [*self._receivers] * 2 + self._resolvers
        )

    def __iter__(self) -> Iterator[Step]:
        """Yield steps without end."""
        dice = self._dice
        while True:
            yield from self._draw(dice.choice(self._names))
            if self._pauses and (wait := dice.choice(PAUSES_NS)):
                yield pause(wait)
            if self._long_pause_ns and dice.randrange(LONG_PAUSE_EVERY) == 0:
                yield pause(self._long_pause_ns)

    def feed(self, name: str, datagram: bytes) -> None:
        """Take a datagram of the driver that arrived at one of the sockets of a target."""
        if len(datagram) < FrameHeaderDecoder.ENCODED_LENGTH:
            return
        # Most of a run is spent here and in the builders: one field is read without a decoder.
        kind = int.from_bytes(datagram[_TYPE], "little")
        if kind == FrameType.SM and name in self._senders:
            message = StatusMessageDecoder(datagram)
            if not message.flags & SmFlags.SEND_SETUP:
                self._senders[name].on_status(message)
        elif kind in (FrameType.DATA, FrameType.PAD) and name in self._receivers and len(datagram) >= DataHeaderDecoder.ENCODED_LENGTH:
            self._receivers[name].on_data(datagram)

    def _draw(self, name: str) -> list[Step]:
        if name in self._senders:
            return self._senders[name].steps()
        if name in self._receivers:
            return self._receivers[name].steps()
        return [Step(name, 0, "resolution", self._resolution())]

    def _resolution(self) -> bytes:
        dice = self._dice
        entries = [
            ResolutionEntryEncoder.encode(
                res_type=ResType.NAME_TO_IP4_MD,
                res_flags=ResFlags.SELF if dice.random() < 0.5 else 0,
                udp_port=dice.choice((0, 1, 8050, 65535)),
                age_ms=dice.choice((0, 1, 1000, 2**31 - 1, -1)),
                address=bytes(dice.choice((0, 127, 10, 255)) for _ in range(ADDRESS_LENGTH_IP4)),
                name=dice.choice(NAMES) + str(dice.randrange(8)),
            )
            for _ in range(dice.randrange(1, 5))
        ]
        return ResolutionEncoder.encode(entries=entries)
