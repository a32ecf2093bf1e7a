"""Group K: round trip times and congestion control."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import RttmDecoder, RttmFlags
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases import congestion_control_cubic
from aerowire.conformance.cases.gaps import PAYLOAD, WATCH_MS, Gap
from aerowire.conformance.cases.options import CUBIC
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.wire import Arrival, Wire
from aerowire.conformance.model import Case, case

SILENCE_MS = 10 * REACTION_MS
# How often a sender repeats its SETUP until a status message comes.
SETUP_PERIOD_MS = 100.0
# Times that no clock shows: the ends of what fits, and what looks like a failure's value.
STRANGE_TIMES = (-1, 0, 2**63 - 1, -(2**63))


def expect_reply(
    wire: Wire, session_id: int, stream_id: int, receiver_id: int, echo: int, *, start: int, since_ns: int, within_ms: float = REACTION_MS
) -> Arrival:
    """Wait for the reply to an RTT request and check every field of it."""
    arrival = wire.expect(frames.is_rttm, "an RTT reply", within_ms=within_ms, start=start, since_ns=since_ns)
    reply = arrival.first
    check_equal("length of the datagram", len(arrival.payload), RttmDecoder.ENCODED_LENGTH)
    check_equal("frame_length", reply.frame_length, RttmDecoder.ENCODED_LENGTH)
    check_equal("version", reply.version, 0)
    check_equal("flags", int(reply.flags), 0)
    check_equal("session_id", reply.session_id, session_id)
    check_equal("stream_id", reply.stream_id, stream_id)
    check_equal("echo_timestamp_ns", reply.echo_timestamp_ns, echo)
    check_equal("reception_delta_ns", reply.reception_delta_ns, 0)
    check_equal("receiver_id", reply.receiver_id, receiver_id)
    return arrival


@case(
    "K01",
    requirement="A receiver with an image answers an RTT request that names it, or nobody, at once.",
    source="Aeron: ReceiveChannelEndpoint.onRttMeasurement; DataPacketDispatcher.onRttMeasurement",
    stimulus="requests on a stream with an image: one with the receiver id of its status messages, one with 0",
    expected="one RTTM of 40 bytes for each: flags 0, the request's echo timestamp, delta 0, the receiver's own id",
    bound="5 ms",
)
def k01(bench: Bench) -> None:
    """A receiver's RTT reply."""
    source = bench.source(bench.subscribe())
    source.start()
    own_id = source.wire.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS).first.receiver_id
    made = source.frames
    for asked_id in (own_id, 0):
        mark = source.wire.mark()
        echo = bench.random.randrange(1, 2**63)
        left_ns = source.send(made.rttm(echo, receiver_id=asked_id, flags=RttmFlags.REPLY))
        expect_reply(source.wire, made.session_id, made.stream_id, own_id, echo, start=mark, since_ns=left_ns)
        replies = source.wire.collect(SILENCE_MS, match=frames.is_rttm, start=mark)
        check_equal("replies to one request", len(replies), 1)


@case(
    "K02",
    requirement="A receiver keeps silent about an RTT request that names another receiver.",
    source="Aeron: ReceiveChannelEndpoint.onRttMeasurement",
    stimulus="a request with the receiver id + 1, then one with the id",
    expected="silence for the first, a reply to the second",
)
def k02(bench: Bench) -> None:
    """An RTT request for somebody else."""
    source = bench.source(bench.subscribe())
    source.start()
    own_id = source.wire.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS).first.receiver_id
    mark = source.wire.mark()
    source.send(source.frames.rttm(1, receiver_id=own_id + 1, flags=RttmFlags.REPLY))
    source.wire.expect_none(frames.is_rttm, "reply to a request for another receiver", for_ms=SILENCE_MS, start=mark)
    source.send(source.frames.rttm(2, receiver_id=own_id, flags=RttmFlags.REPLY))
    reply = source.wire.expect(frames.is_rttm, "an RTT reply", within_ms=CONDUCTOR_MS, start=mark)
    check_equal("echo_timestamp_ns", reply.first.echo_timestamp_ns, 2)


@case(
    "K03",
    requirement="A receiver without an image of the session keeps silent about an RTT request.",
    source="Aeron: DataPacketDispatcher.onRttMeasurement",
    stimulus="a request on a subscribed stream before its SETUP, and after it",
    expected="silence for the first, a reply to the second",
)
def k03(bench: Bench) -> None:
    """An RTT request without an image."""
    source = bench.source(bench.subscribe())
    mark = source.wire.mark()
    source.send(source.frames.rttm(1, receiver_id=0, flags=RttmFlags.REPLY))
    source.wire.expect_none(lambda _: True, "reply without an image", for_ms=SILENCE_MS, start=mark)
    source.start()
    mark = source.wire.mark()
    source.send(source.frames.rttm(2, receiver_id=0, flags=RttmFlags.REPLY))
    reply = source.wire.expect(frames.is_rttm, "an RTT reply", within_ms=CONDUCTOR_MS, start=mark)
    check_equal("echo_timestamp_ns", reply.first.echo_timestamp_ns, 2)


