"""Group L: how a publication ends, as its receiver sees it."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.commands import RemovePublicationFlags
from aerowire.codecs.flyweights.transport import DataFlags, SmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.model import Finding, case

HEARTBEAT_PERIOD_MS = 100.0
REVOKED_FLAGS = int(frames.UNFRAGMENTED | DataFlags.EOS | DataFlags.REVOKED)
LINGER_MS = 300
ELICIT_EVERY_MS = 20.0


def finished(bench: Bench, params: str) -> Sink:
    """Return a connected publication that has sent a message, which is consumed, and a heartbeat."""
    sink = bench.publish(params)
    sink.connect()
    sink.publish([b"the only message"])
    sink.send_status(sink.publication.position)
    sink.wire.expect(frames.is_heartbeat, "a heartbeat", within_ms=CONDUCTOR_MS, start=sink.wire.mark())
    return sink


def timers_ms(bench: Bench) -> float:
    """Return how long a change of state may take: the driver looks at streams once in a timer interval, and closing takes three."""
    return 3 * bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS


def expect_gone(bench: Bench, sink: Sink, since_ns: int, mark: int) -> None:
    """Check that a publication is gone: no heartbeat once its time is over, and no counter of it."""
    bound_ms = timers_ms(bench)
    arrivals = sink.wire.collect(bound_ms + 3 * HEARTBEAT_PERIOD_MS, start=mark, match=frames.is_heartbeat)
    last_ms = max(((arrival.time_ns - since_ns) / 1e6 for arrival in arrivals), default=0.0)
    if last_ms > bound_ms:
        raise Finding(f"silence {bound_ms:.0f} ms after the end", f"a heartbeat after {last_ms:.0f} ms")
    found = bench.client.counters.find(CounterType.SND_POS, registration_id=sink.publication.registration_id)
    check_equal("the publication has a counter", found is not None, False)


@case(
    "L04",
    requirement="A publication with eos=false never sets flag 0x20.",
    source="Aeron: NetworkPublication.heartbeatMessageCheck (signalEos)",
    stimulus=f"a connected publication with eos=false and linger={LINGER_MS}ms, closed",
    expected="heartbeats after the close, with flags 0xC0",
)
def l04(bench: Bench) -> None:
    """No sign of the end."""
    sink = finished(bench, f"eos=false|linger={LINGER_MS}ms")
    bench.client.remove_publication(sink.publication)
    mark = sink.wire.mark()
    arrivals = sink.wire.collect(LINGER_MS, start=mark, match=frames.is_heartbeat)
    if not arrivals:
        raise Finding("heartbeats while the publication lingers", "none")
    for arrival in arrivals:
        check_equal("flags", int(arrival.first.flags), int(frames.UNFRAGMENTED))


@case(
    "L05",
    requirement="A publication with linger=0 that is closed, with all of its data sent, goes at once.",
    source="Aeron: NetworkPublication.onTimeEvent (DRAINING, LINGER); linger in the channel",
    stimulus="a connected publication with linger=0, closed",
    expected="no more heartbeats, its counters freed",
    bound="three timer intervals + 200 ms",
)
def l05(bench: Bench) -> None:
    """No linger."""
    sink = finished(bench, "linger=0")
    mark = sink.wire.mark()
    bench.client.remove_publication(sink.publication)
    expect_gone(bench, sink, time.monotonic_ns(), mark)


@case(
    "L06",
    requirement="A revoked publication says so with heartbeats of flags 0xF0; an image that hears one is revoked and goes undrained.",
    source="Aeron: NetworkPublication.heartbeatMessageCheck; NetworkPublication.onTimeEvent; PublicationImage.insertPacket",
    stimulus="a connected publication, removed with the flag that revokes; a heartbeat with flags 0xF0 at the end of an image's data",
    expected="heartbeats with flags 0xF0 and PUBLICATIONS_REVOKED + 1; PUBLICATION_IMAGES_REVOKED + 1 and the image unavailable",
    bound="three timer intervals + 200 ms",
)
def l06(bench: Bench) -> None:
    """Revocation, both sides of it."""
    sink = finished(bench, "")
    revoked = bench.count(SystemCounter.PUBLICATIONS_REVOKED)
    mark = sink.wire.mark()
    bench.client.remove_publication(sink.publication, RemovePublicationFlags.REVOKE)
    sink.wire.expect(
        lambda frame: frames.is_heartbeat(frame) and int(frame.flags) == REVOKED_FLAGS,
        "a heartbeat with flags 0xF0",
        within_ms=timers_ms(bench),
        start=mark,
    )
    bench.expect_count(SystemCounter.PUBLICATIONS_REVOKED, revoked + 1)
    source = bench.source(bench.subscribe())
    image = source.start()
    position = source.send_data(0, b"the only message")
    source.expect_payloads(image, [b"the only message"])
    images = bench.count(SystemCounter.PUBLICATION_IMAGES_REVOKED)
    source.send(source.frames.heartbeat(position, flags=REVOKED_FLAGS))
    bench.expect(
        lambda: image.correlation_id in bench.client.unavailable,
        "the revoked image unavailable",
        within_ms=timers_ms(bench),
        actual=lambda: "it is still there",
    )
    bench.expect_count(SystemCounter.PUBLICATION_IMAGES_REVOKED, images + 1)


@case(
    "L13",
    requirement="A status message with flag 0x40 from the receiver of a closed unicast publication ends its linger.",
    source="Aeron: NetworkPublication.onStatusMessage (hasReceivedUnicastEos); NetworkPublication.onTimeEvent (LINGER)",
    stimulus="a connected publication with linger=4s, closed; a status message with flag 0x40 after its first heartbeat with flag 0x20",
    expected="no more heartbeats, its counters freed",
    bound="three timer intervals + 200 ms",
)
def l13(bench: Bench) -> None:
    """The receiver has seen the end."""
    sink = finished(bench, "linger=4s")
    mark = sink.wire.mark()
    bench.client.remove_publication(sink.publication)
    sink.wire.expect(
        lambda frame: frames.is_heartbeat(frame) and bool(int(frame.flags) & DataFlags.EOS),
        "a heartbeat with flag 0x20",
        within_ms=timers_ms(bench),
        start=mark,
    )
    left_ns = sink.send_status(sink.publication.position, flags=int(SmFlags.EOS))
    expect_gone(bench, sink, left_ns, mark)


@case(
    "L17",
    requirement="SETUPs that receivers ask for do not stop the heartbeats.",
    source="Aeron: NetworkPublication.send (setupMessageCheck, heartbeatMessageCheck)",
    stimulus=f"a connected publication that is idle, asked for a SETUP every {ELICIT_EVERY_MS:g} ms",
    expected="SETUPs, and heartbeats 100 ms apart",
    bound="100 ms + 20 ms",
)
def l17(bench: Bench) -> None:
    """Heartbeats between SETUPs."""
    sink = bench.publish()
    sink.connect()
    mark = sink.wire.mark()
    until_ns = time.monotonic_ns() + int(6 * HEARTBEAT_PERIOD_MS * 1e6)
    while time.monotonic_ns() < until_ns:
        sink.send(sink.frames.elicit(sink.receiver_id))
        sink.wire.collect(ELICIT_EVERY_MS)
    if not any(frames.is_setup(arrival.first) for arrival in sink.wire.arrivals[mark:]):
        raise Finding("SETUPs for those who ask", "none")
    arrivals = [arrival for arrival in sink.wire.arrivals[mark:] if frames.is_heartbeat(arrival.first)]
    low, high = HEARTBEAT_PERIOD_MS - 2, HEARTBEAT_PERIOD_MS + TIMER_TOLERANCE_MS
    check_intervals("heartbeats", intervals_ms(arrivals), at_least=4, low=low, high=high)
