"""Group E, second part: channels that ask for other repair, where NAKs go, what ends them, and what is recorded of loss."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import DataFlags, SmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.gaps import FRAME, PAYLOAD, WATCH_MS, Gap
from aerowire.conformance.cases.options import SHORT_LIVES
from aerowire.conformance.harness import frames, losses
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Case, Finding, TimingMiss, case

NAK_DELAY_MS = 6.0
HEARTBEAT_PERIOD_MS = 100.0
# What the loss report says of a stream goes through a slow thread of the driver.
RECORD_MS = 1000.0


@case(
    "E10",
    requirement="With nak-delay in the channel the first NAK waits that long, and the next one that time multiplied by the retry ratio.",
    source="Aeron: DriverConductor.resolveDelayGenerator; StaticDelayGenerator; aeron.nak.unicast.retry.delay.ratio",
    stimulus="a gap on a subscription with nak-delay=6ms",
    expected="the first NAK no sooner than 6 ms after the frame behind the gap, the second 600 ms after the first",
    bound="6 ms + 20 ms; 600 ms + 20 ms",
)
def e10(bench: Bench) -> None:
    """The delay of a channel's NAKs."""
    retry_ms = NAK_DELAY_MS * bench.option_int("nak_unicast_retry_delay_ratio")
    gap = Gap(bench, bench.subscribe(f"nak-delay={NAK_DELAY_MS:g}ms"))
    first = gap.expect_nak(NAK_DELAY_MS + TIMER_TOLERANCE_MS)
    gap.check_range(first)
    after_ms = (first.time_ns - gap.shown_ns) / 1e6
    if after_ms < NAK_DELAY_MS:
        raise Finding(f"the first NAK {NAK_DELAY_MS:g} ms after the frame behind the gap or later", f"after {after_ms:.1f} ms")
    source = gap.source
    second = source.wire.expect(
        frames.is_nak,
        "a second NAK",
        within_ms=retry_ms + TIMER_TOLERANCE_MS,
        start=source.wire.arrivals.index(first) + 1,
        since_ns=first.time_ns,
    )
    gap.check_range(second)
    after_ms = (second.time_ns - first.time_ns) / 1e6
    if after_ms < retry_ms - TIMER_TOLERANCE_MS:
        raise Finding(f"the second NAK {retry_ms:g} ms after the first", f"after {after_ms:.1f} ms")
    gap.fill()
    gap.expect_delivery()


@case(
    "E11",
    requirement="On an unreliable subscription a gap is padded at once and never reported.",
    source="Aeron: PublicationImage.processPendingLoss; TermGapFiller.tryFillGap",
    stimulus="ten frames but for the third to the fifth, to a subscription with reliable=false",
    expected="the other seven delivered, RCV_POS behind the tenth, LOSS_GAP_FILLS + 1, no NAK",
    bound="200 ms",
)
def e11(bench: Bench) -> None:
    """Padding instead of repair."""
    fills = bench.count(SystemCounter.LOSS_GAP_FILLS)
    gap = Gap(bench, bench.subscribe("reliable=false"))
    gap.source.expect_payloads(gap.image, [PAYLOAD] * 7)
    bench.expect_count(SystemCounter.LOSS_GAP_FILLS, fills + 1)

    def rebuilt() -> int:
        return gap.source.stream_counter(CounterType.RCV_POS)

    bench.expect(lambda: rebuilt() == gap.end, f"RCV_POS at {gap.end}", within_ms=CONDUCTOR_MS, actual=rebuilt)
    gap.source.wire.expect_none(frames.is_nak, "NAK of an unreliable subscription", for_ms=WATCH_MS, start=gap.mark)


