"""Group A: when an image is made and when not, who shares it, and how it ends."""

from __future__ import annotations

import errno
import socket
import time
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import SmFlags
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.options import SHORT_LIVES, TAGGED_AND_LIMITED
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TIMER_TOLERANCE_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.wire import Address
from aerowire.conformance.model import Finding, case

if TYPE_CHECKING:
    from scapy.packet import Packet

SILENCE_MS = 10 * REACTION_MS
# An image that has taken its leave sends this many more status messages before its subscribers lose it.
FAREWELLS = 5
# How often a sender repeats its SETUP; no option changes it.
SETUP_MS = 100.0


@case(
    "A20",
    requirement="A stream whose image ended by silence gets a new one when its SETUP comes again.",
    source="Aeron: DataPacketDispatcher.removePublicationImage; DriverConductor.transitionToLinger; Receiver.onRemoveCoolDown",
    stimulus="an image, then nothing but a SETUP each 100 ms",
    expected="the image becomes unavailable, and only then a second one available",
    bound="image liveness + 5 status message periods, 200 ms more for the second",
    options=SHORT_LIVES,
)
def a20(bench: Bench) -> None:
    """A stream joins again after its image timed out."""
    source = bench.source(bench.subscribe("rejoin=true"))
    first = source.start()
    outlive_image(bench, source, first)
    check_equal("images before the first became unavailable", len(source.images()), 1)
    bench.expect(lambda: send_and_count(bench, source) > 1, "a second image", within_ms=CONDUCTOR_MS + SETUP_MS)
    second = source.images()[1]
    check_equal("the first image again", second.correlation_id == first.correlation_id, expected=False)
    source.send_data(0, b"joined again")
    bench.expect(lambda: bool(second.consume()), "DATA delivered to the second image", within_ms=CONDUCTOR_MS)


@case(
    "A21",
    requirement="With rejoin=false a stream whose image ended by silence never gets another one.",
    source="Aeron: DriverConductor.transitionToLinger; SubscriptionLink.isRejoin; DataPacketDispatcher (ON_COOL_DOWN)",
    stimulus="an image, then nothing but a SETUP each 100 ms; SETUP and DATA for half a second after it became unavailable",
    expected="no second image and no status message; another session of the stream gets an image",
    options=SHORT_LIVES,
)
def a21(bench: Bench) -> None:
    """No second image."""
    subscription = bench.subscribe("rejoin=false")
    source, other = bench.source(subscription), bench.source(subscription)
    image = source.start()
    outlive_image(bench, source, image)
    # Its last words may be under way.
    bench.pause(CONDUCTOR_MS)
    mark = source.wire.mark()
    for _ in range(5):
        source.send(source.frames.setup())
        source.send_data(0, b"again")
        bench.pause(SETUP_MS)
    other.start()
    source.wire.expect_none(lambda _: True, "reply to a session that may not join again", for_ms=SILENCE_MS, start=mark)
    check_equal("images of the session", len(source.images()), 1)


def outlive_image(bench: Bench, source: Source, image: Image) -> None:
    """Send nothing but SETUPs until the session's image has become unavailable."""
    farewell_ns = FAREWELLS * bench.option_ns("rcv_status_message_timeout_ns") + bench.option_ns("timer_interval_ns")
    deadline_ms = (bench.option_ns("image_liveness_timeout_ns") + farewell_ns) / 1e6 + CONDUCTOR_MS

    def is_gone() -> bool:
        if image.correlation_id in bench.client.unavailable:
            return True
        send_and_count(bench, source)
        return image.correlation_id in bench.client.unavailable

    bench.expect(is_gone, "an unavailable image", within_ms=deadline_ms)


def send_and_count(bench: Bench, source: Source) -> int:
    """Repeat the SETUP after a tenth of a second, or less when there is news of an image; return how many this session has had."""
    client = bench.client
    seen = len(client.images), len(client.unavailable)
    source.send(source.frames.setup())
    client.wait_for(lambda: (len(client.images), len(client.unavailable)) != seen, SETUP_MS / 1e3)
    return len(source.images())


