"""Appends to a leader's log: in order, stamped, each with one result, which comes in a later poll."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.base.errors import ConsensusModuleError
from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED, CLOSED
from aerowire.cluster.module.log.log_publisher import APPENDS_MAX, Appended, LogPublisher
from aerowire.codecs.flyweights.cluster.enums import ClusterAction, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent


class Publication:
    """A publication whose offers have the results that are set, then positions."""

    channel = "aeron:udp"

    def __init__(self) -> None:
        self.position = 0
        self.results: list[int] = []
        self.messages: list[bytes] = []

    def offer_parts(self, *parts: bytes) -> int:
        """Take a message, or return a result that was set."""
        if self.results:
            result = self.results.pop(0)
            self.position += 1024 if result == ADMIN_ACTION else 0
            return result
        self.messages.append(b"".join(bytes(part) for part in parts))
        self.position += (32 + len(self.messages[-1]) + 31) // 32 * 32
        return self.position

    def close(self) -> None:
        """End."""


@pytest.fixture
def log() -> tuple[LogPublisher, Publication, SimpleNamespace]:
    clock = SimpleNamespace(now=100, time_unit=ClusterTimeUnit.MILLIS)
    clock.time = lambda: clock.now
    core: Any = SimpleNamespace(cluster_clock=clock, context=SimpleNamespace(cluster_member_id=2, app_version=7))
    recording: Any = None
    publication: Any = Publication()
    publisher = LogPublisher(core, recording)
    publisher.publication = publication
    return publisher, publication, clock


def timer(correlation_id: int) -> bytes:
    return TimerEvent(leadership_term_id=1, correlation_id=correlation_id, timestamp=0).encode()


def test_an_append_has_its_result_in_a_later_poll(log: tuple[LogPublisher, Publication, SimpleNamespace]) -> None:
    publisher, publication, _ = log
    results: list[Appended] = []
    assert publisher.append(timer(1), results.append)
    assert publisher.append_cluster_action(1, ClusterAction.SNAPSHOT, 0, results.append)
    assert publisher.append_new_leadership_term_event(5, 64, 9, results.append)
    assert (results, publisher.is_settled) == ([], False)
    assert publisher.poll() == 3
    assert (results, publisher.is_settled) == ([(64, 100), (160, 100), (256, 100)], True)
    assert [TimerEvent.decode(publication.messages[0]).timestamp, ClusterActionRequest.decode(publication.messages[1])] == [
        100,
        ClusterActionRequest(leadership_term_id=1, log_position=160, timestamp=100, action=ClusterAction.SNAPSHOT, flags=0),
    ]
    event = NewLeadershipTermEvent.decode(publication.messages[2])
    assert (event.log_position, event.timestamp, event.term_base_log_position, event.leader_member_id) == (256, 100, 64, 2)


def test_appends_wait_in_order_where_the_log_pushes_back(log: tuple[LogPublisher, Publication, SimpleNamespace]) -> None:
    publisher, publication, clock = log
    publication.results = [BACK_PRESSURED] * 3
    results: list[Appended] = []
    assert publisher.append(timer(1), results.append)
    publication.results = [BACK_PRESSURED] * 3
    assert publisher.append(timer(2), results.append)
    assert publisher.has_waiting
    assert publisher.offer(timer(3)) is None
    assert publication.messages == []
    clock.now = 200
    assert publisher.poll() == 2
    assert results == [(64, 200), (128, 200)]
    assert [TimerEvent.decode(message).correlation_id for message in publication.messages] == [1, 2]
    assert publisher.offer(timer(3)) == 192


def test_a_position_is_that_behind_the_message_where_a_term_ends_before_it(
    log: tuple[LogPublisher, Publication, SimpleNamespace],
) -> None:
    publisher, publication, _ = log
    publication.results = [ADMIN_ACTION]
    results: list[Appended] = []
    publisher.append_cluster_action(1, ClusterAction.SUSPEND, 0, results.append)
    publisher.poll()
    assert results == [(1120, 100)]
    assert ClusterActionRequest.decode(publication.messages[0]).log_position == 1120


def test_appends_that_wait_when_the_log_is_left_are_refused_in_order(log: tuple[LogPublisher, Publication, SimpleNamespace]) -> None:
    publisher, publication, _ = log
    results: list[tuple[str, bool]] = []
    publisher.append(timer(1), lambda appended: results.append(("first", appended.is_refused)))
    publication.results = [BACK_PRESSURED] * 3
    publisher.append(timer(2), lambda appended: results.append(("second", appended.is_refused)))
    publisher.close()
    publisher.append(timer(3), lambda appended: results.append(("third", appended.is_refused)))
    assert (results, publisher.is_settled) == ([], False)
    assert publisher.poll() == 3
    assert results == [("first", False), ("second", True), ("third", True)]
    assert len(publication.messages) == 1


def test_no_more_is_taken_than_a_bound(log: tuple[LogPublisher, Publication, SimpleNamespace]) -> None:
    publisher, _, _ = log
    results: list[Appended] = []
    taken = [publisher.append(timer(number), results.append) for number in range(APPENDS_MAX + 1)]
    assert taken == [True] * APPENDS_MAX + [False]
    assert publisher.poll() == APPENDS_MAX
    assert publisher.append(timer(0), results.append)


def test_a_log_that_has_ended_is_an_error(log: tuple[LogPublisher, Publication, SimpleNamespace]) -> None:
    publisher, publication, _ = log
    publication.results = [CLOSED]
    with pytest.raises(ConsensusModuleError, match="log publication is closed"):
        publisher.append(timer(1), lambda _: None)
