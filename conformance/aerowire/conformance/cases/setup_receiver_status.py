"""Group A: what a receiver's status messages carry, and where those go that ask for a SETUP without being asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import GROUP_TAG_LENGTH, SmFlags, StatusMessageDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.options import TAGGED_AND_LIMITED
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, REACTION_MS, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench, Subscription
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.wire import Arrival, Wire
from aerowire.conformance.model import case

if TYPE_CHECKING:
    from scapy.packet import Packet

# How often a receiver asks at an explicit control address; no option changes it.
ASKING_MS = 1000.0
# Where a status message carries its tag: behind all that it always carries.
TAG_OFFSET = StatusMessageDecoder.ENCODED_LENGTH


@case(
    "A13",
    requirement="A subscription's rcv-wnd is the window of its status messages, but never more than half a term.",
    source="Aeron: SubscriptionParams.getSubscriptionParams; Configuration.receiverWindowLength; StaticWindowCongestionControl",
    stimulus="SETUPs of a stream with terms of 256 KiB and of one with terms of 64 KiB to a subscription with rcv-wnd=64k",
    expected="windows of 65536 and of 32768",
)
def a13(bench: Bench) -> None:
    """The window that a channel asks for."""
    subscription = bench.subscribe("rcv-wnd=64k")
    wide, narrow = bench.source(subscription), bench.source(subscription)
    wide.frames.term_length = 4 * TERM_LENGTH
    for source, window in ((wide, TERM_LENGTH), (narrow, TERM_LENGTH // 2)):
        source.start()
        message = source.wire.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS).first
        check_equal(f"receiver_window for terms of {source.frames.term_length}", message.receiver_window, window)


@case(
    "A14",
    requirement="Every status message of a receive endpoint carries the endpoint's own receiver id.",
    source="Aeron: ReceiveChannelEndpoint (receiverId); ReceiveChannelEndpoint.sendStatusMessage",
    stimulus="two sessions on one endpoint and one on another: DATA, then SETUP, of each",
    expected="one id in bytes 28 to 35 of all status messages of an endpoint, another one for the other endpoint",
)
def a14(bench: Bench) -> None:
    """Receiver ids are constant and distinct."""
    first, second = bench.subscribe(), bench.subscribe()
    kept = [receiver_ids(bench, first), receiver_ids(bench, second)]
    for ids in kept:
        check_equal("distinct receiver ids of one endpoint", len(ids), 1)
    check_equal("distinct receiver ids of two endpoints", len(set.union(*kept)), 2)


def receiver_ids(bench: Bench, subscription: Subscription) -> set[int]:
    """Return the receiver ids of an endpoint's status messages to two new sessions, asking and plain ones of each."""
    ids: set[int] = set()
    period_ms = bench.option_ns("rcv_status_message_timeout_ns") / 1e6
    for source in (bench.source(subscription), bench.source(subscription)):
        source.send_data(0, b"unknown yet")
        source.expect_elicit(within_ms=CONDUCTOR_MS)
        source.start()
        source.wire.expect(frames.is_plain_status, "a second status message", within_ms=CONDUCTOR_MS + period_ms, start=source.wire.mark())
        statuses = [arrival for arrival in source.wire.arrivals if frames.is_status(arrival.first)]
        messages = [arrival.payload for arrival in statuses if arrival.first.session_id == source.frames.session_id]
        ids.update(int.from_bytes(message[28:36], "little", signed=True) for message in messages)
    return ids


@case(
    "A15",
    requirement="With gtag= a receiver's status messages end with that group tag.",
    source="Aeron: ReceiveChannelEndpoint (groupTag); StatusMessageFlyweight.groupTag",
    stimulus="DATA, then SETUP, to a subscription with gtag=-77",
    expected="asking and plain status messages of 44 bytes, frame_length 44, the tag at offset 36",
)
def a15(bench: Bench) -> None:
    """The tag of a channel."""
    expect_tag(bench, bench.subscribe("gtag=-77"), -77)


@case(
    "A16",
    requirement="A receiver's group tag may be the driver's option, which a channel's gtag= overrides.",
    source="Aeron: MediaDriver.Context.receiverGroupTag; ReceiveChannelEndpoint (groupTag)",
    stimulus="DATA, then SETUP, to a subscription without a tag of its own and to one with gtag=78 of a driver with the tag 77",
    expected="as A15, with 77 and 78",
    options=TAGGED_AND_LIMITED,
)
def a16(bench: Bench) -> None:
    """The tag of an option."""
    expect_tag(bench, bench.subscribe(), bench.option_int("receiver_group_tag"))
    expect_tag(bench, bench.subscribe("gtag=78"), 78)


def expect_tag(bench: Bench, subscription: Subscription, tag: int) -> None:
    """Check the tag of an asking and of a plain status message."""
    source = bench.source(subscription)
    source.send_data(0, b"unknown yet")
    asking = source.expect_elicit(within_ms=CONDUCTOR_MS)
    source.start()
    plain = source.wire.expect(frames.is_plain_status, "a status message", within_ms=CONDUCTOR_MS)
    for kind, arrival in (("an asking", asking), ("a plain", plain)):
        check_equal(f"length of {kind} status message", len(arrival.payload), TAG_OFFSET + GROUP_TAG_LENGTH)
        check_equal(f"frame_length of {kind} status message", arrival.first.frame_length, TAG_OFFSET + GROUP_TAG_LENGTH)
        found = int.from_bytes(arrival.payload[TAG_OFFSET : TAG_OFFSET + GROUP_TAG_LENGTH], "little", signed=True)
        check_equal(f"group tag of {kind} status message", found, tag)