@case(
    "A22",
    requirement="On a channel with one transport a session's status messages go to where its first SETUP came from.",
    source="Aeron: PublicationImage.trackConnection; ReceiveChannelEndpoint.sendStatusMessage",
    stimulus="an image, then SETUP and heartbeats of its session from another socket for two status message periods",
    expected="status messages to the first socket, nothing to the other, no second image",
)
def a22(bench: Bench) -> None:
    """The first source keeps the status messages."""
    source = bench.source(bench.subscribe())
    source.start()
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    intruder = bench.wire()
    mark = source.wire.mark()
    for _ in range(5):
        intruder.send(source.frames.setup(), source.subscription.address)
        intruder.send(source.frames.heartbeat(0), source.subscription.address)
        intruder.collect(period_ms / 2)
    check_equal("datagrams to the second source", len(intruder.arrivals), 0)
    found = source.wire.collect(REACTION_MS, match=frames.is_plain_status, start=mark)
    if len(found) < 2:
        raise Finding("two status messages to the first source in two periods", f"{len(found)}")
    check_equal("images of the session", len(source.images()), 1)


@case(
    "A23",
    requirement="A stream that has as many sessions as the driver's limit allows gets no further one, which is an error.",
    source="Aeron: DataPacketDispatcher.onSetupMessage; StreamInterest.isSessionLimitExceeded; aeron.driver.stream.session.limit",
    stimulus="SETUPs of three sessions of a stream with the limit at two, then of a session of another stream, and DATA of all images",
    expected="no image and an error for the third, images and delivered DATA for the others",
    options=TAGGED_AND_LIMITED,
)
def a23(bench: Bench) -> None:
    """The limit of sessions."""
    subscription = bench.subscribe()
    port = subscription.address[1]
    other_stream = bench.client.add_subscription(subscription.channel, subscription.stream_id + 1)
    allowed = [bench.source(subscription) for _ in range(bench.option_int("driver_stream_session_limit"))]
    refused, elsewhere = bench.source(subscription), bench.source(subscription)
    elsewhere.subscription = type(subscription)(other_stream, subscription.address[0], port, subscription.stream_id + 1)
    elsewhere.frames.stream_id += 1
    images = [source.start() for source in allowed]
    errors = bench.count(SystemCounter.ERRORS)
    refused.send(refused.frames.setup())
    bench.expect_count(SystemCounter.ERRORS, errors + 1)
    elsewhere.send(elsewhere.frames.setup())
    images.append(elsewhere.expect_image())
    for source, image in zip([*allowed, elsewhere], images, strict=True):
        source.send_data(0, b"unaffected")
        source.expect_payloads(image, [b"unaffected"])
    check_equal("images of the session beyond the limit", len(refused.images()), 0)


@case(
    "A24",
    requirement="A multicast SETUP with a larger ttl than the receiver's is counted: status messages may not reach that far.",
    source="Aeron: DataPacketDispatcher.createPublicationImage; ReceiveChannelEndpoint.possibleTtlAsymmetryEncountered",
    stimulus="SETUPs with ttl 4 and with ttl 5 to a multicast subscription with ttl=4",
    expected="an image for both, answered on the control group; POSSIBLE_TTL_ASYMMETRY +1 for the second",
)
def a24(bench: Bench) -> None:
    """Possible asymmetry of ttl."""
    group = f"239.{bench.random.randrange(256)}.{bench.random.randrange(256)}.{bench.random.randrange(1, 254, 2)}"
    subscription, control = bench.subscribe_group(group, "ttl=4")
    before = bench.count(SystemCounter.POSSIBLE_TTL_ASYMMETRY)
    for ttl, count in ((4, before), (5, before + 1)):
        source = bench.source(subscription)
        bench.expect(lambda source=source, ttl=ttl: has_met(bench, source, ttl), "an available image", within_ms=CONDUCTOR_MS)  # type: ignore[misc]
        control.expect(
            lambda frame, source=source: frames.is_plain_status(frame) and frame.session_id == source.frames.session_id,  # type: ignore[misc]
            f"a status message on the control group for ttl {ttl}",
            within_ms=CONDUCTOR_MS,
        )
        check_equal(f"POSSIBLE_TTL_ASYMMETRY after ttl {ttl}", bench.count(SystemCounter.POSSIBLE_TTL_ASYMMETRY), count)


