"""The state of a stream while a capture is checked."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from aerowire.codecs.flyweights.transport import FrameType, SetupDecoder
from aerowire.conformance.harness.capture import Address
from aerowire.conformance.verdicts.checks import RuleChecks
from aerowire.conformance.verdicts.packets import Key, Packet, Stream

# What the machine that was captured may have lost; a live driver is held to less.
LATE_MS = 60.0
# Receivers repeat their status messages, and senders where they are, within this time.
EACH_HAS_SPOKEN_NS = 300_000_000
# As many in a row a bad network loses.
LOST_MAX = 4
# Arguments of RuleChecks.check.
Check = tuple[str, bool, list[int], str, str]


class Late(NamedTuple):
    """What came later than a rule allows, and how many times later than it is repeated."""

    check: Check
    times: float


class Mark(NamedTuple):
    """A packet worth remembering: its number and time."""

    number: int
    time_ns: int


class Asked(NamedTuple):
    """Bytes that a NAK asked for."""

    number: int
    position: int
    end: int


class Resent(NamedTuple):
    """Bytes that were sent again."""

    number: int
    time_ns: int
    position: int
    end: int


@dataclass(slots=True)
class Cadence:
    """When something that is repeated was captured, and by how much it may have been delayed until then.

    Whoever captures, or the network, may hold a datagram back and not the next, which then seems to come too soon.
    """

    last: Mark | None = None
    # Nobody knows of the first whether it was late.
    delay_ms: float = LATE_MS

    def after(self, packet: Packet) -> float:
        """Return the milliseconds from the packet before, with its delay."""
        return 0.0 if self.last is None else ms_between(self.last, packet) + self.delay_ms

    def on_due(self, packet: Packet, every_ms: float) -> None:
        """Take in a packet that is due every so often."""
        if self.last is not None:
            self.delay_ms = max(0.0, self.after(packet) - every_ms)
        self.last = mark(packet)

    def on_other(self, packet: Packet) -> None:
        """Take in a packet that may come at any time: it may have waited ever since the one before."""
        if self.last is not None:
            gap = ms_between(self.last, packet)
            self.delay_ms = max(gap, self.delay_ms - gap)
        self.last = mark(packet)


@dataclass(slots=True)
class Path:
    """What a sender sent to one destination. `sent_end` is the position that data, or a heartbeat, has reached."""

    destination: Address
    sent_end: int | None = None
    setups: Cadence = field(default_factory=Cadence)
    sendings: Cadence = field(default_factory=Cadence)
    is_within_message: bool | None = None
    # Where frames began that were seen, as far back as anybody may ask for them.
    seen: set[int] = field(default_factory=set)
    resent: deque[Resent] = field(default_factory=deque)
    # What the capture shows of bytes sent again, to be evaluated when it is known whether the network keeps the order.
    repeats: list[Check] = field(default_factory=list)
    is_disordered: bool = False
    forgotten: int = 0


@dataclass(slots=True)
class Receiver:
    """What a receiver said of a stream."""

    last_status: Mark | None = None
    last_request: Mark | None = None
    last_error: Mark | None = None
    consumption: int | None = None
    end_announced: Mark | None = None


@dataclass(slots=True)
class StreamState:
    """A stream as the packets so far have shown it."""

    stream: Stream
    first: Mark | None = None
    began_with_setup: bool = False
    first_status: Mark | None = None
    last_setup: Mark | None = None
    # How far the most generous receiver has let the sender go, and which packet said so.
    limit: int | None = None
    limit_mark: Mark | None = None
    # The highest position that anything of the sender has named.
    highest: int | None = None
    end_position: int | None = None
    end_mark: Mark | None = None
    paths: dict[Address, Path] = field(default_factory=dict)
    receivers: dict[int, Receiver] = field(default_factory=dict)
    # Receivers' consumption by where they send from: a NAK does not say whose it is.
    consumed: dict[Address, dict[int, int]] = field(default_factory=dict)
    asked: deque[Asked] = field(default_factory=deque)
    # Whether the network is known to lose datagrams of the stream, and what came late, to be evaluated when that is known.
    is_lossy: bool = False
    late: list[Late] = field(default_factory=list)
    response_asked: Mark | None = None
    last_response: Mark | None = None

    def begin(self, packet: Packet) -> None:
        """Note the first packet of the stream. A SETUP elsewhere than at the beginning introduces the stream to one receiver more."""
        if self.first is None:
            self.first = mark(packet)
            if packet.type == FrameType.SETUP:
                setup = SetupDecoder(packet.payload)
                self.began_with_setup = self.stream.position(setup.active_term_id, setup.term_offset) == 0

    def check_gap(
        self, checks: RuleChecks, case_id: str, before: Mark, packet: Packet, every_ms: float, late_ms: float, expected: str
    ) -> None:
        """Check that something that is repeated came in time; what did not is evaluated at the end."""
        gap = ms_between(before, packet)
        check = (case_id, gap <= every_ms + late_ms, [before.number, packet.number], expected, f"{gap:.1f} ms")
        if check[1]:
            checks.check(*check)
        else:
            self.late.append(Late(check, (gap - late_ms) / every_ms))

    def check_late(self, checks: RuleChecks) -> None:
        """The capture is over: a network that loses datagrams may have lost a few of those that did not come in time."""
        for check, times in self.late:
            if self.is_lossy and times <= LOST_MAX + 1:
                checks.leave(check[0], "the network loses datagrams, such as those that did not come in time may have been")
            else:
                checks.check(*check)

    def is_whole(self, packet: Packet) -> bool:
        """Say whether the capture has by now shown how far each end has come: it holds the beginning, or every end has spoken."""
        return self.began_with_setup or (self.first is not None and packet.time_ns - self.first.time_ns >= EACH_HAS_SPOKEN_NS)

    def path(self, packet: Packet) -> Path:
        """Return the path to a packet's destination."""
        return self.paths.setdefault(packet.destination, Path(packet.destination))

    def receiver(self, receiver_id: int) -> Receiver:
        """Return a receiver of the stream."""
        return self.receivers.setdefault(receiver_id, Receiver())

    def reach(self, position: int) -> None:
        """Note that the sender has come to a position."""
        self.highest = position if self.highest is None else max(self.highest, position)