@case(
    "A17",
    requirement="A SETUP whose MTU is larger than the receiver's window makes no image but an error; a good one may follow.",
    source="Aeron: DriverConductor (CreatePublicationImageCommand); Configuration.validateInitialWindowLength",
    stimulus="SETUP with mtu 8192 to a subscription with rcv-wnd=4096, then the same session's SETUP with mtu 1408",
    expected="one error recorded and no image, then an image",
    since="1.52",
)
def a17(bench: Bench) -> None:
    """An MTU beyond the window."""
    source = bench.source(bench.subscribe("rcv-wnd=4096"))
    errors = bench.count(SystemCounter.ERRORS)
    good_mtu, source.frames.mtu = source.frames.mtu, 8192
    source.send(source.frames.setup())
    bench.expect_count(SystemCounter.ERRORS, errors + 1)
    check_equal("images by the SETUP with the large MTU", len(source.images()), 0)
    source.frames.mtu = good_mtu
    # The receiver may learn a moment after the error that the session is free again.
    expect_after_repeated(bench, lambda: source.send(source.frames.setup()), lambda: bool(source.images()), "an available image")
    check_equal("MTU of the image", source.images()[0].log.mtu, good_mtu)


def expect_after_repeated(bench: Bench, stimulus: Callable[[], object], condition: Callable[[], bool], what: str) -> None:
    """Repeat a stimulus every 20 ms, as a sender does more slowly, until its effect is there."""
    deadline = time.monotonic() + CONDUCTOR_MS / 1e3
    while time.monotonic() < deadline and not bench.wait_until(condition, 20):
        stimulus()
    bench.expect(condition, what, within_ms=CONDUCTOR_MS)


@case(
    "A18",
    requirement="A subscription with a control address asks there for a SETUP at once and then each second for as long as it is there.",
    source="Aeron: Receiver.onRegisterReceiveChannelEndpoint; Receiver.checkPendingSetupMessages",
    stimulus="a subscription with control= at a socket of the harness, removed again after two periods",
    expected="status messages with flag 0x80, session 0 and stream 0, a second apart; none after the removal",
    bound="1 s + 20 ms",
)
def a18(bench: Bench) -> None:
    """Asking at an explicit control address."""
    control = bench.wire()
    subscription = bench.listen(f"control={control.authority}")
    is_general = asks(0, 0)
    control.expect(is_general, "a first asking status message", within_ms=CONDUCTOR_MS)
    arrivals = control.collect(2 * ASKING_MS + 3 * TIMER_TOLERANCE_MS, match=is_general, start=0)
    check_intervals("asking status messages", intervals_ms(arrivals), at_least=2, low=ASKING_MS - 2, high=ASKING_MS + TIMER_TOLERANCE_MS)
    bench.client.remove_subscription(subscription.registration_id)
    # What was under way may still come.
    bench.pause(TIMER_TOLERANCE_MS)
    mark = control.mark()
    control.expect_none(lambda _: True, "status message after the last subscription", for_ms=ASKING_MS + 2 * TIMER_TOLERANCE_MS, start=mark)


@case(
    "A19",
    requirement="A subscription to one session with a control address asks there for that session's SETUP too.",
    source="Aeron: Receiver.onAddSubscription",
    stimulus="a subscription with control= at a socket of the harness and session-id=",
    expected="one status message with flag 0x80 for that session and stream, beside the one for session 0 and stream 0",
)
def a19(bench: Bench) -> None:
    """Asking for one session at an explicit control address."""
    control = bench.wire()
    session_id = bench.new_id()
    subscription = bench.listen(f"control={control.authority}|session-id={session_id}")
    special = expect_asking(control, asks(session_id, subscription.stream_id), "an asking status message for the session")
    general = expect_asking(control, asks(0, 0), "an asking status message for any session")
    check_equal("receiver ids of both", len({arrival.first.receiver_id for arrival in (special, general)}), 1)
    found = control.collect(10 * REACTION_MS, match=asks(session_id, subscription.stream_id), start=0)
    check_equal("asking status messages for the session", len(found), 1)


def asks(session_id: int, stream_id: int) -> Callable[[Packet], bool]:
    """Return what recognises a status message that asks for the SETUP of a session."""
    return lambda frame: frames.is_elicit(frame) and (frame.session_id, frame.stream_id) == (session_id, stream_id)


def expect_asking(control: Wire, match: Callable[[Packet], bool], what: str) -> Arrival:
    """Wait for an asking status message and check that it reports nothing."""
    arrival = control.expect(match, what, within_ms=CONDUCTOR_MS)
    message = arrival.first
    check_equal("flags", int(message.flags), int(SmFlags.SEND_SETUP))
    reported = (message.consumption_term_id, message.consumption_term_offset, message.receiver_window)
    check_equal("term, offset and window", reported, (0, 0, 0))
    return arrival
