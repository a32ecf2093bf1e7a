"""Group G: duplicates."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import DataFlags, SetupFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases.options import RESOLVER
from aerowire.conformance.cases.rebuilding import SILENCE_MS, check_untouched, expect_positions
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, Bench, Sink, Source, Subscription
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.counters import Counter
from aerowire.conformance.harness.wire import Match, Wire
from aerowire.conformance.model import Case, Finding, case

# A drained image says so in this many status message periods before it goes.
EOS_PERIODS = 5


@case(
    "G01",
    requirement="A frame that comes twice is delivered once.",
    source="Aeron: TermRebuilder.insert",
    stimulus="ten frames, each twice",
    expected="ten payloads in order, nothing behind them in the log; rcv-hwm and rcv-pos behind them; no NAK and nothing refused",
)
def g01(bench: Bench) -> None:
    """Every frame twice."""
    source = bench.source(bench.subscribe())
    image = source.start()
    refused = bench.counts(
        SystemCounter.INVALID_PACKETS, SystemCounter.FLOW_CONTROL_UNDER_RUNS, SystemCounter.FLOW_CONTROL_OVER_RUNS, SystemCounter.ERRORS
    )
    mark = source.wire.mark()
    payloads = [bench.random.randbytes(length) for length in range(10, 1010, 100)]
    end = 0
    for payload in payloads:
        source.send_data(end, payload)
        end = source.send_data(end, payload)
    source.wire.expect_none(frames.is_nak, "NAK", for_ms=SILENCE_MS, start=mark)
    source.expect_payloads(image, payloads)
    expect_positions(bench, source, end)
    check_untouched(image, end, source.window - end, "duplicates behind the data")
    bench.expect_counts_unchanged(refused)


@case(
    "G02",
    requirement="A burst of the same SETUP makes one image.",
    source="Aeron: DataPacketDispatcher.onSetupMessage (INIT_IN_PROGRESS)",
    stimulus="ten SETUPs back to back, then data",
    expected="one available image, which stays; the data delivered",
)
def g02(bench: Bench) -> None:
    """Ten SETUPs."""
    source = bench.source(bench.subscribe())
    for _ in range(10):
        source.send(source.frames.setup())
    image = source.expect_image()
    source.wire.expect(frames.is_plain_status, "the first status message", within_ms=CONDUCTOR_MS)
    bench.pause(SILENCE_MS)
    check_equal("images for ten SETUPs", len(source.images()), 1)
    source.send_data(0, b"for the one image")
    source.expect_payloads(image, [b"for the one image"])
    check_equal("images gone", bench.client.unavailable, [])


@case(
    "G03",
    requirement="A burst of the same status message opens the window once.",
    source="Aeron: UnicastFlowControl.onStatusMessage; NetworkPublication.onStatusMessage",
    stimulus="ten frames, then ten times the status message that they are consumed",
    expected="snd-lmt one window beyond the consumed position, pub-lmt at most there; STATUS_MESSAGES_RECEIVED + 10, none rejected",
)
def g03(bench: Bench) -> None:
    """Ten status messages."""
    sink = bench.publish()
    sink.connect()
    sink.publish([bench.random.randbytes(1000) for _ in range(10)])
    rejected = bench.counts(SystemCounter.STATUS_MESSAGES_REJECTED, SystemCounter.INVALID_PACKETS)
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    for _ in range(10):
        sink.send_status(sink.publication.position)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + 10)
    bench.pause(SILENCE_MS)
    limit = sink.publication.position + sink.window
    check_equal("snd-lmt", sink.counter(CounterType.SND_LMT), limit)
    if not sink.publication.position < sink.publication.limit <= limit:
        raise Finding(f"pub-lmt beyond {sink.publication.position} and up to {limit}", f"{sink.publication.limit}")
    bench.expect_counts_unchanged(rejected)


@case(
    "G04",
    requirement="A burst of the same end-of-stream heartbeat ends the stream once, at one position.",
    source="Aeron: PublicationImage.insertPacket; PublicationImage.checkEosForDrainTransition",
    stimulus="three frames, then five heartbeats with flag 0x20 behind them",
    expected="the end's position in the log, HEARTBEATS_RECEIVED + 5; one unavailable image",
    bound="5 times 200 ms and two timer intervals + 200 ms",
)
def g04(bench: Bench) -> None:
    """Five ends."""
    source = bench.source(bench.subscribe())
    image = source.start()
    heartbeats = bench.count(SystemCounter.HEARTBEATS_RECEIVED)
    payloads = [b"one", b"two", b"three"]
    end = 0
    for payload in payloads:
        end = source.send_data(end, payload)
    source.expect_payloads(image, payloads)
    for _ in range(5):
        source.send(source.frames.heartbeat(end, flags=frames.UNFRAGMENTED | DataFlags.EOS))
    bench.expect_count(SystemCounter.HEARTBEATS_RECEIVED, heartbeats + 5)
    check_equal("end-of-stream position", image.log.end_of_stream_position, end)
    drain_ms = EOS_PERIODS * bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    slack_ms = 2 * bench.option_ns("timer_interval_ns") / 1e6 + CONDUCTOR_MS
    bench.expect(lambda: bool(bench.client.unavailable), "the image to be unavailable", within_ms=drain_ms + slack_ms)
    bench.pause(SILENCE_MS)
    check_equal("images gone", bench.client.unavailable, [image.correlation_id])
    check_equal("end-of-stream position at last", image.log.end_of_stream_position, end)
    check_equal("images of the session", len(source.images()), 1)


@case(
    "G05",
    requirement="A receiver's repeated ERR is reported to the client once, until the receiver has returned.",
    source="Aeron: NetworkPublication.onError; ReceiverLivenessTracker.onRemoteClose",
    stimulus="the same ERR three times, a status message of that receiver, the ERR again",
    expected="one ON_PUBLICATION_ERROR for the three, a second one for the last; ERROR_FRAMES_RECEIVED + 4",
)
def g05(bench: Bench) -> None:
    """Three errors of one receiver."""
    sink = bench.publish()
    sink.connect()
    received = bench.count(SystemCounter.ERROR_FRAMES_RECEIVED)
    error = sink.frames.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, "this is enough")
    for _ in range(3):
        sink.send(error)
    bench.expect_count(SystemCounter.ERROR_FRAMES_RECEIVED, received + 3)
    expect_errors(bench, sink, 1)
    sink.connect()
    sink.send(error)
    bench.expect_count(SystemCounter.ERROR_FRAMES_RECEIVED, received + 4)
    expect_errors(bench, sink, 2)


def expect_errors(bench: Bench, sink: Sink, count: int) -> None:
    """Wait until so many errors of the publication were reported, check that there are no more and what they say."""
    errors = bench.client.publication_errors
    what = f"{count} reported errors"
    bench.expect(lambda: len(errors) >= count, what, within_ms=CONDUCTOR_MS, actual=lambda: f"{len(errors)}")
    bench.pause(SILENCE_MS)
    check_equal("reported errors", len(errors), count)
    for error in errors:
        check_equal("registration_id", error.registration_id, sink.publication.registration_id)
        check_equal("receiver_id", error.receiver_id, sink.receiver_id)
        check_equal("error_code", error.error_code, ErrorCode.IMAGE_REJECTED)
        check_equal("error_message", error.error_message, "this is enough")


@case(
    "G06",
    requirement="A burst of the same RSP_SETUP binds the waiting subscription once, to one session, and later ones bind it to no other.",
    source="Aeron: DriverConductor.responseSetup; SendChannelEndpoint.onResponseSetup",
    stimulus="five RSP_SETUPs for a publication that asks for answers, the SETUP of their session; the same of another session",
    expected="requests for a SETUP of the first session only; one image, of that session, which goes on to take data",
)
def g06(bench: Bench) -> None:
    """Five announcements of one response session."""
    wire = bench.wire()
    stream_id = bench.new_id()
    waiting = bench.client.add_subscription(f"aeron:udp?control-mode=response|control={wire.authority}", stream_id)
    sink = bench.publish(f"response-correlation-id={waiting}")
    sink.wire.expect(
        lambda frame: frames.is_setup(frame) and bool(int(frame.flags) & SetupFlags.SEND_RESPONSE),
        "a SETUP that asks for a response channel",
        within_ms=CONDUCTOR_MS,
    )
    first, second = bench.new_id(), bench.new_id()
    for _ in range(5):
        sink.send(sink.frames.response_setup(first))
    asked = wire.expect(asks_for(first), "a request for the session's SETUP", within_ms=CONDUCTOR_MS)
    subscription = Subscription(waiting, *asked.source, stream_id)
    answer, stranger = answer_in(bench, subscription, wire, first), answer_in(bench, subscription, wire, second)
    image = answer.start()
    for _ in range(5):
        sink.send(sink.frames.response_setup(second))
    bench.pause(SILENCE_MS)
    stranger.send(stranger.frames.setup())
    answer.send_data(0, b"the answer")
    answer.expect_payloads(image, [b"the answer"])
    wire.expect_none(asks_for(second), "request for another session's SETUP", for_ms=SILENCE_MS, start=0)
    check_equal("sessions of the images", [image.session_id for image in bench.client.images_of(waiting)], [first])


def answer_in(bench: Bench, subscription: Subscription, wire: Wire, session_id: int) -> Source:
    """Play the sender of a response session from the channel's control address."""
    source = bench.source(subscription)
    source.wire = wire
    source.frames.session_id = session_id
    return source


