"""Group H: flow control, sender."""

from __future__ import annotations

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.flow_control_groups import h04, h05, h06, h07, h08, h09, h10, h11, h13
from aerowire.conformance.cases.flow_control_local import h14, h16
from aerowire.conformance.cases.listeners import KIB, SILENCE_MS, Group, append, expect_sent
from aerowire.conformance.cases.published import EVEN_LENGTH, Published
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, GROUP, LOOPBACK, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.harness.wire import free_port
from aerowire.conformance.model import Case, Finding, case

# H12: more than half a term, and less than half a term and the largest message, so that all of it may be asked for.
ASKED = 36
BAD_STRATEGIES = ("bogus", "MIN", "min,t:soon", "tagged,g:none/1")


@case(
    "H01",
    requirement="A sender stops where its window ends, and counts each such stop once.",
    source="Aeron: NetworkPublication.sendData; SystemCounterDescriptor.SENDER_FLOW_CONTROL_LIMITS",
    stimulus="8 frames of 1 KiB; status messages with a window of 4 KiB, then 2 KiB more, then all of it",
    expected="data up to 4 KiB, 6 KiB and 8 KiB, no further; snd-bpe and SENDER_FLOW_CONTROL_LIMITS + 1 for each of the first two",
)
def h01(bench: Bench) -> None:
    """The end of the window."""
    sink = bench.publish()
    limits = bench.count(SystemCounter.SENDER_FLOW_CONTROL_LIMITS)
    append(sink, 8)
    for stops, (position, end) in enumerate(((0, 4 * KIB), (4 * KIB, 6 * KIB)), start=1):
        sink.send_status(position, window=end - position)
        expect_sent(sink, end)
        check_equal("snd-bpe", sink.counter(CounterType.SND_BPE), stops)
        bench.expect_count(SystemCounter.SENDER_FLOW_CONTROL_LIMITS, limits + stops)
    sink.send_status(6 * KIB)
    expect_sent(sink, 8 * KIB)
    check_equal("snd-bpe", sink.counter(CounterType.SND_BPE), 2)


@case(
    "H02",
    requirement="A frame that is longer than what is left of the window waits until all of it may be sent.",
    source="Aeron: NetworkPublication.sendData; TermScanner.scanForAvailability",
    stimulus="3 frames of 1 KiB; windows that end in the middle of the second and 32 bytes before its end, then where it ends",
    expected="the first frame alone for the first two, the second whole for the last",
)
def h02(bench: Bench) -> None:
    """A window smaller than the next frame."""
    sink = bench.publish()
    append(sink, 3)
    for window in (KIB + KIB // 2, 2 * KIB - 32):
        sink.send_status(0, window=window)
        expect_sent(sink, KIB)
    sink.send_status(0, window=2 * KIB)
    expect_sent(sink, 2 * KIB)


@case(
    "H03",
    requirement="A status message with a window of zero connects, but lets a sender send nothing beyond the position in it.",
    source="Aeron: UnicastFlowControl.onStatusMessage; AbstractMinMulticastFlowControl.onIdle",
    stimulus="window 0 at first on a unicast stream; on a stream with fc=min, window 0 behind a window of 8 KiB; then windows",
    expected="a connection and no data until the next window; then the data",
)
def h03(bench: Bench) -> None:
    """A closed window."""
    sink = bench.publish()
    append(sink, 2)
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    sink.send_status(0, window=0)
    bench.expect(lambda: sink.publication.log.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    expect_sent(sink, 0)
    sink.send_status(0)
    expect_sent(sink, 2 * KIB)
    group = Group(bench, "fc=min")
    append(group.sink, 2)
    group.status(1, 0, 8 * KIB)
    expect_sent(group.sink, 2 * KIB)
    group.status(1, 2 * KIB, 0)
    group.expect_limit(2 * KIB)
    append(group.sink, 2)
    expect_sent(group.sink, 2 * KIB)
    group.status(1, 2 * KIB, 8 * KIB)
    expect_sent(group.sink, 4 * KIB)


@case(
    "H12",
    requirement="A retransmission is no longer than the multiple of the receiver window that flow control was given; zero is refused.",
    source="Aeron: FlowControl.calculateRetransmissionLength; FlowControl.retransmitReceiverWindowMultiple",
    stimulus="36 frames of 1 KiB in terms of 64 KiB, and a NAK for all, on streams with rrwm:1 and rrwm:2; a publication with rrwm:0",
    expected="32 frames again with rrwm:1, which is half a term, all 36 with rrwm:2; an error for rrwm:0",
)
def h12(bench: Bench) -> None:
    """The longest retransmission."""
    for multiple, count in ((1, 32), (2, ASKED)):
        published = Published(bench, Group(bench, f"fc=max,rrwm:{multiple}").sink, lengths=[EVEN_LENGTH] * ASKED)
        published.nak(0, ASKED)
        published.sink.wire.expect(frames.is_data, "a retransmission", within_ms=CONDUCTOR_MS, start=published.mark)
        published.sink.wire.collect(SILENCE_MS, start=published.mark)
        length = sum(len(arrival.payload) for arrival in published.resent())
        check_equal(f"bytes again with rrwm:{multiple}", length, count * KIB)
    expect_refused(bench, "max,rrwm:0")


def expect_refused(bench: Bench, strategy: str) -> None:
    """Ask for a publication with a flow control that cannot be."""
    channel = f"aeron:udp?endpoint={GROUP}:{free_port()}|interface={LOOPBACK}|fc={strategy}"
    try:
        bench.client.add_publication(channel, bench.new_id())
    except CommandRefused:
        return
    raise Finding(f"a publication with fc={strategy} refused", "it was accepted")


@case(
    "H15",
    requirement="A publication with a flow control that does not exist, or with parameters that mean nothing, is refused.",
    source="Aeron: DefaultMulticastFlowControlSupplier.newInstance; AbstractMinMulticastFlowControl.initialize",
    stimulus="multicast publications with fc=bogus, MIN, min,t:soon and tagged,g:none/1, then with good ones",
    expected="an error for each of the bad ones; the good ones are accepted",
)
def h15(bench: Bench) -> None:
    """Flow controls that cannot be."""
    for strategy in BAD_STRATEGIES:
        expect_refused(bench, strategy)
    for strategy in ("max", "min,t:1s,g:/2", "tagged,g:7/1,t:500ms"):
        bench.publish_to_group(f"fc={strategy}")


CASES: tuple[Case, ...] = (h01, h02, h03, h04, h05, h06, h07, h08, h09, h10, h11, h12, h13, h14, h15, h16)
