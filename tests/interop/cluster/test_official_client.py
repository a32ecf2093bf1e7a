"""The official client of a cluster of ours: sessions by each transport, their ends, credentials, admin requests, redirects, a lost leader.

What tests/interop/cluster/test_client.py does the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import SEED
from tests.interop.cluster.mixed import MixedCluster
from tests.interop.cluster.official_clients import OfficialClients
from tests.interop.cluster.test_client import snapshots
from tests.interop.harness import Driver, Side
from tests.interop.scenarios import Scenario, lossy_network, wait_until
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

OURS: Side = "aerowire"
GROUP = "239.255.71.63"
MESSAGES = 300
GUARDED = {
    "aeron.cluster.authenticator.supplier": "tests.interop.cluster.guards:Users",
    "aeron.cluster.authorisation.service.supplier": "tests.interop.cluster.guards:Authorisation",
    "aeron.cluster.ingress.ipc.allowed": "true",
    "aeron.cluster.session.timeout": "3s",
    "aeron.cluster.max.sessions": "3",
}
# A member whose driver has gone with it is noticed in this time.
ATTENTIVE = {"aeron.publication.connection.timeout": "2s", "aeron.image.liveness.timeout": "3s"}


@dataclass(frozen=True)
class Place:
    """Where the clients of a scenario are: the cluster, the driver that they use, their process."""

    scenario: Scenario
    cluster: MixedCluster
    driver: Driver
    clients: OfficialClients

    def begin(self, feature: str) -> None:
        """Begin a row of the matrix."""
        self.scenario.next_feature(f"Official cluster client: {feature}")
        size = len(self.cluster.members)
        self.scenario.row.publishing = f"aerowire cluster of {'one member' if size == 1 else f'{size} members'}"
        self.scenario.row.subscribing = [f"official cluster client, {self.driver.side} driver"]

    def connect(self, name: str, **options: Any) -> int:
        """Connect a client, and hear what the service says to a new session; return the leader's id."""
        state = self.clients.connect(name, **{"endpoints": self.cluster.ingress_endpoints, **options})
        assert state["event"] == "state", state
        assert self.clients.event(name, "message")["text"] == "opened"
        leader: int = state["leader"]
        return leader

    def echo(self, name: str, messages: int = MESSAGES) -> None:
        """Compare messages with what comes back."""
        echoed = self.clients.echo(name, messages, SEED)
        self.scenario.row.messages += echoed["messages"]
        self.scenario.row.terms += echoed["terms"]
        self.scenario.observed("content of each echo, in order")


def echo_by_udp(place: Place) -> None:
    for feature, is_exclusive in (("echo by UDP", "true"), ("echo by UDP, shared ingress", "false")):
        place.begin(feature)
        place.connect("one", exclusive=is_exclusive)
        place.echo("one")
        place.clients.close("one")


def silent_session(place: Place) -> None:
    place.begin("keep-alive, and the time-out of a silent session")
    place.connect("alive")
    place.connect("silent")
    place.clients.silence("silent")
    closed = place.clients.event("silent", "session")
    assert (closed["code"], closed["detail"]) == ("CLOSED", "TIMEOUT")
    wait_until(lambda: place.clients.state("silent")["is_closed"], "the end of the silent session")
    assert place.clients.ask("alive", "hello there") == "hello there"
    place.clients.close("alive", "silent")
    place.scenario.observed("CLOSED event with TIMEOUT; the other session answered")


def session_closed_by_the_service(place: Place) -> None:
    place.begin("a session closed by the service")
    place.connect("one")
    place.clients.say("one", "close")
    closed = place.clients.event("one", "session")
    assert (closed["code"], closed["detail"]) == ("CLOSED", "SERVICE_ACTION")
    place.clients.close("one")
    place.scenario.observed("CLOSED event with SERVICE_ACTION")


def credentials(place: Place) -> None:
    place.begin("credentials, challenges and rejections")
    for said, answer, principal in (("me", "", "me"), ("hello", "challenged", "challenged")):
        place.connect(principal, credentials=said, answer=answer)
        assert place.clients.ask(principal, "principal") == principal
        place.clients.close(principal)
    for said, answer in (("bad", ""), ("hello", "bad")):
        endpoints = place.cluster.ingress_endpoints
        refused = place.clients.connect("rejected", endpoints=endpoints, credentials=said, answer=answer)
        assert refused["event"] == "refused"
        assert "session failed authentication" in refused["error"]
    place.scenario.observed("principals of 2 sessions; 2 rejections")


