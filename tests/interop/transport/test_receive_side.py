"""What the receiving end decides, between our implementation and the official one: window, sessions, gaps, and whether to go on at all."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType
from aerowire.logbuffer.log import LogBuffers
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, STREAM, End, Scenario, counters, finish_excerpt, losing_arrivals, order, other, total
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

BOTH_WAYS = pytest.mark.parametrize("publishing", ["official", "aerowire"])


def channel_of(port: int, parameters: str = "") -> str:
    return f"aeron:udp?endpoint=127.0.0.1:{port}{parameters}"


def wait_for(is_so: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@BOTH_WAYS
def test_cubic_shrinks_the_window_with_loss_and_measures_the_round_trip(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("cubic congestion control, with loss and measured round trips")
    subscribing = other(publishing)
    measuring = {"aeron.CubicCongestionControl.measureRtt": "true", **losing_arrivals(subscribing, 0.001)}
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing, measuring)
    port = free_port()
    stream = scenario.stream()
    stream.subscribe(End(subscribing, receiver), channel_of(port, "|cc=cubic"))
    stream.publish(End(publishing, sender), channel_of(port))
    wait_for(lambda: 0 < total(receiver, "rcv-cc-cubic-wnd") < 10 * 1408, "the window never shrank below that of the beginning")
    stream.compare()
    scenario.prove(receiver, "rcv-cc-cubic-wnd")
    scenario.prove(receiver, "rcv-cc-cubic-rtt")
    scenario.prove(receiver, "NAKs sent")
    stream.finish()
    scenario.finish()


@BOTH_WAYS
def test_a_receiver_that_rejects_an_image_stops_its_sender(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("image rejection")
    subscribing = other(publishing)
    sender = scenario.driver(publishing)
    receiver = scenario.driver(subscribing, {"aeron.image.liveness.timeout": "3s"})
    port = free_port()
    stream = scenario.stream()
    subscriber = stream.subscribe(End(subscribing, receiver), channel_of(port))
    stream.publish(End(publishing, sender), channel_of(port))
    stream.compare()
    assert total(receiver, "rcv-pos") > 0
    order(subscriber, "reject this stream is not wanted")
    wait_for(lambda: total(sender, "Error Frames received"), "the sender heard of no rejection")
    scenario.prove(receiver, "Images rejected")
    scenario.prove(receiver, "Error Frames sent")
    scenario.prove(sender, "Error Frames received")
    image = set(counters(receiver, "rcv-pos"))
    wait_for(lambda: not image & set(counters(receiver, "rcv-pos")), "the rejected image stayed")
    scenario.observed("the rejected image died of silence")
    stream.finish()
    scenario.finish()


@BOTH_WAYS
def test_subscriptions_of_a_session_get_their_own_stream_only(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("session-specific subscriptions, two sessions of one stream")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing)
    port = free_port()
    streams = [scenario.stream(messages=scenario.messages + extra) for extra in (0, 500)]
    for session_id, stream in zip((71, 72), streams, strict=True):
        stream.subscribe(End(subscribing, receiver), channel_of(port, f"|session-id={session_id}"))
    for session_id, stream in zip((71, 72), streams, strict=True):
        stream.publish(End(publishing, sender), channel_of(port, f"|session-id={session_id}"), exclusive="true")
    for stream in streams:
        stream.compare()
    assert len(counters(receiver, "rcv-pos")) == len(counters(receiver, "sub-pos")) == 2
    scenario.observed("two images, one for each subscription")
    for stream in streams:
        stream.finish()
    scenario.finish()


@BOTH_WAYS
def test_an_unreliable_stream_goes_on_past_what_was_lost(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("unreliable stream, gaps filled")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing, losing_arrivals(subscribing, 0.01))
    port = free_port()
    stream = scenario.stream()
    excerpt = stream.take_part(receiver, channel_of(port, "|reliable=false"))
    stream.publish(End(publishing, sender), channel_of(port))
    stream.compare()
    got = finish_excerpt(scenario, excerpt)
    assert stream.messages // 2 < got["messages"] < stream.messages
    scenario.observed("every message that came is one that was sent, in order")
    scenario.prove(receiver, "Loss gap fills", at_least=10)
    assert total(receiver, "NAKs sent") == total(sender, "Retransmits sent") == 0
    stream.finish()
    assert excerpt.finish() == 0, excerpt.said()
    scenario.finish()


@BOTH_WAYS
def test_who_joins_late_gets_all_that_follows(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("second subscriber joins a running image")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing)
    port = free_port()
    stream = scenario.stream(stream=STREAM + 3)
    stream.subscribe(End(subscribing, receiver), channel_of(port))
    stream.publish(End(publishing, sender), channel_of(port), **{"per-second": 4000})
    wait_for(lambda: total(receiver, "rcv-pos") > stream.term_length, "nothing came")
    excerpt = stream.take_part(receiver, channel_of(port))
    stream.compare()
    got = finish_excerpt(scenario, excerpt)
    assert 0 < got["first"] < got["last"] == stream.messages - 1
    assert got["messages"] == got["last"] - got["first"] + 1
    joined = [int(label.rpartition("@")[2]) for label in counters(receiver, "sub-pos")]
    assert min(joined) == 0 < max(joined)
    scenario.observed("the late one joined behind the beginning and missed nothing from there on")
    stream.finish()
    assert excerpt.finish() == 0, excerpt.said()
    scenario.finish()


@BOTH_WAYS
@pytest.mark.parametrize("offset", ["reserved", "0"])
def test_arrivals_carry_their_time(scenario: Scenario, publishing: Side, offset: str) -> None:
    scenario.feature(f"channel-rcv-ts-offset={offset}")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing)
    port = free_port()
    stream = scenario.stream()
    began = time.time_ns()
    if offset == "reserved":
        stream.subscribe(End(subscribing, receiver), channel_of(port, f"|channel-rcv-ts-offset={offset}"))
    else:
        # Stamps lie in the payloads: what arrives is not what was sent.
        subscriber = scenario.bench.peer(
            subscribing,
            "subscriber",
            receiver,
            channel=channel_of(port, f"|channel-rcv-ts-offset={offset}"),
            stream=stream.stream,
            messages=stream.messages,
            timeout=int(LIMIT_S),
        )
        assert subscriber.result(LIMIT_S)["ready"]
    stream.publish(End(publishing, sender), channel_of(port))
    stream.compare()
    if offset != "reserved":
        assert subscriber.outcome("subscriber", LIMIT_S)["messages"] == stream.messages
        scenario.row.messages += stream.messages
    (log,) = (receiver.directory / "images").iterdir()
    with LogBuffers.map(log, writable=False) as image:
        stamps = [stamp for index in range(3) for stamp in stamps_of(image, index, offset)]
    assert len(stamps) > 5
    now = time.time_ns()
    stamped = sum(began < stamp < now for stamp in stamps)
    # The official driver 1.51 stamps the first frame of a datagram only; 1.53 and this one stamp every frame that begins a message.
    assert stamped == len(stamps) if subscribing == "aerowire" else stamped > len(stamps) // 2
    scenario.observed("messages of the image have the time of their arrival")
    stream.finish()
    scenario.finish()


def stamps_of(image: LogBuffers, index: int, offset: str) -> list[int]:
    """Return the times in the frames of a term that begin a message and have room for one, as far as the term is filled."""
    term = image.term_view(index)
    found: list[int] = []
    place = 0
    while place < len(term) and (length := DataHeaderDecoder(term, place).frame_length) > 0:
        header = DataHeaderDecoder(term, place)
        if header.type == FrameType.DATA and header.flags & DataFlags.BEGIN:
            if offset == "reserved":
                found.append(header.reserved_value)
            elif length >= DataHeaderDecoder.ENCODED_LENGTH + 8:
                found.append(int.from_bytes(term[place + DataHeaderDecoder.ENCODED_LENGTH :][:8], "little"))
        place += -(-length // 32) * 32
    return found
