"""Multicast groups of whole drivers in virtual time: who is waited for, who is let go, and what both ends say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

MS = 1_000_000
SECOND = 1_000_000_000
GROUP = "aeron:udp?endpoint=224.71.31.1:40456|interface=10.0.0.0/24"
TERM_LENGTH = 64 * 1024
MESSAGE = bytes(968)  # with its header 1,000 bytes, 1,024 in the log
FRAME_LENGTH = 1024
FRAGMENTS_AT_ONCE = 256
QUICK = {"environ": {}, "term_buffer_length": TERM_LENGTH, "image_liveness_timeout_ns": "1s", "timer_interval_ns": "100ms"}


class Member(StreamClient):
    """Takes whatever there is of its image, unless it is told to stall, and keeps none of it."""

    is_stalled = False

    def work_on_streams(self) -> int:
        if self.subscription is None or self.subscription.is_closed or self.is_stalled:
            return 0
        return len(self.subscription.poll_many(FRAGMENTS_AT_ONCE))

    @property
    def position(self) -> int:
        assert self.image is not None
        return self.image.position


class Publisher(StreamClient):
    """Offers one message after the other, as long as it is told to."""

    is_sending = False
    sent = 0

    def work_on_streams(self) -> int:
        done = 0
        while self.is_sending and self.publication is not None and self.publication.offer(MESSAGE) > 0:
            self.sent += 1
            done += 1
        return done

    @property
    def is_connected(self) -> bool:
        return self.publication is not None and self.counter(CounterType.PUB_LMT) > self.counter(CounterType.SND_POS)


class Scene:
    """A publisher's host and members' hosts."""

    def __init__(self) -> None:
        self.world = SimulatedWorld(seed=1)
        self._count = 0

    def publisher(self, fc: str, channel: str = GROUP, **options: Any) -> Publisher:
        publisher = Publisher(self.host(options))
        publisher.publish(f"{channel}|fc={fc}")
        return publisher

    def member(self, channel: str = GROUP, **options: Any) -> Member:
        member = Member(self.host(options))
        member.subscribe(channel)
        return member

    def runs(self, duration_ns: int, until: Callable[[], bool] | None = None) -> bool:
        return self.world.run(duration_ns, until=until)

    def host(self, options: dict[str, Any]) -> SimulatedHost:
        self._count += 1
        return self.world.add_host(f"10.0.0.{self._count}", **{**QUICK, **options})


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.world.close()


def test_a_group_is_connected_when_it_has_its_size(scene: Scene) -> None:
    publisher = scene.publisher("min,g:/2")
    first = scene.member()
    assert scene.runs(SECOND, lambda: first.has_image)
    assert not scene.runs(SECOND, lambda: publisher.is_connected)
    assert publisher.counter(CounterType.FC_RECEIVERS) == 1
    scene.member()
    assert scene.runs(SECOND, lambda: publisher.is_connected)
    assert publisher.counter(CounterType.FC_RECEIVERS) == 2


def test_min_waits_for_a_member_that_stalls(scene: Scene) -> None:
    publisher = scene.publisher("min,g:/2")
    quick, slow = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: publisher.is_connected)
    slow.is_stalled = publisher.is_sending = True
    scene.runs(2 * SECOND)
    held = publisher.counter(CounterType.SND_POS)
    assert held <= TERM_LENGTH // 2 + FRAME_LENGTH
    assert quick.position == held
    slow.is_stalled = False
    assert scene.runs(SECOND, lambda: slow.position > 4 * TERM_LENGTH)


def test_min_lets_go_of_a_member_that_died_after_the_receiver_timeout(scene: Scene) -> None:
    publisher = scene.publisher("min,t:500ms")
    quick, dying = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 2)
    dying.host.lose_power()
    publisher.is_sending = True
    scene.runs(250 * MS)
    held = quick.position
    assert publisher.counter(CounterType.FC_RECEIVERS) == 2
    assert scene.runs(400 * MS, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    assert scene.runs(100 * MS, lambda: quick.position > held + TERM_LENGTH)


def test_a_member_that_leaves_is_let_go_at_once(scene: Scene) -> None:
    publisher = scene.publisher("min,t:60s")
    staying, leaving = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 2)
    assert leaving.subscription is not None
    leaving.subscription.close()
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    assert staying.has_image


def test_a_member_that_rejects_the_stream_is_let_go(scene: Scene) -> None:
    publisher = scene.publisher("min,t:60s")
    staying, rejecting = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 2)
    assert rejecting.image is not None
    rejecting.client.complete(rejecting.image.async_reject("not for me"))
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    assert staying.has_image
    assert publisher.counters.value(SystemCounter.ERROR_FRAMES_RECEIVED) > 0


def test_max_goes_on_without_a_member_that_stalls(scene: Scene) -> None:
    publisher = scene.publisher("max")
    quick, slow = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: quick.has_image and slow.has_image and publisher.is_connected)
    slow.is_stalled = publisher.is_sending = True
    assert scene.runs(SECOND, lambda: quick.position > 4 * TERM_LENGTH)
    assert slow.position == 0
    assert slow.counters.value(SystemCounter.FLOW_CONTROL_OVER_RUNS) > 0
    with pytest.raises(StopIteration):
        publisher.counter(CounterType.FC_RECEIVERS)


@pytest.mark.parametrize("option", [None, "receiver_group_tag", "flow_control_sm_application_specific_feedback"])
def test_tagged_waits_for_the_tag_whoever_sets_it(scene: Scene, option: str | None) -> None:
    publisher = scene.publisher("tagged,g:77/1")
    stranger = scene.member()
    assert not scene.runs(SECOND, lambda: publisher.is_connected)
    values: dict[str | None, dict[str, Any]] = {
        "receiver_group_tag": {"receiver_group_tag": 77},
        "flow_control_sm_application_specific_feedback": {"flow_control_sm_application_specific_feedback": "4D" + "00" * 7},
    }
    member = scene.member(GROUP if option else f"{GROUP}|gtag=77", **values.get(option, {}))
    assert scene.runs(SECOND, lambda: publisher.is_connected)
    assert publisher.counter(CounterType.FC_RECEIVERS) == 1
    stranger.is_stalled = publisher.is_sending = True
    assert scene.runs(SECOND, lambda: member.position > 4 * TERM_LENGTH)
    member.is_stalled = True
    scene.runs(SECOND)
    assert publisher.counter(CounterType.SND_POS) <= member.position + TERM_LENGTH // 2 + FRAME_LENGTH


def test_the_driver_s_strategy_is_what_channels_without_fc_get(scene: Scene) -> None:
    publisher = Publisher(scene.host({"multicast_flow_control_strategy": "io.aeron.driver.MinMulticastFlowControl"}))
    publisher.publish(GROUP)
    scene.member()
    assert scene.runs(SECOND, lambda: publisher.is_connected)
    assert publisher.counter(CounterType.FC_RECEIVERS) == 1


@pytest.mark.parametrize(("sender_ttl", "member_ttl", "doubts"), [("|ttl=3", "", 1), ("|ttl=3", "|ttl=3", 0), ("", "|ttl=3", 0)])
def test_a_member_doubts_that_its_answers_travel_as_far_as_the_data(scene: Scene, sender_ttl: str, member_ttl: str, doubts: int) -> None:
    scene.publisher("max", GROUP + sender_ttl)
    member = scene.member(GROUP + member_ttl)
    assert scene.runs(SECOND, lambda: member.has_image)
    assert member.counters.value(SystemCounter.POSSIBLE_TTL_ASYMMETRY) == doubts


@pytest.mark.parametrize(("group", "is_group"), [("", True), ("|group=infer", True), ("|group=true", True), ("|group=false", False)])
def test_an_image_knows_whether_it_is_one_of_a_group(scene: Scene, group: str, is_group: bool) -> None:
    scene.publisher("max")
    member = scene.member(GROUP + group)
    assert scene.runs(SECOND, lambda: member.has_image)
    assert bool(member.image_log().metadata_fields()["group"]) is is_group


def test_two_publications_of_one_group_share_their_sockets_and_two_strategies(scene: Scene) -> None:
    publisher = scene.publisher("min")
    other = Publisher(publisher.host)
    other.publish(f"{GROUP}|fc=max|session-id=7", is_exclusive=True)
    member = scene.member()
    assert scene.runs(SECOND, lambda: member.has_image and other.publication is not None)
    assert other.errors == []
    status = [info for info in publisher.counters.for_each() if info.type_id == CounterType.SND_CHANNEL]
    assert len(status) == 1
