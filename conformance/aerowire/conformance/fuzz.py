"""Bombards a driver with malformed datagrams and watches that it bears them.

Four things must hold: the driver lives, its counter of invalid packets moves by exactly the datagrams that the
rules reject, nothing is answered, and streams in progress on the very same endpoints lose nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench, Sink, Source
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.wire import Wire
from aerowire.conformance.malformed import Generator, Malformed
from aerowire.conformance.model import Deviation, Finding, NotSent, Verdict, is_older
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.rules import Effect, Endpoint, KnownStream

# Small enough for a receive buffer of 128 KiB, with what the kernel adds to each datagram.
BATCH = 32
# The release whose drivers check frames in two layers; older ones look at little more than the version.
SINCE = "1.53"


@dataclass(slots=True)
class FuzzOutcome:
    """What came of a bombardment."""

    count: int
    seed: int
    sent: int = 0
    invalid_expected: int = 0
    invalid_counted: int = 0
    ignored: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    messages_delivered: int = 0
    errors_logged: int = 0
    finding: str = ""
    unsupported: str = ""
    inconclusive: str = ""

    @property
    def is_pass(self) -> bool:
        """Whether the driver bore it (or cannot be held to the rules)."""
        return self.verdict in (Verdict.PASS, Verdict.UNSUPPORTED)

    @property
    def verdict(self) -> Verdict:
        """What came of it, in a word."""
        if self.finding:
            return Verdict.FAIL
        if self.inconclusive:
            return Verdict.INCONCLUSIVE
        return Verdict.UNSUPPORTED if self.unsupported else Verdict.PASS

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"verdict": self.verdict.value} | {name: getattr(self, name) for name in FuzzOutcome.__slots__}

    def lines(self) -> Iterator[str]:
        """Yield a report for people."""
        if self.unsupported:
            yield f"unsupported  {self.unsupported}"
            return
        yield f"{'FAIL' if self.finding else self.verdict.value}  {self.sent} malformed datagrams sent, seed {self.seed}"
        yield f"  by frame type  {', '.join(f'{kind} {number}' for kind, number in self.by_kind.items())}"
        yield f"  invalid packets  {self.invalid_counted} counted, {self.invalid_expected} expected; {self.ignored} to be ignored"
        yield f"  streams in progress  {self.messages_delivered} messages delivered both ways; errors logged {self.errors_logged}"
        if self.finding or self.inconclusive:
            yield f"  {self.finding or self.inconclusive}"


def fuzz(peer: Peer, *, count: int, seed: int, progress: Callable[[str], None] | None = None) -> FuzzOutcome:
    """Send `count` malformed datagrams to a peer that has been started; return what came of it."""
    outcome = FuzzOutcome(count, seed)
    if is_older(peer.release, SINCE):
        outcome.unsupported = f"drivers check frames in two layers since {SINCE}; this one is {peer.release}"
        return outcome
    try:
        with Bench(peer, f"fuzz:{seed}") as bench:
            Bombardment(bench, outcome).run(progress)
    except NotSent as deviation:
        outcome.inconclusive = str(deviation)
    except Deviation as deviation:
        outcome.finding = str(deviation)
    if not peer.is_alive():
        outcome.finding = f"the driver died after {outcome.sent} datagrams; {peer.diagnostics()}"
    if progress is not None:
        progress("")
    return outcome


class Bombardment:
    """A stream in, a stream out, and malformed datagrams to both of their endpoints."""

    def __init__(self, bench: Bench, outcome: FuzzOutcome) -> None:
        self._bench = bench
        self._outcome = outcome
        self._source: Source = bench.source(bench.subscribe())
        self._image: Image = self._source.start()
        self._sink: Sink = bench.publish()
        self._sink.connect()
        # A publication's socket is connected to its receiver, so only the receiver's own socket reaches it.
        self._stranger: Wire = bench.wire()
        self._received = 0
        self._generator = Generator(outcome.seed, known_stream(self._source.frames), known_stream(self._sink.frames))
        self._before = bench.count(SystemCounter.INVALID_PACKETS)
        self._errors = bench.count(SystemCounter.ERRORS)

    def run(self, progress: Callable[[str], None] | None) -> None:
        """Send everything; raises Finding at the first batch that the driver does not bear."""
        supply = iter(self._generator)
        outcome = self._outcome
        kinds: Counter[str] = Counter()
        while outcome.sent < outcome.count:
            batch = list(islice(supply, min(BATCH, outcome.count - outcome.sent)))
            mark = self._sink.wire.mark()
            for item in batch:
                self._send(item)
                kinds[item.kind] += 1
            outcome.sent += len(batch)
            expected = sum(item.effect is Effect.INVALID for item in batch)
            outcome.invalid_expected += expected
            outcome.ignored += len(batch) - expected
            outcome.by_kind = dict(kinds)
            self._check(batch, mark)
            if progress is not None and outcome.sent % (BATCH * 10) == 0:
                progress(f"{outcome.sent} of {outcome.count} sent, {outcome.invalid_counted} counted as invalid")
        self._check_alive()

    def _send(self, item: Malformed) -> None:
        if item.endpoint is Endpoint.RECEIVE:
            self._stranger.send(item.payload, self._source.subscription.address)
        else:
            self._sink.send(item.payload)

    def _check(self, batch: list[Malformed], mark: int) -> None:
        """Judge a batch by its effects; on a deviation name the datagram that does it again alone."""
        try:
            self._check_effects(mark)
        except Deviation as deviation:
            culprit = self._culprit(batch)
            raise Finding(deviation.expected, f"{deviation.actual}; {culprit}") from None

    def _check_effects(self, mark: int) -> None:
        # Good messages behind the bad datagrams: once they are through, the bad ones have been evaluated.
        self._exchange(mark)
        outcome = self._outcome
        self._bench.wait_until(lambda: self._counted() >= outcome.invalid_expected, CONDUCTOR_MS)
        outcome.invalid_counted = self._counted()
        outcome.errors_logged = self._bench.count(SystemCounter.ERRORS) - self._errors
        if outcome.invalid_counted != outcome.invalid_expected:
            raise Finding(f"INVALID_PACKETS up by {outcome.invalid_expected}", f"up by {outcome.invalid_counted}")
        if self._stranger.mark():
            raise Finding("no reply to malformed datagrams", self._stranger.summary())

    def _exchange(self, mark: int) -> None:
        """Carry one message each way on the streams in progress; nothing else may come."""
        message = self._bench.random.randbytes(self._bench.random.randrange(1, 400))
        self._received = self._source.send_message(self._received, message)
        self._source.expect_payloads(self._image, [message])
        arrivals = self._sink.publish([message], mark=mark)
        self._sink.send_status(self._sink.publication.position)
        sent = [bytes(frame.data) for arrival in arrivals for frame in arrival.frames if int(frame.type) == FrameType.DATA]
        others = [
            arrival
            for arrival in self._sink.wire.arrivals[mark:]
            if not arrival.frames or not (frames.is_data(arrival.first) or frames.is_heartbeat(arrival.first))
        ]
        self._sink.wire.arrivals.clear()
        self._source.wire.arrivals.clear()
        if sent != [message]:
            raise Finding("one message on the wire, once", f"{len(sent)} data frames")
        if others:
            raise Finding("no reply to malformed datagrams", f"{others[0]!r}")
        self._outcome.messages_delivered += 2

    def _counted(self) -> int:
        return self._bench.count(SystemCounter.INVALID_PACKETS) - self._before

    def _culprit(self, batch: list[Malformed]) -> str:
        """Send the batch again one by one, with the same checks after each; describe the first that fails them."""
        outcome = self._outcome
        self._bench.pause(CONDUCTOR_MS)
        for item in batch:
            what = f"a {item.kind} of {len(item.payload)} bytes to the {item.endpoint.value} endpoint ({item.effect.value})"
            self._stranger.arrivals.clear()
            outcome.invalid_expected = self._counted() + (item.effect is Effect.INVALID)
            mark = self._sink.wire.mark()
            self._send(item)
            try:
                self._check_effects(mark)
            except Deviation as deviation:
                return f"again alone ({deviation.actual}): {what}: {item.payload.hex()}"
        return "no single datagram of the batch does it again"

    def _check_alive(self) -> None:
        bench = self._bench
        bench.subscribe()
        if not bench.client.is_driver_alive():
            raise Finding("a driver that gives signs of life", "its heartbeat stands still")


def known_stream(stream: frames.StreamFrames) -> KnownStream:
    """Return what the rules must know of a stream."""
    return KnownStream(stream.session_id, stream.stream_id, stream.initial_term_id, stream.term_length)