@case(
    "K04",
    requirement="A sender answers an RTT request at once, with the receiver id of whoever asked.",
    source="Aeron: SendChannelEndpoint.onRttMeasurement; NetworkPublication.onRttMeasurement",
    stimulus="requests of two receiver ids to a connected publication, and one of another session",
    expected="one RTTM of 40 bytes for each of the first two: flags 0, echo timestamp and receiver id of the request; none for the last",
    bound="5 ms",
)
def k04(bench: Bench) -> None:
    """A sender's RTT reply."""
    sink = bench.publish()
    sink.connect()
    made = sink.frames
    for asked_id in (sink.receiver_id, -sink.receiver_id):
        mark = sink.wire.mark()
        echo = bench.random.randrange(1, 2**63)
        left_ns = sink.send(made.rttm(echo, receiver_id=asked_id, flags=RttmFlags.REPLY))
        expect_reply(sink.wire, made.session_id, made.stream_id, asked_id, echo, start=mark, since_ns=left_ns)
        replies = sink.wire.collect(SILENCE_MS, match=frames.is_rttm, start=mark)
        check_equal("replies to one request", len(replies), 1)
    mark = sink.wire.mark()
    made.session_id ^= 1
    sink.send(made.rttm(1, receiver_id=sink.receiver_id, flags=RttmFlags.REPLY))
    sink.wire.expect_none(frames.is_rttm, "reply for another session", for_ms=SILENCE_MS, start=mark)


@case(
    "K09",
    requirement="A subscription with an unknown congestion control gets no image, and the driver records why.",
    source="Aeron: DefaultCongestionControlSupplier.newInstance",
    stimulus="SETUP frames to a subscription with cc=bogus for 0.3 s, then to one without",
    expected="no image, no status message that reports consumption and ERRORS raised for the first; an image of the second",
)
def k09(bench: Bench) -> None:
    """An unknown congestion control."""
    errors = bench.count(SystemCounter.ERRORS)
    source = bench.source(bench.subscribe("cc=bogus"))
    for _ in range(3):
        source.send(source.frames.setup())
        bench.pause(SETUP_PERIOD_MS)
    check_equal("images with cc=bogus", len(source.images()), 0)
    source.wire.expect_none(frames.is_plain_status, "status message with cc=bogus", for_ms=REACTION_MS, start=0)
    what = f"counter ERRORS above {errors}"
    bench.expect(lambda: bench.count(SystemCounter.ERRORS) > errors, what, within_ms=CONDUCTOR_MS)
    bench.source(bench.subscribe()).start()


@case(
    "K10",
    requirement="With static congestion control the window is always the same, whatever is lost.",
    source="Aeron: StaticWindowCongestionControl.onTrackRebuild",
    stimulus="on a subscription with cc=static: a gap of three frames for 50 ms, its fill, and consumption of all",
    expected="status messages with one window of half a term, and none for the loss alone",
)
def k10(bench: Bench) -> None:
    """A constant window."""
    # More than a quarter of the window, so that consumption is reported too.
    gap = Gap(bench, bench.subscribe("cc=static"), payloads=[bytes(1000)] * 10)
    gap.expect_nak()
    gap.source.wire.collect(WATCH_MS)
    gap.fill()
    gap.expect_delivery()
    at = gap.source.frames.term(gap.end)
    gap.source.wire.expect(
        lambda frame: frames.is_plain_status(frame) and (frame.consumption_term_id, frame.consumption_term_offset) == at,
        f"a status message at position {gap.end}",
        within_ms=CONDUCTOR_MS + bench.option_ns("rcv_status_message_timeout_ns") / 1e6,
    )
    messages = [one.first for one in gap.source.wire.arrivals if one.frames and frames.is_plain_status(one.first)]
    windows = {message.receiver_window for message in messages}
    check_equal("windows of the status messages", windows, {gap.source.window})


@case(
    "K11",
    requirement="RTT requests and replies with times that cannot be are answered or taken, and do no harm.",
    source="Aeron: DataPacketDispatcher.onRttMeasurement; CubicCongestionControl.onRttMeasurement",
    stimulus="on a stream with cc=cubic, requests and replies of the largest and the lowest time, -1 and 0, as echo and as delta",
    expected="each request answered with its echo timestamp; data is delivered as before",
    options=CUBIC,
)
def k11(bench: Bench) -> None:
    """Strange times."""
    source = bench.source(bench.subscribe("cc=cubic"))
    image = source.start()
    made = source.frames
    for echo in STRANGE_TIMES:
        mark = source.wire.mark()
        source.send(made.rttm(echo, receiver_id=0, flags=RttmFlags.REPLY))
        source.wire.expect(
            lambda frame, echo=echo: frames.is_rttm(frame) and not int(frame.flags) and frame.echo_timestamp_ns == echo,  # type: ignore[misc]
            f"a reply with echo timestamp {echo}",
            within_ms=CONDUCTOR_MS,
            start=mark,
        )
        for delta in STRANGE_TIMES:
            source.send(made.rttm(echo, delta, receiver_id=0))
    source.send_data(0, PAYLOAD)
    source.expect_payloads(image, [PAYLOAD])


CASES: tuple[Case, ...] = (k01, k02, k03, k04, *congestion_control_cubic.CASES, k09, k10, k11)
