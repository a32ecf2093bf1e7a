"""Group H: the strategies of flow control for streams with several receivers."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import SmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.listeners import KIB, SILENCE_MS, Group, append, expect_sent
from aerowire.conformance.cases.options import SHORT_LIVES
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.model import Finding, case

TAG = 77
TAGGED = TAG.to_bytes(8, "little")
# What old receivers say in place of a group tag when they are to be waited for.
PREFERRED = b"\xff\xff\xff\xff"
# A sender repeats a SETUP that is asked for no sooner than this.
SETUP_PERIOD_MS = 100.0


@case(
    "H04",
    requirement="With fc=max, as without fc, the fastest receiver of a group decides how far the sender may send.",
    source="Aeron: MaxMulticastFlowControl.onStatusMessage; aeron.MulticastFlowControl.supplier",
    stimulus="8 frames of 1 KiB to a group; windows of 2 KiB and 6 KiB of two receivers, then a smaller one; with fc=max and without fc",
    expected="data up to 6 KiB and no further; the rest when the fast receiver has room",
)
def h04(bench: Bench) -> None:
    """The fastest receiver."""
    for params in ("fc=max", ""):
        group = Group(bench, params)
        append(group.sink, 8)
        group.status(1, 0, 2 * KIB)
        expect_sent(group.sink, 2 * KIB)
        group.status(2, 0, 6 * KIB)
        group.status(1, KIB, 2 * KIB)
        expect_sent(group.sink, 6 * KIB)
        group.expect_limit(6 * KIB)
        group.status(2, 6 * KIB, 6 * KIB)
        expect_sent(group.sink, 8 * KIB)


@case(
    "H05",
    requirement="With fc=min the slowest receiver decides how far the sender may send, until it is silent for the receiver timeout.",
    source="Aeron: AbstractMinMulticastFlowControl.processStatusMessage and onIdle; aeron.flow.control.receiver.timeout",
    stimulus="8 frames of 1 KiB to a group; windows of 2 KiB and 16 KiB of two receivers; the slow one falls silent",
    expected="fc-receivers 2 and data up to 2 KiB until the timeout, then fc-receivers 1 and the rest",
    bound="the timeout + 20 ms",
    options=SHORT_LIVES,
)
def h05(bench: Bench) -> None:
    """The slowest receiver."""
    timeout_ms = bench.option_ns("flow_control_receiver_timeout_ns") / 1e6
    check_slowest(Group(bench, "fc=min"), timeout_ms)


def check_slowest(group: Group, timeout_ms: float) -> None:
    """Let the slower of two receivers hold the stream back until it is forgotten."""
    append(group.sink, 8)
    silent_ns = group.status(1, 0, 2 * KIB)
    group.status(2, 0, 16 * KIB)
    group.expect_receivers(2)
    expect_sent(group.sink, 2 * KIB)
    group.expect_forgotten(silent_ns, timeout_ms, receiver=2, position=0, window=16 * KIB)
    group.expect_limit(16 * KIB)
    expect_sent(group.sink, 8 * KIB)


@case(
    "H06",
    requirement="With a minimum group size a publication is connected, and sends, only when so many receivers are there.",
    source="Aeron: AbstractMinMulticastFlowControl.hasRequiredReceivers; NetworkPublication.updateConnectedState",
    stimulus="2 frames of 1 KiB to a group with fc=min,g:/2; a status message of one receiver, then of another; then one leaves",
    expected="no connection and no data with one receiver, both with two; no connection when one of them has left",
    bound="200 ms (through the conductor)",
)
def h06(bench: Bench) -> None:
    """A minimum of receivers."""
    group = Group(bench, "fc=min,g:/2")
    append(group.sink, 2)
    group.status(1, 0, 8 * KIB)
    group.expect_receivers(1)
    if bench.wait_until(lambda: group.sink.publication.log.is_connected, CONDUCTOR_MS):
        raise Finding("no connection with one receiver of two", "the publication is connected")
    expect_sent(group.sink, 0)
    group.status(2, 0, 8 * KIB)
    bench.expect(lambda: group.sink.publication.log.is_connected, "a connection with two receivers", within_ms=CONDUCTOR_MS)
    group.status(1, 0, 8 * KIB)
    expect_sent(group.sink, 2 * KIB)
    group.status(2, 0, 8 * KIB, flags=SmFlags.EOS)
    bench.expect(lambda: not group.sink.publication.log.is_connected, "the connection to end", within_ms=CONDUCTOR_MS)


@case(
    "H07",
    requirement="With fc=min a new receiver whose window ends more than a window behind that of the slowest is not waited for.",
    source="Aeron: AbstractMinMulticastFlowControl.processStatusMessage",
    stimulus="a receiver at 9 KiB with a window of 8 KiB; another with that window, a window and 32 bytes behind it, then just a window",
    expected="fc-receivers and the sender's limit stay for the first; the second is counted and lowers the limit",
)
def h07(bench: Bench) -> None:
    """A receiver too far behind."""
    window, ahead = 8 * KIB, 9 * KIB
    group = Group(bench, "fc=min")
    append(group.sink, 9)
    group.status(1, 0, 16 * KIB)
    expect_sent(group.sink, ahead)
    group.status(1, ahead, window)
    group.expect_limit(ahead + window)
    lowest = ahead - window
    heard = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    group.status(2, lowest - 32, window)
    group.expect_heard(heard)
    check_equal("fc-receivers after one too far behind", group.sink.counter(CounterType.FC_RECEIVERS), 1)
    check_equal("snd-lmt after one too far behind", group.sink.counter(CounterType.SND_LMT), ahead + window)
    group.status(2, lowest, window)
    group.expect_receivers(2)
    group.expect_limit(lowest + window)


def check_tagged(bench: Bench, params: str, good: bytes, strangers: tuple[bytes, ...]) -> None:
    """Let receivers without the right tag offer more than one with it, who alone must be heeded."""
    group = Group(bench, params)
    append(group.sink, 8)
    group.status(1, 0, 2 * KIB, tag=good)
    group.expect_receivers(1)
    heard = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    for index, tag in enumerate(strangers):
        group.status(2 + index, 0, 6 * KIB, tag=tag)
    group.expect_heard(heard, len(strangers))
    check_equal("fc-receivers after those without the tag", group.sink.counter(CounterType.FC_RECEIVERS), 1)
    expect_sent(group.sink, 2 * KIB)
    group.status(1, 2 * KIB, 2 * KIB, tag=good)
    expect_sent(group.sink, 4 * KIB)


@case(
    "H08",
    requirement="With fc=tagged only receivers that show the group tag decide how far the sender may send.",
    source="Aeron: TaggedMulticastFlowControl.onStatusMessage",
    stimulus="8 frames of 1 KiB; a window of 2 KiB with the tag; 6 KiB without a tag and with another; then 2 KiB more with the tag",
    expected="fc-receivers 1, data up to 2 KiB, then up to 4 KiB, and no further",
)
def h08(bench: Bench) -> None:
    """The group tag."""
    check_tagged(bench, f"fc=tagged,g:{TAG}", TAGGED, (b"", (TAG + 1).to_bytes(8, "little")))


@case(
    "H09",
    requirement="Four bytes 0xFF in place of a group tag, as old receivers send them, count as the tag; four others do not.",
    source="Aeron: TaggedMulticastFlowControl.matchesTag; PreferredMulticastFlowControl.PREFERRED_ASF",
    stimulus="8 frames of 1 KiB; a window of 2 KiB with the four bytes; windows of 6 KiB with four other bytes; then 2 KiB more",
    expected="fc-receivers 1, data up to 2 KiB, then up to 4 KiB, and no further",
)
def h09(bench: Bench) -> None:
    """The form of the tag that old receivers know."""
    check_tagged(bench, f"fc=tagged,g:{TAG}", PREFERRED, (bytes(4), TAGGED[:4]))


@case(
    "H10",
    requirement="A receiver that leaves, by the end-of-stream flag or by an ERR frame that belongs to the group, is no longer waited for.",
    source="Aeron: AbstractMinMulticastFlowControl.onIdle and processError; TaggedMulticastFlowControl.onError",
    stimulus="with fc=min and fc=tagged, a slow and a fast receiver; the slow one leaves by flag 0x40, comes back, and leaves by ERR",
    expected="fc-receivers 2, then 1, and the limit of the fast receiver, each time; in the second, no change by an ERR without the tag",
    bound="200 ms",
)
def h10(bench: Bench) -> None:
    """Receivers that leave."""
    for params, tag in (("fc=min", b""), (f"fc=tagged,g:{TAG}", TAGGED)):
        group = Group(bench, params)
        group.status(1, 0, 2 * KIB, tag=tag)
        group.status(2, 0, 4 * KIB, tag=tag)
        group.expect_receivers(2)
        group.expect_limit(2 * KIB)
        group.status(1, 0, 2 * KIB, flags=SmFlags.EOS, tag=tag)
        group.expect_receivers(1)
        group.expect_limit(4 * KIB)
        group.status(1, 0, 2 * KIB, tag=tag)
        group.expect_receivers(2)
        group.expect_limit(2 * KIB)
        if tag:
            received = bench.count(SystemCounter.ERROR_FRAMES_RECEIVED)
            group.reject(1)
            bench.expect_count(SystemCounter.ERROR_FRAMES_RECEIVED, received + 1)
            bench.pause(SILENCE_MS)
            check_equal("fc-receivers after an ERR without the tag", group.sink.counter(CounterType.FC_RECEIVERS), 2)
        group.reject(1, tag=TAG if tag else None)
        group.expect_receivers(1)
        group.expect_limit(4 * KIB)


@case(
    "H11",
    requirement="A receiver timeout in the channel goes before the driver's.",
    source="Aeron: AbstractMinMulticastFlowControl.initialize",
    stimulus="as in H05, with fc=min,t:500ms",
    expected="fc-receivers 2 and data up to 2 KiB for 500 ms, then fc-receivers 1 and the rest",
    bound="500 ms + 20 ms",
)
def h11(bench: Bench) -> None:
    """A timeout of the channel's own."""
    check_slowest(Group(bench, "fc=min,t:500ms"), 500.0)