def has_met(bench: Bench, source: Source, ttl: int) -> bool:
    """Send a SETUP unless the session has its image; a moment later say whether it has."""
    if not source.images():
        source.send(source.frames.setup(ttl=ttl))
        bench.wait_until(lambda: bool(source.images()), SETUP_MS / 2)
    return bool(source.images())


@case(
    "A25",
    requirement="When the last subscription is removed, its images take leave of their senders and the endpoint closes.",
    source="Aeron: DataPacketDispatcher.removeSubscription; PublicationImage.deactivate; DriverConductor.tryCloseReceiveChannelEndpoint",
    stimulus="an image whose sender goes on with heartbeats; its only subscription is removed",
    expected="status messages with flag 0x40 at once and each 200 ms, five periods long; then the port is free",
    bound="200 ms + 20 ms between them",
)
def a25(bench: Bench) -> None:
    """Leave-taking of the last subscription."""
    subscription = bench.subscribe()
    source = bench.source(subscription)
    source.start()
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    check_equal("flags of status messages before", {int(arrival.first.flags) for arrival in source.wire.arrivals}, {0})
    check_equal("port free before", is_free(subscription.address), expected=False)
    bench.client.remove_subscription(subscription.registration_id)
    source.wire.expect(is_farewell, "a status message with the end-of-stream flag", within_ms=CONDUCTOR_MS)
    until_ns = time.monotonic_ns() + int((FAREWELLS - 0.5) * period_ms * 1e6)
    while time.monotonic_ns() < until_ns:
        source.send(source.frames.heartbeat(0))
        source.wire.collect(period_ms / 2)
    found = source.wire.collect(REACTION_MS, match=is_farewell, start=0)
    check_intervals("leave-taking", intervals_ms(found), at_least=FAREWELLS - 1, low=period_ms - 2, high=period_ms + TIMER_TOLERANCE_MS)
    within_ms = period_ms + bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS
    bench.expect(lambda: is_free(subscription.address), "the endpoint closed", within_ms=within_ms, actual=lambda: "its port is taken")


def is_farewell(frame: Packet) -> bool:
    """Say whether a frame is a status message that takes leave."""
    return frames.is_plain_status(frame) and bool(int(frame.flags) & SmFlags.EOS)


def is_free(address: Address) -> bool:
    """Say whether nobody has a UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


@case(
    "A26",
    requirement="A second subscription to a live image shares it and begins where the slowest subscriber is.",
    source="Aeron: DriverConductor.linkMatchingImages; PublicationImage.addSubscriber; PublicationImage.joinPosition",
    stimulus="ten frames of which the first subscriber consumes four, then a second subscription to the same channel and stream",
    expected="the same image for the second, joined behind four frames; both get the other six",
)
def a26(bench: Bench) -> None:
    """Joining a live image."""
    subscription = bench.subscribe()
    source = bench.source(subscription)
    image = source.start()
    sent = [f"message {index}".encode() for index in range(10)]
    position = 0
    for payload in sent:
        position = source.send_data(position, payload)
    consumed: list[bytes] = []

    def consume() -> bool:
        consumed.extend(fragment.payload for fragment in image.poller.poll(4 - len(consumed)))
        return len(consumed) == 4

    bench.expect(consume, "four frames delivered", within_ms=CONDUCTOR_MS)
    image.publish()
    second_id = bench.client.add_subscription(subscription.channel, subscription.stream_id)
    bench.expect(lambda: bool(bench.client.images_of(second_id)), "the image for the second", within_ms=CONDUCTOR_MS)
    (second,) = bench.client.images_of(second_id)
    check_equal("the same image", second.correlation_id, image.correlation_id)
    check_equal("join position", second.join_position, image.position)
    check_equal("distinct position counters", len({second.position_counter_id, image.position_counter_id}), 2)
    for each in (image, second):
        source.expect_payloads(each, sent[4:])
