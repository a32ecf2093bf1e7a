"""The end of a cluster, as its leader waits for it."""

from __future__ import annotations

from aerowire.cluster.module.termination import ClusterTermination


def test_a_leader_ends_once_services_and_followers_have() -> None:
    termination = ClusterTermination([1, 2], deadline_ns=1_000)
    termination.on_services_terminated()
    termination.on_member_terminated(1)
    assert not termination.can_terminate(999)
    termination.on_member_terminated(2)
    assert termination.can_terminate(0)


def test_followers_are_waited_for_no_longer_than_the_deadline() -> None:
    termination = ClusterTermination([1], deadline_ns=1_000)
    termination.on_services_terminated()
    assert not termination.can_terminate(999)
    assert termination.can_terminate(1_000)


def test_a_snapshot_begins_the_time_anew() -> None:
    termination = ClusterTermination([1], deadline_ns=1_000)
    termination.extend(5_000)
    termination.on_services_terminated()
    assert not termination.can_terminate(4_999)
    assert termination.can_terminate(5_000)


def test_services_of_the_node_are_waited_for_in_any_case() -> None:
    termination = ClusterTermination([], deadline_ns=1_000)
    assert not termination.can_terminate(1_000_000)
