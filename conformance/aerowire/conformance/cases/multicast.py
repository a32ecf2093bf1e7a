"""Group I: multicast, on the loopback interface."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from aerowire.codecs.flyweights.transport import RttmFlags, SetupFlags
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.gaps import Gap
from aerowire.conformance.cases.listeners import KIB, Group
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, GROUP, LOOPBACK, REACTION_MS, TIMER_TOLERANCE_MS, Bench, Source, Subscription
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.harness.wire import Match, Wire, free_port
from aerowire.conformance.model import Case, Finding, TimingMiss, case

EVEN_GROUP = "224.20.30.42"
OTHER_GROUP = "224.20.30.51"
SETUP_PERIOD_MS = 100.0
SILENCE_MS = 10 * REACTION_MS
# I03: enough waits to see whether they vary.
GAPS = 12
# What divides waits of a backoff, of which so few are shorter, from what a receiver at rest takes to see a loss.
PART = 0.45
# I05: how many gaps, and of how many no NAK may come.
QUICK_FILLS, QUIET_MIN = 10, 6
# When they are filled: most waits are longer, and a receiver that does not wait has reported by then.
FILL_PART = 0.4
HOPS = 4
# A network for documentation: no machine has an address there.
STRANGE_NETWORK = "203.0.113.0/24"


def join(bench: Bench, group: str = GROUP, params: str = "", *, flags: int = 0) -> tuple[Source, Wire]:
    """Subscribe to a group and introduce a stream there; return its sender and the ear on the control group."""
    subscription, control = bench.subscribe_group(group, params)
    source = bench.source(subscription)
    introduce(bench, source, flags=flags)
    return source, control


def introduce(bench: Bench, source: Source, *, flags: int = 0) -> None:
    """Repeat the SETUP of a stream, as a sender does, until there is an image."""
    for _ in range(20):
        source.send(source.frames.setup(flags=flags))
        if bench.wait_until(lambda: bool(source.images()), SETUP_PERIOD_MS):
            break
    source.expect_image()


def waits_ms(source: Source, ear: Wire, count: int, *, within_ms: float) -> list[float]:
    """Lose every other one of some frames in turn and fill it; return how long each NAK took."""
    found: list[float] = []
    made, length = source.frames, frames.aligned(len(b"x"))
    for index in range(count):
        start = ear.mark()
        position = 2 * index * length
        shown_ns = source.send(made.data(position + length, b"x"))
        nak = ear.expect(nak_from(made, position), "a NAK", within_ms=within_ms, start=start, since_ns=shown_ns)
        check_equal("position of the NAK", made.position(nak.first.term_id, nak.first.term_offset), position)
        found.append(max(0.0, (nak.time_ns - shown_ns) / 1e6))
        source.send(made.data(position, b"x"))
        ear.collect(REACTION_MS)
    return found


def nak_from(made: StreamFrames, position: int) -> Match:
    """Return a match for NAKs from a position on: one that is repeated of a gap before it must not be taken for the next gap's."""
    return lambda frame: frames.is_nak(frame) and made.position(frame.term_id, frame.term_offset) >= position


def backoff_ms(bench: Bench) -> float:
    """Return the longest that a receiver of a group may keep a NAK to itself."""
    return bench.option_ns("nak_multicast_max_backoff_ns") / 1e6


def check_backed_off(waits: Sequence[float], most_ms: float) -> None:
    """Check that waits are not all alike and that half of them are long, as four fifths of the longest is the median."""
    shown = ", ".join(f"{wait:.1f}" for wait in waits)
    if statistics.median(waits) < PART * most_ms or max(waits) - min(waits) < most_ms / 10:
        raise Finding(f"NAKs after waits that differ, of up to {most_ms:g} ms", f"{shown} ms")


@case(
    "I01",
    requirement="A receiver of a group, whose last byte is odd, sends status messages and NAKs to the next address, at the same port.",
    source="Aeron: UdpChannel.parse; ReceiveChannelEndpoint.sendStatusMessage and sendNakMessage",
    stimulus="a SETUP and a gap, to a group that the harness has joined like the next address",
    expected="a status message and a NAK to the next address, none at the sender's own socket nor at the group",
)
def i01(bench: Bench) -> None:
    """The control group."""
    source, control = join(bench)
    data = bench.wire(GROUP, port=source.subscription.address[1], interface=LOOPBACK)
    gap = Gap(bench, source=source, ears=[control])
    gap.expect_nak()
    control.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS)
    for wire, what in ((source.wire, "the sender's own socket"), (data, "the group")):
        wire.expect_none(lambda frame: frames.is_nak(frame) or frames.is_status(frame), f"answer at {what}", for_ms=SILENCE_MS, start=0)


