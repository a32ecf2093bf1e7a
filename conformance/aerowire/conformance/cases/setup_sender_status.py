"""Group B: what status messages do to a sender."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, SmFlags, StatusMessageEncoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench, Sink
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.model import Finding, NotSent, case

SILENCE_MS = 10 * REACTION_MS
# Frames of 1 KiB: 32 of them are half a term.
KIB_MESSAGE = bytes(1024 - frames.aligned(0))
# As many datagrams as keep any sender busy for longer than the bound of B23.
BULK_LENGTH, BULK_FRAME = 8 * 1024 * 1024, 64
BULK_MAX_MS = 2_000.0
TAG = 77


def expect_invalid_status(bench: Bench, sink: Sink, *datagrams: bytes) -> None:
    """Send status messages that must be counted as invalid packets, once each, and change nothing; then one that connects."""
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    others = bench.counts(SystemCounter.STATUS_MESSAGES_RECEIVED, SystemCounter.STATUS_MESSAGES_REJECTED)
    for index, datagram in enumerate(datagrams):
        sink.send(datagram)
        bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + index + 1)
    bench.pause(SILENCE_MS)
    bench.expect_counts_unchanged(others)
    check_equal("is_connected after the invalid status message", sink.publication.log.is_connected, False)
    check_equal("snd-lmt after the invalid status message", sink.counter(CounterType.SND_LMT), 0)
    sink.connect()
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + len(datagrams))


def await_disconnection(bench: Bench, sink: Sink, *, within_ms: float = CONDUCTOR_MS) -> None:
    """Wait until the log is marked as without receivers."""
    bench.expect(lambda: not sink.publication.log.is_connected, "the connection to end", within_ms=within_ms)


def check_stays_connected(bench: Bench, sink: Sink, what: str) -> None:
    """Watch the connection for as long as its end would take to show."""
    if bench.wait_until(lambda: not sink.publication.log.is_connected, CONDUCTOR_MS):
        raise Finding(f"a connection after {what}", "it ended")


def edited_status(sink: Sink, *, extra: bytes = b"", **fields: int) -> bytes:
    """A status message that is good but for some fields and for bytes behind it, which its length counts."""
    datagram = bytearray(sink.frames.status(sink.publication.start_position, sink.window, sink.receiver_id) + extra)
    status = StatusMessageEncoder(datagram)
    status.frame_length = len(datagram)
    for name, value in fields.items():
        setattr(status, name, value)
    return bytes(datagram)


@case(
    "B11",
    requirement="A status message for a session that nobody publishes is counted as received and has no effect.",
    source="Aeron: SendChannelEndpoint.onStatusMessage",
    stimulus="status messages of other sessions to a publication's endpoint, then one of its own",
    expected="STATUS_MESSAGES_RECEIVED + 1 each, neither invalid nor rejected, no connection; the last connects",
)
def b11(bench: Bench) -> None:
    """Status messages for nobody."""
    sink = bench.publish()
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    others = bench.counts(SystemCounter.INVALID_PACKETS, SystemCounter.STATUS_MESSAGES_REJECTED)
    for index, session_id in enumerate((sink.frames.session_id ^ 1, bench.new_id())):
        stranger = StreamFrames(
            session_id, sink.frames.stream_id, initial_term_id=sink.frames.initial_term_id, term_length=sink.frames.term_length
        )
        sink.send(stranger.status(0, sink.window, sink.receiver_id))
        bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + index + 1)
    bench.pause(SILENCE_MS)
    check_equal("is_connected after status messages of other sessions", sink.publication.log.is_connected, False)
    check_equal("snd-lmt after status messages of other sessions", sink.counter(CounterType.SND_LMT), 0)
    sink.connect()
    bench.expect_counts_unchanged(others)


@case(
    "B12",
    requirement="A status message more than half a term ahead of the sender is rejected and counted.",
    source="Aeron: NetworkPublication.isValidStatusMessage; SendChannelEndpoint.onStatusMessage",
    stimulus="status messages at term/2 + 32 and at term/2 beyond the sender's position",
    expected="STATUS_MESSAGES_REJECTED + 1 and no connection for the first; the second connects",
)
def b12(bench: Bench) -> None:
    """Status messages too far ahead."""
    sink = bench.publish()
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    rejected = bench.count(SystemCounter.STATUS_MESSAGES_REJECTED)
    sink.send_status(TERM_LENGTH // 2 + 32, window=0)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_REJECTED, rejected + 1)
    bench.pause(SILENCE_MS)
    check_equal("is_connected after the rejected status message", sink.publication.log.is_connected, False)
    check_equal("snd-lmt after the rejected status message", sink.counter(CounterType.SND_LMT), 0)
    sink.send_status(TERM_LENGTH // 2, window=0)
    bench.expect(lambda: sink.publication.log.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_REJECTED, rejected + 1)


@case(
    "B13",
    requirement="A status message more than half a term behind the sender is rejected and counted.",
    source="Aeron: NetworkPublication.isValidStatusMessage; SendChannelEndpoint.onStatusMessage",
    stimulus="status messages that take leave (flag 0x40), at term/2 + 32 and at term/2 behind the sender's position",
    expected="STATUS_MESSAGES_REJECTED + 1 and still a connection after the first; the second is taken and ends the connection",
)
def b13(bench: Bench) -> None:
    """Status messages too far behind."""
    sink = bench.publish()
    sink.connect()
    sink.publish([KIB_MESSAGE] * 32)
    sink.send_status(sink.publication.position)
    sink.publish([KIB_MESSAGE] * 8)
    lowest = sink.publication.position - TERM_LENGTH // 2
    rejected = bench.count(SystemCounter.STATUS_MESSAGES_REJECTED)
    sink.send_status(lowest - FRAME_ALIGNMENT, flags=SmFlags.EOS)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_REJECTED, rejected + 1)
    check_stays_connected(bench, sink, "the rejected status message")
    sink.send_status(lowest, flags=SmFlags.EOS)
    await_disconnection(bench, sink)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_REJECTED, rejected + 1)


@case(
    "B14",
    requirement="A status message with a window above half a term is an invalid packet.",
    source="Aeron: StatusMessageFlyweight.isValid; SendChannelEndpoint.onStatusMessage",
    stimulus="status messages with window term/2 + 1 and term/2",
    expected="INVALID_PACKETS + 1 and no effect for the first; the second connects",
    since="1.53",
)
def b14(bench: Bench) -> None:
    """Windows that cannot be."""
    sink = bench.publish()
    sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
    invalid = bench.count(SystemCounter.INVALID_PACKETS)
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    sink.send_status(window=sink.window + 1)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + 1)
    bench.pause(SILENCE_MS)
    check_equal("is_connected after the invalid status message", sink.publication.log.is_connected, False)
    check_equal("status messages counted as received", bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED), received)
    sink.send_status(window=sink.window)
    bench.expect(sink.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    bench.expect_count(SystemCounter.INVALID_PACKETS, invalid + 1)


@case(
    "B15",
    requirement="A status message with a negative window is an invalid packet.",
    source="Aeron: StatusMessageFlyweight.isValid; SendChannelEndpoint.onStatusMessage",
    stimulus="status messages with windows -1 and -2^31, then one with a good window",
    expected="INVALID_PACKETS + 1 each and no effect; the last connects",
    since="1.53",
)
def b15(bench: Bench) -> None:
    """Negative windows."""
    sink = bench.publish()
    expect_invalid_status(bench, sink, *(edited_status(sink, receiver_window=window) for window in (-1, -(2**31))))


@case(
    "B16",
    requirement="A status message whose offset is no place for a frame in a term is an invalid packet.",
    source="Aeron: StatusMessageFlyweight.isValid; SendChannelEndpoint.onStatusMessage",
    stimulus="status messages with offset 16, with the term's length, and with -32, then one with a good offset",
    expected="INVALID_PACKETS + 1 each and no effect; the last connects",
    since="1.53",
)
def b16(bench: Bench) -> None:
    """Offsets that cannot be."""
    sink = bench.publish()
    offsets = (FRAME_ALIGNMENT // 2, TERM_LENGTH, -FRAME_ALIGNMENT)
    expect_invalid_status(bench, sink, *(edited_status(sink, consumption_term_offset=offset) for offset in offsets))


def expect_limit_held(bench: Bench, sink: Sink, what: str) -> None:
    """Raise a sender's limit by two status messages, try to lower it with two others, and have the stream sent up to it."""
    window = 4 * len(sink.frames.data(0, KIB_MESSAGE))
    sink.send_status(0, window=window)
    sink.publish([KIB_MESSAGE] * 2)
    sent = sink.publication.position
    sink.send_status(sent, window=window)
    limit = sent + window

    def snd_lmt() -> int:
        return sink.counter(CounterType.SND_LMT)

    bench.expect(lambda: snd_lmt() == limit, f"snd-lmt of {what} at {limit}", within_ms=CONDUCTOR_MS, actual=snd_lmt)
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    # As if overtaken, from the same receiver and from another.
    sink.send_status(0, window=window)
    sink.send(sink.frames.status(sent, 0, sink.receiver_id + 1))
    bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + 2)
    bench.pause(SILENCE_MS)
    check_equal(f"snd-lmt of {what} after lower status messages", snd_lmt(), limit)
    sink.publish([KIB_MESSAGE] * 4)


