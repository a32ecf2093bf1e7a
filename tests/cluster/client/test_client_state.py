"""The states of a cluster's client, event by event, with literal times."""

from __future__ import annotations

import pytest

from aerowire.client import ADMIN_ACTION, BACK_PRESSURED, CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.cluster.client.client_state import ClientStateMachine, ClusterState

CONNECTED = ClusterState.CONNECTED
AWAIT_NEW_LEADER = ClusterState.AWAIT_NEW_LEADER
AWAIT_CONNECTION = ClusterState.AWAIT_NEW_LEADER_CONNECTION
PENDING_CLOSE = ClusterState.PENDING_CLOSE


def machine() -> ClientStateMachine:
    return ClientStateMachine(message_timeout_ns=5, new_leader_timeout_ns=20)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (64, CONNECTED),
        (BACK_PRESSURED, CONNECTED),
        (ADMIN_ACTION, CONNECTED),
        (NOT_CONNECTED, AWAIT_NEW_LEADER),
        (CLOSED, AWAIT_NEW_LEADER),
        (MAX_POSITION_EXCEEDED, PENDING_CLOSE),
    ],
)
def test_results_of_offers_to_the_leader(result: int, state: ClusterState) -> None:
    found = machine()
    assert found.on_ingress_result(result, 100) is (state is not CONNECTED)
    assert found.state is state


def test_waits_for_a_new_leader_and_then_for_its_connection() -> None:
    found = machine()
    assert found.on_egress_lost(100)
    assert (found.state, found.deadline_ns, found.timeout_ns) == (AWAIT_NEW_LEADER, 120, 20)
    assert not found.on_egress_lost(105)
    assert not found.on_ingress_result(NOT_CONNECTED, 105)
    assert found.on_new_leader(110)
    assert (found.state, found.deadline_ns, found.timeout_ns) == (AWAIT_CONNECTION, 115, 5)
    assert found.on_leader_connected(112)
    assert (found.state, found.deadline_ns, found.timeout_ns) == (CONNECTED, None, None)
    assert not found.on_leader_connected(113)


def test_an_offer_that_the_new_leader_takes_connects() -> None:
    found = machine()
    found.on_new_leader(100)
    assert not found.on_ingress_result(NOT_CONNECTED, 101)
    assert found.on_ingress_result(64, 102)
    assert found.state is CONNECTED


def test_a_leader_that_is_lost_before_its_connection_is_waited_for_anew() -> None:
    found = machine()
    found.on_new_leader(100)
    assert found.on_egress_lost(103)
    assert (found.state, found.deadline_ns) == (AWAIT_NEW_LEADER, 123)


def test_is_over_at_the_deadline_and_not_before() -> None:
    found = machine()
    assert not found.is_over(1_000)
    found.on_egress_lost(100)
    assert (found.is_over(119), found.is_over(120)) == (False, True)
    found.on_new_leader(119)
    assert (found.is_over(123), found.is_over(124)) == (False, True)


def test_a_session_that_the_cluster_has_closed_is_over_at_once_and_has_no_new_leader() -> None:
    found = machine()
    assert found.on_session_closed(100)
    assert (found.state, found.is_over(100)) == (PENDING_CLOSE, True)
    assert not found.on_new_leader(101)
    assert not found.on_egress_lost(101)
    assert found.on_close(102)
    assert found.state is ClusterState.CLOSED
    assert not found.on_session_closed(103)
    assert not found.is_over(1_000)