@case(
    "I02",
    requirement="A group whose last byte is even is refused as a place for data.",
    source="Aeron: UdpChannel.parse (validateDataAddress)",
    stimulus="a subscription and a publication with endpoint 224.20.30.42, then with 224.20.30.41",
    expected="an error for each of the first two; the others are accepted",
)
def i02(bench: Bench) -> None:
    """A group for control frames."""
    bad, good = (f"aeron:udp?endpoint={group}:{free_port()}|interface={LOOPBACK}" for group in (EVEN_GROUP, GROUP))
    expect_refusal(lambda: bench.client.add_subscription(bad, bench.new_id()), "a subscription to an even group")
    expect_refusal(lambda: bench.client.add_publication(bad, bench.new_id()), "a publication to an even group")
    bench.client.add_subscription(good, bench.new_id())
    bench.client.add_publication(good, bench.new_id())


@case(
    "I03",
    requirement="A receiver of a group keeps its NAK to itself for a while, which is another one each time, up to the longest backoff.",
    source="Aeron: OptimalMulticastDelayGenerator.generateNewOptimalDelay; aeron.nak.multicast.max.backoff",
    stimulus="12 gaps, one after the other",
    expected="a NAK for each, after waits that differ, half of which are longer than 45 hundredths of the backoff",
    bound="the longest backoff (10 ms) + 20 ms",
)
def i03(bench: Bench) -> None:
    """The backoff of NAKs."""
    source, control = join(bench)
    most_ms = backoff_ms(bench)
    check_backed_off(waits_ms(source, control, GAPS, within_ms=most_ms + TIMER_TOLERANCE_MS), most_ms)


@case(
    "I04",
    requirement="As long as the gap stays open, a receiver of a group repeats its NAK, each time after a backoff.",
    source="Aeron: LossDetector.scan; OptimalMulticastDelayGenerator.retryDelay",
    stimulus="a gap for 150 ms, then its fill",
    expected="five NAKs of the gap at least, with times between them that differ, up to the longest backoff; silence after the fill",
    bound="the longest backoff (10 ms) + 20 ms between two",
)
def i04(bench: Bench) -> None:
    """The backoff of repeated NAKs."""
    source, control = join(bench)
    most_ms = backoff_ms(bench)
    gap = Gap(bench, source=source, ears=[control])
    gap.expect_nak()
    control.collect(15 * most_ms)
    naks = gap.naks()
    if len(naks) < 6:
        raise Finding("6 NAKs or more of a gap that stays open", f"{len(naks)}")
    waits = intervals_ms(naks)
    check_backed_off(waits, most_ms)
    if max(waits) > most_ms + TIMER_TOLERANCE_MS:
        raise TimingMiss(f"NAKs at most {most_ms + TIMER_TOLERANCE_MS:g} ms apart", f"{max(waits):.1f} ms")
    gap.fill()
    gap.expect_delivery()
    control.collect(most_ms)
    control.expect_none(frames.is_nak, "NAK when the gap is filled", for_ms=SILENCE_MS)


@case(
    "I05",
    requirement="A gap that is filled before a receiver of a group has waited long enough is not reported at all.",
    source="Aeron: LossDetector.scan; OptimalMulticastDelayGenerator.generateNewOptimalDelay",
    stimulus="10 gaps of which each is filled after four tenths of the longest backoff, then one that stays open",
    expected="no NAK for 6 of the 10 at least, as few waits are so short; a NAK for the last",
    bound="the longest backoff (10 ms) + 20 ms",
)
def i05(bench: Bench) -> None:
    """A gap that closes in time."""
    source, control = join(bench)
    made, length, most_ms = source.frames, frames.aligned(1), backoff_ms(bench)
    reported = 0
    for index in range(QUICK_FILLS):
        shown, filled = (made.data((2 * index + place) * length, b"x") for place in (1, 0))
        mark = control.mark()
        source.send(shown)
        bench.pause(FILL_PART * most_ms)
        source.send(filled)
        reported += bool(control.collect(most_ms + REACTION_MS, match=frames.is_nak, start=mark))
    if reported > QUICK_FILLS - QUIET_MIN:
        raise Finding(f"no NAK for {QUIET_MIN} of {QUICK_FILLS} gaps that were filled early", f"NAKs for {reported}")
    mark = control.mark()
    source.send(made.data((2 * QUICK_FILLS + 1) * length, b"x"))
    control.expect(frames.is_nak, "a NAK", within_ms=most_ms + TIMER_TOLERANCE_MS, start=mark)


