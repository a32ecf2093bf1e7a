"""Connecting to a cluster in a simulated world: the states, redirects, challenges, and what is said when it takes too long."""

from __future__ import annotations

import pytest

from aerowire.base.errors import (
    BlockingCallError,
    ClosedError,
    ClusterAuthenticationError,
    ClusterError,
    ClusterTimeoutError,
    ConfigurationError,
    RegistrationError,
)
from aerowire.cluster import AeronCluster, ClusterState, ConnectState, FixedCredentials
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.client.setting import EGRESS, MS, QUICK, SECOND, Setting, endpoint
from tests.support.scripted.cluster import SESSION_ID, TERM_ID, ScriptedMember, challenge, message, session_event


def test_states_have_the_numbers_that_aeron_gives_them() -> None:
    assert [state.step for state in ConnectState][1:8] == [-1, 0, 1, 2, 3, 4, 5]


def test_connects_to_a_leader(world: SimulatedWorld) -> None:
    setting = Setting(world)
    cluster = setting.connect(client_name="mine", credentials_supplier=FixedCredentials(b"me"))
    (connect,) = setting.members[0].requests
    assert (connect.response_stream_id, connect.version, connect.encoded_credentials) == (102, 3 << 8, b"me")
    assert connect.client_info.startswith("name=mine version=")
    assert connect.response_channel.startswith("aeron:udp?endpoint=10.0.0.9:")
    assert not connect.response_channel.startswith("aeron:udp?endpoint=10.0.0.9:0")
    assert "rejoin=false" in connect.response_channel.split("|")
    assert (cluster.cluster_session_id, cluster.leadership_term_id, cluster.leader_member_id) == (SESSION_ID, TERM_ID, 0)
    assert cluster.state is ClusterState.CONNECTED