@case(
    "E12",
    requirement="A NAK goes where status messages go: to the sender, to the channel's control address, or to the control group.",
    source="Aeron: ReceiveChannelEndpoint.sendNakMessage; PublicationImage (ImageConnection); C: aeron_publication_image_send_pending_loss",
    stimulus="a gap on a unicast subscription, on one with control= at another socket, and on one of a multicast group",
    expected="NAKs of the gap at the sender; at the control address (C) or at the sender (Java), as its status messages are; "
    "at the group's control address; and at no other address",
    bound="200 ms",
)
def e12(bench: Bench) -> None:
    """Addresses of NAKs."""
    group = f"239.{bench.random.randrange(256)}.{bench.random.randrange(256)}.{bench.random.randrange(1, 254, 2)}"
    control = bench.wire()
    subscription, group_control = bench.subscribe_group(group)
    source = bench.source(bench.listen(f"control={control.authority}"))
    gaps = {
        "the sender": (Gap(bench), ()),
        "the control address": (Gap(bench, source=source, ears=(control, source.wire)), (control, source.wire)),
        "the control group": (Gap(bench, subscription, ears=(group_control,)), (group_control,)),
    }
    for name, (gap, ears) in gaps.items():
        gap.check_range(gap.expect_nak())
        for wire in {gap.source.wire, *ears} - {gap.ear}:
            wire.expect_none(frames.is_nak, f"NAK beside {name}", for_ms=WATCH_MS, start=0)
        gap.fill()
        gap.expect_delivery()


@case(
    "E13",
    requirement="A stream that was revoked, and one that nobody subscribes to any more, is not repaired.",
    source="Aeron: PublicationImage.processPendingLoss; PublicationImage.deactivate",
    stimulus="a gap and its NAKs, then the heartbeat of a revoked stream; on another stream a gap, then its subscription is removed",
    expected="no NAK later than 20 ms after either; an SM with the end-of-stream flag shows that the other stream's image lives on",
    bound="20 ms",
)
def e13(bench: Bench) -> None:
    """No NAK for a stream that is over."""
    revoked = Gap(bench)
    revoked.expect_nak()
    over = DataFlags.UNFRAGMENTED | DataFlags.EOS | DataFlags.REVOKED
    left_ns = revoked.source.send(revoked.source.frames.heartbeat(revoked.end, flags=over))
    revoked.check_none_after(left_ns, 2 * WATCH_MS, "the stream was revoked")
    drained = Gap(bench)
    drained.expect_nak()
    bench.client.remove_subscription(drained.source.subscription.registration_id)
    removed_ns = time.monotonic_ns()
    drained.check_none_after(removed_ns, 2 * WATCH_MS, "the subscription was removed")
    drained.source.wire.expect(
        lambda frame: frames.is_plain_status(frame) and bool(int(frame.flags) & SmFlags.EOS),
        "a status message with the end-of-stream flag",
        within_ms=CONDUCTOR_MS,
        start=drained.mark,
    )


@case(
    "E14",
    requirement="The loss report has one record for each stream and source, in which every lost byte counts once.",
    source="Aeron: PublicationImage.onGapDetected; LossReport.createEntry; ReportEntry.recordObservation",
    stimulus="a gap of three frames, reported for 50 ms and filled; later one of a frame on the same stream, which grows to three",
    expected="one record of session, stream, channel and source: one observation and 3 frames, then 2 and 4 frames, then 3 and 6 frames",
    bound="1 s",
)
def e14(bench: Bench) -> None:
    """What the loss report says."""
    before = len(losses.read_losses(bench.peer.directory))
    gap = Gap(bench)
    source = gap.source
    expect_loss(bench, gap, before, 1, 3 * FRAME)
    source.wire.collect(WATCH_MS)
    gap.fill()
    gap.expect_delivery()
    source.send(source.frames.heartbeat(gap.end + FRAME))
    expect_loss(bench, gap, before, 2, 4 * FRAME)
    source.send(source.frames.heartbeat(gap.end + 3 * FRAME))
    record = expect_loss(bench, gap, before, 3, 6 * FRAME)
    check_equal("kind of the record's channel", record.channel.split("?")[0], "aeron:udp")
    check_equal("source of the record", record.source, source.wire.authority)
    for index in range(3):
        source.send_data(gap.end + index * FRAME, PAYLOAD)
    source.expect_payloads(gap.image, [PAYLOAD] * 3)