@case(
    "I06",
    requirement="group=false lets a receiver of a group report loss at once, and group=true lets a unicast receiver back off.",
    source="Aeron: DriverConductor.isMulticastSemantics; CommonContext.GROUP_PARAM_NAME",
    stimulus="12 gaps, one after the other, on a group with group=false and on a unicast channel with group=true",
    expected="half of the NAKs before 45 hundredths of the backoff for the first; waits as in I03 for the second",
    bound="the longest backoff (10 ms) + 20 ms",
)
def i06(bench: Bench) -> None:
    """The receiver's own word about groups."""
    most_ms = backoff_ms(bench)
    source, control = join(bench, params="group=false")
    waits = waits_ms(source, control, GAPS, within_ms=most_ms + TIMER_TOLERANCE_MS)
    if statistics.median(waits) > PART * most_ms:
        raise TimingMiss(f"most NAKs within {PART * most_ms:g} ms", f"{statistics.median(waits):.1f} ms in the median")
    single = bench.source(bench.subscribe("group=true"))
    single.start()
    check_backed_off(waits_ms(single, single.wire, GAPS, within_ms=most_ms + TIMER_TOLERANCE_MS), most_ms)


@case(
    "I07",
    requirement="The group flag in a SETUP lets a unicast receiver back off, as it is one of several.",
    source="Aeron: DriverConductor.isMulticastSemantics; SetupFlyweight.GROUP_FLAG",
    stimulus="12 gaps, one after the other, on a unicast channel whose SETUP has flag 0x40",
    expected="a NAK for each, after waits as in I03",
    bound="the longest backoff (10 ms) + 20 ms",
)
def i07(bench: Bench) -> None:
    """The sender's word about groups."""
    source = bench.source(bench.subscribe())
    introduce(bench, source, flags=int(SetupFlags.GROUP))
    most_ms = backoff_ms(bench)
    check_backed_off(waits_ms(source, source.wire, GAPS, within_ms=most_ms + TIMER_TOLERANCE_MS), most_ms)


@case(
    "I08",
    requirement="Each receiver of a group whose status messages come is counted by itself, where flow control counts.",
    source="Aeron: AbstractMinMulticastFlowControl.processStatusMessage; flow control's receiver counter",
    stimulus="status messages of one receiver, of another, and again of the first, to a stream with fc=min",
    expected="fc-receivers 1, 2 and still 2",
)
def i08(bench: Bench) -> None:
    """Receivers that are counted."""
    group = Group(bench, "fc=min")
    for receiver, count in ((1, 1), (2, 2), (1, 2)):
        group.status(receiver, 0, 8 * KIB)
        group.expect_receivers(count)
        bench.pause(SILENCE_MS)
        check_equal("fc-receivers", group.sink.counter(CounterType.FC_RECEIVERS), count)


@case(
    "I09",
    requirement="The ttl of a channel to a group stands in the SETUP and in the IP header.",
    source="Aeron: UdpChannelTransport.openDatagramChannel (IP_MULTICAST_TTL); SetupFlyweight.ttl",
    stimulus="a publication to a group with ttl=4",
    expected="a SETUP with ttl 4, in a datagram whose time to live is 4",
)
def i09(bench: Bench) -> None:
    """The time to live."""
    sink = bench.publish_to_group(f"ttl={HOPS}")
    setup = sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    check_equal("ttl in the SETUP", setup.first.ttl, HOPS)
    check_equal("time to live of the datagram", setup.hops, HOPS)


