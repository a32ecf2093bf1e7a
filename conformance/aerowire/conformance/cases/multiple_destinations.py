"""Group J: streams to several destinations, and subscriptions that receive at several places."""

from __future__ import annotations

import time

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.destinations import (
    channel_to,
    check_reached,
    expect_destinations,
    place_of,
    publish,
    send_status,
)
from aerowire.conformance.cases.listeners import MESSAGE, SILENCE_MS
from aerowire.conformance.cases.multiple_destinations_paths import j10, j11, j12, j13, j14
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, GROUP, LOOPBACK, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.wire import Wire
from aerowire.conformance.model import Case, Finding, case

# Longer than a sender takes to repeat its SETUP.
SETUP_WATCH_MS = 250.0
# How long a destination lives without a status message; no option changes it.
DESTINATION_TIMEOUT_MS = 5_000.0
# A heartbeat at least every 100 ms finds out that a destination's time is over.
HEARTBEAT_MS = 100.0
OTHER_LOOPBACK = "127.0.0.2"
# J09: enough to tell chance from a rule.
ROUNDS = 40


def connect(bench: Bench, sink: Sink, wire: Wire, *, receiver: int = 0) -> None:
    """Let a receiver speak until the driver, whose sender may not know the publication at first, sends to it."""
    for _ in range(20):
        send_status(sink, wire, receiver=receiver)
        if bench.wait_until(lambda: sink.publication.log.is_connected and sink.counter(CounterType.SND_LMT) > 0, SILENCE_MS):
            return


@case(
    "J01",
    requirement="A stream with control-mode=dynamic is sent nowhere, not even to its endpoint, before somebody asks.",
    source="Aeron: DynamicSndMultiDestination.send; SendChannelEndpoint.send",
    stimulus="a publication with control-mode=dynamic and an endpoint of the harness; after 250 ms a request for a SETUP from there",
    expected="silence and no destination until the request, then one destination and a SETUP",
)
def j01(bench: Bench) -> None:
    """Nobody there."""
    wire = bench.wire()
    sink = publish(bench, "dynamic", endpoint=wire)
    wire.expect_none(lambda _: True, "datagram before a status message", for_ms=SETUP_WATCH_MS, start=0)
    check_equal("destinations before a status message", sink.counter(CounterType.MDC_NUM_DEST), 0)
    sink.send(sink.frames.elicit(sink.receiver_id))
    expect_destinations(bench, sink, 1)
    wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)


@case(
    "J02",
    requirement="With control-mode=dynamic whoever sends a status message, a request for a SETUP too, becomes a destination of everything.",
    source="Aeron: DynamicSndMultiDestination.onStatusMessage",
    stimulus="a request for a SETUP from one socket, a status message from another, then data",
    expected="mdc-num-dest 1 and 2; the SETUP at the first, the data once at both",
)
def j02(bench: Bench) -> None:
    """Destinations that make themselves known."""
    sink = bench.publish_on_demand()
    expect_destinations(bench, sink, 1)
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    other = bench.wire()
    send_status(sink, other, receiver=1)
    expect_destinations(bench, sink, 2)
    check_reached(sink, [sink.wire, other])


@case(
    "J03",
    requirement="A destination that made itself known is dropped after five seconds without a status message.",
    source="Aeron: DynamicSndMultiDestination.send; SendChannelEndpoint.DESTINATION_TIMEOUT",
    stimulus="two destinations, of which one goes on with status messages",
    expected="mdc-num-dest 2 for five seconds, then 1; data only to the one that goes on",
    bound="5 s + 120 ms (found out when something is sent)",
)
def j03(bench: Bench) -> None:
    """A destination that fell silent."""
    sink = bench.publish_on_demand()
    other = bench.wire()
    connect(bench, sink, sink.wire)
    silent_ns = send_status(sink, other, receiver=1)
    expect_destinations(bench, sink, 2)
    while (left_ms := DESTINATION_TIMEOUT_MS - TIMER_TOLERANCE_MS - (time.monotonic_ns() - silent_ns) / 1e6) > 0:
        send_status(sink, sink.wire)
        bench.pause(min(HEARTBEAT_MS, left_ms))
        count, elapsed_ms = sink.counter(CounterType.MDC_NUM_DEST), (time.monotonic_ns() - silent_ns) / 1e6
        if count != 2 and elapsed_ms < DESTINATION_TIMEOUT_MS:
            raise Finding(f"2 destinations for {DESTINATION_TIMEOUT_MS:g} ms", f"{count} after {elapsed_ms:.0f} ms")
    left_ms = max(0.0, DESTINATION_TIMEOUT_MS - (time.monotonic_ns() - silent_ns) / 1e6)
    expect_destinations(bench, sink, 1, within_ms=left_ms + HEARTBEAT_MS + TIMER_TOLERANCE_MS)
    check_reached(sink, [sink.wire], [other])


