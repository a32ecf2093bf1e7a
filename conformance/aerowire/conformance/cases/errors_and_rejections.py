"""Group Q: errors and rejected images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.commands import REJECT_REASON_LENGTH_MAX
from aerowire.codecs.flyweights.transport import ErrorFlags, ErrorFrameDecoder, FrameType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases import destinations
from aerowire.conformance.cases.options import SHORT_LIVES
from aerowire.conformance.cases.rebuilding import expect_good_data
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.model import Case, Finding, case

if TYPE_CHECKING:
    from scapy.packet import Packet

REASON = "not wanted here"
ERRORS = 4
TAG = 77
REPEAT_MS = 50.0


def is_error(frame: Packet) -> bool:
    """Say whether a frame is an ERR."""
    return int(frame.type) == FrameType.ERR


@case(
    "Q01",
    requirement="A rejected image is answered with ERR frames of code 13 and the reason, a status message period apart, and nothing else.",
    source="Aeron: PublicationImage.reject; PublicationImage.sendPendingStatusMessage; ReceiveChannelEndpoint.sendErrorFrame",
    stimulus="an image, rejected by its subscriber",
    expected="ERRs of 40 bytes and the text, with code 13, the ids of the stream and of the receiver; no status message behind the first",
    bound="the status message period -2/+20 ms",
)
def q01(bench: Bench) -> None:
    """The answer of one that rejects."""
    source = bench.source(bench.subscribe())
    image = source.start()
    receiver_id = source.wire.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS).first.receiver_id
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    mark = source.wire.mark()
    bench.client.reject_image(image.correlation_id, image.position, REASON)
    first = source.wire.expect(is_error, "an ERR", within_ms=period_ms + CONDUCTOR_MS, start=mark)
    behind = source.wire.arrivals.index(first)
    arrivals = source.wire.collect((ERRORS - 0.5) * period_ms, start=behind, match=is_error)
    for arrival in arrivals:
        frame = arrival.first
        check_equal("length of the datagram", len(arrival.payload), ErrorFrameDecoder.ENCODED_LENGTH + len(REASON))
        check_equal("code", frame.error_code, int(ErrorCode.IMAGE_REJECTED))
        check_equal("text", bytes(frame.error_text), REASON.encode())
        check_equal(
            "session, stream and receiver",
            (frame.session_id, frame.stream_id, frame.receiver_id),
            (source.frames.session_id, source.frames.stream_id, receiver_id),
        )
    check_intervals("ERRs", intervals_ms(arrivals), at_least=ERRORS - 2, low=period_ms - 2, high=period_ms + TIMER_TOLERANCE_MS)
    source.wire.expect_none(frames.is_status, "status message of a rejected image", for_ms=0, start=behind)


@case(
    "Q02",
    requirement="An ERR has flag 0x08 and the group tag of the receiver where it has one, and no flag where it has none.",
    source="Aeron: ErrorFlyweight.groupTag; ReceiveChannelEndpoint.sendErrorFrame; gtag in the channel",
    stimulus="rejected images of a subscription with gtag=77 and of one without",
    expected="flag 0x08 and tag 77 of the first; flags 0 of the second, whatever stands in the place of the tag",
    bound="the status message period + 200 ms",
)
def q02(bench: Bench) -> None:
    """Group tags of ERRs."""
    for params, flags in ((f"gtag={TAG}", int(ErrorFlags.HAS_GROUP_TAG)), ("", 0)):
        source = bench.source(bench.subscribe(params))
        image = source.start()
        bench.client.reject_image(image.correlation_id, image.position, REASON)
        within_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6 + CONDUCTOR_MS
        error = source.wire.expect(is_error, "an ERR", within_ms=within_ms).first
        check_equal(f"flags with {params or 'no gtag'}", int(error.flags), flags)
        if flags:
            check_equal("group tag", error.group_tag, TAG)


@case(
    "Q03",
    requirement="A rejected image takes no more data, and becomes unavailable after its liveness timeout though data goes on to come.",
    source="Aeron: PublicationImage.insertPacket (rejectionReason); PublicationImage.onTimeEvent",
    stimulus="an image of one message, rejected, and further data until it is gone; then another session",
    expected="RCV_HWM behind the first message, the image unavailable; the data of the other session delivered",
    bound="the liveness timeout, five status message periods, three timer intervals + 200 ms",
    options=SHORT_LIVES,
)
def q03(bench: Bench) -> None:
    """Nothing more of a rejected stream."""
    subscription = bench.subscribe()
    source = bench.source(subscription)
    image = source.start()
    expect_good_data(source, image)
    position = image.poller.position
    bench.client.reject_image(image.correlation_id, image.position, REASON)
    # The receiver has taken the rejection when it says so.
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    source.wire.expect(is_error, "an ERR", within_ms=period_ms + CONDUCTOR_MS)

    def is_gone() -> bool:
        source.send(source.frames.data(position, b"unwanted"))
        return bench.wait_until(lambda: image.correlation_id in bench.client.unavailable, REPEAT_MS)

    is_gone()
    check_equal("RCV_HWM", source.stream_counter(CounterType.RCV_HWM), position)
    lives_ms = bench.option_ns("image_liveness_timeout_ns") / 1e6
    bound_ms = lives_ms + 5 * period_ms + 3 * bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS
    bench.expect(is_gone, "the rejected image unavailable", within_ms=bound_ms, actual=lambda: "it is still there")
    other = bench.source(subscription)
    expect_good_data(other, other.start())


def connected(bench: Bench) -> Sink:
    """Return a connected publication."""
    sink = bench.publish()
    sink.connect()
    return sink


def expect_news(bench: Bench, count: int) -> None:
    """Wait until so many error frames were told of, and check that no more are."""
    errors = bench.client.publication_errors
    bench.expect(lambda: len(errors) >= count, "ON_PUBLICATION_ERROR", within_ms=CONDUCTOR_MS)
    bench.pause(10 * REACTION_MS)
    check_equal("errors told of", len(errors), count)


@case(
    "Q04",
    requirement="An ERR from a live receiver is told to the clients once, with its address, and disconnects the publication.",
    source="Aeron: NetworkPublication.onError (ReceiverLivenessTracker.onRemoteClose); ClientProxy.onPublicationErrorFrame",
    stimulus="three ERRs from the only receiver of a connected publication",
    expected="one ON_PUBLICATION_ERROR with the receiver's port, 127.0.0.1, code and text; the publication not connected",
    bound="a timer interval + 200 ms",
)
def q04(bench: Bench) -> None:
    """A receiver that rejects."""
    sink = connected(bench)
    for _ in range(3):
        sink.send(sink.frames.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, REASON))
    expect_news(bench, 1)
    error = bench.client.publication_errors[0]
    check_equal("publication", error.registration_id, sink.publication.registration_id)
    check_equal("port", error.source_port, sink.wire.port)
    check_equal("address", bytes(error.source_address[:4]), bytes((127, 0, 0, 1)))
    check_equal("code and text", (error.error_code, error.error_message), (int(ErrorCode.IMAGE_REJECTED), REASON))
    expect_disconnected(bench, sink)


def expect_disconnected(bench: Bench, sink: Sink) -> None:
    """Wait until a publication has no receiver."""
    within_ms = bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS
    bench.expect(
        lambda: not sink.publication.log.is_connected, "the publication not connected", within_ms=within_ms, actual=lambda: "it is"
    )


@case(
    "Q05",
    requirement="An ERR from a receiver that the publication does not know is counted and means nothing.",
    source="Aeron: SendChannelEndpoint.onErrorMessage; ReceiverLivenessTracker.onRemoteClose",
    stimulus="an ERR with another receiver id to a connected publication, then one from its receiver",
    expected="ERROR_FRAMES_RECEIVED + 1 and no ON_PUBLICATION_ERROR, the publication connected; one ON_PUBLICATION_ERROR for the second",
)
def q05(bench: Bench) -> None:
    """A stranger that rejects."""
    sink = connected(bench)
    heard = bench.count(SystemCounter.ERROR_FRAMES_RECEIVED)
    sink.send(sink.frames.error(sink.receiver_id + 1, ErrorCode.IMAGE_REJECTED, REASON))
    bench.expect_count(SystemCounter.ERROR_FRAMES_RECEIVED, heard + 1)
    bench.pause(10 * REACTION_MS)
    check_equal("errors told of", len(bench.client.publication_errors), 0)
    check_equal("the publication is connected", sink.publication.log.is_connected, True)
    sink.send(sink.frames.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, REASON))
    expect_news(bench, 1)


@case(
    "Q06",
    requirement="A status message from a receiver that sent an ERR connects the publication again.",
    source="Aeron: NetworkPublication.onStatusMessage (ReceiverLivenessTracker.onStatusMessage); NetworkPublication.onError",
    stimulus="an ERR from the only receiver, and its status message when the publication is not connected any more",
    expected="the publication connected",
    bound="200 ms",
)
def q06(bench: Bench) -> None:
    """A receiver that thinks better of it."""
    sink = connected(bench)
    sink.send(sink.frames.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, REASON))
    expect_disconnected(bench, sink)
    sink.connect()


@case(
    "Q07",
    requirement="News of an ERR to a publication with destinations added by hand names the destination by its registration id.",
    source="Aeron: SendChannelEndpoint.onErrorMessage; MultiSndDestination.findRegistrationId",
    stimulus="a stream with control-mode=manual and two destinations, with a receiver at each; an ERR from the second",
    expected="one ON_PUBLICATION_ERROR with the registration id of the second destination and the port of its receiver",
    bound="200 ms",
)
def q07(bench: Bench) -> None:
    """Which destination rejects."""
    sink = destinations.publish(bench, "manual")
    wires = [bench.wire(), bench.wire()]
    ids = [bench.client.add_destination(sink.publication, destinations.channel_to(wire)) for wire in wires]
    destinations.expect_destinations(bench, sink, len(wires))
    for wire in wires:
        wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    for receiver, wire in enumerate(wires):
        destinations.send_status(sink, wire, receiver=receiver)
    bench.expect(sink.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    wires[1].send(sink.frames.error(sink.receiver_id + 1, ErrorCode.IMAGE_REJECTED, REASON), sink.driver)
    expect_news(bench, 1)
    error = bench.client.publication_errors[0]
    check_equal("destination", error.destination_registration_id, ids[1])
    check_equal("port", error.source_port, wires[1].port)


@case(
    "Q08",
    requirement="A reason for a rejection that is longer than 1023 bytes is refused.",
    source="Aeron: DriverConductor.onRejectImage; ErrorFlyweight.MAX_ERROR_MESSAGE_LENGTH",
    stimulus="an image rejected for a reason of 1024 bytes, then for one of 1023",
    expected="ON_ERROR for the first; ERRs with the whole reason for the second",
    bound="the status message period + 200 ms",
)
def q08(bench: Bench) -> None:
    """Many words."""
    source = bench.source(bench.subscribe())
    image = source.start()
    try:
        bench.client.reject_image(image.correlation_id, image.position, "x" * (REJECT_REASON_LENGTH_MAX + 1))
    except CommandRefused:
        pass
    else:
        raise Finding("a reason of 1024 bytes refused", "it was taken")
    mark = source.wire.mark()
    bench.client.reject_image(image.correlation_id, image.position, "x" * REJECT_REASON_LENGTH_MAX)
    within_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6 + CONDUCTOR_MS
    error = source.wire.expect(is_error, "an ERR", within_ms=within_ms, start=mark).first
    check_equal("bytes of the reason", len(bytes(error.error_text)), REJECT_REASON_LENGTH_MAX)


@case(
    "Q09",
    requirement="An ERR with a text of 1023 bytes is taken, and told of with all of it.",
    source="Aeron: SendChannelEndpoint.onErrorMessage; ErrorFlyweight.MAX_ERROR_MESSAGE_LENGTH",
    stimulus="an ERR with 1023 bytes of text from the receiver of a connected publication",
    expected="ON_PUBLICATION_ERROR with the text",
    bound="200 ms",
)
def q09(bench: Bench) -> None:
    """A long text."""
    sink = connected(bench)
    text = "y" * REJECT_REASON_LENGTH_MAX
    sink.send(sink.frames.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, text))
    expect_news(bench, 1)
    check_equal("the text is whole", bench.client.publication_errors[0].error_message == text, True)


CASES: tuple[Case, ...] = (q01, q02, q03, q04, q05, q06, q07, q08, q09)
