"""Group B: how a sender introduces its stream."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import SetupDecoder, SetupFlags, SmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, REACTION_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.wire import free_port
from aerowire.conformance.model import Finding, TimingMiss, case

# Senders repeat a SETUP and send heartbeats with this period; no option changes it.
SETUP_PERIOD_MS = 100.0
SILENCE_MS = 10 * REACTION_MS


def expect_setup_flag(sink: Sink, flag: SetupFlags, what: str, *, is_set: bool) -> None:
    """Wait for a SETUP and check one of its flags."""
    arrival = sink.wire.expect(frames.is_setup, f"a SETUP of {what}", within_ms=CONDUCTOR_MS)
    check_equal(f"flag 0x{flag:02X} in the SETUP of {what}", bool(int(arrival.first.flags) & flag), is_set)


@case(
    "B01",
    requirement="A sender without receivers repeats its SETUP every 100 ms.",
    source="Aeron: NetworkPublication.setupMessageCheck",
    stimulus="a publication to a socket that never answers",
    expected="the first SETUP at once, then one every 100 ms, and nothing else",
    bound="200 ms for the first (through the conductor); 100 ms + 20 ms",
)
def b01(bench: Bench) -> None:
    """Period of SETUP frames."""
    sink = bench.publish()
    sink.wire.collect(6 * SETUP_PERIOD_MS)
    arrivals = sink.wire.arrivals
    others = [arrival for arrival in arrivals if not frames.is_setup(arrival.first)]
    if others:
        raise Finding("SETUP frames only", f"{others[0]!r}")
    first_ms = (arrivals[0].time_ns - sink.added_ns) / 1e6 if arrivals else 0.0
    if first_ms > CONDUCTOR_MS:
        raise TimingMiss(f"the first SETUP within {CONDUCTOR_MS:g} ms", f"it came after {first_ms:.0f} ms")
    check_intervals("SETUP", intervals_ms(arrivals), at_least=4, low=SETUP_PERIOD_MS - 2, high=SETUP_PERIOD_MS + TIMER_TOLERANCE_MS)


@case(
    "B02",
    requirement="A SETUP describes the stream exactly as the channel asked for it.",
    source="Aeron: NetworkPublication.setupMessageCheck; PublicationParams",
    stimulus="a unicast publication with session-id, init-term-id, term-id, term-offset, term-length, mtu and ttl in its channel",
    expected="a SETUP of 40 bytes with these values and flags 0, but ttl 0: a time to live is multicast's",
)
def b02(bench: Bench) -> None:
    """SETUP fields are the channel's."""
    session_id, initial_term_id = -bench.new_id(), bench.random.randrange(-(2**31), 2**31 - 10)
    term_id, term_offset, term_length, mtu = initial_term_id + 4, 1024, 2 * TERM_LENGTH, 1344
    sink = bench.publish(
        f"session-id={session_id}|init-term-id={initial_term_id}|term-id={term_id}|term-offset={term_offset}"
        f"|term-length={term_length}|mtu={mtu}|ttl=5"
    )
    arrival = sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    setup = arrival.first
    check_equal("length of the datagram", len(arrival.payload), SetupDecoder.ENCODED_LENGTH)
    check_equal("frame_length", setup.frame_length, SetupDecoder.ENCODED_LENGTH)
    check_equal("version", setup.version, 0)
    check_equal("flags", int(setup.flags), 0)
    check_equal("session_id", setup.session_id, session_id)
    check_equal("stream_id", setup.stream_id, sink.publication.stream_id)
    check_equal("initial_term_id", setup.initial_term_id, initial_term_id)
    check_equal("active_term_id", setup.active_term_id, term_id)
    check_equal("term_offset", setup.term_offset, term_offset)
    check_equal("term_length", setup.term_length, term_length)
    check_equal("mtu", setup.mtu, mtu)
    check_equal("ttl", setup.ttl, 0)


@case(
    "B03",
    requirement="A SETUP carries the group flag where many may listen, multicast and several destinations, and nowhere else.",
    source="Aeron: NetworkPublication.setupMessageCheck; UdpChannel.hasGroupSemantics",
    stimulus="publications to a multicast group, to a dynamic control port that is asked for a SETUP, and to a unicast endpoint",
    expected="flag 0x40 in the SETUPs of the first two, not in that of the third",
)
def b03(bench: Bench) -> None:
    """The group flag."""
    expect_setup_flag(bench.publish_to_group(), SetupFlags.GROUP, "a multicast stream", is_set=True)
    expect_setup_flag(bench.publish_on_demand(), SetupFlags.GROUP, "a stream to several destinations", is_set=True)
    expect_setup_flag(bench.publish(), SetupFlags.GROUP, "a unicast stream", is_set=False)