@case(
    "J04",
    requirement="A receiver with a known id that speaks from another port is another destination.",
    source="Aeron: DynamicSndMultiDestination.onStatusMessage",
    stimulus="status messages with one receiver id from two ports, then data",
    expected="mdc-num-dest 2 and the data at both",
)
def j04(bench: Bench) -> None:
    """The same receiver at another port."""
    sink = bench.publish_on_demand()
    connect(bench, sink, sink.wire)
    other = bench.wire()
    send_status(sink, other)
    expect_destinations(bench, sink, 2)
    check_reached(sink, [sink.wire, other])


@case(
    "J05",
    requirement="A receiver with a known id and port that speaks from another host is taken for the destination that is known.",
    source="Aeron: DynamicSndMultiDestination.onStatusMessage",
    stimulus="status messages with one receiver id from one port of 127.0.0.1 and of 127.0.0.2, then data",
    expected="mdc-num-dest 1 and the data at 127.0.0.1 only",
)
def j05(bench: Bench) -> None:
    """The same receiver at another host."""
    sink = bench.publish_on_demand()
    connect(bench, sink, sink.wire)
    other = bench.wire(OTHER_LOOPBACK, port=sink.wire.port)
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    send_status(sink, other)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + 1)
    bench.pause(SILENCE_MS)
    check_equal("destinations", sink.counter(CounterType.MDC_NUM_DEST), 1)
    check_reached(sink, [sink.wire], [other])


