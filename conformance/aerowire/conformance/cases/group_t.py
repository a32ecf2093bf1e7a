"""Group T: response channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import FrameType, SetupFlags
from aerowire.conformance.cases.group_g import answer_in, asks_for
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, TIMER_TOLERANCE_MS, Bench, Sink, Source, Subscription
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.wire import Match, free_port
from aerowire.conformance.model import Case, case

if TYPE_CHECKING:
    from scapy.packet import Packet

# How many periods of RSP_SETUP are measured.
PERIODS = 4


@case(
    "T01",
    requirement="A driver that answers a stream names the session of its response in a RSP_SETUP each status message timeout.",
    source="Aeron: PublicationImage.responseSessionId; ReceiveChannelEndpoint.sendResponseSetup",
    stimulus="a SETUP with flag 0x80 and a response publication for its image, which nobody answers",
    expected="RSP_SETUP with both sessions within a status message timeout, then one each timeout",
    bound="rcv_status_message_timeout_ns",
)
def t01(bench: Bench) -> None:
    """RSP_SETUP and its period."""
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    source = asking_source(bench)
    response = respond(bench, source)
    match = names(source, response)
    source.wire.expect(match, "a RSP_SETUP of the response session", within_ms=period_ms + CONDUCTOR_MS)
    # The first may come early, ahead of the timer that it restarts.
    source.wire.collect((PERIODS + 1) * period_ms)
    found = [arrival for arrival in source.wire.arrivals if match(arrival.first)][1:]
    low, high = period_ms - TIMER_TOLERANCE_MS, period_ms + TIMER_TOLERANCE_MS
    check_intervals("a RSP_SETUP", intervals_ms(found), at_least=PERIODS - 1, low=low, high=high)


@case(
    "T02",
    requirement="A driver names the response session no more once the response publication is connected.",
    source="Aeron: DriverConductor.responseConnected",
    stimulus="a response publication whose session the driver names, then a status message that connects it",
    expected="RSP_SETUP before it; none from a while after it for two status message timeouts and a half",
)
def t02(bench: Bench) -> None:
    """RSP_SETUP ends."""
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    source = asking_source(bench)
    response = respond(bench, source)
    source.wire.expect(names(source, response), "a RSP_SETUP of the response session", within_ms=period_ms + CONDUCTOR_MS)
    response.connect()
    bench.pause(CONDUCTOR_MS)
    source.wire.expect_none(is_response_setup, "RSP_SETUP of a connected response", for_ms=2.5 * period_ms)


@case(
    "T03",
    requirement="A RSP_SETUP binds the subscription that waits for a response to the session that it names.",
    source="Aeron: DriverConductor.responseSetup; SendChannelEndpoint.onResponseSetup",
    stimulus="a publication that asks for a response, a RSP_SETUP to it, then a stream in the session named",
    expected="no request for a SETUP before the RSP_SETUP; after it a status message 0x80 for the session, then its image and data",
)
def t03(bench: Bench) -> None:
    """The session of the response."""
    wire = bench.wire()
    stream_id, session_id = bench.new_id(), bench.new_id()
    waiting = bench.client.add_subscription(f"aeron:udp?control-mode=response|control={wire.authority}", stream_id)
    sink = bench.publish(f"response-correlation-id={waiting}")
    wire.expect_none(asks_for(session_id), "request for a session that nobody named", for_ms=CONDUCTOR_MS, start=0)
    sink.send(sink.frames.response_setup(session_id))
    asked = wire.expect(asks_for(session_id), "a request for the session's SETUP", within_ms=CONDUCTOR_MS)
    answer = answer_in(bench, Subscription(waiting, *asked.source, stream_id), wire, session_id)
    image = answer.start()
    answer.send_data(0, b"the answer")
    answer.expect_payloads(image, [b"the answer"])
    check_equal("sessions of the images", [found.session_id for found in bench.client.images_of(waiting)], [session_id])


@case(
    "T04",
    requirement="A response publication for an image that nobody knows is refused.",
    source="Aeron: DriverConductor.findResponsePublicationImage",
    stimulus="a response publication for an image that asked for it, then one for the id of no image",
    expected="the first is accepted; ON_ERROR for the second",
)
def t04(bench: Bench) -> None:
    """No such image."""
    source = asking_source(bench)
    answer_to(bench, f"|response-correlation-id={source.expect_image().correlation_id}")
    expect_refusal(lambda: answer_to(bench, "|response-correlation-id=9223372036854775807"), "a response to an image that nobody knows")


@case(
    "T05",
    requirement="A response publication for an image that did not ask for a response is refused.",
    source="Aeron: DriverConductor.findResponsePublicationImage",
    stimulus="response publications for an image whose SETUP had flag 0x80, then for one whose SETUP had not",
    expected="the first is accepted; ON_ERROR for the second",
)
def t05(bench: Bench) -> None:
    """Nobody asked."""
    answer_to(bench, f"|response-correlation-id={asking_source(bench).expect_image().correlation_id}")
    plain = bench.source(bench.subscribe())
    plain.send(plain.frames.setup())
    image = plain.expect_image()
    expect_refusal(lambda: answer_to(bench, f"|response-correlation-id={image.correlation_id}"), "a response that nobody asked for")


@case(
    "T06",
    requirement="A response publication that does not say what it responds to is refused.",
    source="Aeron: DriverConductor.findResponsePublicationImage",
    stimulus="a publication with control-mode=response and the id of an image that asked for it, then one without an id",
    expected="the first is accepted; ON_ERROR for the second",
)
def t06(bench: Bench) -> None:
    """A response to nothing."""
    source = asking_source(bench)
    answer_to(bench, f"|response-correlation-id={source.expect_image().correlation_id}")
    expect_refusal(lambda: answer_to(bench, ""), "a response to nothing")


def asking_source(bench: Bench) -> Source:
    """Introduce a stream that asks for a response, and wait for its image."""
    source = bench.source(bench.subscribe())
    source.send(source.frames.setup(flags=SetupFlags.SEND_RESPONSE))
    source.expect_image()
    return source


def respond(bench: Bench, source: Source) -> Sink:
    """Add the response to a stream; return a receiver's side of it that is not connected."""
    return bench.publish_on_demand(f"response-correlation-id={source.expect_image().correlation_id}", mode="response")


def answer_to(bench: Bench, params: str) -> None:
    """Add a response publication."""
    bench.client.add_publication(f"aeron:udp?control={LOOPBACK}:{free_port()}|control-mode=response{params}", bench.new_id())


def is_response_setup(frame: Packet) -> bool:
    """Say whether a frame is a RSP_SETUP."""
    return int(frame.type) == FrameType.RSP_SETUP


def names(source: Source, response: Sink) -> Match:
    """Match the RSP_SETUP that names a response to the sender of a stream."""
    wanted = (source.frames.session_id, source.frames.stream_id, response.frames.session_id)
    return lambda frame: is_response_setup(frame) and (frame.session_id, frame.stream_id, frame.response_session_id) == wanted


CASES: tuple[Case, ...] = (t01, t02, t03, t04, t05, t06)