def test_leaves_to_the_listener_what_a_service_sends_behind_the_answer(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [
        message(b"of another session", session_id=1),
        session_event(request),
        message(b"opened"),
    ]
    setting.connect()
    world.run(10 * MS)
    assert setting.egress.messages == [b"opened"]


def test_follows_a_redirect_to_the_leader(world: SimulatedWorld) -> None:
    setting = Setting(world, members=3)
    for follower in (0, 1):
        setting.members[follower].answers["SessionConnectRequest"] = lambda request: [
            session_event(request, EventCode.REDIRECT, setting.endpoints, leader_member_id=2, cluster_session_id=-1)
        ]
    setting.members[2].answers["SessionConnectRequest"] = lambda request: [session_event(request, leader_member_id=2)]
    cluster = setting.connect(ingress_endpoints=f"0={endpoint(0)}")
    assert setting.members[0].names() == ["SessionConnectRequest"]
    assert cluster.ingress_publication is not None
    assert (cluster.leader_member_id, cluster.ingress_publication.channel) == (2, f"aeron:udp?endpoint={endpoint(2)}")
    world.run(20 * SECOND)
    assert not setting.members[0].subscription.images, "the publication to the follower is closed"


def test_tries_the_other_members_when_the_leader_of_a_redirect_does_not_listen(world: SimulatedWorld) -> None:
    setting = Setting(world, members=3)
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [
        session_event(request, EventCode.REDIRECT, setting.endpoints, leader_member_id=2)
    ]
    setting.members[2].stop()
    world.run(20 * SECOND)
    started = world.clock.now_ns()
    setting.members[1].answers["SessionConnectRequest"] = lambda request: [session_event(request, leader_member_id=1)]
    connecting = setting.start(ingress_endpoints=f"0={endpoint(0)}", message_timeout_ns="8s")
    world.run(SECOND)
    setting.members[0].answers.clear()
    setting.members[0].stop()
    assert setting.client.complete(connecting).leader_member_id == 1
    assert 2 * SECOND <= world.clock.now_ns() - started < 3 * SECOND


def test_tries_all_members_again_when_a_redirect_makes_no_sense(world: SimulatedWorld) -> None:
    setting = Setting(world)
    answers = iter([("who knows", EventCode.REDIRECT), ("", EventCode.OK)])

    def answer(request: object) -> list[object]:
        detail, code = next(answers)
        return [session_event(request, code, detail)]

    setting.members[0].answers["SessionConnectRequest"] = answer
    assert setting.connect().state is ClusterState.CONNECTED


def test_asks_a_cluster_that_sends_it_around_three_times_and_then_in_intervals(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [session_event(request, EventCode.REDIRECT, "no leader")]
    connecting = setting.start()
    world.run(SECOND)
    assert connecting.state in (ConnectState.AWAIT_PUBLICATION_CONNECTED, ConnectState.POLL_RESPONSE)
    assert 10 <= len(setting.members[0].requests) <= 13
    assert str(connecting.problem).startswith("a redirect names no leader; at aeron:udp?endpoint=10.0.0.1:9002; ")


def test_takes_the_first_member_that_listens(world: SimulatedWorld) -> None:
    setting = Setting(world, members=2)
    setting.members[0].stop()
    world.run(20 * SECOND)
    setting.connect()
    assert (setting.members[0].names(), setting.members[1].names()) == ([], ["SessionConnectRequest"])


def test_asks_again_when_the_member_goes_before_it_answers(world: SimulatedWorld) -> None:
    setting = Setting(world, members=2)
    setting.members[0].answers.clear()
    connecting = setting.start(message_timeout_ns="60s")
    world.run(SECOND)
    assert connecting.state is ConnectState.POLL_RESPONSE
    setting.members[0].stop()
    setting.client.complete(connecting)
    assert setting.members[1].names() == ["SessionConnectRequest"]


def test_answers_a_challenge(world: SimulatedWorld) -> None:
    setting = Setting(world)
    member = setting.members[0]
    member.answers["SessionConnectRequest"] = lambda request: [challenge(request, b"who?")]
    member.answers["ChallengeResponse"] = lambda request: [session_event(request)]
    setting.connect(credentials_supplier=FixedCredentials(b"hello", b"me"))
    first, second = member.requests
    assert (second.cluster_session_id, second.encoded_credentials) == (SESSION_ID, b"me")
    assert second.correlation_id != first.correlation_id


def test_a_rejection_is_raised_and_leaves_nothing_open(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [
        session_event(request, EventCode.AUTHENTICATION_REJECTED, "not you")
    ]
    connecting = setting.start()
    with pytest.raises(ClusterAuthenticationError, match="the cluster rejected the credentials: not you"):
        setting.client.complete(connecting)
    assert connecting.state is ConnectState.FAILED
    world.run(20 * SECOND)
    assert not setting.members[0].subscription.images


def test_a_refusal_is_raised(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [
        session_event(request, EventCode.ERROR, "concurrent session limit")
    ]
    with pytest.raises(ClusterError, match="the cluster refused to open a session: concurrent session limit"):
        setting.connect()


def test_says_what_it_waited_for_where_and_how_long(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers.clear()
    connecting = setting.start(message_timeout_ns="3s")
    started = setting.client.aeron.context.clock.now_ns()
    with pytest.raises(ClusterTimeoutError) as caught:
        setting.client.complete(connecting)
    assert 3 * SECOND <= setting.client.aeron.context.clock.now_ns() - started < 3 * SECOND + 10 * MS
    assert str(caught.value) == (
        f"connecting to the cluster took too long; at ingress aeron:udp stream 101 endpoints 0={endpoint(0)}, egress {EGRESS} stream 102; "
        f"expected a session within 3 s; got still waiting for the cluster's answer of aeron:udp?endpoint={endpoint(0)} "
        "(hint: does the cluster have a leader, and can it reach the egress channel?)"
    )
    world.run(20 * SECOND)
    assert not setting.members[0].subscription.images


def test_says_that_no_member_listens(world: SimulatedWorld) -> None:
    setting = Setting(world, members=0)
    with pytest.raises(ClusterTimeoutError, match=r"still waiting for a member that listens to ingress \(hint: do members run"):
        setting.connect(ingress_endpoints=f"0={endpoint(0)}", message_timeout_ns="1s")


def test_says_why_the_driver_refuses_the_channels(world: SimulatedWorld) -> None:
    setting = Setting(world)
    with pytest.raises(RegistrationError):
        setting.connect(egress_channel="aeron:udp?endpoint=10.0.0.77:8020")
    with pytest.raises(ClusterError, match="the driver has refused every ingress publication"):
        setting.connect(ingress_channel="aeron:udp?term-length=3")


def test_a_connection_that_is_given_up_leaves_nothing_open(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers.clear()
    connecting = setting.start()
    world.run(SECOND)
    connecting.cancel()
    with pytest.raises(ClosedError, match="given up: connect to the cluster"):
        connecting.result()
    world.run(20 * SECOND)
    assert not setting.members[0].subscription.images


def test_connects_by_a_channel_without_endpoints(world: SimulatedWorld) -> None:
    setting = Setting(world)
    cluster = setting.connect(ingress_channel=f"aeron:udp?endpoint={endpoint(0)}", ingress_endpoints=None)
    assert cluster.state is ClusterState.CONNECTED


def test_connects_by_multicast(world: SimulatedWorld) -> None:
    setting = Setting(world, members=0)
    channel = "aeron:udp?endpoint=224.20.30.39:9002|interface=10.0.0.0/24"
    member = ScriptedMember(world.add_host("10.0.0.1", **QUICK), channel)
    cluster = setting.connect(ingress_channel=channel, ingress_endpoints=None)
    assert (cluster.state, member.names()) == (ClusterState.CONNECTED, ["SessionConnectRequest"])


def test_connects_by_ipc(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.9", **QUICK)
    member = ScriptedMember(host, "aeron:ipc")
    client = host.connect()
    connecting = AeronCluster.async_connect(aeron=client.aeron, ingress_channel="aeron:ipc", egress_channel="aeron:ipc", environ={})
    client.start(lambda: int(not connecting.is_done and connecting.poll()), lambda: world.clock.now_ns() + MS)
    assert client.complete(connecting).state is ClusterState.CONNECTED
    assert member.requests[0].response_channel == "aeron:ipc"


def test_a_response_channel_names_its_subscription_in_the_ingress_channel(world: SimulatedWorld) -> None:
    setting = Setting(world)
    egress = "aeron:udp?control-mode=response|control=10.0.0.1:8011"
    cluster = setting.connect(egress_channel=egress)
    assert cluster.ingress_publication is not None
    assert setting.members[0].requests[0].response_channel.startswith(egress)
    assert cluster.ingress_publication.channel.endswith(f"response-correlation-id={cluster.egress_subscription.registration_id}")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ingress_channel": None}, "ingress_channel is not set"),
        ({"egress_channel": None}, "egress_channel is not set"),
        ({"ingress_channel": "aeron:ipc"}, "ingress_endpoints and IPC ingress exclude each other"),
        ({"ingress_endpoints": "localhost:9002"}, "ingress endpoints are malformed"),
        ({"message_timeout_ns": 0}, "message_timeout_ns is out of range"),
        ({"new_leader_timeout_ns": 0}, "new_leader_timeout_ns is out of range"),
        ({"client_name": "x" * 101}, "client_name is too long"),
    ],
)
def test_options_that_cannot_be_are_refused(world: SimulatedWorld, options: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        Setting(world).start(**options)


def test_does_not_wait_in_a_simulated_world(world: SimulatedWorld) -> None:
    setting = Setting(world)
    with pytest.raises(BlockingCallError, match=r"AeronCluster\.async_connect"):
        AeronCluster.connect(aeron=setting.client.aeron, ingress_channel="aeron:udp", egress_channel=EGRESS, environ={})