@case(
    "H13",
    requirement="When a receiver with the tag has asked for a SETUP, the limit stays for the receiver timeout or until it is added.",
    source="Aeron: AbstractMinMulticastFlowControl.onSetup; TaggedMulticastFlowControl.onTriggerSendSetup",
    stimulus="a tagged receiver; requests for a SETUP without the tag and with it, and after each more room of the receiver; "
    "after another request with the tag, the receiver that asked",
    expected="the limit rises at once after the first, after the timeout of 500 ms after the second, with the new receiver after the third",
    bound="the timeout + 20 ms",
)
def h13(bench: Bench) -> None:
    """A limit held for a receiver to come."""
    timeout_ms = 500.0
    group = Group(bench, f"fc=tagged,g:{TAG},t:{timeout_ms:g}ms")

    def elicit(tag: bytes) -> int:
        bench.pause(SETUP_PERIOD_MS)
        mark = group.sink.wire.mark()
        group.elicit(2, tag=tag)
        arrival = group.sink.wire.expect(frames.is_setup, "an elicited SETUP", within_ms=SETUP_PERIOD_MS + TIMER_TOLERANCE_MS, start=mark)
        return arrival.time_ns

    append(group.sink, 8)
    group.status(1, 0, 2 * KIB, tag=TAGGED)
    expect_sent(group.sink, 2 * KIB)
    elicit(b"")
    group.status(1, 2 * KIB, KIB, tag=TAGGED)
    expect_sent(group.sink, 3 * KIB)
    asked_ns = elicit(TAGGED)
    while (left_ms := timeout_ms - TIMER_TOLERANCE_MS - (time.monotonic_ns() - asked_ns) / 1e6) > 0:
        group.status(1, 3 * KIB, KIB, tag=TAGGED)
        bench.pause(min(SILENCE_MS, left_ms))
        limit = group.sink.counter(CounterType.SND_LMT)
        if limit != 3 * KIB and (time.monotonic_ns() - asked_ns) / 1e6 < timeout_ms:
            raise Finding(f"snd-lmt held at {3 * KIB} for {timeout_ms:g} ms after the request", f"it is at {limit}")
    remaining_ms = max(0.0, timeout_ms - (time.monotonic_ns() - asked_ns) / 1e6)
    group.expect_limit(4 * KIB, within_ms=remaining_ms + TIMER_TOLERANCE_MS)
    elicit(TAGGED)
    heard = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    group.status(1, 4 * KIB, KIB, tag=TAGGED)
    group.expect_heard(heard)
    check_equal("snd-lmt after another request", group.sink.counter(CounterType.SND_LMT), 4 * KIB)
    group.status(2, 4 * KIB, KIB, tag=TAGGED)
    group.expect_limit(5 * KIB)
