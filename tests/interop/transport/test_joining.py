"""Who joins a stream that runs already, by its SETUP: the late one, and the one that had it and would not have it for a while."""

from __future__ import annotations

import pytest

from tests.interop.expected import content, content_from, message_positions
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, STREAM, End, Scenario, counters, finish_excerpt, order, other, total, wait_until
from tests.interop.transport.test_multicast import group_channel
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

BOTH = pytest.mark.parametrize("publishing", ["official", "aerowire"])
# Slow enough for a process that starts meanwhile.
PACE = {"per-second": 1_000}


@BOTH
@pytest.mark.parametrize("media", ["unicast", "multicast"])
def test_a_late_one_gets_all_from_where_the_setup_said(scenario: Scenario, publishing: Side, media: str) -> None:
    """The first one listens at the sender's own driver: a spy, or a member of the group that holds the sender to its pace."""
    is_group = media == "multicast"
    scenario.feature(f"A receiver joins a running {media} stream by its SETUP")
    sender, receiver = End(publishing, scenario.driver(publishing)), End(other(publishing), scenario.driver(other(publishing)))
    channel = group_channel() if is_group else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    # What the late one missed between the SETUP and its first answer can be sent again for half a second.
    stream = scenario.stream(term_length=1 << 20, length_max=1_000)
    stream.subscribe(sender, channel if is_group else f"aeron-spy:{channel}")
    stream.publish(sender, f"{channel}|fc=min" if is_group else f"{channel}|ssc=true", **PACE)
    wait_until(lambda: total(sender.driver, "snd-pos") > stream.term_length, "the stream runs")
    late = stream.take_part(receiver.driver, channel)
    sent = stream.compare()
    got = finish_excerpt(scenario, late)
    (image,) = got["images"]
    joined = image.pop("join_position")
    assert list(message_positions(stream))[-1] == sent["position"]
    assert stream.term_length < joined < sent["position"]
    assert image == content_from(stream, joined)
    assert got["last"] == stream.messages - 1
    assert [int(label.rpartition("@")[2]) for label in counters(receiver.driver, "sub-pos")] == [joined]
    scenario.observed("hash of all messages behind the position that it joined at")
    scenario.prove(receiver.driver, "Status Messages sent")
    stream.finish()
    assert late.finish() == 0, late.said()
    scenario.finish()


@BOTH
def test_who_rejected_an_image_joins_again_when_that_is_gone(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("image rejected in mid-stream, joined again after its end")
    sender = End(publishing, scenario.driver(publishing))
    receiver = End(other(publishing), scenario.driver(other(publishing), {"aeron.image.liveness.timeout": "3s"}))
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream = scenario.stream(stream=STREAM + 1, term_length=1 << 20, length_max=1_000)
    excerpt = stream.take_part(receiver.driver, channel)
    publisher = stream.publish(sender, channel, patient="true", **PACE)
    wait_until(lambda: total(receiver.driver, "rcv-pos") > stream.term_length, "the stream runs")
    (image,) = counters(receiver.driver, "rcv-pos")
    order(excerpt, "reject not now")
    told = publisher.event("error frame", LIMIT_S)
    assert (told["code"], told["text"]) == (13, "not now")
    wait_until(lambda: image not in counters(receiver.driver, "rcv-pos"), "the rejected image has gone")
    sent = stream.compare()
    got = finish_excerpt(scenario, excerpt)
    before, after = got["images"]
    joined = after.pop("join_position")
    assert before.pop("join_position") == 0
    assert stream.term_length < joined < sent["position"]
    assert before == content(stream, 0, before["messages"])
    assert after == content_from(stream, joined)
    scenario.observed("hashes of all messages before the rejection, and behind the position of the second image")
    scenario.prove(receiver.driver, "Images rejected")
    scenario.prove(receiver.driver, "Error Frames sent")
    scenario.prove(sender.driver, "Error Frames received")
    stream.finish()
    assert excerpt.finish() == 0, excerpt.said()
    scenario.finish()
