"""Group L: heartbeats and the end of a stream."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases import liveness_clients as clients
from aerowire.conformance.cases import liveness_images as images
from aerowire.conformance.cases import liveness_publications as publications
from aerowire.conformance.cases.liveness_images import is_eos_status
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.model import Case, Finding, TimingMiss, case

if TYPE_CHECKING:
    pass

HEARTBEAT_PERIOD_MS = 100.0
EOS_FLAGS = int(frames.UNFRAGMENTED | DataFlags.EOS)
LINGER_MS = 600


@case(
    "L01",
    requirement="A connected sender with nothing to send sends a heartbeat every 100 ms.",
    source="Aeron: NetworkPublication.heartbeatMessageCheck",
    stimulus="a connected publication that is idle",
    expected="heartbeats 100 ms apart",
    bound="100 ms + 20 ms",
)
def l01(bench: Bench) -> None:
    """Period of heartbeats."""
    sink = bench.publish()
    sink.connect()
    mark = sink.wire.mark()
    before = bench.count(SystemCounter.HEARTBEATS_SENT)
    arrivals = sink.wire.collect(6 * HEARTBEAT_PERIOD_MS, match=frames.is_heartbeat, start=mark)
    low, high = HEARTBEAT_PERIOD_MS - 2, HEARTBEAT_PERIOD_MS + TIMER_TOLERANCE_MS
    check_intervals("heartbeats", intervals_ms(arrivals), at_least=4, low=low, high=high)
    if bench.count(SystemCounter.HEARTBEATS_SENT) < before + len(arrivals) - 1:
        raise Finding(f"HEARTBEATS_SENT up by {len(arrivals)}", f"up by {bench.count(SystemCounter.HEARTBEATS_SENT) - before}")


@case(
    "L02",
    requirement="A heartbeat is a DATA header of length zero at the sender's position.",
    source="Aeron: NetworkPublication.heartbeatMessageCheck; DataHeaderFlyweight.isHeartbeat",
    stimulus="a connected publication that has sent three messages and is idle",
    expected="32 bytes, frame_length 0, flags 0xC0, term and offset of snd-pos",
)
def l02(bench: Bench) -> None:
    """Form of a heartbeat."""
    sink = bench.publish()
    sink.connect()
    sink.publish([b"one", bytes(100), b"three"])
    mark = sink.wire.mark()
    arrival = sink.wire.expect(frames.is_heartbeat, "a heartbeat", within_ms=CONDUCTOR_MS, start=mark)
    heartbeat = arrival.first
    check_equal("length of the datagram", len(arrival.payload), DataHeaderDecoder.ENCODED_LENGTH)
    check_equal("frame_length", heartbeat.frame_length, 0)
    check_equal("version", heartbeat.version, 0)
    check_equal("flags", int(heartbeat.flags), int(frames.UNFRAGMENTED))
    check_equal("session_id", heartbeat.session_id, sink.frames.session_id)
    check_equal("stream_id", heartbeat.stream_id, sink.frames.stream_id)
    check_equal("term and offset", (heartbeat.term_id, heartbeat.term_offset), sink.frames.term(sink.publication.position))


@case(
    "L03",
    requirement="A closed publication announces its end with heartbeats of flag 0x20 every 100 ms while it lingers.",
    source="Aeron: NetworkPublication.heartbeatMessageCheck; NetworkPublication.onTimeEvent; linger in the channel",
    stimulus="a connected publication with linger=600ms, closed",
    expected="heartbeats with flags 0xE0 at the final position, 100 ms apart, for the linger; then silence",
    bound="100 ms + 20 ms; silence after the linger and two timer intervals",
)
def l03(bench: Bench) -> None:
    """End of stream."""
    sink = bench.publish(f"linger={LINGER_MS}ms")
    sink.connect()
    sink.publish([b"the only message"])
    sink.send_status(sink.publication.position)
    end = sink.frames.term(sink.publication.position)
    mark = sink.wire.mark()
    bench.client.remove_publication(sink.publication)
    closed_ns = time.monotonic_ns()
    # The driver looks at the states of streams once in a timer interval.
    slack_ms = 2 * bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS
    arrivals = sink.wire.collect(LINGER_MS + slack_ms + 3 * HEARTBEAT_PERIOD_MS, start=mark, match=frames.is_heartbeat)
    ended = [arrival for arrival in arrivals if int(arrival.first.flags) & DataFlags.EOS]
    if not ended:
        raise Finding("heartbeats with the end-of-stream flag", f"{len(arrivals)} heartbeats without it")
    first_ms = (ended[0].time_ns - closed_ns) / 1e6
    if first_ms > HEARTBEAT_PERIOD_MS + TIMER_TOLERANCE_MS + slack_ms:
        raise TimingMiss("the first of them within one period", f"after {first_ms:.0f} ms")
    for arrival in ended:
        check_equal("flags", int(arrival.first.flags), EOS_FLAGS)
        check_equal("term and offset", (arrival.first.term_id, arrival.first.term_offset), end)
    low, high = HEARTBEAT_PERIOD_MS - 2, HEARTBEAT_PERIOD_MS + TIMER_TOLERANCE_MS
    check_intervals("end-of-stream heartbeats", intervals_ms(ended), at_least=3, low=low, high=high)
    last_ms = (ended[-1].time_ns - closed_ns) / 1e6
    if last_ms < LINGER_MS - 1.5 * HEARTBEAT_PERIOD_MS:
        raise Finding(f"end-of-stream heartbeats for {LINGER_MS} ms", f"the last one came {last_ms:.0f} ms after the close")
    if last_ms > LINGER_MS + slack_ms:
        raise TimingMiss(f"silence {LINGER_MS + slack_ms:.0f} ms after the close", f"a heartbeat after {last_ms:.0f} ms")


@case(
    "L08",
    requirement="A receiver that has everything up to the end of the stream says so with flag 0x40 in its status messages.",
    source="Aeron: PublicationImage.checkEosForDrainTransition; PublicationImage.sendPendingStatusMessage",
    stimulus="a stream of three frames, then a heartbeat with flag 0x20 at its end",
    expected="status messages with flag 0x40; the end's position in the image's log",
    bound="200 ms + 20 ms",
)
def l08(bench: Bench) -> None:
    """Status messages of a finished stream."""
    source = bench.source(bench.subscribe())
    image = source.start()
    position = 0
    payloads = [b"one", b"two", b"three"]
    for payload in payloads:
        position = source.send_data(position, payload)
    source.expect_payloads(image, payloads)
    # Open streams must not carry the flag, or the sign would mean nothing.
    source.wire.expect_none(is_eos_status, "status message with flag 0x40 before the end of the stream", for_ms=250, start=0)
    mark = source.wire.mark()
    left_ns = source.send(source.frames.heartbeat(position, flags=EOS_FLAGS))
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    source.wire.expect(
        is_eos_status,
        "a status message with flag 0x40",
        within_ms=period_ms + TIMER_TOLERANCE_MS,
        start=mark,
        since_ns=left_ns,
    )
    bench.expect(
        lambda: image.log.end_of_stream_position == position,
        f"end-of-stream position {position} in the image's log",
        within_ms=CONDUCTOR_MS,
        actual=lambda: image.log.end_of_stream_position,
    )


CASES: tuple[Case, ...] = (
    l01,
    l02,
    l03,
    publications.l04,
    publications.l05,
    publications.l06,
    images.l07,
    l08,
    images.l09,
    images.l10,
    images.l11,
    images.l12,
    publications.l13,
    clients.l14,
    clients.l15,
    clients.l16,
    publications.l17,
    clients.l18,
)
