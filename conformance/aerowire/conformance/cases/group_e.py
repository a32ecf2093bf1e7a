"""Group E: loss, as a receiver sees it."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import NakDecoder
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal, intervals_ms
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.wire import Arrival
from aerowire.conformance.model import Case, Finding, TimingMiss, case

PAYLOAD = bytes(range(200))
FRAME = frames.aligned(len(PAYLOAD))
RETRY_WATCH_MS = 100.0
# A retry is due every 100 us by default; a duty cycle takes its share, but no more than an immediate reaction may.
RETRIES_MIN = int(RETRY_WATCH_MS / REACTION_MS)
# The retry delay is kept on average, whatever a single arrival's stamp says.
RETRY_TOLERANCE = 0.1
# A NAK that was on its way when the gap was filled is no repetition.
IN_FLIGHT_MS = 20.0


class Gap:
    """A stream with frames 0..9 sent but for 2..4."""

    def __init__(self, bench: Bench) -> None:
        self.source: Source = bench.source(bench.subscribe())
        self.image: Image = self.source.start()
        self.start = 2 * FRAME
        self.length = 3 * FRAME
        self.mark = self.source.wire.mark()
        self.source.send_data(0, PAYLOAD)
        self.source.send_data(FRAME, PAYLOAD)
        # The frame behind the gap is what shows it.
        self.seen_ns = self.source.send(self.source.frames.data(self.start + self.length, PAYLOAD))
        for index in range(6, 10):
            self.source.send_data(index * FRAME, PAYLOAD)

    def expect_nak(self, within_ms: float) -> Arrival:
        """Wait for the first NAK."""
        return self.source.wire.expect(frames.is_nak, "a NAK", within_ms=within_ms, start=self.mark, since_ns=self.seen_ns)

    def fill(self) -> int:
        """Send the missing frames; return when the last one left."""
        left_ns = 0
        for index in range(2, 5):
            left_ns = self.source.send(self.source.frames.data(index * FRAME, PAYLOAD))
        return left_ns

    def check_range(self, arrival: Arrival) -> None:
        """Check that a NAK names the gap and nothing else."""
        nak = arrival.first
        term_id, term_offset = self.source.frames.term(self.start)
        check_equal("length of the datagram", len(arrival.payload), NakDecoder.ENCODED_LENGTH)
        check_equal("session_id", nak.session_id, self.source.frames.session_id)
        check_equal("stream_id", nak.stream_id, self.source.frames.stream_id)
        check_equal("term_id", nak.term_id, term_id)
        check_equal("term_offset", nak.term_offset, term_offset)
        check_equal("length", nak.length, self.length)


@case(
    "E01",
    requirement="A gap is reported with one NAK that names exactly the missing range.",
    source="Aeron: LossDetector; ReceiveChannelEndpoint.sendNakMessage",
    stimulus="ten frames but for the third to the fifth",
    expected="a NAK of 28 bytes with the gap's term, offset and length, to the sender",
)
def e01(bench: Bench) -> None:
    """The range of a NAK."""
    gap = Gap(bench)
    arrival = gap.expect_nak(CONDUCTOR_MS)
    check_equal("flags", int(arrival.first.flags), 0)
    check_equal("frame_length", arrival.first.frame_length, NakDecoder.ENCODED_LENGTH)
    check_equal("version", arrival.first.version, 0)
    gap.check_range(arrival)
    gap.fill()
    gap.source.expect_payloads(gap.image, [PAYLOAD] * 10)


@case(
    "E02",
    requirement="On unicast the first NAK follows the loss at once.",
    source="Aeron: LossDetector; StaticDelayGenerator; aeron.nak.unicast.delay",
    stimulus="a gap, shown by the frame behind it",
    expected="the first NAK",
    bound="5 ms after the frame behind the gap",
)
def e02(bench: Bench) -> None:
    """The delay of the first NAK."""
    gap = Gap(bench)
    gap.check_range(gap.expect_nak(REACTION_MS))


@case(
    "E03",
    requirement="As long as the gap stays open, the NAK is repeated.",
    source="Aeron: LossDetector.checkTimerExpiry; aeron.nak.unicast.retry.delay.ratio",
    stimulus="a gap that nobody fills for 100 ms",
    expected="at least twenty NAKs, all of the same range, and none sooner than the retry delay allows",
    bound="100 ms",
)
def e03(bench: Bench) -> None:
    """NAKs repeat."""
    gap = Gap(bench)
    gap.expect_nak(CONDUCTOR_MS)
    retry_ms = bench.option_ns("nak_unicast_delay_ns") * bench.option_int("nak_unicast_retry_delay_ratio") / 1e6
    naks = gap.source.wire.collect(RETRY_WATCH_MS, match=frames.is_nak, start=gap.mark)
    for nak in naks:
        gap.check_range(nak)
    if len(naks) == 1:
        raise Finding(f"at least {RETRIES_MIN} NAKs in {RETRY_WATCH_MS:g} ms", "one, never repeated")
    if len(naks) < RETRIES_MIN:
        shown = ", ".join(f"{interval:.1f}" for interval in intervals_ms(naks))
        raise TimingMiss(f"at least {RETRIES_MIN} NAKs in {RETRY_WATCH_MS:g} ms", f"{len(naks)}, {shown} ms apart")
    elapsed_ms = (naks[-1].time_ns - naks[0].time_ns) / 1e6
    if len(naks) - 1 > elapsed_ms / retry_ms * (1 + RETRY_TOLERANCE):
        raise Finding(f"NAKs no closer than {retry_ms:g} ms", f"{len(naks)} of them in {elapsed_ms:.1f} ms")


@case(
    "E04",
    requirement="When the gap is filled the NAKs stop and the stream goes on.",
    source="Aeron: LossDetector.scan",
    stimulus="a gap, filled after the first NAK",
    expected="no NAK later than 20 ms after the fill; all ten frames delivered in order",
)
def e04(bench: Bench) -> None:
    """NAKs stop."""
    gap = Gap(bench)
    gap.expect_nak(CONDUCTOR_MS)
    filled_ns = gap.fill()
    gap.source.expect_payloads(gap.image, [PAYLOAD] * 10)
    late = [
        arrival
        for arrival in gap.source.wire.collect(RETRY_WATCH_MS, match=frames.is_nak, start=gap.mark)
        if arrival.time_ns > filled_ns + IN_FLIGHT_MS * 1e6
    ]
    if late:
        after_ms = (late[0].time_ns - filled_ns) / 1e6
        raise Finding("no NAK after the fill", f"{late[0]!r} {after_ms:.1f} ms after it, {len(late)} in all")


CASES: tuple[Case, ...] = (e01, e02, e03, e04)
