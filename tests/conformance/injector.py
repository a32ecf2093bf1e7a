"""Puts a fault between the suite and a sound driver, so that the suite meets a driver that breaks one rule.

The real driver, real sockets and the real shared memory stay as they are. What the driver would not hear, what it
would say otherwise, count otherwise or announce otherwise is changed on its way: at the harness's sockets, where
it reads counters, and where it reads the broadcast buffer.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights.cnc import CncHeaderDecoder
from aerowire.codecs.flyweights.transport import (
    DataHeaderDecoder,
    DataHeaderEncoder,
    ErrorFrameDecoder,
    ErrorFrameEncoder,
    FrameHeaderDecoder,
    FrameType,
    NakDecoder,
    NakEncoder,
    ResponseSetupDecoder,
    ResponseSetupEncoder,
    RttmDecoder,
    RttmEncoder,
    SetupDecoder,
    SetupEncoder,
    StatusMessageDecoder,
    StatusMessageEncoder,
)
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness import bench, losses, wire
from aerowire.conformance.harness.broadcast import BroadcastReader
from aerowire.conformance.harness.cnc import CncFile
from aerowire.conformance.harness.counters import CountersReader
from aerowire.conformance.harness.load import LoadGauge
from aerowire.conformance.harness.ring import RingWriter
from aerowire.conformance.peers.base import Peer, ProcessPeer

# Told apart from late by waiting this long instead of the suite's patience: an injected silence lasts.
PATIENCE_S = 0.25
PROBES = 2
# What an injector holds back wakes nobody, so the harness looks this often.
POLL_S = 0.001
DECODERS: dict[int, Any] = {
    FrameType.PAD: DataHeaderDecoder,
    FrameType.DATA: DataHeaderDecoder,
    FrameType.NAK: NakDecoder,
    FrameType.SM: StatusMessageDecoder,
    FrameType.ERR: ErrorFrameDecoder,
    FrameType.SETUP: SetupDecoder,
    FrameType.RSP_SETUP: ResponseSetupDecoder,
    FrameType.RTTM: RttmDecoder,
}
ENCODERS: dict[int, Any] = {
    FrameType.PAD: DataHeaderEncoder,
    FrameType.DATA: DataHeaderEncoder,
    FrameType.NAK: NakEncoder,
    FrameType.SM: StatusMessageEncoder,
    FrameType.ERR: ErrorFrameEncoder,
    FrameType.SETUP: SetupEncoder,
    FrameType.RSP_SETUP: ResponseSetupEncoder,
    FrameType.RTTM: RttmEncoder,
}

# (delay in milliseconds, datagram): what becomes of one datagram on its way.
Passage = tuple[float, bytes]
Hook = Callable[["Link", bytes], Iterable[Passage]]
Match = Callable[[bytes], bool]
# (counter, value of the driver, value when the case first read it) -> value that the suite reads.
Count = Callable[[SystemCounter | CounterType, int, int], int]
Announce = Callable[[int, bytes], Iterable[tuple[int, bytes]]]
Record = Callable[[losses.Loss], Iterable[losses.Loss]]
# The driver's last sign of life -> what the suite reads of it.
Beat = Callable[[int], int]
# (command, its body) -> body that the driver reads.
Ask = Callable[[int, bytes], bytes]
# The header of the driver's file -> header that the suite reads.
Head = Callable[[bytes], bytes]
# Properties of a driver that the case starts -> properties that it is started with.
Start = Callable[[Mapping[str, str]], Mapping[str, str]]
# IP fragments of a datagram -> those that the driver takes.
Fragments = Callable[[list[bytes]], list[bytes]]
# Starts the driver that should refuse to start beside another.
Rival = Callable[[ProcessPeer, Mapping[str, str]], Peer]


@dataclass(frozen=True)
class Fault:
    """A way to break a rule and what must be found: what the driver hears, says, counts, announces, records of loss, is asked, or beats,
    what its file says of it, what a second one does, what one of the case's own is started with, and
    which IP fragments it takes.

    `expected` and `actual` are words of the verdict: a failure for another reason shows nothing.
    """

    case_id: str
    name: str
    expected: str
    actual: str
    hears: Hook | None = field(default=None, repr=False)
    says: Hook | None = field(default=None, repr=False)
    counts: Count | None = field(default=None, repr=False)
    announces: Announce | None = field(default=None, repr=False)
    records: Record | None = field(default=None, repr=False)
    beats: Beat | None = field(default=None, repr=False)
    asks: Ask | None = field(default=None, repr=False)
    heads: Head | None = field(default=None, repr=False)
    rival: Rival | None = field(default=None, repr=False)
    starts: Start | None = field(default=None, repr=False)
    fragments: Fragments | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.case_id}-{self.name.replace(' ', '_')}"


class Link(socket.socket):
    """A socket of the harness with a fault on both ways. Hooks see what passed before in `heard` and `said`."""

    fault: Fault

    def __init__(self, family: int, fault: Fault) -> None:
        super().__init__(family, socket.SOCK_DGRAM)
        self.fault = fault
        self.heard: list[bytes] = []
        self.said: list[bytes] = []
        self._driver: Any = None
        self._due: list[tuple[float, int, bytes]] = []
        self._order = itertools.count()
        self._is_departed = False

    def tell(self, datagram: bytes) -> None:
        """Send a forged datagram to the driver."""
        super().sendto(datagram, self._driver)

    def tell_later(self, datagram: bytes, after_ms: float) -> None:
        """Send a forged datagram to the driver in a while, unless the socket is closed by then."""

        def tell() -> None:
            with contextlib.suppress(OSError):
                self.tell(datagram)

        timer = threading.Timer(after_ms / 1e3, tell)
        timer.daemon = True
        timer.start()

    def say(self, datagram: bytes, after_ms: float = 0.0) -> None:
        """Let a forged datagram of the driver arrive."""
        heapq.heappush(self._due, (time.monotonic() + after_ms / 1e3, next(self._order), datagram))

    def sendto(self, datagram: bytes, address: Any) -> int:  # type: ignore[override]
        """Let the driver hear what the fault makes of a datagram; to the harness it has left in any case."""
        self._driver = address
        passages = [(0.0, datagram)] if self.fault.hears is None else list(self.fault.hears(self, datagram))
        self.heard.append(datagram)
        for _, heard in passages:
            self.tell(heard)
        self._is_departed = True
        return len(datagram)

    def recvmsg(self, size: int, ancillary: int = 0, flags: int = 0) -> Any:
        """Return what the fault makes of the driver's next datagram. Raises BlockingIOError when there is none."""
        if flags & socket.MSG_ERRQUEUE:
            return self._confirm()
        while True:
            if self._due and self._due[0][0] <= time.monotonic():
                return heapq.heappop(self._due)[2], [], 0, self._driver
            datagram, stamps, state, self._driver = super().recvmsg(size, ancillary)
            passages = [(0.0, datagram)] if self.fault.says is None else list(self.fault.says(self, datagram))
            self.said.append(datagram)
            prompt = None
            for delay_ms, said in passages:
                if prompt is None and not delay_ms:
                    prompt = said
                else:
                    self.say(said, delay_ms)
            if prompt is not None:
                return prompt, stamps, state, self._driver

    def _confirm(self) -> Any:
        """Confirm the last departure, of which the driver may have heard nothing or more than was sent."""
        if not self._is_departed:
            raise BlockingIOError
        self._is_departed = False
        try:
            while True:
                super().recvmsg(0, wire.ANCILLARY_MAX, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            return b"", [], socket.MSG_ERRQUEUE, None


class Swallower(socket.socket):
    """A socket that takes what `is_lost` says and lets it go nowhere."""

    def __init__(self, family: int, is_lost: Match) -> None:
        super().__init__(family, socket.SOCK_DGRAM)
        self._is_lost = is_lost

    def sendto(self, datagram: bytes, address: Any) -> int:  # type: ignore[override]
        """Swallow the datagram, or send it."""
        return len(datagram) if self._is_lost(datagram) else super().sendto(datagram, address)


def inject(patch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Put `fault` between the suite and its driver until the patch is undone."""
    patch.setattr(wire, "open_socket", lambda family: Link(family, fault))
    if fault.fragments is not None:
        patch.setattr(wire, "in_fragments", fragmenting(fault.fragments))
    if fault.counts is not None:
        patch.setattr(CountersReader, "value", counting(fault.counts))
    if fault.beats is not None:
        patch.setattr(CncFile, "heartbeat_ms", beating(fault.beats))
    if fault.announces is not None:
        patch.setattr(BroadcastReader, "poll", announcing(fault.announces))
    if fault.records is not None:
        patch.setattr(losses, "read_losses", recording(fault.records))
    if fault.asks is not None:
        patch.setattr(RingWriter, "write", asking(fault.asks))
    if fault.heads is not None:
        patch.setattr(CncFile, "header", heading(fault.heads))
    if fault.rival is not None:
        patch.setattr(ProcessPeer, "rival", fault.rival)
    if fault.starts is not None:
        patch.setattr(ProcessPeer, "variant", starting(fault.starts))
    hurry(patch)


def swallow(patch: pytest.MonkeyPatch, is_lost: Match) -> None:
    """Let what the suite sends go nowhere where `is_lost` says so."""
    patch.setattr(wire, "open_socket", lambda family: Swallower(family, is_lost))
    hurry(patch)


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Wait less for what will not come, and decide as on a quiet machine: the fault is certain, not a matter of load."""
    patch.setattr(wire, "PATIENCE_S", PATIENCE_S)
    patch.setattr(bench, "PATIENCE_S", PATIENCE_S)
    patch.setattr(bench, "PROBES", PROBES)
    patch.setattr(wire, "select", SimpleNamespace(select=lambda r, w, x, timeout: select.select(r, w, x, min(timeout, POLL_S))))
    patch.setattr(LoadGauge, "reason_since", lambda *_: None)


def counting(count: Count) -> Callable[[CountersReader, int], int]:
    """Return a reader of counters that reads what `count` makes of them."""
    read = CountersReader.value
    first: dict[int, int] = {}

    def value(reader: CountersReader, counter_id: int) -> int:
        true = read(reader, counter_id)
        kind: SystemCounter | CounterType = (
            SystemCounter(counter_id)
            if counter_id in SystemCounter._value2member_map_
            else CounterType(reader.describe(counter_id).type_id)
        )
        return count(kind, true, first.setdefault(counter_id, true))

    return value


def beating(beat: Beat) -> property:
    """Return a sign of life that reads as what `beat` makes of it."""
    read = CncFile.heartbeat_ms.fget  # type: ignore[attr-defined]
    return property(lambda cnc: beat(read(cnc)))


def announcing(announce: Announce) -> Callable[[BroadcastReader], Iterator[tuple[int, bytes]]]:
    """Return a reader of the broadcast buffer that reads what `announce` makes of it."""
    read = BroadcastReader.poll

    def poll(reader: BroadcastReader) -> Iterator[tuple[int, bytes]]:
        for type_id, body in read(reader):
            yield from announce(type_id, body)

    return poll


def recording(record: Record) -> Callable[[Path], list[losses.Loss]]:
    """Return a reader of the loss report that reads what `record` makes of it."""
    read = losses.read_losses
    return lambda directory: [said for loss in read(directory) for said in record(loss)]


def asking(ask: Ask) -> Callable[[RingWriter, int, bytes], None]:
    """Return a writer of commands that writes what `ask` makes of them."""
    write = RingWriter.write
    return lambda writer, type_id, body: write(writer, type_id, ask(type_id, body))


def fragmenting(fragments: Fragments) -> Callable[..., list[bytes]]:
    """Return what cuts a datagram into the fragments of which the driver hears."""
    cut = wire.in_fragments
    return lambda *whole: fragments(cut(*whole))


def starting(start: Start) -> Callable[[ProcessPeer, Mapping[str, str]], ProcessPeer]:
    """Return what makes drivers of a case's own, started with what `start` makes of their properties."""
    variant = ProcessPeer.variant
    return lambda peer, properties: variant(peer, start(properties))


def heading(head: Head) -> Callable[[CncFile], CncHeaderDecoder]:
    """Return a reader of the header of the driver's file that reads what `head` makes of it."""
    return lambda cnc: CncHeaderDecoder(head(cnc.mapping.bytes_at(0, CncHeaderDecoder.ENCODED_LENGTH)))


# -- what becomes of a datagram ---------------------------------------------------------------------------------------


def type_of(datagram: bytes) -> int:
    """Return the frame type of a datagram, -1 when it is too short for one."""
    return FrameHeaderDecoder(datagram).type if len(datagram) >= FrameHeaderDecoder.ENCODED_LENGTH else -1


def read(datagram: bytes) -> Any:
    """Return a decoder over the first frame of a datagram."""
    return DECODERS[type_of(datagram)](datagram)


def edited(datagram: bytes, **changes: Any) -> bytes:
    """Return a datagram with fields of its first frame changed: to a value, or by a function of the old one."""
    changed = bytearray(datagram)
    frame = ENCODERS[type_of(datagram)](changed)
    for name, change in changes.items():
        setattr(frame, name, change(getattr(frame, name)) if callable(change) else change)
    return bytes(changed)


def drop(match: Match, *, after: int = 0) -> Hook:
    """Drop what matches, but for the first `after` of them."""

    def hook(link: Link, datagram: bytes) -> list[Passage]:
        return [] if match(datagram) and has_passed(link, match, after) else [(0.0, datagram)]

    return hook


def every_other(match: Match) -> Hook:
    """Drop every second one that matches."""

    def hook(link: Link, datagram: bytes) -> list[Passage]:
        return [] if match(datagram) and passed(link, match) % 2 else [(0.0, datagram)]

    return hook


def edit(match: Match, *, after: int = 0, **changes: Any) -> Hook:
    """Change fields of what matches, but for the first `after` of them."""

    def hook(link: Link, datagram: bytes) -> list[Passage]:
        is_changed = match(datagram) and has_passed(link, match, after)
        return [(0.0, edited(datagram, **changes) if is_changed else datagram)]

    return hook


def replace(match: Match, *becomes: Callable[[bytes], bytes]) -> Hook:
    """Let what matches become other datagrams, each a function of it."""

    def hook(_: Link, datagram: bytes) -> list[Passage]:
        return [(0.0, become(datagram)) for become in becomes] if match(datagram) else [(0.0, datagram)]

    return hook


def delay(match: Match, milliseconds: float, *, after: int = 0) -> Hook:
    """Let what matches come late, but for the first `after` of them."""

    def hook(link: Link, datagram: bytes) -> list[Passage]:
        is_late = match(datagram) and has_passed(link, match, after)
        return [(milliseconds if is_late else 0.0, datagram)]

    return hook


def repeat(match: Match, *delays_ms: float) -> Hook:
    """Let what matches come again after each of the delays."""

    def hook(_: Link, datagram: bytes) -> list[Passage]:
        again = [(delay_ms, datagram) for delay_ms in delays_ms] if match(datagram) else []
        return [(0.0, datagram), *again]

    return hook


def answer(match: Match, reply: Callable[[bytes], bytes], *, after: int = 0) -> Hook:
    """Let the driver answer what it hears and matches with a forged datagram, but for the first `after` of them."""

    def hook(link: Link, datagram: bytes) -> list[Passage]:
        if match(datagram) and has_passed(link, match, after):
            link.say(reply(datagram))
        return [(0.0, datagram)]

    return hook


def once(heard: Match, hook: Hook) -> Hook:
    """Apply a hook from when the driver has heard what matches."""

    def late_hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        return hook(link, datagram) if any(map(heard, link.heard)) else [(0.0, datagram)]

    return late_hook


def has_passed(link: Link, match: Match, count: int) -> bool:
    """Say whether at least `count` datagrams on the link matched before."""
    return not count or passed(link, match) >= count


def passed(link: Link, match: Match) -> int:
    """Return how many datagrams on the link matched before, whichever way they went."""
    return sum(map(match, link.heard)) + sum(map(match, link.said))