@case(
    "B17",
    requirement="Without a flow control that waits for the slowest, a sender's limit never falls.",
    source="Aeron: UnicastFlowControl.onStatusMessage; MaxMulticastFlowControl.onStatusMessage",
    stimulus="a unicast stream and one to several destinations; status messages with lower positions and smaller windows behind higher",
    expected="snd-lmt stays, and data is sent up to it",
)
def b17(bench: Bench) -> None:
    """Limits that only rise."""
    expect_limit_held(bench, bench.publish(), "a unicast stream")
    expect_limit_held(bench, bench.publish_on_demand("fc=max"), "a stream to several destinations")


@case(
    "B18",
    requirement="Without status messages for the connection timeout the publication is no longer connected and its limit falls back.",
    source="Aeron: NetworkPublication.updateHasReceivers; aeron.publication.connection.timeout",
    stimulus="a connected publication that sent data, then no status message",
    expected="is_connected = 0 and pub-lmt = snd-pos after the timeout, not before",
    bound="the timeout + 200 ms (through the conductor)",
)
def b18(bench: Bench) -> None:
    """Disconnection by silence."""
    timeout_ms = bench.option_ns("publication_connection_timeout_ns") / 1e6
    sink = bench.publish()
    sink.connect()
    sink.publish([b"x" * 100])
    sent = sink.publication.position
    heard_ns = sink.send_status(sent)
    bench.expect(
        lambda: sink.publication.limit == sent + TERM_LENGTH // 2,
        f"pub-lmt half a term beyond {sent}",
        within_ms=CONDUCTOR_MS,
        actual=lambda: f"pub-lmt = {sink.publication.limit}",
    )
    bench.pause(timeout_ms - 100 - (time.monotonic_ns() - heard_ns) / 1e6)
    early = not sink.publication.log.is_connected
    elapsed_ms = (time.monotonic_ns() - heard_ns) / 1e6
    if early and elapsed_ms < timeout_ms:
        raise Finding(f"a connection for {timeout_ms:g} ms", f"it ended within {elapsed_ms:.0f} ms")
    remaining_ms = max(0.0, timeout_ms - elapsed_ms)
    bench.expect(lambda: not sink.publication.log.is_connected, "the connection to end", within_ms=remaining_ms + CONDUCTOR_MS)
    bench.expect(
        lambda: sink.publication.limit == sent,
        f"pub-lmt at snd-pos {sent}",
        within_ms=CONDUCTOR_MS,
        actual=lambda: f"pub-lmt = {sink.publication.limit}",
    )
    check_equal("snd-pos", sink.counter(CounterType.SND_POS), sent)


