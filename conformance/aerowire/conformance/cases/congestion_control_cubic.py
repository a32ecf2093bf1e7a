"""Group K, second part: the window of cubic congestion control, and the round trip that it measures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import RttmDecoder, RttmFlags
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.gaps import FRAME, PAYLOAD
from aerowire.conformance.cases.options import CUBIC
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TIMER_TOLERANCE_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.frames import DEFAULT_MTU
from aerowire.conformance.harness.wire import Arrival
from aerowire.conformance.model import Case, Finding, TimingMiss, case

if TYPE_CHECKING:
    from scapy.packet import Packet

# Windows count in packets of the sender's MTU: ten at first, a fifth less after each loss, never less than one.
FIRST_PACKETS = 10
DECREASE = 0.8
# The cubic curve: packets = packets at the loss + SCALE * (seconds - turn)^3, whose turn is where it is level.
SCALE = 0.4
# A round trip takes at least what the harness waits before it answers.
ANSWER_AFTER_MS = 20.0
# The part of this wait that the harness's answer declares as its own.
DELTA_MS = 15.0
ROUND_TRIPS_BETWEEN = 4


def start(bench: Bench, packets_max: int) -> tuple[Source, Image, int]:
    """Start a stream with cubic congestion control and room for so many packets; return it and when it started at the earliest."""
    source = bench.source(bench.subscribe(f"cc=cubic|rcv-wnd={packets_max * DEFAULT_MTU}"))
    started_ns = time.monotonic_ns()
    return source, source.start(), started_ns


def packets(arrival: Arrival) -> float:
    """Return the window of a status message in packets."""
    return float(arrival.first.receiver_window / DEFAULT_MTU)


def statuses(source: Source, mark: int = 0) -> list[Arrival]:
    """Return the status messages that came since `mark`."""
    return [one for one in source.wire.arrivals[mark:] if one.frames and frames.is_plain_status(one.first)]


def check_before_growth(bench: Bench, started_ns: int) -> None:
    """Raise TimingMiss when the window may have grown by itself meanwhile."""
    elapsed_ms = (time.monotonic_ns() - started_ns) / 1e6
    period_ms = bench.option_ns("cubic_congestion_control_initial_rtt_ns") / 1e6
    if elapsed_ms >= period_ms:
        raise TimingMiss(f"all within the first round trip of {period_ms:g} ms", f"it took {elapsed_ms:.0f} ms")


@case(
    "K05",
    requirement="Cubic congestion control begins with a window of ten packets, or with the largest if that is less.",
    source="Aeron: CubicCongestionControl (constructor); aeron.CubicCongestionControl.initialRtt",
    stimulus="streams of MTU 1408 to subscriptions with cc=cubic and room for 12 and for 4 packets",
    expected="status messages with windows of 14080 and of 5632 bytes",
    bound="within the assumed round trip of 300 ms",
    options=CUBIC,
)
def k05(bench: Bench) -> None:
    """The first window."""
    for packets_max in (12, 4):
        source, _, started_ns = start(bench, packets_max)
        windows = {one.first.receiver_window for one in statuses(source)}
        check_before_growth(bench, started_ns)
        check_equal(f"first window with room for {packets_max} packets", windows, {min(FIRST_PACKETS, packets_max) * DEFAULT_MTU})


@case(
    "K06",
    requirement="Each loss takes a fifth off the window, down to one packet, and is followed by a status message at once.",
    source="Aeron: CubicCongestionControl.onTrackRebuild; PublicationImage.trackRebuild",
    stimulus="eight gaps one after the other, each filled when its status message came",
    expected="windows of 8, 6, 4, 3, 2, 1, 1 and 1 packets",
    bound="5 ms after the frame behind each gap",
    options=CUBIC,
)
def k06(bench: Bench) -> None:
    """Loss shrinks the window."""
    source, image, started_ns = start(bench, 12)
    window = FIRST_PACKETS
    for index in range(8):
        window = max(1, int(window * DECREASE))
        mark = source.wire.mark()
        lost = 2 * index * FRAME
        shown_ns = source.send(source.frames.data(lost + FRAME, PAYLOAD))
        arrival = source.wire.expect(
            frames.is_plain_status, "a status message for the loss", within_ms=REACTION_MS, start=mark, since_ns=shown_ns
        )
        check_before_growth(bench, started_ns)
        check_equal(f"packets of window after loss {index + 1}", packets(arrival), float(window))
        source.send_data(lost, PAYLOAD)
        source.expect_payloads(image, [PAYLOAD] * 2)
        # Consumption brings status messages too, when the window is small; these pass here.
        source.wire.collect(2 * REACTION_MS)


@case(
    "K07",
    requirement="Behind a loss the window grows on a cubic curve, back to the largest one and not beyond it.",
    source="Aeron: CubicCongestionControl.onTrackRebuild",
    stimulus="one loss at a window of ten packets, which is the largest; then heartbeats for 1.2 s",
    expected="eight packets at once, ten when the curve has come back there (0.35 s, looked at every 0.3 s), never more",
    bound="0.35 s + 0.3 s + 20 ms",
    options=CUBIC,
)
def k07(bench: Bench) -> None:
    """The window grows again."""
    period_ms = bench.option_ns("cubic_congestion_control_initial_rtt_ns") / 1e6
    source, image, started_ns = start(bench, FIRST_PACKETS)
    mark = source.wire.mark()
    source.send_data(FRAME, PAYLOAD)
    lost = source.wire.expect(frames.is_plain_status, "a status message for the loss", within_ms=CONDUCTOR_MS, start=mark)
    check_before_growth(bench, started_ns)
    check_equal("packets of window after the loss", packets(lost), FIRST_PACKETS * DECREASE)
    source.send_data(0, PAYLOAD)
    source.expect_payloads(image, [PAYLOAD] * 2)
    until_ns = time.monotonic_ns() + int(4 * period_ms * 1e6)
    while time.monotonic_ns() < until_ns:
        source.send(source.frames.heartbeat(2 * FRAME))
        source.wire.collect(100)
    grown = statuses(source, source.wire.arrivals.index(lost))
    check_growth(grown, lost.time_ns, period_ms)


def check_growth(grown: list[Arrival], lost_ns: int, period_ms: float) -> None:
    """Check windows against the curve, each of which may be a period old."""
    shrunk = FIRST_PACKETS * DECREASE
    turn_s = (FIRST_PACKETS * (1 - DECREASE) / SCALE) ** (1 / 3)

    def curve(seconds: float) -> int:
        return min(FIRST_PACKETS, FIRST_PACKETS + int(SCALE * (seconds - turn_s) ** 3))

    slack_s = TIMER_TOLERANCE_MS / 1e3
    age_s = period_ms / 1e3 + slack_s
    check_equal("packets of window in the end", packets(grown[-1]), float(FIRST_PACKETS))
    for arrival in grown:
        after_s = (arrival.time_ns - lost_ns) / 1e9
        got = packets(arrival)
        if not shrunk <= got <= FIRST_PACKETS:
            raise Finding(f"windows of {shrunk:g} to {FIRST_PACKETS} packets", f"{got:g} packets {after_s:.2f} s after the loss")
        low, high = curve(after_s - age_s) if after_s > age_s else shrunk, curve(after_s + slack_s)
        if not low <= got <= high:
            raise TimingMiss(f"a window of {low:g} to {high} packets {after_s:.2f} s after the loss", f"{got:g} packets")


@case(
    "K08",
    requirement="Where cubic congestion control measures round trips, the receiver asks for replies and shows what it measured.",
    source="Aeron: PublicationImage.initiateAnyRttMeasurements; CubicCongestionControl.onRttMeasurement",
    stimulus="a stream with cc=cubic; the first request answered after 20 ms with a delta of 15 ms",
    expected="an RTTM of 40 bytes with flag 0x80 and the receiver's id; rcv-cc-cubic-rtt what passed less the delta; "
    "the next request four round trips of 300 ms behind the reply",
    bound="5 ms after the image; 200 ms for the counter; 1.2 s + 20 ms for the next request",
    options=CUBIC,
)
def k08(bench: Bench) -> None:
    """The receiver measures."""
    source, image, _ = start(bench, 12)
    image_ns = time.monotonic_ns()
    wire, made = source.wire, source.frames
    arrival = wire.expect(is_request, "an RTT request", within_ms=REACTION_MS, since_ns=image_ns)
    request = arrival.first
    check_equal("length of the datagram", len(arrival.payload), RttmDecoder.ENCODED_LENGTH)
    check_equal("flags", int(request.flags), int(RttmFlags.REPLY))
    check_equal("reception_delta_ns", request.reception_delta_ns, 0)
    check_equal("session_id and stream_id", (request.session_id, request.stream_id), (made.session_id, made.stream_id))
    check_equal("receiver_id", request.receiver_id, statuses(source)[0].first.receiver_id)
    bench.pause(ANSWER_AFTER_MS)
    mark = wire.mark()
    reply_ns = source.send(made.rttm(request.echo_timestamp_ns, int(DELTA_MS * 1e6), receiver_id=request.receiver_id))
    label = f"rcv-cc-cubic-rtt: {image.correlation_id} "

    def measured() -> int:
        found = [one for one in bench.client.counters.all() if one.type_id == CounterType.PER_IMAGE and one.label.startswith(label)]
        return bench.client.counters.value(found[0].id) if found else -1

    bench.expect(lambda: measured() > 0, f"a counter {label.strip()} above 0", within_ms=CONDUCTOR_MS, actual=measured)
    passed_ms = (time.monotonic_ns() - arrival.time_ns) / 1e6
    # The request was on its way for a while too.
    low_ns, high_ns = (int((waited_ms - DELTA_MS) * 1e6) for waited_ms in (ANSWER_AFTER_MS, passed_ms + REACTION_MS))
    if not low_ns <= measured() <= high_ns:
        raise Finding(f"a round trip of {low_ns} to {high_ns} ns", f"{measured()}")
    between_ms = ROUND_TRIPS_BETWEEN * bench.option_ns("cubic_congestion_control_initial_rtt_ns") / 1e6
    again = wire.expect(is_request, "the next RTT request", within_ms=between_ms + TIMER_TOLERANCE_MS, start=mark, since_ns=reply_ns)
    after_ms = (again.time_ns - reply_ns) / 1e6
    if after_ms < between_ms - TIMER_TOLERANCE_MS:
        raise Finding(f"the next RTT request {between_ms:g} ms behind the reply", f"after {after_ms:.0f} ms")


def is_request(frame: Packet) -> bool:
    """Say whether a frame asks for an RTT reply."""
    return frames.is_rttm(frame) and bool(int(frame.flags) & RttmFlags.REPLY)


CASES: tuple[Case, ...] = (k05, k06, k07, k08)
