"""Group D: reordering."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, SmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.rebuilding import (
    LARGE_MTU,
    SILENCE_MS,
    check_untouched,
    expect_position,
    expect_positions,
    random_term,
    stream,
)
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Case, Finding, TimingMiss, case

if TYPE_CHECKING:
    from scapy.packet import Packet

NAK_DELAY_MS = 5.0
# What a frame may take to overtake another, well within the delay of NAKs.
OVERTAKING_MS = 4.0


class Row:
    """Frames of one length that stand one behind the other from a position."""

    def __init__(self, bench: Bench, source: Source, count: int, *, start: int = 0, length: int = 100) -> None:
        self._source = source
        self._start = start
        self._size = frames.aligned(length)
        self.payloads = [bench.random.randbytes(length) for _ in range(count)]
        self.end = start + count * self._size

    def position(self, index: int) -> int:
        """Return where a frame begins."""
        return self._start + index * self._size

    def send(self, order: Iterable[int]) -> None:
        """Send the frames in this order."""
        for index in order:
            self._source.send_data(self.position(index), self.payloads[index])


@case(
    "D01",
    requirement="Frames that change places with their neighbours are delivered in order.",
    source="Aeron: TermRebuilder.insert; LossDetector.scan",
    stimulus="eight frames, the second before the first, the fourth before the third and so on",
    expected="eight payloads in order; rcv-hwm and rcv-pos behind them",
)
def d01(bench: Bench) -> None:
    """Neighbours change places."""
    source = bench.source(bench.subscribe())
    image = source.start()
    row = Row(bench, source, 8)
    row.send([1, 0, 3, 2, 5, 4, 7, 6])
    source.expect_payloads(image, row.payloads)
    expect_positions(bench, source, row.end)


@case(
    "D02",
    requirement="Frames that change places over the end of a term are delivered in order.",
    source="Aeron: TermRebuilder.insert; PublicationImage.trackRebuild",
    stimulus="the first frame of a term, then the last one of the term before",
    expected="rcv-pos before both until the second comes, then both payloads in order; rcv-hwm and rcv-pos behind them",
)
def d02(bench: Bench) -> None:
    """Neighbours of two terms change places."""
    source = bench.source(bench.subscribe())
    start = source.frames.term_length - frames.aligned(100)
    image = source.start(start)
    row = Row(bench, source, 2, start=start)
    row.send([1])
    expect_position(bench, source, CounterType.RCV_HWM, row.end)
    expect_position(bench, source, CounterType.RCV_POS, start)
    row.send([0])
    source.expect_payloads(image, row.payloads)
    expect_positions(bench, source, row.end)


@case(
    "D03",
    requirement="A burst that arrives backwards is delivered in order.",
    source="Aeron: TermRebuilder.insert; PublicationImage.trackRebuild",
    stimulus="64 frames, the last one first",
    expected="64 payloads in order; rcv-hwm and rcv-pos behind them",
)
def d03(bench: Bench) -> None:
    """A burst backwards."""
    source = bench.source(bench.subscribe())
    image = source.start()
    row = Row(bench, source, 64)
    row.send(reversed(range(64)))
    source.expect_payloads(image, row.payloads)
    expect_positions(bench, source, row.end)


@case(
    "D04",
    requirement="Fragments in any order of arrival make the message that was sent.",
    source="Aeron: TermRebuilder.insert; FragmentAssembler",
    stimulus="a message of term/8 bytes in fragments of the MTU, in a random order",
    expected="the fragments in order with their flags, and the message out of them",
)
def d04(bench: Bench) -> None:
    """Shuffled fragments."""
    source = bench.source(bench.subscribe())
    image = source.start()
    message = bench.random.randbytes(source.frames.term_length // 8)
    size = source.frames.mtu - DataHeaderDecoder.ENCODED_LENGTH
    chunks = [message[at : at + size] for at in range(0, len(message), size)]
    flags = [DataFlags.BEGIN, *[DataFlags(0)] * (len(chunks) - 2), DataFlags.END]
    order = list(range(len(chunks)))
    while order == sorted(order):
        bench.random.shuffle(order)
    for index in order:
        source.send(source.frames.data(index * source.frames.mtu, chunks[index], flags=flags[index]))
    expect_positions(bench, source, (len(chunks) - 1) * source.frames.mtu + frames.aligned(len(chunks[-1])))
    fragments = image.consume()
    if b"".join(fragment.payload for fragment in fragments) != message:
        raise Finding(f"a message of {len(message)} bytes", "the fragments make another one")
    check_equal("flags of the fragments", [fragment.flags for fragment in fragments], [int(flag) for flag in flags])


@case(
    "D05",
    requirement="DATA that arrives before its SETUP is not kept; sent again behind the SETUP it is delivered.",
    source="Aeron: DataPacketDispatcher.onDataPacket; DataPacketDispatcher.onSetupMessage",
    stimulus="three frames, the SETUP that the receiver asks for, 50 ms of nothing, the three frames again",
    expected="an image at the SETUP's position with nothing in it; then each payload once",
)
def d05(bench: Bench) -> None:
    """Data before the SETUP."""
    source = bench.source(bench.subscribe())
    row = Row(bench, source, 3)
    row.send(range(3))
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    image = source.start()
    check_equal("join position", image.join_position, 0)
    bench.pause(SILENCE_MS)
    check_equal("rcv-hwm before the data is sent again", source.stream_counter(CounterType.RCV_HWM), 0)
    check_untouched(image, 0, row.end, "data from before the SETUP")
    row.send(range(3))
    source.expect_payloads(image, row.payloads)
    expect_positions(bench, source, row.end)


@case(
    "D06",
    requirement="A frame of an earlier term that arrives late is an under-run; the data that now stands in its partition stays as it is.",
    source="Aeron: PublicationImage.isFlowControlUnderRun",
    stimulus="three terms of data and an unread frame of the fourth, then frames of the first term for its place and for the one behind it",
    expected="FLOW_CONTROL_UNDER_RUNS + 2, nothing stored; the unread frame and the next one delivered as sent",
)
def d06(bench: Bench) -> None:
    """Frames of an old term."""
    source = bench.source(bench.subscribe(), mtu=LARGE_MTU)
    image = source.start()
    start = stream(source, image, 0, [payload for _ in range(3) for payload in random_term(bench, source)])
    row = Row(bench, source, 2, start=start)
    row.send([0])
    expect_positions(bench, source, row.position(1))
    before = bench.count(SystemCounter.FLOW_CONTROL_UNDER_RUNS)
    for index in range(2):
        source.send_data(row.position(index) - start, b"stale".ljust(100, b"!"))
        bench.expect_count(SystemCounter.FLOW_CONTROL_UNDER_RUNS, before + index + 1)
    bench.pause(SILENCE_MS)
    check_untouched(image, row.position(1), row.end - row.position(1), "an old term's frame")
    row.send([1])
    source.expect_payloads(image, row.payloads)
    expect_positions(bench, source, row.end)


@case(
    "D07",
    requirement="With nak-delay, frames that change places in less time bring no NAK.",
    source="Aeron: LossDetector.activateGap; StaticDelayGenerator; CommonContext.NAK_DELAY_PARAM_NAME",
    stimulus="ten pairs of frames to a subscription with nak-delay=5ms, the second one just before the first; then a frame that stays away",
    expected="no NAK for the pairs; a NAK for the frame that stays away",
    bound="5 ms + 20 ms for the NAK",
)
def d07(bench: Bench) -> None:
    """Patience with frames that change places."""
    source = bench.source(bench.subscribe(f"nak-delay={NAK_DELAY_MS:g}ms"))
    image = source.start()
    mark = source.wire.mark()
    row = Row(bench, source, 22)
    for first in range(0, 20, 2):
        early_ns = source.send(source.frames.data(row.position(first + 1), row.payloads[first + 1]))
        late_ns = source.send(source.frames.data(row.position(first), row.payloads[first]))
        if late_ns - early_ns > OVERTAKING_MS * 1e6:
            raise TimingMiss(f"the overtaken frame within {OVERTAKING_MS:g} ms", f"it left after {(late_ns - early_ns) / 1e6:.1f} ms")
        expect_positions(bench, source, row.position(first + 2))
    source.wire.expect_none(frames.is_nak, "NAK for frames that change places", for_ms=SILENCE_MS, start=mark)
    mark = source.wire.mark()
    left_ns = source.send(source.frames.data(row.position(21), row.payloads[21]))
    source.wire.expect(
        frames.is_nak,
        "a NAK for a frame that stays away",
        within_ms=NAK_DELAY_MS + TIMER_TOLERANCE_MS,
        start=mark,
        since_ns=left_ns,
    )
    row.send([20])
    source.expect_payloads(image, row.payloads)


@case(
    "D08",
    requirement="An end of stream that overtakes data takes effect only when the data has come.",
    source="Aeron: PublicationImage.checkEosForDrainTransition",
    stimulus="one frame, a heartbeat with flag 0x20 two frames further on, a quiet while, then the two frames",
    expected="no status message with flag 0x40 and no unavailable image meanwhile; then the data, and the flag",
    bound="200 ms + 20 ms for the flag",
)
def d08(bench: Bench) -> None:
    """The end overtakes data."""
    source = bench.source(bench.subscribe())
    image = source.start()
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    row = Row(bench, source, 3)
    row.send([0])
    mark = source.wire.mark()
    source.send(source.frames.heartbeat(row.end, flags=frames.UNFRAGMENTED | DataFlags.EOS))
    source.wire.expect_none(is_eos_status, "status message with flag 0x40 before the data", for_ms=1.25 * period_ms, start=mark)
    check_equal("images gone before the data", bench.client.unavailable, [])
    expect_position(bench, source, CounterType.RCV_HWM, row.end)
    expect_position(bench, source, CounterType.RCV_POS, row.position(1))
    mark = source.wire.mark()
    row.send([1, 2])
    source.expect_payloads(image, row.payloads)
    source.wire.expect(is_eos_status, "a status message with flag 0x40", within_ms=period_ms + TIMER_TOLERANCE_MS, start=mark)
    check_equal("end-of-stream position", image.log.end_of_stream_position, row.end)


def is_eos_status(frame: Packet) -> bool:
    """Say whether a frame is a status message of a finished stream."""
    return frames.is_status(frame) and bool(int(frame.flags) & SmFlags.EOS)


CASES: tuple[Case, ...] = (d01, d02, d03, d04, d05, d06, d07, d08)
