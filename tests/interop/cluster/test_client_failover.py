"""Our client of an official cluster of three members: redirects, a killed leader, and of one member: a full stop.

Numbers are sent one after another, and the service keeps them: what it has answered must be there in the end, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from aerowire.base.errors import ClusterTimeoutError
from aerowire.client import Header
from aerowire.cluster import ClusterClientContext, InDoubt, ReconnectingCluster
from tests.interop.cluster.nodes import Cluster
from tests.interop.cluster.talk import Ears, ask, encoded, numbers, poll_until
from tests.interop.harness import Driver
from tests.interop.scenarios import LIMIT_S, Scenario
from tests.support.waiting import rest

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Requests that wait for their answers at a time.
WINDOW = 300
NUMBER_LENGTH = 8
# A member whose driver has gone with it is noticed in this time.
ATTENTIVE = {"aeron.publication.connection.timeout": "2s", "aeron.image.liveness.timeout": "3s"}


def begin(scenario: Scenario, feature: str, driver: Driver, members: str) -> None:
    """Begin a row of the matrix."""
    scenario.next_feature(f"Cluster client: {feature}")
    scenario.row.publishing = f"official cluster of {members}"
    scenario.row.subscribing = [f"aerowire cluster client, {driver.side} driver"]


class Counting:
    """Sends numbers as requests of a reconnecting client, a window of them at a time; keeps those answered and those in doubt."""

    def __init__(self, cluster: Cluster, driver: Driver) -> None:
        self.answered: set[int] = set()
        self.answers: list[bytes] = []
        self.doubts: list[InDoubt] = []
        self.applied_in_the_end: list[int] = []
        self.next = 0
        options: dict[str, Any] = {
            **cluster.options(aeron_dir=driver.directory, egress_listener=self._on_message),
            "message_timeout_ns": "5s",
        }
        self.client = ReconnectingCluster(ClusterClientContext(**options), on_in_doubt=self.doubts.extend)
        assert self.client.await_session("60s") is not None

    def run(self, is_done: Callable[[], bool], what: str, *, sending: bool = True) -> None:
        """Send and poll until something is so."""
        deadline = time.monotonic() + LIMIT_S
        while not is_done():
            assert time.monotonic() < deadline, f"{what}: {self.client}, {self.client.problem}"
            if sending and len(self.client.in_flight) < WINDOW and self.client.request(self.next, encoded(self.next)) > 0:
                self.next += 1
            elif self.client.poll() == 0:
                rest()

    def send(self, count: int) -> None:
        """Send numbers until so many more are answered."""
        target = len(self.answered) + count
        self.run(lambda: len(self.answered) >= target, "answers")

    def applied(self) -> list[int]:
        """Wait for the answers that are still to come, and return what the service says that it has applied."""
        self.run(lambda: not self.client.in_flight, "the last answers", sending=False)
        self.run(lambda: self.client.request("applied", b"applied") > 0, "room", sending=False)
        self.run(lambda: len(self.answers) > 0, "what was applied", sending=False)
        return numbers(self.answers[0])

    def check(self, scenario: Scenario) -> None:
        """Assert that what was answered was applied, and that what was applied was sent, and once."""
        applied = self.applied_in_the_end = self.applied()
        assert len(applied) == len(set(applied)), "a number was applied twice"
        assert self.answered <= set(applied), "what was answered is lost"
        doubtful = {doubt.key for doubt in self.doubts}
        assert set(range(self.next)) == self.answered | doubtful, "a request that is neither answered nor reported"
        assert set(applied) <= self.answered | doubtful
        lost = len(doubtful - set(applied))
        scenario.row.messages += len(self.answered)
        scenario.observed(f"{len(self.answered)} answers kept; {len(doubtful)} in doubt, of which {lost} lost")

    def _on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> None:
        message = bytes(buffer[offset : offset + length])
        if self.client.answered("applied"):
            self.answers.append(message)
        elif length == NUMBER_LENGTH:
            (number,) = numbers(message)
            self.answered.add(number)
            self.client.answered(number)


def test_follows_the_leader(scenario: Scenario) -> None:
    cluster = Cluster(scenario, 3, {"aeron.cluster.session.timeout": "10s"})
    cluster.start()
    driver = scenario.driver("aerowire", ATTENTIVE)

    begin(scenario, "redirect from followers to the leader", driver, "three members")
    ears = Ears()
    with cluster.connect(aeron_dir=driver.directory, egress_listener=ears) as client:
        leader = client.leader_member_id
    for follower in cluster.members:
        if follower.member_id != leader:
            ears = Ears()
            endpoint = f"{follower.member_id}={follower.ports['ingress']}"
            with cluster.connect(aeron_dir=driver.directory, egress_listener=ears, ingress_endpoints=endpoint) as client:
                assert client.leader_member_id == leader
                poll_until(client, lambda ears=ears: ears.messages == [b"opened"], "the opening")  # type: ignore[misc]
                assert ask(client, ears, b"a question") == b"a question"
    scenario.observed("answers of the leader")

    begin(scenario, "the leader killed under load", driver, "three members")
    with_numbers = Counting(cluster, driver)
    with with_numbers.client as reconnecting:
        with_numbers.send(1_000)
        assert reconnecting.cluster is not None
        assert reconnecting.cluster.leader_member_id == leader
        with_numbers.run(lambda: len(reconnecting.in_flight) == WINDOW, "a window of requests")
        cluster.members[leader].kill()
        killed = time.monotonic()
        with_numbers.send(1_000)
        again = time.monotonic() - killed
        assert reconnecting.sessions_opened == 1, "the session goes on"
        assert reconnecting.cluster.leader_member_id != leader
        assert reconnecting.cluster.leadership_term_id > 0
        with_numbers.check(scenario)
    scenario.observed(f"1,000 more answers {again:.1f} s after the kill, in the same session")
    cluster.stop()
    scenario.finish()


def test_finds_a_cluster_again_that_was_stopped_whole(scenario: Scenario) -> None:
    cluster = Cluster(scenario, 1, {"aeron.cluster.session.timeout": "20s"})
    cluster.start()
    driver = scenario.driver("aerowire", ATTENTIVE)
    begin(scenario, "a full stop, and another session after it", driver, "one member")
    with_numbers = Counting(cluster, driver)
    with with_numbers.client as reconnecting:
        with_numbers.send(500)
        cluster.stop()
        with_numbers.run(lambda: not reconnecting.is_connected and reconnecting.cluster is None, "the end of the session")
        cluster.start()
        with_numbers.send(500)
        assert reconnecting.sessions_opened == 2
        with_numbers.check(scenario)

    begin(scenario, "a restart that ends a session without telling its client", driver, "one member")
    ears = Ears()
    client = cluster.connect(aeron_dir=driver.directory, egress_listener=ears, new_leader_timeout_ns="3s")
    poll_until(client, lambda: ears.messages == [b"opened"], "the opening")
    cluster.stop()
    cluster.start()
    poll_until(client, lambda: client.is_closed, "the end of the session")
    assert isinstance(client.close_reason, ClusterTimeoutError)
    ears = Ears()
    with cluster.connect(aeron_dir=driver.directory, egress_listener=ears) as client:
        poll_until(client, lambda: ears.messages == [b"opened"], "the opening")
        assert numbers(ask(client, ears, b"applied")) == with_numbers.applied_in_the_end
    scenario.observed("the client's own end; what was applied before is still there")
    cluster.stop()
    scenario.finish()
