"""Group L: how an image lives on heartbeats and ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, SmFlags
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.options import SHORT_LIVES
from aerowire.conformance.cases.rebuilding import expect_good_data
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TIMER_TOLERANCE_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Finding, case

if TYPE_CHECKING:
    from scapy.packet import Packet

EOS_FLAGS = int(frames.UNFRAGMENTED | DataFlags.EOS)
# A drained image says so in more than this many status message periods before it goes.
EOS_PERIODS = 5
PAYLOADS = [bytes([index]) * 100 for index in range(3)]


def is_eos_status(frame: Packet) -> bool:
    """Say whether a frame is a status message of a finished stream."""
    return frames.is_status(frame) and bool(int(frame.flags) & SmFlags.EOS)


@case(
    "L07",
    requirement="An image whose sender falls silent becomes unavailable when its liveness timeout is over, and no earlier.",
    source="Aeron: PublicationImage.onTimeEvent (ACTIVE, DRAINING); aeron.image.liveness.timeout",
    stimulus="a stream of one message, then silence",
    expected="the image unavailable",
    bound="the liveness timeout, five status message periods, three timer intervals + 200 ms",
    options=SHORT_LIVES,
)
def l07(bench: Bench) -> None:
    """Silence."""
    source = bench.source(bench.subscribe())
    image = source.start()
    expect_good_data(source, image)
    silent_ns = time.monotonic_ns()
    lives_ms = bench.option_ns("image_liveness_timeout_ns") / 1e6
    bound_ms = (
        lives_ms
        + EOS_PERIODS * bench.option_ns("rcv_status_message_timeout_ns") / 1e6
        + 3 * bench.option_ns("timer_interval_ns") / 1e6
        + CONDUCTOR_MS
    )
    bench.expect(
        lambda: image.correlation_id in bench.client.unavailable,
        "the silent image unavailable",
        within_ms=bound_ms,
        actual=lambda: "it is still there",
    )
    lived_ms = (time.monotonic_ns() - silent_ns) / 1e6
    # The clock that receivers stamp packets with may be a cycle old.
    if lived_ms < lives_ms - TIMER_TOLERANCE_MS:
        raise Finding(f"an image that lives for {lives_ms:g} ms", f"it went after {lived_ms:.0f} ms")


@case(
    "L09",
    requirement="An end of stream ahead of the data ends nothing before the missing data has been asked for and has come.",
    source="Aeron: PublicationImage.checkEosForDrainTransition; LossDetector",
    stimulus="the first of three frames, a heartbeat with flag 0x20 behind the third, then the other two",
    expected="a NAK for the two and no status message with flag 0x40; such a status message when they have come",
    bound="200 ms + 20 ms",
)
def l09(bench: Bench) -> None:
    """The end before the data."""
    source = bench.source(bench.subscribe())
    image = source.start()
    positions = [index * frames.aligned(len(PAYLOADS[0])) for index in range(len(PAYLOADS) + 1)]
    source.send_data(positions[0], PAYLOADS[0])
    mark = source.wire.mark()
    source.send(source.frames.heartbeat(positions[-1], flags=EOS_FLAGS))
    nak = source.wire.expect(frames.is_nak, "a NAK", within_ms=CONDUCTOR_MS, start=mark).first
    check_equal("range of the NAK", (nak.term_offset, nak.length), (positions[1], positions[-1] - positions[1]))
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    for_ms = period_ms + TIMER_TOLERANCE_MS
    source.wire.expect_none(is_eos_status, "status message with flag 0x40 before the data has come", for_ms=for_ms, start=mark)
    mark = source.wire.mark()
    for position, payload in zip(positions[1:-1], PAYLOADS[1:], strict=True):
        left_ns = source.send(source.frames.data(position, payload))
    what = "a status message with flag 0x40"
    source.wire.expect(is_eos_status, what, within_ms=period_ms + TIMER_TOLERANCE_MS, start=mark, since_ns=left_ns)
    source.expect_payloads(image, PAYLOADS)


@case(
    "L10",
    requirement="A drained image says so in at least five status messages with flag 0x40 before it becomes unavailable.",
    source="Aeron: PublicationImage.onTimeEvent (DRAINING, SM_EOS_MULTIPLE); PublicationImage.sendPendingStatusMessage",
    stimulus="a stream of one message, consumed, then a heartbeat with flag 0x20 at its end",
    expected="five status messages with flag 0x40 and more, then the image unavailable",
    bound="five status message periods, three timer intervals + 200 ms",
)
def l10(bench: Bench) -> None:
    """Farewell of an image."""
    source = bench.source(bench.subscribe())
    image = source.start()
    expect_good_data(source, image)
    mark = source.wire.mark()
    source.send(source.frames.heartbeat(image.poller.position, flags=EOS_FLAGS))
    periods_ms = EOS_PERIODS * bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    bench.expect(
        lambda: image.correlation_id in bench.client.unavailable,
        "the drained image unavailable",
        within_ms=periods_ms + 3 * bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS,
        actual=lambda: "it is still there",
    )
    gone_ns = time.monotonic_ns()
    source.wire.read()
    said = [arrival for arrival in source.wire.arrivals[mark:] if is_eos_status(arrival.first) and arrival.time_ns < gone_ns]
    if len(said) < EOS_PERIODS:
        raise Finding(f"{EOS_PERIODS} status messages with flag 0x40 before the image goes", f"{len(said)}")


@case(
    "L11",
    requirement="A heartbeat from further back than a term behind the last status message is counted as an under-run and means nothing.",
    source="Aeron: PublicationImage.insertPacket (isHeartbeat)",
    stimulus="an image that joins in the fourth term; heartbeats one term behind, and 32 bytes further back",
    expected="HEARTBEATS_RECEIVED + 1 for the first, FLOW_CONTROL_UNDER_RUNS + 1 for the second; data is delivered afterwards",
)
def l11(bench: Bench) -> None:
    """A heartbeat from long ago."""
    source = bench.source(bench.subscribe())
    term_length = source.frames.term_length
    image = source.start(3 * term_length)
    heard = bench.count(SystemCounter.HEARTBEATS_RECEIVED)
    under_runs = bench.count(SystemCounter.FLOW_CONTROL_UNDER_RUNS)
    source.send(source.frames.heartbeat(2 * term_length))
    bench.expect_count(SystemCounter.HEARTBEATS_RECEIVED, heard + 1)
    source.send(source.frames.heartbeat(2 * term_length - FRAME_ALIGNMENT))
    bench.expect_count(SystemCounter.FLOW_CONTROL_UNDER_RUNS, under_runs + 1)
    bench.pause(REACTION_MS)
    bench.expect_count(SystemCounter.HEARTBEATS_RECEIVED, heard + 1)
    expect_good_data(source, image)


@case(
    "L12",
    requirement="Every heartbeat of a live image is counted.",
    source="Aeron: PublicationImage.insertPacket (heartbeatsReceived)",
    stimulus="five heartbeats at an image's position, then data",
    expected="HEARTBEATS_RECEIVED + 5; the data delivered",
)
def l12(bench: Bench) -> None:
    """Heartbeats are counted."""
    source = bench.source(bench.subscribe())
    image = source.start()
    heard = bench.count(SystemCounter.HEARTBEATS_RECEIVED)
    for _ in range(5):
        source.send(source.frames.heartbeat(0))
    bench.expect_count(SystemCounter.HEARTBEATS_RECEIVED, heard + 5)
    expect_good_data(source, image)
    bench.expect_count(SystemCounter.HEARTBEATS_RECEIVED, heard + 5)
