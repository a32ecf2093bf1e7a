"""A client that opens one session after another, in a simulated world: full stops, new leaders, and requests in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.errors import BlockingCallError, ClosedError, ClusterAuthenticationError, ClusterTimeoutError
from aerowire.base.units import INT64_MAX
from aerowire.client import BACK_PRESSURED, NOT_CONNECTED
from aerowire.cluster import ClusterClientContext, InDoubt, ReconnectingCluster, ReconnectState
from aerowire.cluster.client.requests_in_flight import RequestsInFlight
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.client.setting import EGRESS, MS, SECOND, Setting, endpoint
from tests.support.scripted.cluster import SESSION_ID, TERM_ID, ScriptedMember, closed, new_leader, session_event


def test_requests_are_in_flight_then_answered_or_in_doubt() -> None:
    requests = RequestsInFlight(3)
    for key in ("a", "b", "c"):
        requests.sent(key, 1, 7)
    assert (requests.is_full, len(requests), requests.in_flight) == (True, 3, ("a", "b", "c"))
    assert (requests.answered("b"), requests.answered("b")) == (True, False)
    assert requests.lose() == (InDoubt("a", 1, 7), InDoubt("c", 1, 7))
    assert (requests.lose(), requests.in_flight, len(requests)) == ((), (), 2)
    requests.sent("c", 1, 8)
    assert (requests.in_flight, requests.in_doubt) == (("c",), (InDoubt("a", 1, 7),))
    assert requests.answered("a"), "a late answer is an answer"
    assert requests.lose() == (InDoubt("c", 1, 8),)


class Application:
    """A reconnecting client that is polled in each cycle, and what it was told."""

    def __init__(self, setting: Setting, **options: Any) -> None:
        self.doubts: list[tuple[InDoubt, ...]] = []
        self.sessions: list[int] = []
        self.failures: list[Exception] = []
        context = ClusterClientContext(
            aeron=setting.client.aeron,
            ingress_channel="aeron:udp",
            ingress_endpoints=setting.endpoints,
            egress_channel=EGRESS,
            egress_listener=setting.egress,
            environ={},
        )
        self.client = ReconnectingCluster(
            context,
            on_in_doubt=self.doubts.append,
            on_connected=lambda cluster: self.sessions.append(cluster.cluster_session_id),
            **options,
        )
        setting.client.start(self._poll, lambda: setting.world.clock.now_ns() + MS)

    def _poll(self) -> int:
        try:
            return self.client.poll()
        except Exception as error:
            self.failures.append(error)
            return 0


def test_opens_a_session_and_keeps_it_alive(world: SimulatedWorld) -> None:
    setting = Setting(world)
    application = Application(setting, keep_alive_interval_ns="300ms")
    assert (application.client.state, application.client.request("early", b"x")) == (ReconnectState.CONNECTING, NOT_CONNECTED)
    world.run(SECOND)
    assert (application.client.state, application.client.is_connected, application.sessions) == (
        ReconnectState.CONNECTED,
        True,
        [SESSION_ID],
    )
    assert application.client.next_deadline_ns() < INT64_MAX
    assert 2 <= setting.members[0].names().count("SessionKeepAlive") <= 3


def test_survives_a_full_stop_and_tells_which_requests_are_in_doubt(world: SimulatedWorld) -> None:
    setting = Setting(world)
    application = Application(setting)
    client = application.client
    world.run(SECOND)
    for key in (1, 2, 3):
        assert client.request(key, b"request") > 0
    assert client.answered(2)
    setting.members[0].stop()
    world.run(9 * SECOND)
    assert (client.state, client.is_connected) in ((ReconnectState.CONNECTING, False), (ReconnectState.WAITING, False))
    assert isinstance(client.problem, ClusterTimeoutError)
    assert client.request(4, b"request") == NOT_CONNECTED
    assert application.doubts == [(InDoubt(1, SESSION_ID, TERM_ID), InDoubt(3, SESSION_ID, TERM_ID))]
    again = ScriptedMember(setting.hosts[0], f"aeron:udp?endpoint={endpoint(0)}")
    again.answers["SessionConnectRequest"] = lambda request: [session_event(request, cluster_session_id=99, leadership_term_id=TERM_ID + 5)]
    world.run(10 * SECOND)
    assert (client.is_connected, client.sessions_opened, application.sessions) == (True, 2, [SESSION_ID, 99])
    assert client.request(1, b"again") > 0
    world.run(10 * MS)
    assert again.messages == [b"again"]
    assert (client.in_flight, client.in_doubt) == ((1,), (InDoubt(3, SESSION_ID, TERM_ID),))
    assert client.answered(1)
    assert len(application.doubts) == 1


def test_requests_to_a_lost_leader_are_in_doubt_once_the_next_one_is_connected(world: SimulatedWorld) -> None:
    setting = Setting(world, members=2)
    application = Application(setting)
    client = application.client
    world.run(SECOND)
    assert client.request("lost", b"request") > 0
    setting.members[0].stop()
    world.run(SECOND // 2)
    assert (client.is_connected, application.doubts) == (False, [])
    setting.members[1].reach(setting.members[0].requests[0].response_channel)
    setting.members[1].say(new_leader(1, setting.endpoints))
    world.run(SECOND)
    assert (client.is_connected, client.sessions_opened) == (True, 1)
    assert application.doubts == [(InDoubt("lost", SESSION_ID, TERM_ID),)]
    assert client.request("kept", b"request") > 0
    assert client.in_flight == ("kept",)


def test_a_session_that_the_cluster_closes_is_followed_by_another(world: SimulatedWorld) -> None:
    setting = Setting(world)
    application = Application(setting)
    world.run(SECOND)
    setting.members[0].say(closed("TIMEOUT"))
    world.run(SECOND)
    assert (application.client.sessions_opened, application.client.is_connected) == (2, True)
    assert "the cluster has closed the session: TIMEOUT" in str(application.client.problem)


def test_no_more_requests_wait_than_there_may_be(world: SimulatedWorld) -> None:
    setting = Setting(world)
    client = Application(setting, requests_max=2).client
    world.run(SECOND)
    assert client.request(1, b"") > 0
    assert client.request(2, b"") > 0
    assert client.request(3, b"") == BACK_PRESSURED
    assert client.request(2, b"") > 0, "a repetition takes no place of its own"
    client.answered(1)
    assert client.request(3, b"") > 0


def test_rejected_credentials_end_it_for_good(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [session_event(request, EventCode.AUTHENTICATION_REJECTED, "no")]
    application = Application(setting)
    world.run(5 * SECOND)
    (failure,) = application.failures
    assert isinstance(failure, ClusterAuthenticationError)
    assert application.client.is_closed
    with pytest.raises(ClosedError, match="the cluster rejected the credentials"):
        application.client.request(1, b"")
    assert application.client.next_deadline_ns() == INT64_MAX


def test_a_refused_session_is_asked_for_again_after_the_delay(world: SimulatedWorld) -> None:
    setting = Setting(world)
    answers = iter([EventCode.ERROR, EventCode.ERROR])
    setting.members[0].answers["SessionConnectRequest"] = lambda request: [session_event(request, next(answers, EventCode.OK), "full")]
    application = Application(setting, reconnect_delay_ns="1s")
    world.run(1900 * MS)
    assert (application.client.state, application.sessions) == (ReconnectState.WAITING, [])
    world.run(2 * SECOND)
    assert (application.client.state, application.sessions) == (ReconnectState.CONNECTED, [SESSION_ID])


def test_close_ends_session_or_attempt_and_doubts_what_is_in_flight(world: SimulatedWorld) -> None:
    setting = Setting(world)
    application = Application(setting)
    world.run(SECOND)
    with application.client as client:
        client.request("last", b"")
    client.close()
    world.run(20 * SECOND)
    assert application.doubts == [(InDoubt("last", SESSION_ID, TERM_ID),)]
    assert setting.members[0].names()[-1] == "SessionCloseRequest"
    setting.members[0].answers.clear()
    attempt = Application(setting)
    world.run(SECOND)
    attempt.client.close()
    world.run(20 * SECOND)
    assert (attempt.client.poll(), attempt.sessions) == (0, [])
    assert not setting.members[0].subscription.images


def test_does_not_wait_in_a_simulated_world(world: SimulatedWorld) -> None:
    with pytest.raises(BlockingCallError, match=r"ReconnectingCluster\.poll"):
        Application(Setting(world)).client.await_session()