@case(
    "I10",
    requirement="An interface given as address and prefix is the one whose address lies there; without one the channel is refused.",
    source="Aeron: InterfaceSearchAddress.resolveInterface; NetworkUtil.filterBySubnet",
    stimulus="publications to a group with interface=127.0.0.0/8 and with a network where this machine has no address",
    expected="a SETUP on the loopback interface of the first; an error for the second",
)
def i10(bench: Bench) -> None:
    """The interface of a group."""
    wire = bench.wire(GROUP, interface=LOOPBACK)
    channel = f"aeron:udp?endpoint={wire.authority}|interface="
    bench.client.add_publication(f"{channel}127.0.0.0/8", bench.new_id())
    wire.expect(frames.is_setup, "a SETUP on the loopback interface", within_ms=CONDUCTOR_MS)
    expect_refusal(lambda: bench.client.add_publication(f"{channel}{STRANGE_NETWORK}", bench.new_id()), "a network of nobody")


@case(
    "I11",
    requirement="Subscriptions to two groups at one port get what is sent to their own group, and nothing of the other's.",
    source="Aeron: UdpChannelTransport.openDatagramChannel (bound to the group's address)",
    stimulus="two subscriptions of one stream to two groups at one port; a SETUP and a frame to each group",
    expected="one image each, of the session that was sent to its own group",
)
def i11(bench: Bench) -> None:
    """Two groups at one port."""
    stream_id, port = bench.new_id(), free_port()
    sources = []
    for group in (GROUP, OTHER_GROUP):
        channel = f"aeron:udp?endpoint={group}:{port}|interface={LOOPBACK}"
        registration_id = bench.client.add_subscription(channel, stream_id)
        sources.append(bench.source(Subscription(registration_id, group, port, stream_id, channel, interface=LOOPBACK)))
    for source in sources:
        introduce(bench, source)
    for index, source in enumerate(sources):
        found = {image.session_id for image in bench.client.images_of(source.subscription.registration_id)}
        check_equal(f"images of group {index + 1} of another session", len(found - {source.frames.session_id}), 0)
        payload = bench.random.randbytes(100)
        source.send_data(0, payload)
        source.expect_payloads(source.images()[0], [payload])


@case(
    "I12",
    requirement="A receiver of a group answers an RTT request to the control group.",
    source="Aeron: ReceiveChannelEndpoint.onRttMeasurement; DataPacketDispatcher.onRttMeasurement",
    stimulus="a request on a stream of a group",
    expected="one reply with the request's echo timestamp to the control group, none at the sender's own socket",
    bound="200 ms",
)
def i12(bench: Bench) -> None:
    """A group's RTT reply."""
    source, control = join(bench)
    control.expect(frames.is_plain_status, "a status message", within_ms=2 * CONDUCTOR_MS)
    mark, own = control.mark(), source.wire.mark()
    echo = bench.random.randrange(1, 2**63)
    source.send(source.frames.rttm(echo, receiver_id=0, flags=RttmFlags.REPLY))
    reply = control.expect(frames.is_rttm, "an RTT reply", within_ms=CONDUCTOR_MS, start=mark)
    check_equal("echo_timestamp_ns", reply.first.echo_timestamp_ns, echo)
    check_equal("replies", len(control.collect(SILENCE_MS, match=frames.is_rttm, start=mark)), 1)
    source.wire.expect_none(frames.is_rttm, "reply at the sender's own socket", for_ms=REACTION_MS, start=own)


@case(
    "I13",
    requirement="Each stream of a group is answered with status messages of its own, each at the status message timeout.",
    source="Aeron: PublicationImage.trackRebuild; aeron.rcv.status.message.timeout",
    stimulus="two streams in a group that are silent for a second",
    expected="status messages of each, at least three intervals of the timeout",
    bound="200 ms + 20 ms",
)
def i13(bench: Bench) -> None:
    """Status messages of several streams."""
    source, control = join(bench)
    other = bench.source(source.subscription)
    introduce(bench, other)
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    mark = control.mark()
    control.collect(4.5 * period_ms)
    for sender in (source, other):
        own = [
            one for one in control.arrivals[mark:] if frames.is_plain_status(one.first) and one.first.session_id == sender.frames.session_id
        ]
        high = period_ms + TIMER_TOLERANCE_MS
        check_intervals("status messages of a stream", intervals_ms(own), at_least=3, low=period_ms - REACTION_MS, high=high)


CASES: tuple[Case, ...] = (i01, i02, i03, i04, i05, i06, i07, i08, i09, i10, i11, i12, i13)