def expect_loss(bench: Bench, gap: Gap, before: int, count: int, length: int) -> losses.Loss:
    """Wait for the one record of a gap's stream, behind the `before` first ones, to say so many observations and bytes."""

    def records() -> list[losses.Loss]:
        ids = gap.source.frames.session_id, gap.source.frames.stream_id
        return [loss for loss in losses.read_losses(bench.peer.directory)[before:] if (loss.session_id, loss.stream_id) == ids]

    def says() -> list[tuple[int, int]]:
        return [(record.observation_count, record.total_bytes_lost) for record in records()]

    what = f"one record of {count} observations and {length} bytes"
    bench.expect(lambda: says() == [(count, length)], what, within_ms=RECORD_MS, actual=lambda: f"(observations, bytes) {says()}")
    return records()[0]


@case(
    "E15",
    requirement="Each NAK that is sent moves the counter of all NAKs and the image's own by one.",
    source="Aeron: PublicationImage.processPendingLoss; SystemCounterDescriptor.NAK_MESSAGES_SENT; ReceiverNaksSent",
    stimulus="a gap, reported for 50 ms and then filled",
    expected="NAK_MESSAGES_SENT and RCV_NAKS_SENT up by the number of NAKs that came",
    bound="200 ms after the fill",
)
def e15(bench: Bench) -> None:
    """Counters of NAKs."""
    before = settled_count(bench, SystemCounter.NAK_MESSAGES_SENT)
    gap = Gap(bench)
    gap.expect_nak()
    gap.source.wire.collect(WATCH_MS)
    gap.fill()
    gap.expect_delivery()
    gap.source.wire.collect(WATCH_MS)
    count = len(gap.naks())
    bench.expect_count(SystemCounter.NAK_MESSAGES_SENT, before + count)
    check_equal("RCV_NAKS_SENT of the image", gap.source.stream_counter(CounterType.RCV_NAKS_SENT), count)


def settled_count(bench: Bench, counter: SystemCounter) -> int:
    """Return a system counter when streams that a client before has left behind move it no more, or after a second."""
    until_ns = time.monotonic_ns() + 10**9
    while True:
        before = bench.count(counter)
        bench.pause(WATCH_MS)
        if bench.count(counter) == before or time.monotonic_ns() > until_ns:
            return bench.count(counter)


@case(
    "E16",
    requirement="A gap that is never filled is reported for ever, and does not end the image while heartbeats come.",
    source="Aeron: LossDetector.checkTimerExpiry; PublicationImage.isConnected; aeron.image.liveness.timeout",
    stimulus="a gap, and heartbeats for two and a half times the image liveness of 1 s; then the missing frames",
    expected="NAKs to the last, the image kept, all ten frames delivered at the end",
    bound="2.5 s",
    options=SHORT_LIVES,
)
def e16(bench: Bench) -> None:
    """Loss for a long time."""
    liveness_ms = bench.option_ns("image_liveness_timeout_ns") / 1e6
    gap = Gap(bench)
    gap.expect_nak()
    until_ns = time.monotonic_ns() + int(2.5 * liveness_ms * 1e6)
    last_ns = 0
    while time.monotonic_ns() < until_ns:
        now_ns = gap.source.send(gap.source.frames.heartbeat(gap.end))
        if last_ns and now_ns - last_ns > liveness_ms / 2 * 1e6:
            raise TimingMiss(f"heartbeats every {HEARTBEAT_PERIOD_MS:g} ms", f"none for {(now_ns - last_ns) / 1e6:.0f} ms")
        last_ns = now_ns
        mark = gap.source.wire.mark()
        naks = gap.source.wire.collect(HEARTBEAT_PERIOD_MS, match=frames.is_nak, start=mark)
        if not naks:
            raise Finding(f"NAKs in every {HEARTBEAT_PERIOD_MS:g} ms of the loss", f"none, {len(gap.naks())} before")
    gap.check_range(gap.naks()[-1])
    bench.client.poll()
    check_equal("images withdrawn", len(bench.client.unavailable), 0)
    gap.fill()
    gap.expect_delivery()


CASES: tuple[Case, ...] = (e10, e11, e12, e13, e14, e15, e16)
