"""Appends to a leader's log: each with one result, which comes later, and no more at a time than a bound; the event that begins a term."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from aerowire.base.errors import ConsensusModuleError
from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED, CLOSED
from aerowire.cluster.agents.events import MessageAppended
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.cluster.module.log.log_publisher import APPENDS_MAX, Appended, LogPublisher
from aerowire.codecs.flyweights.cluster.enums import ClusterAction, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent


class Agent:
    """The native agent, whose answers a test gives."""

    def __init__(self) -> None:
        self.messages: list[OutboundMessage] = []
        self.proxy = SimpleNamespace(append=self.messages.append)
        self._on_appended: Any = None

    def listen(self, kind: type, on_event: Any) -> None:
        """Note the handler of answers."""
        assert kind is MessageAppended
        self._on_appended = on_event

    def answer(self, position: int, timestamp: int = 100) -> None:
        """Answer the oldest message."""
        self._on_appended(MessageAppended(self.messages.pop(0), position, timestamp))


class Publication:
    """A publication whose offers have the results that are set, then positions."""

    channel = "aeron:udp"

    def __init__(self) -> None:
        self.position = 64
        self.results: list[int] = []
        self.messages: list[bytes] = []

    def offer(self, message: bytes) -> int:
        """Take a message, or return a result that was set."""
        if self.results:
            result = self.results.pop(0)
            self.position += 1024 if result == ADMIN_ACTION else 0
            return result
        self.messages.append(message)
        self.position += (32 + len(message) + 31) // 32 * 32
        return self.position

    def close(self) -> None:
        """End."""


class Log(NamedTuple):
    """A publisher, and what it works with."""

    publisher: LogPublisher
    agent: Agent
    publication: Publication


@pytest.fixture
def log() -> Log:
    clock = SimpleNamespace(time=lambda: 100, time_unit=ClusterTimeUnit.MILLIS)
    agent = Agent()
    core: Any = SimpleNamespace(cluster_clock=clock, context=SimpleNamespace(cluster_member_id=2, app_version=7), log_agent=agent)
    publication: Any = Publication()
    recording: Any = None
    publisher = LogPublisher(core, recording)
    publisher.publication = publication
    return Log(publisher, agent, publication)


def timer(correlation_id: int) -> bytes:
    return TimerEvent(leadership_term_id=1, correlation_id=correlation_id, timestamp=0).encode()


def test_each_append_is_the_agents_in_order_and_has_its_result_later(log: Log) -> None:
    publisher, agent, _ = log
    results: list[Appended] = []
    assert publisher.append(timer(1), results.append)
    assert publisher.append_cluster_action(1, ClusterAction.SNAPSHOT, 0, results.append)
    assert (results, publisher.is_settled) == ([], False)
    assert bytes(agent.messages[0]) == timer(1)
    assert ClusterActionRequest.decode(bytes(agent.messages[1])).action is ClusterAction.SNAPSHOT
    agent.answer(64)
    agent.answer(160, 101)
    assert (results, publisher.is_settled, publisher.result_count) == ([(64, 100), (160, 101)], True, 2)
    assert not any(result.is_refused for result in results)


def test_what_the_agent_does_not_append_is_refused(log: Log) -> None:
    publisher, agent, _ = log
    results: list[Appended] = []
    publisher.append(timer(1), results.append)
    agent.answer(CLOSED)
    assert [result.is_refused for result in results] == [True]


def test_no_more_is_taken_than_a_bound(log: Log) -> None:
    publisher, agent, _ = log
    results: list[Appended] = []
    taken = [publisher.append(timer(number), results.append) for number in range(APPENDS_MAX + 1)]
    assert taken == [True] * APPENDS_MAX + [False]
    agent.answer(64)
    assert publisher.append(timer(0), results.append)


def test_the_event_that_begins_a_term_has_the_position_behind_it_even_where_a_term_buffer_ends_before_it(log: Log) -> None:
    publisher, _, publication = log
    publication.results = [ADMIN_ACTION]
    assert publisher.offer_new_leadership_term_event(5, 64, 9) == 64 + 1024 + 96
    [message] = publication.messages
    event = NewLeadershipTermEvent.decode(message)
    assert (event.log_position, event.timestamp, event.term_base_log_position, event.leader_member_id) == (1184, 100, 64, 2)


def test_the_event_that_begins_a_term_is_offered_again_where_the_log_pushes_back(log: Log) -> None:
    publisher, _, publication = log
    publication.results = [BACK_PRESSURED] * 3
    assert publisher.offer_new_leadership_term_event(5, 64, 9) is None
    assert publisher.offer_new_leadership_term_event(5, 64, 9) == 160


def test_a_log_that_has_ended_is_an_error(log: Log) -> None:
    publisher, _, publication = log
    publication.results = [CLOSED]
    with pytest.raises(ConsensusModuleError, match="log publication is closed"):
        publisher.offer_new_leadership_term_event(5, 64, 9)