@case(
    "B19",
    requirement="A stream that lost its receivers by silence is connected again by a status message alone, without a SETUP.",
    source="Aeron: NetworkPublication.onStatusMessage; NetworkPublication.send",
    stimulus="a connected publication, no status message for the connection timeout, then one",
    expected="connected again, new data is sent, and no SETUP since the first status message",
    bound="200 ms (through the conductor)",
)
def b19(bench: Bench) -> None:
    """Connection after silence."""
    timeout_ms = bench.option_ns("publication_connection_timeout_ns") / 1e6
    sink = bench.publish()
    sink.connect()
    sink.publish([KIB_MESSAGE])
    mark = sink.wire.mark()
    await_disconnection(bench, sink, within_ms=timeout_ms + CONDUCTOR_MS)
    sink.send_status(sink.publication.position)
    bench.expect(sink.is_connected, "the publication to be connected again", within_ms=CONDUCTOR_MS)
    sink.publish([KIB_MESSAGE])
    sink.wire.expect_none(frames.is_setup, "SETUP since the first connection", for_ms=SILENCE_MS, start=mark)


@case(
    "B20",
    requirement="A status message with the end-of-stream flag from the only receiver of a unicast stream ends the connection at once.",
    source="Aeron: NetworkPublication.onStatusMessage; ReceiverLivenessTracker.onRemoteClose",
    stimulus="a connected publication that sent data, then a status message with flag 0x40",
    expected="is_connected = 0 and pub-lmt = snd-pos, long before the connection timeout",
    bound="200 ms (through the conductor)",
)
def b20(bench: Bench) -> None:
    """Disconnection by leave."""
    sink = bench.publish()
    sink.connect()
    sink.publish([KIB_MESSAGE])
    sent = sink.publication.position
    sink.send_status(sent)
    check_stays_connected(bench, sink, "a status message without the flag")
    sink.send_status(sent, flags=SmFlags.EOS)
    await_disconnection(bench, sink)
    bench.expect(
        lambda: sink.publication.limit == sent,
        f"pub-lmt at snd-pos {sent}",
        within_ms=CONDUCTOR_MS,
        actual=lambda: f"pub-lmt = {sink.publication.limit}",
    )


