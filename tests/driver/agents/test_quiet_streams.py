"""What only says that somebody is there is no work: an agent with a thousand quiet streams backs off."""

from __future__ import annotations

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

MS = 1_000_000
HEARTBEAT_NS, STATUS_NS = 100 * MS, 200 * MS
SOCKETS = 70  # a look reports 64


class Ends:
    """Connected streams, each through sockets of its own, whose sender and receiver take their turns one by one."""

    def __init__(self, world: SimulatedWorld, count: int = 1) -> None:
        self.world = world
        self.publisher, self.subscriber = world.add(AgentHost(world.clock)), world.add(AgentHost(world.clock))
        self.streams = []
        for port in range(40456, 40456 + count):
            self.subscriber.receive_at(world.network.open_port(("10.0.0.2", port)))
            send = self.publisher.send_endpoint(world.network.open_port(("10.0.0.1", 0), ("10.0.0.2", port)))
            self.streams.append(self.publisher.publish(send))
        world.run(200 * MS)
        assert len(self.subscriber.images) == count
        self.publication, self.appender = self.streams[0]
        self.image = self.subscriber.images[0]
        self._turns = {
            "sender": (self.publisher, "sender"),
            "limits": (self.publisher, "conductor"),
            "receiver": (self.subscriber, "receiver"),
            "rebuild": (self.subscriber, "conductor"),
        }

    def work(self, *names: str) -> list[int]:
        """Let the named have a cycle each, with time for the network after it."""
        done = []
        for name in names:
            host, role = self._turns[name]
            done.append(host.step(role))
            self.world.clock.advance(MS)
        return done

    def counts(self) -> tuple[int, int, int, int]:
        sent, heard = SystemCounter.HEARTBEATS_SENT, SystemCounter.HEARTBEATS_RECEIVED
        told, learnt = SystemCounter.STATUS_MESSAGES_SENT, SystemCounter.STATUS_MESSAGES_RECEIVED
        return self.publisher.get(sent), self.subscriber.get(heard), self.subscriber.get(told), self.publisher.get(learnt)


@pytest.fixture
def ends(world: SimulatedWorld) -> Ends:
    return Ends(world)


def test_heartbeats_and_status_messages_on_time_are_sent_heard_and_counted_but_are_no_work(ends: Ends) -> None:
    before, sent = ends.counts(), ends.publisher.get(SystemCounter.BYTES_SENT)
    ends.world.clock.advance(STATUS_NS)
    assert ends.work("sender", "receiver", "sender") == [0, 0, 0]
    assert [now - then for now, then in zip(ends.counts(), before, strict=True)] == [1, 1, 1, 1]
    assert ends.publisher.get(SystemCounter.BYTES_SENT) - sent == 32


def test_data_behind_heartbeats_is_taken_in_the_same_cycle(ends: Ends) -> None:
    for _ in range(5):
        ends.world.clock.advance(HEARTBEAT_NS)
        assert ends.work("sender") == [0]
    assert ends.appender.append(b"at last") > 0
    assert ends.work("limits", "sender")[1] > 0
    heard = ends.subscriber.get(SystemCounter.HEARTBEATS_RECEIVED)
    assert ends.work("receiver")[0] > 0
    assert ends.subscriber.get(SystemCounter.HEARTBEATS_RECEIVED) - heard == 5
    assert ends.image.hwm_position == ends.publication.producer_position


def test_a_status_message_that_moves_the_limit_is_work(ends: Ends) -> None:
    for _ in range(12):
        assert ends.appender.append(bytes(1000)) > 0
    while ends.work("limits", "sender", "receiver") != [0, 0, 0]:
        pass
    ends.subscriber.subscribers[0].poll()
    _, told, heard = ends.work("rebuild", "receiver", "sender")
    assert told > 0 < heard


def test_any_status_message_is_work_while_data_waits_for_a_window(ends: Ends) -> None:
    while ends.appender.append(bytes(1000)) > 0:
        pass
    while any(ends.work("limits", "sender", "receiver")):
        ends.appender.append(bytes(1000))
    assert ends.publication.producer_position > ends.image.hwm_position
    ends.world.clock.advance(STATUS_NS)
    assert ends.work("receiver", "sender") == [0, 1]


def test_the_end_of_a_stream_is_work(ends: Ends) -> None:
    ends.publisher.close_publication(ends.publication)
    ends.work("limits")
    ends.world.clock.advance(HEARTBEAT_NS)
    ends.work("sender", "limits", "sender")
    assert ends.work("receiver")[0] > 0


def test_an_agent_that_left_heartbeats_behind_comes_back_at_once(ends: Ends) -> None:
    for _ in range(300):  # more than it takes in a cycle
        ends.world.clock.advance(HEARTBEAT_NS)
        ends.work("sender")
    before = ends.subscriber.get(SystemCounter.HEARTBEATS_RECEIVED)
    assert ends.work("receiver")[0] > 0
    assert ends.work("receiver") == [0]
    assert ends.subscriber.get(SystemCounter.HEARTBEATS_RECEIVED) - before == 300


def test_more_sockets_than_one_look_takes_are_no_reason_to_rest(world: SimulatedWorld) -> None:
    ends = Ends(world, SOCKETS)
    before = ends.counts()
    ends.world.clock.advance(STATUS_NS)
    ends.work("sender")
    for name in ("receiver", "sender"):
        looks = 0
        while ends.work(name)[0] > 0:
            looks += 1
        assert looks > 1
    assert [now - then for now, then in zip(ends.counts(), before, strict=True)] == [SOCKETS] * 4


def test_more_busy_sockets_than_one_look_takes_are_read_in_batches(world: SimulatedWorld) -> None:
    ends = Ends(world, SOCKETS)
    for publication, appender in ends.streams:
        while appender.append(bytes(1000)) > 0:
            pass
        assert publication.producer_position > 30_000
    while any(ends.work("limits", "sender")):
        pass
    looks = 0
    while any(image.hwm_position < 30_000 for image in ends.subscriber.images):
        ends.work("receiver")
        looks += 1
    assert looks < 20  # 32 datagrams in each of 70 sockets would take 35 looks of 64