@case(
    "B04",
    requirement="A SETUP asks for a response stream when its channel names the subscription that waits for one, and only then.",
    source="Aeron: NetworkPublication.isSendResponseSetupFlag",
    stimulus="publications with a response subscription's id, without one, and in response to an image that asked for it",
    expected="flag 0x80 in the SETUP of the first, not in those of the others",
)
def b04(bench: Bench) -> None:
    """The flag that asks for a response."""
    flag = SetupFlags.SEND_RESPONSE
    waiting = bench.client.add_subscription(f"aeron:udp?control-mode=response|control={LOOPBACK}:{free_port()}", bench.new_id())
    asking = bench.publish(f"response-correlation-id={waiting}")
    expect_setup_flag(asking, flag, "a stream that wants a response", is_set=True)
    expect_setup_flag(bench.publish(), flag, "a stream that wants none", is_set=False)
    source = bench.source(bench.subscribe())
    source.send(source.frames.setup(flags=flag))
    image = source.expect_image()
    response = bench.publish_on_demand(f"response-correlation-id={image.correlation_id}", mode="response")
    expect_setup_flag(response, flag, "a response stream", is_set=False)


@case(
    "B05",
    requirement="A sender sends neither DATA nor heartbeats before it has heard a status message.",
    source="Aeron: NetworkPublication.send; NetworkPublication.heartbeatMessageCheck",
    stimulus="data written into the log of a publication without receivers for 0.5 s, then the first status message",
    expected="only SETUP frames before it; the data after it",
)
def b05(bench: Bench) -> None:
    """Nothing but SETUP before the first status message."""
    sink = bench.publish()
    message = b"written before anybody listens"
    sink.publication.append(message)
    sink.wire.collect(5 * SETUP_PERIOD_MS)
    mark = sink.wire.mark()
    for arrival in sink.wire.arrivals:
        if not frames.is_setup(arrival.first):
            raise Finding("SETUP frames only before the first status message", f"{arrival!r}")
    if mark == 0:
        raise Finding("SETUP frames", "nothing on the wire")
    sink.send_status()
    arrival = sink.wire.expect(frames.is_data, "the data", within_ms=CONDUCTOR_MS, start=mark)
    check_equal("payload", bytes(arrival.first.data), message)


