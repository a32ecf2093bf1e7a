"""Group T: response channels, on which each sender of requests is answered in a session of its own."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import TERM_LENGTH_MIN, ResponseSetupDecoder, SetupFlags
from aerowire.conformance.cases.listeners import SILENCE_MS
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.cases.responses import Answers, ask, connect, expect_response_setup
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench, Sink, Subscription
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.wire import Match, Wire
from aerowire.conformance.model import Case, Finding, case

PERIODS = 3
# No driver gives an image such an id.
NOBODYS = 2**62
MESSAGE = b"an answer"


def period_ms(bench: Bench) -> float:
    """Return how often a status message, and what goes with it, is due."""
    return bench.option_ns("rcv_status_message_timeout_ns") / 1e6


@case(
    "T01",
    requirement="Who asks for answers is told their session as soon as there is a publication of them, and each period again.",
    source="Aeron: PublicationImage.sendPendingStatusMessage; ReceiveChannelEndpoint.sendResponseSetup",
    stimulus="a SETUP with flag 0x80; then a publication with control-mode=response and the image's correlation id",
    expected="no RSP_SETUP before the publication; then frames of 20 bytes with the ids of the requests and the publication's session",
    bound="200 ms (through the conductor), then every 200 ms (status.message.timeout) + 20 ms",
)
def t01(bench: Bench) -> None:
    """The session of the answers."""
    source, image = ask(bench, bench.subscribe())
    source.wire.expect_none(frames.is_response_setup, "RSP_SETUP before a publication answers", for_ms=SILENCE_MS, start=0)
    mark = source.wire.mark()
    sink = Answers(bench).add(image.correlation_id)
    expect_response_setup(bench, source, sink, start=mark)
    came = source.wire.collect((PERIODS + 1) * (period_ms(bench) + TIMER_TOLERANCE_MS), match=frames.is_response_setup, start=mark)
    check_intervals("RSP_SETUP", intervals_ms(came), at_least=PERIODS, low=period_ms(bench) - 5, high=period_ms(bench) + TIMER_TOLERANCE_MS)
    frame = came[-1].first
    check_equal("length of the datagram", len(came[-1].payload), ResponseSetupDecoder.ENCODED_LENGTH)
    check_equal("session and stream", (frame.session_id, frame.stream_id), (source.frames.session_id, source.frames.stream_id))
    check_equal("response session", frame.response_session_id, sink.publication.session_id)
    check_equal("version and flags", (frame.version, int(frame.flags)), (0, 0))


@case(
    "T02",
    requirement="The session of the answers is told no more once their receiver is connected.",
    source="Aeron: NetworkPublication.updateConnectedStatus; DriverConductor.responseConnected",
    stimulus="a request and its publication as in T01; then a request for the SETUP of the answers and a status message",
    expected="RSP_SETUPs until then, and none afterwards while plain status messages for the requests go on",
    bound="200 ms (through the conductor)",
)
def t02(bench: Bench) -> None:
    """A receiver that has come."""
    source, image = ask(bench, bench.subscribe())
    sink = Answers(bench).add(image.correlation_id)
    expect_response_setup(bench, source, sink)
    connect(sink)
    bench.pause(CONDUCTOR_MS / 2)
    mark = source.wire.mark()
    source.wire.expect_none(
        frames.is_response_setup, "RSP_SETUP once the receiver is connected", for_ms=2 * period_ms(bench) + SILENCE_MS, start=mark
    )
    source.wire.expect(
        frames.is_plain_status, "a status message for the requests", within_ms=period_ms(bench) + TIMER_TOLERANCE_MS, start=mark
    )


@case(
    "T03",
    requirement="A RSP_SETUP gives the subscription that waits for answers their session, whose SETUP it asks for at the control address.",
    source="Aeron: DriverConductor.responseSetup; ReceiveChannelEndpoint.sendSetupElicitingStatusMessage",
    stimulus="a waiting subscription, a publication with its response-correlation-id, a RSP_SETUP; then the session's SETUP and data",
    expected="SETUPs with flag 0x80; no request before the RSP_SETUP; then one with that session and flag 0x80; an image with the data",
    bound="200 ms (through the conductor)",
)
def t03(bench: Bench) -> None:
    """Answers on their way."""
    wire, stream_id, session_id = bench.wire(), bench.new_id(), bench.new_id()
    waiting = bench.client.add_subscription(f"aeron:udp?control-mode=response|control={wire.authority}", stream_id)
    sink = bench.publish(f"response-correlation-id={waiting}")
    sink.wire.expect(
        lambda frame: frames.is_setup(frame) and bool(int(frame.flags) & SetupFlags.SEND_RESPONSE),
        "a SETUP with flag 0x80",
        within_ms=CONDUCTOR_MS,
    )
    # Who names the sender's address asks for the SETUPs of all sessions, by zeros.
    wire.expect_none(lambda frame: frame.session_id == session_id, "request before a RSP_SETUP", for_ms=SILENCE_MS, start=0)
    sink.send(sink.frames.response_setup(session_id))
    asked = wire.expect(
        lambda frame: frames.is_elicit(frame) and frame.session_id == session_id,
        "a request for the SETUP of the answers",
        within_ms=CONDUCTOR_MS,
    )
    check_equal("stream of the request", asked.first.stream_id, stream_id)
    source = bench.source(Subscription(waiting, *asked.source, stream_id))
    source.wire = wire
    source.frames.session_id = session_id
    image = source.start()
    source.send_data(0, MESSAGE)
    source.expect_payloads(image, [MESSAGE])


@case(
    "T04",
    requirement="A publication of answers to an image that nobody has is refused.",
    source="Aeron: DriverConductor, findResponsePublicationImage",
    stimulus="response-correlation-id of no image, then of one that asks for answers",
    expected="an error; then the publication is added",
)
def t04(bench: Bench) -> None:
    """Answers to nobody."""
    answers = Answers(bench)
    source, image = ask(bench, bench.subscribe())
    expect_response_setup(bench, source, answers.add(image.correlation_id))
    expect_refusal(lambda: answers.add(NOBODYS), "answers to an unknown image")


@case(
    "T05",
    requirement="A publication of answers to an image whose sender did not ask for any is refused.",
    source="Aeron: DriverConductor, findResponsePublicationImage; PublicationImage.hasSendResponseSetup",
    stimulus="response-correlation-id of an image whose SETUP had flag 0x80, and of one whose had not",
    expected="the first is added; an error for the second",
)
def t05(bench: Bench) -> None:
    """Answers to who did not ask."""
    answers = Answers(bench)
    source, image = ask(bench, bench.subscribe())
    expect_response_setup(bench, source, answers.add(image.correlation_id))
    _, other = ask(bench, bench.subscribe(), flags=0)
    expect_refusal(lambda: answers.add(other.correlation_id), "answers to an image without flag 0x80")


@case(
    "T06",
    requirement="A publication of answers has to say whom it answers, and one of requests names a subscription that takes the answers.",
    source="Aeron: DriverConductor, findResponsePublicationImage, validateResponseSubscription",
    stimulus="control-mode=response without response-correlation-id; a plain publication with one that no subscription has; then good ones",
    expected="an error for each of the first two; the others are added",
)
def t06(bench: Bench) -> None:
    """Answers without an address."""
    answers = Answers(bench)
    source, image = ask(bench, bench.subscribe())
    expect_response_setup(bench, source, answers.add(image.correlation_id))
    expect_refusal(lambda: bench.client.add_publication(answers.channel, answers.stream_id), "answers without a correlation id")
    waiting = bench.client.add_subscription(f"aeron:udp?control-mode=response|control={bench.wire().authority}", bench.new_id())
    bench.publish(f"response-correlation-id={waiting}")
    expect_refusal(lambda: bench.publish(f"response-correlation-id={NOBODYS}"), "requests whose answers nobody takes")


@case(
    "T07",
    requirement="Each sender of requests is answered in a session of its own, which it alone is told and whose data it alone gets.",
    source="Aeron: DriverConductor.findPublication; PublicationParams.responseCorrelationId",
    stimulus="two senders of requests; a shared publication of answers to each on one channel, and a second one to the first; messages",
    expected="two sessions; the second to the first is the first; each sender is told its session, each receiver gets its message",
)
def t07(bench: Bench) -> None:
    """Two that ask."""
    answers, subscription = Answers(bench), bench.subscribe()
    asked = [ask(bench, subscription) for _ in range(2)]
    sinks = [answers.add(image.correlation_id, is_exclusive=False) for _, image in asked]
    again = answers.add(asked[0][1].correlation_id, is_exclusive=False)
    check_equal(
        "registration of a second publication for the first", again.publication.registration_id, sinks[0].publication.registration_id
    )
    check_equal("sessions of the answers", len({sink.publication.session_id for sink in sinks}), 2)
    for (source, _), sink in zip(asked, sinks, strict=True):
        expect_response_setup(bench, source, sink)
        connect(sink)
    for (source, _), sink in zip(asked, sinks, strict=True):
        told = {arrival.first.response_session_id for arrival in source.wire.collect(1.0, match=frames.is_response_setup, start=0)}
        check_equal("sessions told to one sender", told, {sink.publication.session_id})
    check_goes_to(sinks[0], sinks[0].wire, sinks[1].wire)
    check_goes_to(sinks[1], sinks[1].wire, sinks[0].wire)


def check_goes_to(sink: Sink, here: Wire, elsewhere: Wire) -> None:
    """Publish an answer: it must come to one socket and not to another."""
    marks = here.mark(), elsewhere.mark()
    place = sink.frames.term(sink.publication.position)
    sink.publication.append(MESSAGE)
    here.expect(is_data_of(sink, place), "the answer at its receiver", within_ms=CONDUCTOR_MS, start=marks[0])
    found = elsewhere.collect(SILENCE_MS, match=is_data_of(sink, place), start=marks[1])
    if found:
        raise Finding("no answer at another socket", f"{found[0]!r}")


def is_data_of(sink: Sink, place: tuple[int, int]) -> Match:
    """Match the data at a place of a publication."""
    session_id = sink.publication.session_id
    return lambda frame: frames.is_data(frame) and (frame.session_id, frame.term_id, frame.term_offset) == (session_id, *place)


@case(
    "T08",
    requirement="Answers go to where the latest request for their SETUP came from.",
    source="Aeron: NetworkPublication.triggerSendSetupFrame, doSend",
    stimulus="a publication of answers; a request for its SETUP and a message; a request from another socket and a message",
    expected="nothing before the first request; each message where the request before it came from, and only there",
)
def t08(bench: Bench) -> None:
    """A receiver that moves."""
    source, image = ask(bench, bench.subscribe())
    sink = Answers(bench).add(image.correlation_id)
    expect_response_setup(bench, source, sink)
    first, second = sink.wire, bench.wire()
    first.expect_none(lambda _: True, "datagram before a request", for_ms=SILENCE_MS, start=0)
    connect(sink)
    check_goes_to(sink, first, second)
    second.send(sink.frames.elicit(sink.receiver_id), sink.driver)
    second.expect(frames.is_setup, "the SETUP where the receiver is now", within_ms=CONDUCTOR_MS)
    check_goes_to(sink, second, first)


@case(
    "T09",
    requirement="A publication of answers with the correlation id prototype holds the channel for others, with the least of terms, and "
    "answers nobody.",
    source="Aeron: CommonContext.PROTOTYPE_CORRELATION_ID; DriverConductor, findResponsePublicationImage",
    stimulus="a request; a prototype on a channel with longer terms; then the publication that answers",
    expected="a prototype with terms of 64 KiB; no RSP_SETUP for it; one for the other, which has the prototype's channel status counter",
)
def t09(bench: Bench) -> None:
    """A channel that is kept."""
    source, image = ask(bench, bench.subscribe())
    answers = Answers(bench)
    answers.channel = answers.channel.replace(f"term-length={TERM_LENGTH_MIN}", f"term-length={2 * TERM_LENGTH_MIN}")
    prototype = answers.add("prototype")
    check_equal("term length of the prototype", prototype.publication.log.term_length, TERM_LENGTH_MIN)
    source.wire.expect_none(frames.is_response_setup, "RSP_SETUP for a prototype", for_ms=period_ms(bench) + SILENCE_MS, start=0)
    sink = answers.add(image.correlation_id)
    check_equal("term length of the answers", sink.publication.log.term_length, 2 * TERM_LENGTH_MIN)
    check_equal("channel status counter", sink.publication.channel_status_id, prototype.publication.channel_status_id)
    expect_response_setup(bench, source, sink)


CASES: tuple[Case, ...] = (t01, t02, t03, t04, t05, t06, t07, t08, t09)