def asks_for(session_id: int) -> Match:
    """Match requests for the SETUP of a session."""
    return lambda frame: frames.is_elicit(frame) and frame.session_id == session_id


@case(
    "G07",
    requirement="A neighbour that makes itself known again and again is one neighbour with one name.",
    source="Aeron: DriverNameResolver.onResolutionEntry; DriverNameResolverCache.addOrUpdateEntry",
    stimulus="the same RES frame five times to a driver with a name resolver, then one of another neighbour",
    expected="Resolver neighbors + 1 and Resolver cache entries + 1 for the five, + 1 each for the other",
    options=RESOLVER,
)
def g07(bench: Bench) -> None:
    """One neighbour five times."""
    neighbours, names = find_counter(bench, CounterType.RESOLVER_NEIGHBORS), find_counter(bench, CounterType.RESOLVER_CACHE_ENTRIES)
    resolver = (LOOPBACK, int(neighbours.label.rpartition(":")[2]))
    before = bench.client.counters.value(neighbours.id), bench.client.counters.value(names.id)
    for more, times in ((1, 5), (2, 1)):
        wire = bench.wire()
        frame = frames.self_resolution(f"neighbour-{bench.new_id()}", (LOOPBACK, wire.port))
        for _ in range(times):
            wire.send(frame, resolver)
        expect_value(bench, neighbours, before[0] + more)
        expect_value(bench, names, before[1] + more)


def find_counter(bench: Bench, type_id: CounterType) -> Counter:
    """Return the driver's only counter of a type."""
    found = [counter for counter in bench.client.counters.all() if counter.type_id == type_id]
    if len(found) != 1:
        raise Finding(f"one {type_id.name} counter", f"{len(found)}")
    return found[0]


def expect_value(bench: Bench, counter: Counter, value: int) -> None:
    """Wait until a counter reaches a value, and check a while later that it stands there."""
    counters = bench.client.counters
    what = f"{counter.label} at {value}"
    bench.expect(lambda: counters.value(counter.id) >= value, what, within_ms=CONDUCTOR_MS, actual=lambda: counters.value(counter.id))
    bench.pause(SILENCE_MS)
    check_equal(counter.label, counters.value(counter.id), value)


CASES: tuple[Case, ...] = (g01, g02, g03, g04, g05, g06, g07)