@case(
    "B21",
    requirement="A stream with several receivers stays connected until the last of them has taken its leave.",
    source="Aeron: NetworkPublication.onStatusMessage; ReceiverLivenessTracker.onRemoteClose",
    stimulus="two receivers of a stream to several destinations; a status message with flag 0x40 of one, then of the other",
    expected="still a connection and data for both after the first; no connection after the second",
    bound="200 ms (through the conductor)",
)
def b21(bench: Bench) -> None:
    """Leave of one of two."""
    sink = bench.publish_on_demand()
    other, other_id = bench.wire(), sink.receiver_id + 1
    sink.connect()
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    other.send(sink.frames.status(0, sink.window, other_id), sink.driver)
    bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + 1)
    sink.send_status(flags=SmFlags.EOS)
    check_stays_connected(bench, sink, "the leave of one of two receivers")
    mark = other.mark()
    sink.publish([KIB_MESSAGE])
    other.expect(frames.is_data, "data for the receiver that stays", within_ms=CONDUCTOR_MS, start=mark)
    other.send(sink.frames.status(0, sink.window, other_id, flags=SmFlags.EOS), sink.driver)
    await_disconnection(bench, sink)


@case(
    "B22",
    requirement="A status message of another length than 36 or 44 bytes harms nobody: it counts as one without a tag.",
    source="Aeron: TaggedMulticastFlowControl.matchesTag; UnicastFlowControl.onStatusMessage",
    stimulus="status messages of 40 and 52 bytes to a unicast stream, one of 52 bytes to a stream that needs a group tag; then good ones",
    expected="a connection of the unicast stream by each, as flow control there has no use for tags; none of the other but by the good one",
)
def b22(bench: Bench) -> None:
    """Status messages of odd lengths."""
    for length in (4, 16):
        sink = bench.publish()
        sink.wire.expect(frames.is_setup, "a SETUP", within_ms=CONDUCTOR_MS)
        sink.send(edited_status(sink, extra=bytes(length)))
        bench.expect(sink.is_connected, f"a connection by {length} bytes more than a status message has", within_ms=CONDUCTOR_MS)
    sink = bench.publish_on_demand(f"fc=tagged,g:{TAG}/1")
    received = bench.count(SystemCounter.STATUS_MESSAGES_RECEIVED)
    sink.send(edited_status(sink, extra=bytes(16)))
    bench.expect_count(SystemCounter.STATUS_MESSAGES_RECEIVED, received + 1)
    check_stays_unconnected(bench, sink)
    sink.send(edited_status(sink, extra=TAG.to_bytes(8, "little")))
    bench.expect(sink.is_connected, "a connection by a tagged status message", within_ms=CONDUCTOR_MS)
    if not bench.client.is_driver_alive():
        raise Finding("a driver that gives signs of life", "its heartbeat stands still")


def check_stays_unconnected(bench: Bench, sink: Sink) -> None:
    """Watch the log for as long as a connection would take to show."""
    if bench.wait_until(lambda: sink.publication.log.is_connected, CONDUCTOR_MS):
        raise Finding("no connection without the group tag", "the publication is connected")


@case(
    "B23",
    requirement="A sender that has more than enough to send still takes in status messages at least every half status message timeout.",
    source="Aeron: Sender.doWork; Configuration.statusMessageTimeoutNs",
    stimulus="a stream that waits for a window while 8 MiB of another one leave in datagrams of 64 bytes; then the window",
    expected="the waiting stream's data while the other is still being sent",
    bound="half the status message timeout (100 ms) + 20 ms",
)
def b23(bench: Bench) -> None:
    """Status messages in times of plenty."""
    bound_ms = bench.option_ns("rcv_status_message_timeout_ns") / 2e6
    bulk = bench.publish(f"term-length={2 * BULK_LENGTH}|mtu={BULK_FRAME}")
    end = bulk.publication.append_copies(bytes(BULK_FRAME - frames.aligned(0)), BULK_LENGTH // BULK_FRAME)
    sink = bench.publish()
    sink.send_status(window=0)
    bench.expect(lambda: sink.publication.log.is_connected, "the publication to be connected", within_ms=CONDUCTOR_MS)
    sink.publication.append(b"waits for a window")
    bulk.send_status()
    bench.expect(lambda: bulk.counter(CounterType.SND_POS) > 0, "the other stream to be sent", within_ms=CONDUCTOR_MS)
    mark = sink.wire.mark()
    opened_ns = sink.send_status()
    within_ms = bound_ms + TIMER_TOLERANCE_MS
    sink.wire.expect(frames.is_data, "the data of the stream that waits", within_ms=within_ms, start=mark, since_ns=opened_ns)
    if bulk.counter(CounterType.SND_POS) == end:
        raise NotSent("a sender that is busy all the while", f"it has sent all {end} bytes of the other stream")
    # The next case shall meet a sender at rest.
    bench.wait_until(lambda: bulk.counter(CounterType.SND_POS) == end, BULK_MAX_MS)
