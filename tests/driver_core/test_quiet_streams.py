"""What only says that somebody is there is no work: an agent with a thousand quiet streams backs off."""

from __future__ import annotations

import pytest

from aerowire.base.runner import AgentInvoker
from aerowire.codecs.tables.counters import SystemCounter

MS = 1_000_000
STREAM = 1001
HEARTBEAT_NS, STATUS_NS = 100 * MS, 200 * MS


class Ends:
    """A connected stream whose sender and receiver take their turns one by one."""

    def __init__(self, world) -> None:
        self.world = world
        self.publisher, self.subscriber = world.node(), world.node()
        receive = self.subscriber.receive_endpoint(world.network.open_port(("10.0.0.2", 40456)))
        self.subscriber.receiver.add_subscription(receive, STREAM)
        send = self.publisher.send_endpoint(world.network.open_port(("10.0.0.1", 0), ("10.0.0.2", 40456)))
        self.publication, self.appender = self.publisher.publish(send)
        world.run(20 * MS)
        self.image = self.subscriber.images[0]
        agents = {
            "sender": self.publisher.sender,
            "limits": self.publisher.tracker,
            "receiver": self.subscriber.receiver,
            "rebuild": self.subscriber.tracker,
        }
        self._invokers = {name: AgentInvoker([agent], world.clock) for name, agent in agents.items()}
        for invoker in self._invokers.values():
            invoker.start()

    def work(self, *names: str) -> list[int]:
        """Let the named have a cycle each, with time for the network after it."""
        done = []
        for name in names:
            done.append(self._invokers[name].invoke())
            self.world.clock.advance(MS)
        return done

    def counts(self) -> tuple[int, int, int, int]:
        sent, heard = SystemCounter.HEARTBEATS_SENT, SystemCounter.HEARTBEATS_RECEIVED
        told, learnt = SystemCounter.STATUS_MESSAGES_SENT, SystemCounter.STATUS_MESSAGES_RECEIVED
        return self.publisher.get(sent), self.subscriber.get(heard), self.subscriber.get(told), self.publisher.get(learnt)


@pytest.fixture
def ends(world) -> Ends:
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


def test_the_end_of_a_stream_is_work(ends: Ends) -> None:
    ends.publisher.tracker.close_publication(ends.publication)
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
