"""A stream with frames missing, as the cases of loss send it to a receiver."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from aerowire.codecs.flyweights.transport import NakDecoder
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, Bench, Source, Subscription
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.wire import Arrival, Wire
from aerowire.conformance.model import Finding

PAYLOAD = bytes(range(200))
FRAME = frames.aligned(len(PAYLOAD))
# A NAK that was on its way when the gap was filled is no repetition.
IN_FLIGHT_MS = 20.0
# A while in which an open gap is reported some ten times over.
WATCH_MS = 50.0

# How often a sender repeats its SETUP until a status message comes.
SETUP_PERIOD_MS = 100.0

# Position and length of what is missing.
Range = tuple[int, int]


class Gap:
    """A stream of frames, by default ten equal ones, sent from position `at` on but for those whose indices are `lost`.

    What the receiver says comes to `ear`: the sender's own socket, or that of the `ears` which got the first status message.
    """

    def __init__(
        self,
        bench: Bench,
        subscription: Subscription | None = None,
        *,
        payloads: Sequence[bytes] = (PAYLOAD,) * 10,
        lost: Sequence[int] = (2, 3, 4),
        at: int = 0,
        source: Source | None = None,
        ears: Sequence[Wire] = (),
    ) -> None:
        self.source: Source = source or bench.source(bench.subscribe() if subscription is None else subscription)
        self.ear: Wire = self.source.wire
        self.image = self._introduce(bench, at, ears) if ears else self.source.start(at)
        self.payloads = list(payloads)
        self.positions = [at]
        for payload in payloads:
            self.positions.append(self.positions[-1] + frames.aligned(len(payload)))
        self.lost = list(lost)
        self.mark = self.ear.mark()
        # When the frame that shows the gap was about to leave, and when it had left.
        self.shown_ns = self.seen_ns = 0
        for index in range(len(payloads)):
            if index not in self.lost:
                before_ns = time.monotonic_ns()
                left_ns = self.send(index)
                if index > self.lost[0] and not self.shown_ns:
                    self.shown_ns, self.seen_ns = before_ns, left_ns

    def _introduce(self, bench: Bench, at: int, ears: Sequence[Wire]) -> Image:
        """Repeat the SETUP as a sender does until there is an image, and learn where its status messages go."""
        session_id = self.source.frames.session_id

        def has_image() -> bool:
            if not self.source.images():
                self.source.send(self.source.frames.setup(at))
                bench.wait_until(lambda: bool(self.source.images()), SETUP_PERIOD_MS)
            return bool(self.source.images())

        def has_heard() -> bool:
            for ear in ears:
                ear.read()
                if any(one.frames and frames.is_plain_status(one.first) and one.first.session_id == session_id for one in ear.arrivals):
                    self.ear = ear
                    return True
            return False

        bench.expect(has_image, "an available image", within_ms=CONDUCTOR_MS)
        bench.expect(has_heard, "the first status message", within_ms=CONDUCTOR_MS)
        return self.source.images()[0]

    @property
    def end(self) -> int:
        """Position behind the last frame."""
        return self.positions[-1]

    def range(self, first: int, last: int) -> Range:
        """Return what the frames from `first` to `last` take in the stream."""
        return self.positions[first], self.positions[last + 1] - self.positions[first]

    @property
    def whole(self) -> Range:
        """The range from the first lost frame to the last."""
        return self.range(self.lost[0], self.lost[-1])

    def send(self, index: int) -> int:
        """Send one of the frames; return when it left."""
        return self.source.send(self.source.frames.data(self.positions[index], self.payloads[index]))

    def fill(self, indices: Iterable[int] | None = None) -> int:
        """Send lost frames, all of them by default; return when the last one left."""
        return [self.send(index) for index in (self.lost if indices is None else indices)][-1]

    def expect_nak(self, within_ms: float = CONDUCTOR_MS) -> Arrival:
        """Wait for the first NAK."""
        return self.ear.expect(frames.is_nak, "a NAK", within_ms=within_ms, start=self.mark, since_ns=self.seen_ns)

    def expect_nak_of(self, missing: Range) -> Arrival:
        """Wait for a NAK of exactly this range."""
        term_id, term_offset = self.source.frames.term(missing[0])
        wanted = term_id, term_offset, missing[1]
        return self.ear.expect(
            lambda frame: frames.is_nak(frame) and (frame.term_id, frame.term_offset, frame.length) == wanted,
            f"a NAK of {missing[1]} bytes at position {missing[0]}",
            within_ms=CONDUCTOR_MS,
            start=self.mark,
        )

    def naks(self) -> list[Arrival]:
        """Return the NAKs that came so far."""
        return [arrival for arrival in self.ear.arrivals[self.mark :] if arrival.frames and frames.is_nak(arrival.first)]

    def named(self, arrival: Arrival) -> Range:
        """Return the range that a NAK names."""
        nak = arrival.first
        terms = wrap_i32(nak.term_id - self.source.frames.initial_term_id)
        return terms * self.source.frames.term_length + nak.term_offset, nak.length

    def check_range(self, arrival: Arrival, missing: Range | None = None) -> None:
        """Check that a NAK names the gap, or `missing`, and nothing else."""
        nak = arrival.first
        position, length = self.whole if missing is None else missing
        term_id, term_offset = self.source.frames.term(position)
        check_equal("length of the datagram", len(arrival.payload), NakDecoder.ENCODED_LENGTH)
        check_equal("session_id", nak.session_id, self.source.frames.session_id)
        check_equal("stream_id", nak.stream_id, self.source.frames.stream_id)
        check_equal("term_id", nak.term_id, term_id)
        check_equal("term_offset", nak.term_offset, term_offset)
        check_equal("length", nak.length, length)

    def check_none_after(self, time_ns: int, for_ms: float, what: str) -> None:
        """Watch for `for_ms` and check that no NAK came that left the driver later than `time_ns` and was not yet on its way."""
        self.ear.collect(for_ms)
        late = [arrival for arrival in self.naks() if arrival.time_ns > time_ns + IN_FLIGHT_MS * 1e6]
        if late:
            after_ms = (late[0].time_ns - time_ns) / 1e6
            raise Finding(f"no NAK after {what}", f"{late[0]!r} {after_ms:.1f} ms after it, {len(late)} in all")

    def expect_delivery(self) -> None:
        """Wait until all frames are delivered, each once and in order."""
        self.source.expect_payloads(self.image, self.payloads)
