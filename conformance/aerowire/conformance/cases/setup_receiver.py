"""Group A: how a receiver meets a stream, and its status messages."""

from __future__ import annotations

import time

from aerowire.codecs.flyweights.transport import DataFlags, SmFlags, StatusMessageDecoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.cases.setup_receiver_images import a20, a21, a22, a23, a24, a25, a26
from aerowire.conformance.cases.setup_receiver_status import a13, a14, a15, a16, a17, a18, a19
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TIMER_TOLERANCE_MS, Bench, Source
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.log import HEADER_LENGTH
from aerowire.conformance.harness.wire import Arrival
from aerowire.conformance.model import Case, Finding, TimingMiss, case

# A receiver waits this long for the SETUP that it asked for; no option changes it.
PENDING_SETUP_MS = 1000.0
# Watching this long for a reaction that must not come: ten times what an immediate one may take.
SILENCE_MS = 10 * REACTION_MS
# A timer may be read a little before it was set.
EARLY_MS = 2.0
# What A11 and A12 consume.
CONSUMED_FRAME = 1024


@case(
    "A01",
    requirement="A receiver with interest in a stream but no image answers its DATA with one status message that asks for a SETUP.",
    source="Aeron: DataPacketDispatcher.elicitSetupMessageFromSource; ReceiveChannelEndpoint.sendSetupElicitingStatusMessage",
    stimulus="one DATA frame of an unknown session to a subscribed stream",
    expected="one SM of 36 bytes with flag 0x80, term, offset and window 0, to the frame's source",
    bound="5 ms",
)
def a01(bench: Bench) -> None:
    """One eliciting status message."""
    source = bench.source(bench.subscribe())
    left_ns = source.send(source.frames.data(0, b"before any setup"))
    arrival = source.expect_elicit(since_ns=left_ns)
    message = arrival.first
    check_equal("length of the datagram", len(arrival.payload), StatusMessageDecoder.ENCODED_LENGTH)
    check_equal("frame_length", message.frame_length, StatusMessageDecoder.ENCODED_LENGTH)
    check_equal("version", message.version, 0)
    check_equal("flags", int(message.flags), int(SmFlags.SEND_SETUP))
    check_equal("stream_id", message.stream_id, source.frames.stream_id)
    check_equal("consumption_term_id", message.consumption_term_id, 0)
    check_equal("consumption_term_offset", message.consumption_term_offset, 0)
    check_equal("receiver_window", message.receiver_window, 0)
    answers = source.wire.collect(SILENCE_MS, match=frames.is_status, start=0)
    check_equal("status messages for one DATA frame", len(answers), 1)


@case(
    "A02",
    requirement="While a SETUP is awaited, more DATA of the session does not ask for it again.",
    source="Aeron: DataPacketDispatcher (PENDING_SETUP_FRAME); Receiver.addPendingSetupMessage",
    stimulus="DATA of one session every 80 ms for 0.9 s, then DATA of another session",
    expected="one eliciting SM for the first session, one for the other",
    bound="1 s",
)
def a02(bench: Bench) -> None:
    """No second eliciting status message within a second."""
    subscription = bench.subscribe()
    source, other = bench.source(subscription), bench.source(subscription)
    position = source.send_data(0, b"first")
    asked_ns = source.expect_elicit(within_ms=CONDUCTOR_MS).time_ns
    mark = source.wire.mark()
    for _ in range(11):
        source.wire.collect(80)
        position = source.send_data(position, b"more")
    # The receiver still listens and still answers strangers, so the silence is not deafness.
    left_ns = other.send(other.frames.data(0, b"other session"))
    other.expect_elicit(within_ms=CONDUCTOR_MS)
    if left_ns - asked_ns > 0.98 * PENDING_SETUP_MS * 1e6:
        raise TimingMiss("the last DATA within the pending second", f"it left {(left_ns - asked_ns) / 1e6:.0f} ms after the request")
    source.wire.expect_none(frames.is_status, "second status message while the SETUP is pending", for_ms=SILENCE_MS, start=mark)


