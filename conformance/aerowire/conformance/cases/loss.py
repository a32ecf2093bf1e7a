"""Group E: loss, as a receiver sees it."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import NakDecoder
from aerowire.conformance.cases import loss_streams
from aerowire.conformance.cases.gaps import FRAME, PAYLOAD, WATCH_MS, Gap
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import REACTION_MS, TERM_LENGTH, Bench
from aerowire.conformance.harness.check import check_equal, intervals_ms
from aerowire.conformance.model import Case, Finding, TimingMiss, case

RETRY_WATCH_MS = 100.0
# A retry is due every 100 us by default; a duty cycle takes its share, but no more than an immediate reaction may.
RETRIES_MIN = int(RETRY_WATCH_MS / REACTION_MS)
# The retry delay is kept on average, whatever a single arrival's stamp says.
RETRY_TOLERANCE = 0.1


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
    arrival = gap.expect_nak()
    check_equal("flags", int(arrival.first.flags), 0)
    check_equal("frame_length", arrival.first.frame_length, NakDecoder.ENCODED_LENGTH)
    check_equal("version", arrival.first.version, 0)
    gap.check_range(arrival)
    gap.fill()
    gap.expect_delivery()


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
    gap.expect_nak()
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
    gap.expect_nak()
    filled_ns = gap.fill()
    gap.expect_delivery()
    gap.check_none_after(filled_ns, RETRY_WATCH_MS, "the fill")


@case(
    "E05",
    requirement="Neighbouring lost frames are reported as one range, whatever their number and their lengths.",
    source="Aeron: TermGapScanner.scanForGap; LossDetector.onGap",
    stimulus="twelve frames of different lengths but for the third to the tenth",
    expected="NAKs that all name the eight frames together; all twelve delivered after the fill",
)
def e05(bench: Bench) -> None:
    """One NAK for neighbours."""
    payloads = [bench.random.randbytes(bench.random.randrange(1, 1200)) for _ in range(12)]
    gap = Gap(bench, payloads=payloads, lost=range(2, 10))
    gap.expect_nak()
    gap.source.wire.collect(WATCH_MS)
    for nak in gap.naks():
        gap.check_range(nak)
    gap.fill()
    gap.expect_delivery()


@case(
    "E06",
    requirement="Of several gaps the first is reported alone, and the next one when the first is filled.",
    source="Aeron: LossDetector.scan (one active gap)",
    stimulus="ten frames but for the third, the fifth and the sixth; the third comes after 50 ms",
    expected="NAKs of the third frame only, then a NAK of the fifth and the sixth",
    bound="200 ms after the fill",
)
def e06(bench: Bench) -> None:
    """One gap at a time."""
    gap = Gap(bench, lost=(2, 4, 5))
    gap.expect_nak()
    gap.source.wire.collect(WATCH_MS)
    for nak in gap.naks():
        gap.check_range(nak, gap.range(2, 2))
    gap.fill([2])
    gap.expect_nak_of(gap.range(4, 5))
    gap.fill([4, 5])
    gap.expect_delivery()


@case(
    "E07",
    requirement="When a part of a gap is filled, NAKs name what is left of it.",
    source="Aeron: LossDetector.scan",
    stimulus="ten frames but for the third to the fifth; the third comes, then the fifth, then the fourth",
    expected="a NAK of three frames, of the last two, of the middle one, then none",
    bound="200 ms after each",
)
def e07(bench: Bench) -> None:
    """The rest of a gap."""
    gap = Gap(bench)
    gap.expect_nak_of(gap.whole)
    gap.fill([2])
    gap.expect_nak_of(gap.range(3, 4))
    gap.fill([4])
    gap.expect_nak_of(gap.range(3, 3))
    filled_ns = gap.fill([3])
    gap.expect_delivery()
    gap.check_none_after(filled_ns, WATCH_MS, "the last fill")


@case(
    "E08",
    requirement="A NAK ends with its term: what is missing in the next term is reported by itself.",
    source="Aeron: LossDetector.scan (limit of the scan)",
    stimulus="frames across the end of a term, lost from two frames before it to one frame behind it",
    expected="NAKs up to the end of the term; after the fill a NAK of the next term's first frame",
    bound="200 ms after the fill",
)
def e08(bench: Bench) -> None:
    """A NAK does not cross terms."""
    gap = Gap(bench, at=TERM_LENGTH - 4 * FRAME)
    gap.expect_nak()
    gap.source.wire.collect(WATCH_MS)
    for nak in gap.naks():
        gap.check_range(nak, gap.range(2, 3))
    gap.fill([2, 3])
    gap.expect_nak_of(gap.range(4, 4))
    gap.fill([4])
    gap.expect_delivery()


@case(
    "E09",
    requirement="A heartbeat shows that the last frames before it are lost, and they are reported.",
    source="Aeron: PublicationImage.insertPacket (heartbeat); LossDetector.scan",
    stimulus="two frames, silence, then a heartbeat three frames further on",
    expected="no NAK before the heartbeat, a NAK of the three frames after it",
    bound="200 ms after the heartbeat",
)
def e09(bench: Bench) -> None:
    """Loss at the tail."""
    gap = Gap(bench, payloads=(PAYLOAD,) * 5)
    gap.source.wire.expect_none(frames.is_nak, "NAK before anything shows the loss", for_ms=WATCH_MS, start=gap.mark)
    gap.seen_ns = gap.source.send(gap.source.frames.heartbeat(gap.end))
    gap.check_range(gap.expect_nak())
    gap.fill()
    gap.expect_delivery()


CASES: tuple[Case, ...] = (e01, e02, e03, e04, e05, e06, e07, e08, e09, *loss_streams.CASES)
