"""What the conductor appends to a leader's log: stamped by the agent, in order, answered once each, and held up where the log is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aerowire.cluster.agents.agent_events import TermFault
from aerowire.cluster.agents.events import MessageAppended, TermEnded, TermFaulted
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.codecs.flyweights.cluster import (
    CloseReason,
    ClusterAction,
    ClusterActionRequest,
    ClusterTimeUnit,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionOpenEvent,
    TimerEvent,
    decode,
)
from tests.cluster.agents.log_host import EPOCH_MS, HEADER, INGRESS_STREAM, IPC, OPEN, TERM, LogHost, session_message

BACK_PRESSURED, CLOSED, MAX_POSITION_EXCEEDED = -2, -4, -5

CLOSE = SessionCloseEvent(leadership_term_id=TERM, cluster_session_id=7, timestamp=0, close_reason=CloseReason.TIMEOUT)
TIMER = TimerEvent(leadership_term_id=TERM, correlation_id=9, timestamp=0)
ACTION = ClusterActionRequest(leadership_term_id=TERM, log_position=0, timestamp=0, action=ClusterAction.SNAPSHOT, flags=0)
NEW_TERM = NewLeadershipTermEvent(
    leadership_term_id=TERM,
    log_position=0,
    timestamp=0,
    term_base_log_position=64,
    leader_member_id=0,
    log_session_id=3,
    time_unit=ClusterTimeUnit.MILLIS,
    app_version=0,
)


def test_events_are_stamped_with_time_and_position_and_answered(host: LogHost) -> None:
    host.lead()
    messages = [OutboundMessage(event.encode()) for event in (OPEN, CLOSE, TIMER, ACTION, NEW_TERM)]
    messages += [OutboundMessage(session_message(-5, b"of a service")), OutboundMessage(b"\x04\x00\x01\x00\x09\x00\x00\x00" + bytes(4))]
    for message in messages:
        host.proxy.append(message)
    answers = host.took(MessageAppended)
    assert [answer.message for answer in answers] == messages
    assert {answer.timestamp for answer in answers} == {EPOCH_MS}
    logged = host.logged()
    assert logged == [bytes(message) for message in messages]
    values: list[Any] = [decode(message) for message in logged[:5]]
    assert [value.timestamp for value in values] == [EPOCH_MS] * 5
    assert [value.log_position for value in values[3:]] == [answer.position for answer in answers[3:5]]
    assert logged[5] == session_message(-5, b"of a service", timestamp=EPOCH_MS)
    assert answers[-1].position == host.log.position
    assert host.events.held_count == 1, "the term"


def test_the_position_in_an_action_is_that_behind_it_even_at_the_end_of_a_term_buffer(host: LogHost) -> None:
    host.lead()
    for _ in range(3_000):
        host.proxy.append(OutboundMessage(ACTION.encode()))
        for answer in host.took(MessageAppended):
            assert answer.position > 0
        for logged in host.logged():
            assert ClusterActionRequest.decode(logged).log_position <= host.log.position
    assert host.log.position > 3 * 65_536
    host.proxy.append(message := OutboundMessage(ACTION.encode()))
    [answer] = host.took(MessageAppended)
    assert ClusterActionRequest.decode(bytes(message)).log_position == answer.position == host.log.position


def test_what_a_full_log_does_not_take_waits_in_order_and_ingress_behind_it(host: LogHost) -> None:
    host.lead()
    client = host.publication(INGRESS_STREAM)
    host.open_session(7)
    messages = [OutboundMessage(session_message(-1, bytes([number % 256]) * 500)) for number in range(200)]
    for message in messages:
        host.proxy.append(message)
    answers = host.took(MessageAppended)
    assert 0 < len(answers) < 200
    host.offer(client, session_message(7, b"behind"))
    logged: list[bytes] = []
    while len(logged) < 201:
        logged += host.logged()
    answers += host.took(MessageAppended)
    assert [answer.message for answer in answers] == messages
    assert all(answer.position > 0 for answer in answers)
    assert [message[HEADER:] for message in logged] == [bytes(message)[HEADER:] for message in messages] + [b"behind"]


def test_more_than_4096_messages_that_wait_are_answered_as_back_pressure(host: LogHost) -> None:
    host.lead()
    for _ in range(4_300):
        host.proxy.append(OutboundMessage(session_message(-1, bytes(1_000))))
    answers = host.took(MessageAppended)
    appended = [answer for answer in answers if answer.position > 0]
    refused = [answer for answer in answers if answer.position == BACK_PRESSURED]
    assert appended
    assert len(appended) + len(refused) == len(answers) == 4_300 - 4_096
    host.proxy.end_term()
    assert {answer.position for answer in host.took(MessageAppended)} == {CLOSED}
    assert host.events.held_count == 0


def test_what_waits_when_a_term_ends_is_answered_as_closed(host: LogHost) -> None:
    term = host.lead()
    for number in range(700):
        host.proxy.append(OutboundMessage(session_message(-1, bytes(500 + number % 2))))
    host.settle()
    host.proxy.end_term()
    answers = host.took(MessageAppended)
    assert [event.term for event in host.took(TermEnded)] == [term]
    closed = [answer for answer in answers if answer.position == CLOSED]
    assert len(answers) == 700
    assert answers[-len(closed) :] == closed
    assert host.agent.published_position == -1
    assert term.log.is_returned
    host.proxy.append(OutboundMessage(TIMER.encode()))
    assert [answer.position for answer in host.took(MessageAppended)] == [CLOSED]


def test_a_log_that_is_taken_back_is_a_fault_of_the_term(host: LogHost) -> None:
    term = host.lead()
    host.log.close()
    host.until(lambda: term.log.is_returned, "the publication")
    assert host.took(TermFaulted) == [TermFaulted(term, TermFault.LOG_CLOSED)]
    host.proxy.append(OutboundMessage(TIMER.encode()))
    assert [answer.position for answer in host.took(MessageAppended)] == [CLOSED]
    assert host.took(TermFaulted) == []


def test_the_last_position_of_a_log_is_a_fault_of_the_term(hosts: Callable[..., LogHost]) -> None:
    host = hosts()
    last_term_id = (1 << 31) - 1
    term = host.lead(channel=f"{IPC}|init-term-id=0|term-id={last_term_id}|term-offset=65472")
    for _ in range(2):
        host.proxy.append(OutboundMessage(TIMER.encode()))
    assert [answer.position for answer in host.took(MessageAppended)] == [1 << 47, MAX_POSITION_EXCEEDED]
    assert host.took(TermFaulted) == [TermFaulted(term, TermFault.MAX_POSITION_EXCEEDED)]


@pytest.mark.parametrize("event", [OPEN, CLOSE, TIMER, ACTION, NEW_TERM])
def test_an_event_without_its_block_is_refused(event: SessionOpenEvent) -> None:
    encoded = event.encode()
    block_length = int.from_bytes(encoded[:2], "little")
    with pytest.raises(ValueError, match=f"expected at least {8 + block_length} bytes, actual {7 + block_length}"):
        OutboundMessage(encoded[: 7 + block_length])


@pytest.mark.parametrize("length", [0, 7])
def test_what_has_no_header_is_no_message(length: int) -> None:
    with pytest.raises(ValueError, match=f"expected 8 to 16777216 bytes, actual {length}"):
        OutboundMessage(bytes(length))