@case(
    "A03",
    requirement="When a second has passed without the SETUP, DATA of the session asks for it again.",
    source="Aeron: Receiver.checkPendingSetupMessages; DataPacketDispatcher.removePendingSetup",
    stimulus="DATA, no SETUP, DATA again 1.2 s later",
    expected="a second eliciting SM, and no third",
    bound="5 ms after the second DATA",
)
def a03(bench: Bench) -> None:
    """A second eliciting status message after the pending time."""
    source = bench.source(bench.subscribe())
    position = source.send_data(0, b"first")
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    source.wire.collect(1.2 * PENDING_SETUP_MS)
    mark = source.wire.mark()
    left_ns = source.send(source.frames.data(position, b"again"))
    source.expect_elicit(start=mark, since_ns=left_ns)
    answers = source.wire.collect(SILENCE_MS, match=frames.is_status, start=mark)
    check_equal("status messages for the second DATA", len(answers), 1)


@case(
    "A04",
    requirement="DATA with the end-of-stream flag never asks for a SETUP: the stream is over.",
    source="Aeron: DataPacketDispatcher.onDataPacket",
    stimulus="a heartbeat and DATA with flag 0x20 of an unknown session, later the same session's DATA without the flag",
    expected="silence for the first two, one eliciting SM for the last",
)
def a04(bench: Bench) -> None:
    """No status message for end-of-stream DATA."""
    source = bench.source(bench.subscribe())
    mark = source.wire.mark()
    source.send(source.frames.heartbeat(0, flags=frames.UNFRAGMENTED | DataFlags.EOS))
    source.send(source.frames.data(0, b"last", flags=frames.UNFRAGMENTED | DataFlags.EOS))
    source.wire.expect_none(frames.is_status, "status message for end-of-stream DATA", for_ms=SILENCE_MS, start=mark)
    source.send_data(0, b"not the last")
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    answers = source.wire.collect(SILENCE_MS, match=frames.is_status, start=mark)
    check_equal("status messages for the DATA without the flag", len(answers), 1)


@case(
    "A05",
    requirement="DATA of a stream that nobody subscribed to gets no reply and moves no counter of errors or loss.",
    source="Aeron: DataPacketDispatcher.onDataPacket",
    stimulus="DATA, heartbeat and SETUP of an unsubscribed stream to an endpoint in use, then DATA of the subscribed one",
    expected="silence and unchanged counters for the first three, an eliciting SM for the last",
)
def a05(bench: Bench) -> None:
    """Silence for a stream without interest."""
    subscription = bench.subscribe()
    stranger, source = bench.source(subscription), bench.source(subscription)
    stranger.frames.stream_id += 1
    before = bench.counts(
        SystemCounter.INVALID_PACKETS,
        SystemCounter.ERRORS,
        SystemCounter.FLOW_CONTROL_UNDER_RUNS,
        SystemCounter.FLOW_CONTROL_OVER_RUNS,
        SystemCounter.NAK_MESSAGES_SENT,
        SystemCounter.HEARTBEATS_RECEIVED,
    )
    mark = stranger.wire.mark()
    stranger.send(stranger.frames.data(0, b"nobody listens"))
    stranger.send(stranger.frames.heartbeat(0))
    stranger.send(stranger.frames.setup())
    source.send_data(0, b"somebody listens")
    source.expect_elicit(within_ms=CONDUCTOR_MS)
    stranger.wire.expect_none(lambda _: True, "reply to an unsubscribed stream", for_ms=SILENCE_MS, start=mark)
    check_equal("images of the unsubscribed stream", len(stranger.images()), 0)
    bench.expect_counts_unchanged(before)


@case(
    "A06",
    requirement="A subscription to one session does not answer the frames of another.",
    source="Aeron: DataPacketDispatcher.onDataPacket; DataPacketDispatcher.onSetupMessage (NO_INTEREST)",
    stimulus="DATA, heartbeat and SETUP of another session to a subscription with session-id=, then DATA of the one it names",
    expected="silence and no image for the first three, the last is delivered",
)
def a06(bench: Bench) -> None:
    """Silence for a session without interest."""
    session_id = bench.new_id()
    subscription = bench.subscribe(session_id=session_id)
    stranger, source = bench.source(subscription), bench.source(subscription)
    source.frames.session_id = session_id
    image = source.start()
    mark = stranger.wire.mark()
    stranger.send_data(0, b"of no interest")
    stranger.send(stranger.frames.heartbeat(0))
    stranger.send(stranger.frames.setup())
    stranger.send_data(0, b"of no interest")
    source.send_data(0, b"of interest")
    source.expect_payloads(image, [b"of interest"])
    stranger.wire.expect_none(lambda _: True, "reply to a session that nobody asked for", for_ms=SILENCE_MS, start=mark)
    check_equal("images of the other session", len(stranger.images()), 0)


