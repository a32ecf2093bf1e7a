"""A client stays usable whatever a cluster says to it: most of all what the protocol's rules accept."""

from __future__ import annotations

import random
from typing import Any

import pytest

from aerowire.base.errors import ClusterError
from aerowire.base.units import INT64_MAX
from aerowire.cluster import ClusterState
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, AdminResponseCode, EventCode
from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.client.setting import MS, SECOND, Setting
from tests.conftest import SEED
from tests.support.hostile.values import INT64S
from tests.support.scripted.cluster import SESSION_ID, challenge, message, new_leader, session_event

EDGES = (*INT64S, 7, 1 << 32, INT64_MAX - 1)
MEMBER_IDS = (-(1 << 31), -1, 0, 1, 2, (1 << 31) - 1)
ENDPOINTS = (
    "",
    ",",
    "0=",
    "0=10.0.0.1",
    "0=10.0.0.1:0",
    "0=10.0.0.1:65536",
    "0=10.0.0.1:9002",
    "1=10.0.0.2:9002",
    "0=10.0.0.1:9002,0=10.0.0.2:9002",
    "2147483647=10.0.0.1:9002",
    "4294967296=10.0.0.1:9002",
    "1=224.0.1.1:4000",
    "1=255.255.255.255:9002",
    "1=[::1]:9002",
    "1=:9002",
    "1=no-such-host:9002",
    "1=aeron:ipc",
    "1=" + "a" * 7_000 + ":9002",
    ",".join(f"{number}=10.0.0.{number}:9002" for number in range(200)),
)


def random_event(choice: random.Random) -> bytes:
    """Return a message that the codec accepts, mostly of the client's session."""
    session_id = SESSION_ID if choice.random() < 0.9 else choice.choice(EDGES)
    term_id, member_id = choice.choice(EDGES), choice.choice(MEMBER_IDS)
    kind = choice.randrange(5)
    if kind == 0:
        codes = [code for code in EventCode if code not in (EventCode.CLOSED, EventCode.NULL_VALUE)]
        return SessionEvent(
            cluster_session_id=session_id,
            correlation_id=choice.choice(EDGES),
            leadership_term_id=term_id,
            leader_member_id=member_id,
            code=choice.choice(codes),
            version=choice.choice((0, 3 << 8, 1 << 24, -1)),
            leader_heartbeat_timeout_ns=choice.choice(EDGES),
            detail=choice.choice(("", "text", *ENDPOINTS)),
        ).encode()
    if kind == 1:
        return NewLeaderEvent(
            leadership_term_id=term_id,
            cluster_session_id=session_id,
            leader_member_id=member_id,
            ingress_endpoints=choice.choice(ENDPOINTS),
        ).encode()
    if kind == 2:
        return AdminResponse(
            cluster_session_id=session_id,
            correlation_id=choice.choice(EDGES),
            request_type=choice.choice([one for one in AdminRequestType if one.name != "NULL_VALUE"]),
            response_code=choice.choice([one for one in AdminResponseCode if one.name != "NULL_VALUE"]),
            message=choice.choice(("", "text")),
            payload=choice.randbytes(choice.choice((0, 1, 7_000))),
        ).encode()
    if kind == 3:
        return message(choice.randbytes(choice.choice((0, 1, 100, 7_000))), choice.choice(EDGES), session_id)
    whole = random_event(choice)
    cut = bytearray(whole[: choice.randrange(len(whole) + 1)])
    for _ in range(choice.randrange(3)):
        if cut:
            cut[choice.randrange(min(len(cut), 64))] = choice.randrange(256)
    return bytes(cut)


@pytest.mark.parametrize("seed", range(5))
def test_no_event_of_a_cluster_ends_a_client_without_a_reason(seed: int) -> None:
    choice = random.Random(SEED + seed)
    with SimulatedWorld(seed=seed) as world:
        setting = Setting(world, members=2)
        cluster = setting.connect()
        member = setting.members[0]
        for _ in range(100):
            if cluster.is_closed:
                break
            member.say(random_event(choice))
            world.run(20 * MS)
            cluster.offer(b"a request")
        assert cluster.is_closed == (cluster.close_reason is not None)
        if not cluster.is_closed:
            member.say(new_leader(0, setting.endpoints))
            world.run(SECOND)
            assert cluster.state is ClusterState.CONNECTED
        cluster.close()


def random_answer(choice: random.Random, request: Any) -> list[Any]:
    """Return an answer to a request for a session, with numbers at their edges."""
    if choice.random() < 0.3:
        return [challenge(request, choice.randbytes(choice.choice((0, 1, 7_000))))]
    if choice.random() < 0.2:
        return [random_event(choice)]
    code = choice.choice((EventCode.OK, EventCode.REDIRECT, EventCode.REDIRECT, EventCode.REDIRECT, EventCode.CLOSED))
    return [
        session_event(
            request,
            code,
            choice.choice(ENDPOINTS),
            leadership_term_id=choice.choice(EDGES),
            leader_member_id=choice.choice(MEMBER_IDS),
            leader_heartbeat_timeout_ns=choice.choice(EDGES),
            version=choice.choice((0, 3 << 8, 1 << 24, -1)),
        )
    ]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_members_answer_a_connection_has_an_end(seed: int) -> None:
    choice = random.Random(SEED + seed)
    with SimulatedWorld(seed=seed) as world:
        setting = Setting(world, members=2)
        for member in setting.members:
            for kind in ("SessionConnectRequest", "ChallengeResponse"):
                member.answers[kind] = lambda request: random_answer(choice, request)
        connecting = setting.start(message_timeout_ns="2s")
        world.run(3 * SECOND)
        assert connecting.is_done
        try:
            cluster = connecting.result()
        except ClusterError:
            return
        setting.client.start(cluster.poll_egress, lambda: world.clock.now_ns() + MS)
        setting.members[0].end_egress()
        world.run(SECOND)
        assert cluster.next_deadline_ns() <= INT64_MAX
        cluster.close()
