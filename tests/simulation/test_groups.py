"""Multicast groups of whole drivers in virtual time: who is waited for, who is let go, and what both ends say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights.commands import CommandType, RejectImageEncoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.simulation.world import SimulatedHost, SimulatedWorld
from tests.support.simulated_client import SimulatedClient

MS = 1_000_000
SECOND = 1_000_000_000
GROUP = "aeron:udp?endpoint=224.71.31.1:40456|interface=10.0.0.0/24"
TERM_LENGTH = 64 * 1024
MESSAGE = bytes(968)  # with its header 1,000 bytes, 1,024 in the log
FRAME_LENGTH = 1024
QUICK = {"environ": {}, "term_buffer_length": TERM_LENGTH, "image_liveness_timeout_ns": "1s", "timer_interval_ns": "100ms"}


class Member(SimulatedClient):
    """Takes whatever there is of its image, unless it is told to stall."""

    is_stalled = False

    def work(self) -> int:
        done = self.poll_responses()
        if self.image is None or self.is_stalled:
            return done
        highest = self.counters.value(self._counter(CounterType.RCV_POS))
        taken = highest - self.counters.value(self.position_id)
        self.counters.set_value(self.position_id, highest)
        return done + taken

    @property
    def position(self) -> int:
        return self.counters.value(self.position_id)

    def _counter(self, kind: CounterType) -> int:
        return next(info.counter_id for info in self.counters.for_each() if info.type_id == kind)


class Publisher(SimulatedClient):
    """Offers one message after the other, as long as it is told to."""

    is_sending = False
    sent = 0

    def work(self) -> int:
        done = self.poll_responses()
        while self.is_sending and self.appender is not None and self.appender.append(MESSAGE) > 0:
            self.sent += 1
            done += 1
        return done

    def counter(self, kind: CounterType) -> int:
        return next(self.counters.value(info.counter_id) for info in self.counters.for_each() if info.type_id == kind)

    @property
    def is_connected(self) -> bool:
        return self.appender is not None and self.counter(CounterType.PUB_LMT) > self.counter(CounterType.SND_POS)


class Scene:
    """A publisher's host and members' hosts."""

    def __init__(self, directory: Path) -> None:
        self.world = SimulatedWorld(directory, seed=1)
        self.clients: list[SimulatedClient] = []
        self._count = 0

    def publisher(self, fc: str, channel: str = GROUP, **options: Any) -> Publisher:
        publisher = Publisher(self._host(options))
        publisher.publish(f"{channel}|fc={fc}")
        self._add(publisher, publisher.work)
        return publisher

    def member(self, channel: str = GROUP, **options: Any) -> Member:
        member = Member(self._host(options))
        member.subscribe(channel)
        self._add(member, member.work)
        return member

    def runs(self, duration_ns: int, until: Callable[[], bool] | None = None) -> bool:
        return self.world.run(duration_ns, until=until)

    def _host(self, options: dict[str, Any]) -> SimulatedHost:
        self._count += 1
        return self.world.add_host(f"10.0.0.{self._count}", **{**QUICK, **options})

    def _add(self, client: SimulatedClient, work: Callable[[], int]) -> None:
        self.clients.append(client)
        self.world.add_actor(work)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.world.close()


def test_a_group_is_connected_when_it_has_its_size(scene: Scene) -> None:
    publisher = scene.publisher("min,g:/2")
    first = scene.member()
    assert scene.runs(SECOND, lambda: first.image is not None)
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
    scene.world.actors.remove(dying.work)
    dying.host.kill()
    publisher.is_sending = True
    scene.runs(250 * MS)
    held = quick.position
    assert publisher.counter(CounterType.FC_RECEIVERS) == 2
    assert scene.runs(400 * MS, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    assert scene.runs(100 * MS, lambda: quick.position > held + TERM_LENGTH)


def test_a_member_that_leaves_is_let_go_at_once(scene: Scene) -> None:
    publisher = scene.publisher("min,t:60s")
    staying, leaving = scene.member(), Member(scene._host({}))
    registration_id = leaving.subscribe(GROUP)
    scene.world.add_actor(leaving.work)
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 2)
    leaving.unsubscribe(registration_id)
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    assert staying.image is not None


def test_a_member_that_rejects_the_stream_is_let_go(scene: Scene) -> None:
    publisher = scene.publisher("min,t:60s")
    staying, rejecting = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 2)
    body = RejectImageEncoder.encode(
        client_id=rejecting.client_id,
        correlation_id=rejecting.ring.next_correlation_id(),
        image_correlation_id=rejecting.image_id,
        position=rejecting.position,
        reason="not for me",
    )
    rejecting.ring.write(CommandType.REJECT_IMAGE, body)
    assert scene.runs(SECOND, lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    assert staying.image is not None
    assert publisher.counters.value(SystemCounter.ERROR_FRAMES_RECEIVED) > 0


def test_max_goes_on_without_a_member_that_stalls(scene: Scene) -> None:
    publisher = scene.publisher("max")
    quick, slow = scene.member(), scene.member()
    assert scene.runs(SECOND, lambda: quick.image is not None and slow.image is not None and publisher.is_connected)
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
    publisher = Publisher(scene._host({"multicast_flow_control_strategy": "io.aeron.driver.MinMulticastFlowControl"}))
    publisher.publish(GROUP)
    scene.world.add_actor(publisher.work)
    scene.member()
    assert scene.runs(SECOND, lambda: publisher.is_connected)
    assert publisher.counter(CounterType.FC_RECEIVERS) == 1


@pytest.mark.parametrize(("sender_ttl", "member_ttl", "doubts"), [("|ttl=3", "", 1), ("|ttl=3", "|ttl=3", 0), ("", "|ttl=3", 0)])
def test_a_member_doubts_that_its_answers_travel_as_far_as_the_data(scene: Scene, sender_ttl: str, member_ttl: str, doubts: int) -> None:
    scene.publisher("max", GROUP + sender_ttl)
    member = scene.member(GROUP + member_ttl)
    assert scene.runs(SECOND, lambda: member.image is not None)
    assert member.counters.value(SystemCounter.POSSIBLE_TTL_ASYMMETRY) == doubts


@pytest.mark.parametrize(("group", "is_group"), [("", True), ("|group=infer", True), ("|group=true", True), ("|group=false", False)])
def test_an_image_knows_whether_it_is_one_of_a_group(scene: Scene, group: str, is_group: bool) -> None:
    scene.publisher("max")
    member = scene.member(GROUP + group)
    assert scene.runs(SECOND, lambda: member.image is not None)
    assert member.image is not None
    assert bool(member.image.metadata_fields()["group"]) is is_group


def test_two_publications_of_one_group_share_their_sockets_and_two_strategies(scene: Scene) -> None:
    publisher = scene.publisher("min")
    other = Publisher(publisher.host)
    other.publish(f"{GROUP}|fc=max|session-id=7")
    scene.world.add_actor(other.work)
    member = scene.member()
    assert scene.runs(SECOND, lambda: member.image is not None and other.appender is not None)
    status = [info for info in publisher.counters.for_each() if info.type_id == CounterType.SND_CHANNEL]
    assert len(status) == 1