@case(
    "A07",
    requirement="A SETUP of a new session makes an image at the SETUP's position and is answered with a status message for it.",
    source="Aeron: DataPacketDispatcher.onSetupMessage; PublicationImage; DriverConductor.onCreatePublicationImage",
    stimulus="SETUP of an unknown session to a subscribed stream",
    expected="an available image; an SM with flags 0, the SETUP's term and offset, window min(128 KiB, term/2)",
    bound="5 ms after the image",
)
def a07(bench: Bench) -> None:
    """SETUP makes an image and a status message."""
    source = bench.source(bench.subscribe())
    source.send(source.frames.setup())
    image = source.expect_image()
    seen_ns = time.monotonic_ns()
    check_equal("stream_id of the image", image.stream_id, source.frames.stream_id)
    check_equal("source of the image", image.source_identity, source.wire.authority)
    check_equal("join position", image.join_position, 0)
    arrival = source.wire.expect(frames.is_status, "a status message", within_ms=REACTION_MS, since_ns=seen_ns)
    message = arrival.first
    check_equal("length of the datagram", len(arrival.payload), StatusMessageDecoder.ENCODED_LENGTH)
    check_equal("flags", int(message.flags), 0)
    check_equal("session_id", message.session_id, source.frames.session_id)
    check_equal("stream_id", message.stream_id, source.frames.stream_id)
    check_equal("consumption_term_id", message.consumption_term_id, source.frames.initial_term_id)
    check_equal("consumption_term_offset", message.consumption_term_offset, 0)
    check_equal("receiver_window", message.receiver_window, source.window)


@case(
    "A08",
    requirement="A SETUP in the middle of a stream makes an image that joins there.",
    source="Aeron: PublicationImage (initial position); DriverConductor.onCreatePublicationImage",
    stimulus="SETUP with active term = initial + 3 and offset 4096",
    expected="join position 3 terms + 4096 in subscriber, receiver and high-water counters; the SM repeats term and offset",
)
def a08(bench: Bench) -> None:
    """The join position is the SETUP's."""
    source = bench.source(bench.subscribe())
    position = 3 * source.frames.term_length + 4096
    image = source.start(position)
    check_equal("join position", image.join_position, position)
    message = source.wire.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS).first
    check_equal("SM term and offset", (message.consumption_term_id, message.consumption_term_offset), source.frames.term(position))
    check_equal("rcv-pos", source.stream_counter(CounterType.RCV_POS), position)
    check_equal("rcv-hwm", source.stream_counter(CounterType.RCV_HWM), position)
    source.send_data(position, b"joined late")
    source.expect_payloads(image, [b"joined late"])


@case(
    "A09",
    requirement="A SETUP repeated for a live image changes nothing.",
    source="Aeron: DataPacketDispatcher.onSetupMessage",
    stimulus="the same SETUP five times on an active image, then the SETUP of another session",
    expected="one image of the first session, then one of the other",
)
def a09(bench: Bench) -> None:
    """No second image."""
    subscription = bench.subscribe()
    source, other = bench.source(subscription), bench.source(subscription)
    source.start()
    for _ in range(5):
        source.send(source.frames.setup())
    other.start()
    bench.pause(SILENCE_MS)
    count = len(source.images())
    if count != 1:
        raise Finding("one image for the session", f"{count} images")
    check_equal("images withdrawn", len(bench.client.unavailable), 0)