class Capture:
    """Everything that the packets so far have shown."""

    def __init__(self, streams: dict[Key, list[Stream]]) -> None:
        self.streams = {key: [StreamState(stream) for stream in found] for key, found in streams.items()}
        # Receivers that ask whoever sends to them, whatever the stream.
        self.asking: dict[tuple[int, int, int], Receiver] = {}
        # Timestamps of RTTM requests, with their packets.
        self.requests: dict[tuple[int, int, int], Mark] = {}

    @property
    def states(self) -> list[StreamState]:
        """Every stream of the capture."""
        return [state for found in self.streams.values() for state in found]

    def state(self, key: Key, packet: Packet) -> StreamState | None:
        """Return the stream that a packet is of: its ids' latest of that sender, if several streams have the ids."""
        known = self.streams.get(key)
        if known is None or len(known) == 1:
            return known[0] if known else None
        of_sender = [each for each in known if packet.source in each.stream.senders]
        to_sender = [each for each in known if packet.destination in each.stream.senders]
        to_group = [each for each in known if packet.destination in each.stream.controls]
        found = of_sender or to_sender or to_group or known
        return next((each for each in reversed(found) if each.stream.begins <= packet.number), found[0])


def mark(packet: Packet) -> Mark:
    """Return what to remember of a packet."""
    return Mark(packet.number, packet.time_ns)


def ms_between(earlier: Mark, later: Packet) -> float:
    """Return the milliseconds between two packets."""
    return (later.time_ns - earlier.time_ns) / 1e6
