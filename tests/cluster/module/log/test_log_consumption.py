"""The conductor's side of a log that a native agent consumes: what it has handled, what it lets go on, and what it gets back."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.image import Image
from aerowire.cluster.agents.agent_events import LogEnd
from aerowire.cluster.agents.events import LogMessage, LogReturned
from aerowire.cluster.module.log.log_consumption import LogConsumption
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.codecs.flyweights.cluster import ClusterAction, ClusterActionRequest, SessionCloseEvent, TimerEvent
from aerowire.codecs.flyweights.cluster.enums import CloseReason
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEventDecoder
from tests.cluster.agents.log_host import FOREVER, IPC, LOG_STREAM, TERM, LogHost, session_message

TIMER = TimerEvent(leadership_term_id=TERM, correlation_id=9, timestamp=0)
CLOSE = SessionCloseEvent(leadership_term_id=TERM, cluster_session_id=7, timestamp=0, close_reason=CloseReason.TIMEOUT)
SUSPEND = ClusterActionRequest(leadership_term_id=TERM, log_position=0, timestamp=0, action=ClusterAction.SUSPEND, flags=0)
LOWEST = -(1 << 63)


class Conductor:
    """A consumption and its handler: `take` handles the events of the agent, and `handled` has what the handler got."""

    def __init__(self, host: LogHost, position: int = 0) -> None:
        self.handled: list[Any] = []
        self.answers: list[Action] = []
        self.consumption = LogConsumption(host.proxy, self, service_count=2, position=position)
        self._host = host

    def take(self) -> None:
        """Let the agent work, and take its events of logs."""
        self._host.settle()
        for event in self._host.seen:
            if isinstance(event, LogMessage):
                self.consumption.on_log_message(event)
            elif isinstance(event, LogReturned):
                self.consumption.on_log_returned(event)
        self._host.seen.clear()

    def on_service_message(self, cluster_session_id: int) -> None:
        self.handled.append(cluster_session_id)

    def on_log_event(self, event: Any, log_position: int) -> None:
        self.handled.append((event, log_position))

    def on_extension_message(self, message: ExtensionMessage, log_position: int) -> Action:
        self.handled.append((message.schema_id, message.template_id, log_position))
        return self.answers.pop(0) if self.answers else Action.CONTINUE

    def on_damaged_message(self, schema_id: int, template_id: int) -> None:
        self.handled.append((schema_id, template_id))


@pytest.fixture
def conductor(host: LogHost) -> Conductor:
    return Conductor(host)


def new_log(host: LogHost, stream_id: int = LOG_STREAM) -> tuple[Any, Image]:
    """Return the publication of a log, and its image."""
    subscription = host.aeron.add_subscription(IPC, stream_id)
    publication = host.aeron.add_exclusive_publication(IPC, stream_id)
    host.until(lambda: publication.is_connected and subscription.images, "the image of a log")
    host.subscriptions[stream_id] = subscription
    return publication, subscription.images[0]


def publish(publication: Any, *messages: bytes) -> list[int]:
    """Publish messages; return the positions behind them."""
    positions = []
    for message in messages:
        assert publication.offer(message) > 0
        positions.append(publication.position)
    return positions


def test_nothing_is_consumed_before_a_limit_is_set(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    first, second = publish(publication, TIMER.encode(), CLOSE.encode())
    conductor.consumption.join(image)
    conductor.take()
    assert (conductor.consumption.position, conductor.handled) == (0, [])
    conductor.consumption.limit(first)
    conductor.take()
    assert (conductor.consumption.position, conductor.handled) == (first, [(TIMER, first)])
    conductor.consumption.limit(FOREVER)
    conductor.take()
    assert (conductor.consumption.position, conductor.handled) == (second, [(TIMER, first), (CLOSE, second)])


def test_the_position_is_that_of_what_was_handled(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    positions = publish(publication, session_message(7, bytes(32)), TIMER.encode(), session_message(7, bytes(32)))
    conductor.consumption.join(image)
    conductor.consumption.limit(positions[0])
    host.settle()
    assert conductor.consumption.position == positions[0], "nothing was handed over"
    conductor.consumption.limit(FOREVER)
    host.settle()
    assert host.commit_counter.value == positions[2], "the agent has consumed all of it"
    assert conductor.consumption.position == positions[0]
    conductor.take()
    assert conductor.consumption.position == positions[2]


def test_a_log_that_is_held_goes_on_when_it_is_resumed(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    positions = publish(publication, SUSPEND.encode(), b"\x04\x00\x01\x00\x09\x00\x00\x00" + bytes(40), TIMER.encode())
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    assert not conductor.consumption.resume()
    conductor.take()
    conductor.take()
    assert (conductor.consumption.position, conductor.handled) == (positions[0], [(SUSPEND, positions[0])])
    assert conductor.consumption.resume()
    conductor.take()
    assert conductor.handled[1:] == [(9, 1, positions[1])]
    assert conductor.consumption.resume()
    assert not conductor.consumption.resume()
    conductor.take()
    assert conductor.handled[2:] == [(TIMER, positions[2])]


def test_a_message_of_an_extension_that_is_refused_comes_again(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    positions = publish(publication, TIMER.encode(), b"\x04\x00\x01\x00\x09\x00\x00\x00" + bytes(40), TIMER.encode())
    conductor.answers = [Action.ABORT, Action.ABORT]
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    conductor.take()
    assert not conductor.consumption.resume()
    assert (conductor.consumption.position, conductor.handled[1:]) == (positions[0], [(9, 1, positions[1])] * 2)
    assert conductor.consumption.resume()
    conductor.take()
    assert (conductor.consumption.position, len(conductor.handled), conductor.handled[-1]) == (positions[2], 5, (TIMER, positions[2]))


def test_a_log_that_is_left_at_a_refused_message_ends_before_it(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    first, _ = publish(publication, TIMER.encode(), b"\x04\x00\x01\x00\x09\x00\x00\x00" + bytes(40))
    conductor.answers = [Action.ABORT]
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    conductor.take()
    conductor.consumption.leave()
    conductor.take()
    assert (conductor.consumption.is_left, conductor.consumption.position) == (True, first)


def test_a_damaged_message_of_the_schema_is_noted(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    publish(publication, TIMER.encode()[:12])
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    conductor.take()
    assert conductor.handled == [(TimerEventDecoder.SBE_SCHEMA_ID, TimerEventDecoder.SBE_TEMPLATE_ID)]


def test_messages_of_services_are_told_before_what_holds_the_log_and_once(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    second_service = LOWEST | 1 << 56
    ids = (LOWEST + 1, LOWEST + 2, second_service + 5, LOWEST | 9 << 56)  # of the last service the node knows nothing
    *_, end = publish(publication, *(session_message(session_id, b"") for session_id in ids), SUSPEND.encode())
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    conductor.take()
    assert conductor.handled == [LOWEST + 2, second_service + 5, (SUSPEND, end)]
    conductor.consumption.sweep()
    publish(publication, session_message(LOWEST + 3, b""))
    conductor.consumption.resume()
    conductor.take()
    conductor.consumption.sweep()
    assert conductor.handled[3:] == [LOWEST + 3]


def test_a_log_that_was_left_is_handled_up_to_where_it_was_consumed(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    first, second = publish(publication, TIMER.encode(), session_message(LOWEST + 1, bytes(32)))
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    host.settle()
    conductor.consumption.leave()
    assert not conductor.consumption.is_left
    assert (conductor.consumption.position, conductor.handled) == (0, [])
    conductor.take()
    assert conductor.consumption.is_left
    assert (conductor.consumption.position, conductor.handled) == (second, [(TIMER, first), LOWEST + 1])
    assert conductor.consumption.end is None
    assert image.poll(lambda *_: None) == 0, "the image is the client's again"


def test_a_log_is_joined_behind_one_that_was_not_given_back_yet(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    (end,) = publish(publication, SUSPEND.encode())
    conductor.consumption.join(image)
    conductor.consumption.limit(FOREVER)
    host.settle()
    conductor.consumption.leave()
    other_publication, other_image = new_log(host, LOG_STREAM + 1)
    conductor.consumption.join(other_image)
    (other_end,) = publish(other_publication, TIMER.encode())
    conductor.consumption.limit(FOREVER)
    conductor.take()
    assert conductor.handled == [(SUSPEND, end), (TIMER, other_end)]
    assert not conductor.consumption.resume(), "the log that is consumed is not held"
    assert not conductor.consumption.is_left


@pytest.mark.parametrize("is_consumed", [True, False])
def test_the_end_of_a_log_says_whether_its_leader_has_closed_it(host: LogHost, conductor: Conductor, *, is_consumed: bool) -> None:
    publication, image = new_log(host)
    first, second = publish(publication, session_message(7, bytes(32)), session_message(7, bytes(32)))
    conductor.consumption.join(image)
    conductor.consumption.limit(second if is_consumed else first)
    conductor.take()
    assert not conductor.consumption.is_stream_ended
    publication.close()
    host.until(lambda: conductor.consumption.is_stream_ended, "the end of the stream")
    if not is_consumed:
        host.subscriptions[LOG_STREAM].close()

    def has_ended() -> bool:
        conductor.take()
        return conductor.consumption.end is not None

    host.until(has_ended, "the end of the log")
    assert conductor.consumption.end is (LogEnd.OF_STREAM if is_consumed else LogEnd.IMAGE_CLOSED)
    assert conductor.consumption.position == (second if is_consumed else first)
    assert conductor.consumption.is_left
    conductor.consumption.leave()
    assert conductor.consumption.position == (second if is_consumed else first)


def test_what_is_recorded_bounds_a_followers_log(host: LogHost, conductor: Conductor) -> None:
    publication, image = new_log(host)
    first, _ = publish(publication, TIMER.encode(), TIMER.encode())
    host.recording_counter.value = first
    conductor.consumption.join(image, host.recorded())
    conductor.consumption.limit(FOREVER)
    conductor.take()
    assert (conductor.consumption.position, conductor.handled) == (first, [(TIMER, first)])
