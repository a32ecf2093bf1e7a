"""Our client of an official cluster of one member: sessions by each transport, their ends, credentials and admin requests.

One cluster serves all scenarios of a test; each has clients of its own.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from aerowire import aio
from aerowire.aio.cluster import AsyncAeronCluster, connect_cluster
from aerowire.base.errors import ClusterAuthenticationError, ClusterConnectionError, ClusterError
from aerowire.client import Aeron
from aerowire.cluster import AeronCluster, ClusterState, FixedCredentials
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.cluster.enums import AdminResponseCode
from aerowire.codecs.flyweights.recording_log import EntryType
from aerowire.system.ports import Ports
from tests.conftest import SEED
from tests.interop.cluster.nodes import Cluster, Member
from tests.interop.cluster.talk import Ears, ask, offer, poll_until
from tests.interop.harness import PATIENT_MS, Driver, Side
from tests.interop.scenarios import Scenario, lossy_network, wait_until
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

GROUP = "239.255.71.61"

GUARDED = {
    "aeron.cluster.authenticator.supplier": "ClusterNode$Authentication",
    "aeron.cluster.authorisation.service.supplier": "ClusterNode$Authorisation",
    "aeron.cluster.ingress.ipc.allowed": "true",
    "aeron.cluster.session.timeout": "3s",
    "aeron.cluster.max.sessions": "3",
}
MESSAGES = 300
LENGTH_MAX = 6_000
IPC: dict[str, Any] = {"ingress_channel": "aeron:ipc", "ingress_endpoints": None, "egress_channel": "aeron:ipc"}
INVOKED: dict[str, Any] = {"use_conductor_agent_invoker": True, "environ": {"AERON_DRIVER_TIMEOUT": PATIENT_MS}}


def echo(scenario: Scenario, cluster: AeronCluster, ears: Ears, messages: int = MESSAGES) -> None:
    """Send messages of random length, in all ways in turn, and compare them with what comes back."""
    randomly = random.Random(SEED)
    sent = [randomly.randbytes(randomly.randrange(17, LENGTH_MAX)) for _ in range(messages)]
    before = len(ears.messages)
    publication = cluster.ingress_publication
    assert publication is not None
    for number, message in enumerate(sent):
        if number % 3 == 0 and len(message) + 32 <= publication.max_payload_length:
            poll_until(cluster, lambda message=message: claimed(cluster, message), "room for a claim", keeps_alive=False)  # type: ignore[misc]
        elif number % 3 == 1:
            offer(cluster, message[:5], message[5:])
        else:
            poll_until(cluster, lambda message=message: cluster.offer(message) > 0, "room", keeps_alive=False)  # type: ignore[misc]
    poll_until(cluster, lambda: len(ears.messages) - before == messages, "all echoes")
    assert ears.messages[before:] == sent
    scenario.row.messages += messages
    scenario.row.terms += publication.position // publication.term_buffer_length
    scenario.observed("content of each echo, in order")


def claimed(cluster: AeronCluster, message: bytes) -> bool:
    """Write a message in place, if there is room."""
    claim = cluster.try_claim(len(message))
    if not claim:
        return False
    claim.put_bytes(message)
    claim.commit()
    return True


@dataclass(frozen=True)
class Place:
    """Where clients of a scenario are: the cluster, and the driver that they use."""

    scenario: Scenario
    cluster: Cluster
    driver: Driver

    def begin(self, feature: str, driver: Driver | None = None) -> None:
        """Begin a row of the matrix."""
        self.scenario.next_feature(f"Cluster client: {feature}")
        self.scenario.row.publishing = "official cluster of one member"
        self.scenario.row.subscribing = [f"aerowire cluster client, {(driver or self.driver).side} driver"]

    def connect(self, ears: Ears | None = None, **options: Any) -> AeronCluster:
        """Connect a client, and hear what the service says to a new session."""
        heard = Ears() if ears is None else ears
        client = self.cluster.connect(**{"aeron_dir": self.driver.directory, "egress_listener": heard, **options})
        poll_until(client, lambda: heard.messages == [b"opened"], "what the service says to a new session")
        return client

    def with_name(self, credentials: bytes, answer: bytes = b"", ears: Ears | None = None) -> AeronCluster:
        """Connect a client with credentials and the answer to a challenge."""
        return self.connect(ears, credentials_supplier=FixedCredentials(credentials, answer))


def echo_by_udp(place: Place) -> None:
    place.begin("echo by UDP")
    ears = Ears()
    with place.connect(ears, client_name="echo") as client:
        assert (client.leader_member_id, client.leadership_term_id, client.state) == (0, 0, ClusterState.CONNECTED)
        echo(place.scenario, client, ears)


def echo_in_a_loop(place: Place) -> None:
    place.begin("echo in an event loop")
    randomly = random.Random(SEED)
    sent = [b"opened", *(randomly.randbytes(randomly.randrange(17, LENGTH_MAX)) for _ in range(MESSAGES))]
    options = place.cluster.options()

    async def run() -> list[bytes]:
        async with aio.connect(place.driver.directory, environ=options["environ"]) as aeron, connect_cluster(aeron, **options) as client:
            sending = asyncio.ensure_future(send(client, sent[1:]))
            echoes = [(await client.receive()).payload for _ in sent]
            await sending
            return echoes

    assert asyncio.run(run()) == sent
    place.scenario.row.messages += MESSAGES
    place.scenario.observed("content of each echo, in order")


async def send(client: AsyncAeronCluster, messages: Sequence[bytes]) -> None:
    """Send messages as there is room."""
    for message in messages:
        await client.send(message)


def echo_without_threads(place: Place) -> None:
    place.begin("echo, shared ingress, client without threads")
    ears = Ears()
    with (
        Aeron.connect(place.driver.directory, **INVOKED) as aeron,
        place.connect(ears, aeron_dir=None, aeron=aeron, is_ingress_exclusive=False) as client,
    ):
        echo(place.scenario, client, ears)


def silent_session(place: Place) -> None:
    place.begin("keep-alive, and the time-out of a silent session")
    heard = Ears()
    with place.connect(heard) as alive, place.connect() as silent:
        poll_until(alive, lambda: silent.poll_egress() >= 0 and silent.is_closed, "the end of the silent session")
        assert isinstance(silent.close_reason, ClusterConnectionError)
        assert silent.close_reason.what == "the cluster has closed the session: TIMEOUT"
        assert ask(alive, heard, b"principal") == b""
        assert alive.close_reason is None
    place.scenario.observed("CLOSED event with TIMEOUT; the other session answered")


def session_closed_by_the_service(place: Place) -> None:
    place.begin("a session closed by the service")
    ears = Ears()
    client = place.connect(ears)
    offer(client, b"close")
    poll_until(client, lambda: client.is_closed, "the end of the session")
    assert client.close_reason is not None
    assert client.close_reason.what == "the cluster has closed the session: SERVICE_ACTION"
    assert [event.code.name for event in ears.events] == ["CLOSED"]
    place.scenario.observed("CLOSED event with SERVICE_ACTION")


def credentials(place: Place) -> None:
    place.begin("credentials, challenges and rejections")
    for said, expected in (((b"me", b""), b"me"), ((b"hello", b"challenged"), b"challenged")):
        ears = Ears()
        with place.with_name(*said, ears) as client:
            assert ask(client, ears, b"principal") == expected
    for rejected in ((b"bad", b""), (b"hello", b"bad")):
        with pytest.raises(ClusterAuthenticationError, match="the cluster rejected the credentials"):
            place.with_name(*rejected)
    place.scenario.observed("principals of 2 sessions; 2 rejections")


def too_many_sessions(place: Place) -> None:
    place.begin("too many sessions")
    clients = [place.connect() for _ in range(3)]
    with pytest.raises(ClusterError, match="concurrent session limit"):
        place.connect()
    for client in clients:
        client.close()
    place.scenario.observed("refusal of the fourth")


def admin_snapshot(place: Place) -> None:
    place.begin("admin snapshot, permitted and refused")
    for name, code in ((b"someone", AdminResponseCode.UNAUTHORISED_ACCESS), (b"admin", AdminResponseCode.OK)):
        ears = Ears()
        with place.with_name(name, ears=ears) as client:
            assert client.send_admin_request_to_take_a_snapshot(4711)
            poll_until(client, lambda ears=ears: bool(ears.events), "the answer to the admin request")  # type: ignore[misc]
            assert [(event.correlation_id, event.response_code) for event in ears.events] == [(4711, code)]
    wait_until(lambda: snapshots(place.cluster.members[0]) == 2, "the snapshots of the service and of the consensus module")
    place.scenario.observed("answers; the snapshot in recording.log")


def snapshots(member: Member) -> int:
    """Return how many snapshots the member's recording.log has."""
    log = RecordingLog.open(member.directory / "cluster", Ports.system().files, writable=False)
    try:
        return sum(entry.entry_type == EntryType.SNAPSHOT for entry in log.entries)
    finally:
        log.close()