@case(
    "B06",
    requirement="The first valid status message connects the publication, opens half a term to the publisher and ends the SETUPs.",
    source="Aeron: NetworkPublication.onStatusMessage; NetworkPublication.updatePublisherPositionAndLimit",
    stimulus="a status message at the SETUP's position",
    expected="is_connected = 1, pub-lmt = position + term/2, no further SETUP",
    bound="200 ms (through the conductor); no SETUP in the next 350 ms",
)
def b06(bench: Bench) -> None:
    """Connection by status message."""
    sink = bench.publish()
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    check_equal("is_connected before any status message", sink.publication.log.is_connected, False)
    check_equal("pub-lmt before any status message", sink.publication.limit, 0)
    sink.send_status()
    bench.expect(sink.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    check_equal("pub-lmt", sink.publication.limit, TERM_LENGTH // 2)
    check_equal("snd-lmt", sink.counter(CounterType.SND_LMT), sink.window)
    sink.wire.expect_none(frames.is_setup, "SETUP after the status message", for_ms=3.5 * SETUP_PERIOD_MS)


@case(
    "B07",
    requirement="A status message with flag 0x80 brings a SETUP, though no sooner than 100 ms after the last.",
    source="Aeron: NetworkPublication.triggerSendSetupFrame; NetworkPublication.setupMessageCheck",
    stimulus="a connected publication without SETUPs, then a status message with flag 0x80",
    expected="one SETUP, and no second one in the next 350 ms",
    bound="100 ms + 20 ms",
)
def b07(bench: Bench) -> None:
    """A SETUP on request."""
    sink = bench.publish()
    sink.connect()
    sink.wire.expect_none(frames.is_setup, "SETUP while connected", for_ms=2.5 * SETUP_PERIOD_MS)
    mark = sink.wire.mark()
    asked_ns = sink.send(sink.frames.elicit(sink.receiver_id))
    sink.wire.expect(frames.is_setup, "an elicited SETUP", within_ms=SETUP_PERIOD_MS + TIMER_TOLERANCE_MS, start=mark, since_ns=asked_ns)
    answers = sink.wire.collect(3.5 * SETUP_PERIOD_MS, match=frames.is_setup, start=mark)
    check_equal("SETUP frames for one request", len(answers), 1)


@case(
    "B08",
    requirement="Any number of requests brings at most one SETUP in 100 ms.",
    source="Aeron: NetworkPublication.setupMessageCheck",
    stimulus="a hundred status messages with flag 0x80 within 50 ms",
    expected="at least one SETUP, none closer than 100 ms to another",
    bound="100 ms",
)
def b08(bench: Bench) -> None:
    """SETUPs on request are limited in rate."""
    sink = bench.publish()
    sink.connect()
    sink.wire.collect(1.5 * SETUP_PERIOD_MS)
    request = sink.frames.elicit(sink.receiver_id)
    mark = sink.wire.mark()
    started_ns = left_ns = time.monotonic_ns()
    for index in range(100):
        left_ns = sink.send(request)
        if index % 10 == 9:
            sink.wire.wait(started_ns + (index + 1) * 500_000)
    if left_ns - started_ns > 90_000_000:
        raise TimingMiss("100 requests sent within 50 ms", f"it took {(left_ns - started_ns) / 1e6:.0f} ms")
    arrivals = sink.wire.collect(3.5 * SETUP_PERIOD_MS, match=frames.is_setup, start=mark)
    if not arrivals:
        raise Finding("at least one SETUP", "none")
    gaps = intervals_ms(arrivals)
    if gaps and min(gaps) < SETUP_PERIOD_MS - 2:
        raise Finding("SETUP frames at least 100 ms apart", f"{len(arrivals)} of them, the closest {min(gaps):.1f} ms apart")


@case(
    "B09",
    requirement="A status message with flag 0x80 asks for a SETUP and nothing else: it neither connects nor moves the sender's limit.",
    source="Aeron: SendChannelEndpoint.onStatusMessage; NetworkPublication.triggerSendSetupFrame",
    stimulus="a publication without receivers that has data; status messages with flag 0x80 and a full window, then one without the flag",
    expected="no connection, snd-lmt unmoved and no data after the first ones; a connection and the data after the last",
)
def b09(bench: Bench) -> None:
    """A request for SETUP is no receiver."""
    sink = bench.publish()
    sink.publication.append(b"for receivers only")
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    for _ in range(3):
        sink.send_status(flags=SmFlags.SEND_SETUP)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + 3)
    bench.pause(SILENCE_MS)
    check_equal("is_connected after requests for SETUP", sink.publication.log.is_connected, False)
    check_equal("snd-lmt after requests for SETUP", sink.counter(CounterType.SND_LMT), 0)
    sink.wire.expect_none(lambda frame: not frames.is_setup(frame), "data for a request for SETUP", for_ms=SILENCE_MS, start=0)
    mark = sink.wire.mark()
    sink.send_status()
    sink.wire.expect(frames.is_data, "the data", within_ms=CONDUCTOR_MS, start=mark)
    bench.expect(lambda: sink.publication.log.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)


@case(
    "B10",
    requirement="A SETUP on request describes where the sender is now, not where it began.",
    source="Aeron: NetworkPublication.send; NetworkPublication.setupMessageCheck",
    stimulus="a publication that has sent data beyond the end of its first term, then a status message with flag 0x80",
    expected="a SETUP with the term id and the offset of snd-pos, and the initial term id of before",
    bound="100 ms + 20 ms",
)
def b10(bench: Bench) -> None:
    """The sender's place in an elicited SETUP."""
    initial_term_id = bench.random.randrange(-(2**31), 2**31 - 10)
    sink = bench.publish(f"init-term-id={initial_term_id}|term-id={initial_term_id + 2}|term-offset={TERM_LENGTH - 2048}")
    sink.connect()
    sink.publish([bench.random.randbytes(1000) for _ in range(4)])
    term_id, term_offset = sink.frames.term(sink.publication.position)
    mark = sink.wire.mark()
    asked_ns = sink.send(sink.frames.elicit(sink.receiver_id))
    bound_ms = SETUP_PERIOD_MS + TIMER_TOLERANCE_MS
    setup = sink.wire.expect(frames.is_setup, "an elicited SETUP", within_ms=bound_ms, start=mark, since_ns=asked_ns).first
    check_equal("active_term_id", setup.active_term_id, term_id)
    check_equal("term_offset", setup.term_offset, term_offset)
    check_equal("initial_term_id", setup.initial_term_id, initial_term_id)
    check_equal("term_length", setup.term_length, TERM_LENGTH)