def too_many_sessions(place: Place) -> None:
    place.begin("too many sessions")
    names = ("one", "two", "three")
    for name in names:
        place.connect(name)
    refused = place.clients.connect("four", endpoints=place.cluster.ingress_endpoints)
    assert refused["event"] == "refused"
    assert "concurrent session limit" in refused["error"]
    place.clients.close(*names)
    place.scenario.observed("refusal of the fourth")


def admin_snapshot(place: Place) -> None:
    place.begin("admin snapshot, permitted and refused")
    for name, code in (("someone", "UNAUTHORISED_ACCESS"), ("admin", "OK")):
        place.connect(name, credentials=name)
        answer = place.clients.request_snapshot(name, 4711)
        assert (answer["id"], answer["code"]) == (4711, code)
        place.clients.close(name)
    wait_until(lambda: snapshots(place.cluster.members[0]) == 2, "the snapshots of the service and of the consensus module")
    place.scenario.observed("answers; the snapshot in recording.log")


SCENARIOS = (echo_by_udp, silent_session, session_closed_by_the_service, credentials, too_many_sessions, admin_snapshot)


@pytest.mark.parametrize("side", [OURS, "official"])
def test_sessions(scenario: Scenario, side: Side) -> None:
    cluster = MixedCluster(scenario, (OURS,), GUARDED)
    cluster.start()
    driver = scenario.driver(side)
    place = Place(scenario, cluster, driver, OfficialClients(scenario.bench, driver))
    for run in SCENARIOS:
        run(place)
    place.clients.finish()
    if side == OURS:
        echo_by_ipc(scenario, cluster)  # on the member's driver, whatever the other clients use
    cluster.stop()
    scenario.finish()


def echo_by_ipc(scenario: Scenario, cluster: MixedCluster) -> None:
    (member,) = cluster.members
    assert member.process is not None
    driver = Driver(OURS, member.aeron_dir, member.process)
    place = Place(scenario, cluster, driver, OfficialClients(scenario.bench, driver))
    place.begin("echo by IPC on the member's driver")
    place.connect("one", ingress="aeron:ipc?term-length=64k", egress="aeron:ipc?term-length=64k", endpoints="")
    place.echo("one")
    place.clients.finish()


def test_sessions_by_multicast(scenario: Scenario) -> None:
    channel = f"aeron:udp?endpoint={GROUP}:{free_port()}|interface=localhost|term-length=64k"
    cluster = MixedCluster(scenario, (OURS,), {"aeron.cluster.ingress.channel": channel})
    cluster.start()
    driver = scenario.driver(OURS)
    place = Place(scenario, cluster, driver, OfficialClients(scenario.bench, driver))
    place.begin("echo by multicast ingress")
    place.connect("one", ingress=channel, endpoints="")
    place.echo("one")
    place.clients.finish()
    cluster.stop()
    scenario.finish()


def test_follows_the_leader(scenario: Scenario) -> None:
    cluster = MixedCluster(scenario, (OURS, OURS, OURS), {"aeron.cluster.session.timeout": "10s"})
    cluster.start()
    driver = scenario.driver(OURS, ATTENTIVE)
    place = Place(scenario, cluster, driver, OfficialClients(scenario.bench, driver))
    leader = cluster.leader_of(cluster.members)

    place.begin("redirect from followers to the leader")
    for follower in cluster.members:
        if follower is not leader:
            name = f"by-{follower.member_id}"
            assert place.connect(name, endpoints=f"{follower.member_id}={follower.ports['ingress']}") == leader.member_id
            assert place.clients.ask(name, "who leads?") == "who leads?"
            place.clients.close(name)
    scenario.observed("answers of the leader")

    place.begin("the leader killed, and the same session with the next one")
    place.connect("one")
    place.echo("one")
    session = place.clients.state("one")["session"]
    leader.kill()
    announced = place.clients.event("one", "leader")
    assert announced["leader"] != leader.member_id
    place.echo("one")
    assert place.clients.state("one")["session"] == session
    scenario.observed("the new leader's announcement")
    place.clients.finish()
    cluster.stop()
    scenario.finish()


@pytest.mark.lossy
def test_sessions_over_a_lossy_network(scenario: Scenario) -> None:
    cluster = MixedCluster(scenario, (OURS,), {**lossy_network(OURS), "aeron.cluster.session.timeout": "10s"})
    cluster.start()
    driver = scenario.driver("official", lossy_network("official"))
    place = Place(scenario, cluster, driver, OfficialClients(scenario.bench, driver))
    place.begin("echo by UDP, 5 % loss each way")
    place.connect("one")
    place.echo("one", 1_000)
    scenario.prove(driver, "Retransmits sent")
    scenario.prove(driver, "NAKs sent")
    place.clients.finish()
    cluster.stop()
    scenario.finish()