def echo_by_ipc(place: Place) -> None:
    member = place.cluster.members[0]
    place.begin("echo by IPC on the member's driver", member.driver)
    ears = Ears()
    with place.connect(ears, aeron_dir=member.aeron_dir, **IPC) as client:
        echo(place.scenario, client, ears)


SCENARIOS = (
    echo_by_udp,
    echo_in_a_loop,
    echo_without_threads,
    silent_session,
    session_closed_by_the_service,
    credentials,
    too_many_sessions,
    admin_snapshot,
)


@pytest.mark.parametrize("side", ["aerowire", "official"])
def test_sessions(scenario: Scenario, side: Side) -> None:
    cluster = Cluster(scenario, 1, GUARDED)
    cluster.start()
    place = Place(scenario, cluster, scenario.driver(side))
    for run in SCENARIOS:
        run(place)
    if side == "official":
        echo_by_ipc(place)  # on the member's driver, whatever the other clients use
    cluster.stop()
    scenario.finish()


def test_sessions_by_multicast(scenario: Scenario) -> None:
    channel = f"aeron:udp?endpoint={GROUP}:{free_port()}|interface=localhost|term-length=64k"
    cluster = Cluster(scenario, 1, {"aeron.cluster.ingress.channel": channel})
    cluster.start()
    driver = scenario.driver("aerowire")
    place = Place(scenario, cluster, driver)
    place.begin("echo by multicast ingress")
    ears = Ears()
    with place.connect(ears, ingress_channel=channel, ingress_endpoints=None) as client:
        echo(scenario, client, ears)
    cluster.stop()
    scenario.finish()


@pytest.mark.lossy
def test_sessions_over_a_lossy_network(scenario: Scenario) -> None:
    cluster = Cluster(scenario, 1, {**lossy_network("official"), "aeron.cluster.session.timeout": "10s"})
    cluster.start()
    driver = scenario.driver("aerowire", lossy_network("aerowire"))
    place = Place(scenario, cluster, driver)
    place.begin("echo by UDP, 5 % loss each way")
    ears = Ears()
    with place.connect(ears) as client:
        echo(scenario, client, ears, 1_000)
    scenario.prove(driver, "Retransmits sent")
    scenario.prove(driver, "NAKs sent")
    cluster.stop()
    scenario.finish()