@case(
    "J06",
    requirement="With control-mode=manual a status message makes nobody a destination.",
    source="Aeron: ManualSndMultiDestination.onStatusMessage",
    stimulus="a request for a SETUP and status messages from a socket that was not added, then from one that was",
    expected="a connection, no destination and nothing sent to the first; data at the second",
)
def j06(bench: Bench) -> None:
    """No destination unasked."""
    sink = publish(bench, "manual")
    sink.send(sink.frames.elicit(sink.receiver_id))
    connect(bench, sink, sink.wire)
    bench.expect(lambda: sink.publication.log.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    sink.wire.expect_none(lambda _: True, "datagram to who was not added", for_ms=SETUP_WATCH_MS, start=0)
    check_equal("destinations", sink.counter(CounterType.MDC_NUM_DEST), 0)
    other = bench.wire()
    bench.client.add_destination(sink.publication, channel_to(other))
    expect_destinations(bench, sink, 1)
    send_status(sink, other, receiver=1)
    check_reached(sink, [other], [sink.wire])


@case(
    "J07",
    requirement="Destinations are added, and removed by their channel or their registration id, while the stream goes on.",
    source="Aeron: ManualSndMultiDestination.addDestination and removeDestination; DriverConductor.onRemoveSendDestination",
    stimulus="a stream with control-mode=manual: two destinations added, one removed by channel, added again, the other removed by id",
    expected="after each step, data at the destinations of that moment and mdc-num-dest",
)
def j07(bench: Bench) -> None:
    """Destinations that come and go."""
    sink = publish(bench, "manual")
    first, second = bench.wire(), bench.wire()
    client, publication = bench.client, sink.publication
    client.add_destination(publication, channel_to(first))
    expect_destinations(bench, sink, 1)
    first.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    connect(bench, sink, first)
    check_reached(sink, [first], [second])
    second_id = client.add_destination(publication, channel_to(second))
    expect_destinations(bench, sink, 2)
    check_reached(sink, [first, second])
    client.remove_destination(publication, channel_to(first))
    expect_destinations(bench, sink, 1)
    check_reached(sink, [second], [first])
    client.add_destination(publication, channel_to(first))
    expect_destinations(bench, sink, 2)
    client.remove_destination_by_id(publication, second_id)
    expect_destinations(bench, sink, 1)
    check_reached(sink, [first], [second])


# What a destination's channel must not hold.
BAD_PARAMS = ("mtu=1408", "rcv-wnd=32k", "so-rcvbuf=64k", "so-sndbuf=64k", "response-correlation-id=1", "control-mode=response")


@case(
    "J08",
    requirement="A destination whose channel says what only the whole channel may say, or names no place, is refused.",
    source="Aeron: DriverConductor.validateDestinationUri and validateSendDestinationUri",
    stimulus="destinations of a publication with mtu, rcv-wnd, so-rcvbuf, so-sndbuf, response-correlation-id, control-mode=response, "
    "port 0, and a spy; of a subscription with mtu and so on; then good ones",
    expected="an error for each; the good ones are accepted",
)
def j08(bench: Bench) -> None:
    """Destinations that cannot be."""
    client = bench.client
    publication = publish(bench, "manual").publication
    good = channel_to(bench.wire())
    for param in BAD_PARAMS:
        expect_refusal(
            lambda p=param: client.add_destination(publication, f"{good}|{p}"),  # type: ignore[misc]
            f"a destination with {param}",
        )
    for channel in (f"aeron:udp?endpoint={LOOPBACK}:0", f"aeron-spy:{good}"):
        expect_refusal(lambda c=channel: client.add_destination(publication, c), f"destination {channel[:12]}")  # type: ignore[misc]
    client.add_destination(publication, good)
    subscription_id = client.add_subscription("aeron:udp?control-mode=manual", bench.new_id())
    place = f"aeron:udp?endpoint={LOOPBACK}:0"
    for param in BAD_PARAMS:
        expect_refusal(
            lambda p=param: client.add_receive_destination(subscription_id, f"{place}|{p}"),  # type: ignore[misc]
            f"a destination of a subscription with {param}",
        )
    client.add_receive_destination(subscription_id, place)


@case(
    "J09",
    requirement="Each datagram begins its round at another destination, so that none is always served last.",
    source="Aeron: ManualSndMultiDestination.send; DynamicSndMultiDestination.send (roundRobinIndex)",
    stimulus="40 datagrams to two destinations",
    expected="each of the two is the first to have a datagram a quarter of the times at least",
)
def j09(bench: Bench) -> None:
    """The order of destinations."""
    sink = bench.publish_on_demand()
    connect(bench, sink, sink.wire)
    other = bench.wire()
    send_status(sink, other, receiver=1)
    expect_destinations(bench, sink, 2)
    firsts = 0
    for _ in range(ROUNDS):
        place = sink.frames.term(sink.publication.position)
        sink.publication.append(MESSAGE[:32])
        times = [wire.expect(place_of(place), "the data", within_ms=CONDUCTOR_MS).time_ns for wire in (sink.wire, other)]
        firsts += times[0] < times[1]
    if not ROUNDS // 4 <= firsts <= ROUNDS - ROUNDS // 4:
        raise Finding(
            f"each destination first in {ROUNDS // 4} of {ROUNDS} rounds at least", f"one of them in {max(firsts, ROUNDS - firsts)}"
        )


@case(
    "J15",
    requirement="A stream may go to a multicast group and to a unicast address at once.",
    source="Aeron: ManualSndMultiDestination.send",
    stimulus="a stream with control-mode=manual and a destination of each kind; a status message of each, then data",
    expected="SETUP and the data at both, once each",
)
def j15(bench: Bench) -> None:
    """Destinations of both kinds."""
    sink = publish(bench, "manual")
    single, group = bench.wire(), bench.wire(GROUP, interface=LOOPBACK)
    bench.client.add_destination(sink.publication, channel_to(single))
    bench.client.add_destination(sink.publication, f"{channel_to(group)}|interface={LOOPBACK}")
    expect_destinations(bench, sink, 2)
    for wire, what in ((single, "the unicast address"), (group, "the group")):
        wire.expect(frames.is_setup, f"a SETUP at {what}", within_ms=CONDUCTOR_MS)
    connect(bench, sink, single)
    send_status(sink, group, receiver=1)
    check_reached(sink, [single, group])


CASES: tuple[Case, ...] = (j01, j02, j03, j04, j05, j06, j07, j08, j09, j10, j11, j12, j13, j14, j15)