@case(
    "A10",
    requirement="An idle image repeats its status message on a timer of 200 ms.",
    source="Aeron: PublicationImage.sendPendingStatusMessage; aeron.rcv.status.message.timeout",
    stimulus="an image with heartbeats and no data",
    expected="equal status messages 200 ms apart",
    bound="200 ms + 20 ms",
)
def a10(bench: Bench) -> None:
    """Period of idle status messages."""
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    source = bench.source(bench.subscribe())
    source.start()
    mark = source.wire.mark()
    until_ns = time.monotonic_ns() + int(5.5 * period_ms * 1e6)
    while time.monotonic_ns() < until_ns:
        source.send(source.frames.heartbeat(0))
        source.wire.collect(90)
    arrivals = [arrival for arrival in source.wire.arrivals[mark:] if frames.is_plain_status(arrival.first)]
    check_intervals("idle status messages", intervals_ms(arrivals), at_least=4, low=period_ms - 2, high=period_ms + TIMER_TOLERANCE_MS)
    check_equal("distinct contents of idle status messages", len({arrival.payload for arrival in arrivals}), 1)


@case(
    "A11",
    requirement="A status message goes out at once when the consumer has moved by more than a quarter of the window.",
    source="Aeron: PublicationImage.trackRebuild; CongestionControl.threshold",
    stimulus="data of a little more than a quarter of the window, all consumed just after an idle status message",
    expected="a status message with the new position before the timer",
    bound="50 ms, a quarter of the timer",
)
def a11(bench: Bench) -> None:
    """Consumption drives status messages."""
    source = bench.source(bench.subscribe())
    image = source.start()
    position, idle = consume_behind_idle_status(bench, source, image, source.window // 4 + CONSUMED_FRAME)
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    at = source.frames.term(position)
    source.wire.expect(
        lambda frame: frames.is_plain_status(frame) and (frame.consumption_term_id, frame.consumption_term_offset) == at,
        f"a status message at position {position}",
        within_ms=period_ms / 4,
        start=source.wire.arrivals.index(idle) + 1,
    )


@case(
    "A12",
    requirement="A consumer that has moved by a quarter of the window or less waits for the timer with its status message.",
    source="Aeron: PublicationImage.trackRebuild; CongestionControl.threshold",
    stimulus="data of exactly a quarter of the window, all consumed just after an idle status message",
    expected="no status message before the timer's",
    bound="200 ms + 20 ms after the idle one",
)
def a12(bench: Bench) -> None:
    """Little consumption waits for the timer."""
    source = bench.source(bench.subscribe())
    image = source.start()
    _, idle = consume_behind_idle_status(bench, source, image, source.window // 4)
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    following = source.wire.expect(
        frames.is_plain_status,
        "the timer's status message",
        within_ms=period_ms + TIMER_TOLERANCE_MS,
        start=source.wire.arrivals.index(idle) + 1,
        since_ns=idle.time_ns,
    )
    after_ms = (following.time_ns - idle.time_ns) / 1e6
    if after_ms < period_ms - EARLY_MS:
        raise Finding(f"no status message before the timer's at {period_ms:g} ms", f"one after {after_ms:.1f} ms")


def consume_behind_idle_status(bench: Bench, source: Source, image: Image, length: int) -> tuple[int, Arrival]:
    """Send and consume `length` bytes just after a status message of the timer; return the position and that message."""
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    idle = source.wire.expect(
        frames.is_plain_status, "an idle status message", within_ms=CONDUCTOR_MS + period_ms, start=source.wire.mark()
    )
    payload = bytes(CONSUMED_FRAME - HEADER_LENGTH)
    position = 0
    payloads = []
    while position < length:
        position = source.send_data(position, payload)
        payloads.append(payload)
    source.expect_payloads(image, payloads)
    consumed_ns = time.monotonic_ns()
    if consumed_ns - idle.time_ns > period_ms / 2 * 1e6:
        # The timer's own message would be near.
        raise TimingMiss("all consumed in the first half of the timer", f"{(consumed_ns - idle.time_ns) / 1e6:.0f} ms after its message")
    return position, idle


CASES: tuple[Case, ...] = (
    *(a01, a02, a03, a04, a05, a06, a07, a08, a09, a10, a11, a12),
    *(a13, a14, a15, a16, a17, a18, a19),
    *(a20, a21, a22, a23, a24, a25, a26),
)
