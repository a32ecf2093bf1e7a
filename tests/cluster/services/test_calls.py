"""What a service may call, when, and what comes of it: messages to clients and services, timers, sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aerowire.base.errors import ClosedError, ClusterServiceError, MessageTooLongError, ServiceCallError
from aerowire.client import NOT_CONNECTED, FragmentAssembler, Header
from aerowire.cluster.services import MOCKED_OFFER, ClientSession, Cluster
from aerowire.codecs.flyweights.cluster.messages.cancel_timer import CancelTimer
from aerowire.codecs.flyweights.cluster.messages.close_session import CloseSession
from aerowire.codecs.flyweights.cluster.messages.schedule_timer import ScheduleTimer
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cnc import ClusterRole
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import RESPONSE, RESPONSE_STREAM_ID, SESSION_HEADER_LENGTH, TERM_ID, Rig, session_message

Action = Callable[[Cluster, ClientSession | None], Any]


class Acting(NotingService):
    """Does what a test says in the callbacks that it names, and keeps what came of that."""

    def __init__(self, action: Action, *callbacks: str) -> None:
        super().__init__()
        self.action = action
        self.callbacks = callbacks
        self.results: list[Any] = []

    def act(self, callback: str, session: ClientSession | None = None) -> None:
        if callback in self.callbacks:
            try:
                self.results.append(self.action(self.cluster, session))
            except Exception as error:
                self.results.append(error)

    def on_start(self, cluster: Cluster, snapshot_image: Any) -> None:
        super().on_start(cluster, snapshot_image)
        self.act("on_start")

    def on_session_open(self, session: ClientSession, at: int) -> None:
        super().on_session_open(session, at)
        self.act("on_session_open", session)

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        super().on_session_message(session, message, at)
        self.act("on_session_message", session)

    def on_role_change(self, role: ClusterRole) -> None:
        super().on_role_change(role)
        self.act("on_role_change")

    def on_terminate(self, cluster: Cluster) -> None:
        super().on_terminate(cluster)
        self.act("on_terminate")

    def do_background_work(self, _now_ns: int) -> int:
        if not self.results or "do_background_work" in self.callbacks:
            self.act("do_background_work")
        return 0


@pytest.mark.parametrize("callback", ["on_start", "on_role_change", "on_terminate", "do_background_work"])
@pytest.mark.parametrize(
    "action",
    [
        lambda cluster, _: cluster.offer(b"x"),
        lambda cluster, _: cluster.try_claim(1),
        lambda cluster, _: cluster.schedule_timer(1, 2),
        lambda cluster, _: cluster.cancel_timer(1),
        lambda cluster, _: cluster.close_client_session(1),
    ],
)
def test_a_call_that_is_not_allowed_says_so(rig: Rig, callback: str, action: Action) -> None:
    service = Acting(action, callback)
    container = rig.start(service)
    container.close()
    assert isinstance(service.results[0], ServiceCallError)
    assert f"sending messages or scheduling timers is not allowed from {callback}" in str(service.results[0])


def test_a_session_is_guarded_in_the_same_way(rig: Rig) -> None:
    found: list[Any] = []

    def offer(cluster: Cluster, _: Any) -> None:
        for session in cluster.client_sessions:
            for call in (lambda: session.offer(b"x"), lambda: session.try_claim(1), session.close):  # noqa: B023 called at once
                with pytest.raises(ServiceCallError):
                    call()
                found.append(session.id)

    rig.start(Acting(offer, "on_terminate"))
    rig.open_session(5)
    rig.run(lambda: rig.containers[0].cluster.client_sessions)
    rig.containers[0].close()
    assert found == [5, 5, 5]


def client_of(rig: Rig) -> list[tuple[SessionMessageHeader, bytes]]:
    """Listen as a client; return what it gets."""
    found: list[tuple[SessionMessageHeader, bytes]] = []

    def on_message(buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        data = bytes(buffer[offset : offset + length])
        found.append((SessionMessageHeader.decode(data), data[SESSION_HEADER_LENGTH:]))

    subscription = rig.aeron.add_subscription(RESPONSE, RESPONSE_STREAM_ID)
    assembler = FragmentAssembler(on_message)

    class Client:
        def invoke(self) -> int:
            return subscription.poll(assembler, 10)

    rig.invokers.append(Client())
    return found


def test_messages_to_a_client_have_the_header_of_the_term_session_and_time(rig: Rig) -> None:
    def answer(_: Cluster, session: ClientSession | None) -> list[int]:
        assert session is not None
        results = [session.offer(b"whole"), session.offer(b"a part", 2, 3), session.offer_parts(b"two ", memoryview(b"parts"))]
        with session.try_claim(5) as claim:
            claim.put_bytes(b"claim")
        with pytest.raises(ZeroDivisionError), session.try_claim(5) as claim:
            claim.buffer[:1] = bytes([1 // (claim.length - 5)])
        claim = session.try_claim(2)
        claim.buffer[:] = b"ed"
        claim.commit()
        return [*results, claim.result]

    service = Acting(answer, "on_session_message")
    rig.start(service)
    received = client_of(rig)
    rig.open_session(5)
    rig.run(lambda: service.sessions and service.sessions[5].publication is not None and service.sessions[5].publication.is_connected)
    rig.append(session_message(5, b"?", timestamp=2345))
    rig.run(lambda: len(received) == 5)
    header = SessionMessageHeader(leadership_term_id=TERM_ID, cluster_session_id=5, timestamp=2345)
    assert received == [(header, payload) for payload in (b"whole", b"par", b"two parts", b"claim", b"ed")]
    assert all(result > 0 for result in service.results[0])


def test_a_member_that_does_not_lead_sends_nothing(rig: Rig) -> None:
    def answer(_: Cluster, session: ClientSession | None) -> list[Any]:
        assert session is not None
        with session.try_claim(3) as claim:
            claim.buffer[:] = b"abc"
        with pytest.raises(MessageTooLongError, match="0 to 65440 bytes"):
            session.try_claim(1 << 20)
        return [session.offer(b"x"), claim.result, session.publication]

    service = Acting(answer, "on_session_message")
    rig.start(service, role=ClusterRole.FOLLOWER)
    rig.open_session(5)
    rig.append(session_message(5, b"?"))
    rig.run(lambda: service.results)
    assert service.results == [[MOCKED_OFFER, MOCKED_OFFER, None]]


def test_a_service_that_does_not_respond_has_no_publications(rig: Rig) -> None:
    def answer(_: Cluster, session: ClientSession | None) -> list[Any]:
        assert session is not None
        claim = session.try_claim(3)
        with pytest.raises(ClosedError, match="nothing is claimed"):
            _unused = claim.buffer
        return [session.offer(b"x"), claim.result, bool(claim), claim.length]

    service = Acting(answer, "on_session_message")
    rig.start(service, service_responder=False)
    rig.open_session(5)
    rig.append(session_message(5, b"?"))
    rig.run(lambda: service.results)
    assert service.results == [[NOT_CONNECTED, NOT_CONNECTED, False, 0]]


def test_a_client_that_cannot_be_answered_is_an_error_of_its_session_alone(rig: Rig) -> None:
    service = Acting(lambda _, session: session and session.offer(b"x"), "on_session_open")
    container = rig.start(service)
    rig.open_session(5, channel="aeron:udp?endpoint=nowhere.invalid:1")
    rig.open_session(6, channel="not a channel")
    rig.run(lambda: len(service.results) == 2, cycles=2_000_000)
    assert service.results == [NOT_CONNECTED, NOT_CONNECTED]
    assert all("cannot be answered" in text for text in rig.errors(container))


def test_sessions_are_connected_when_the_member_becomes_the_leader(rig: Rig) -> None:
    service = NotingService()
    container = rig.start(service, role=ClusterRole.FOLLOWER)
    for session_id in (9, 5, 7):
        rig.open_session(session_id, principal=b"who")
    rig.run(lambda: len(service.sessions) == 3)
    assert [session.id for session in container.cluster.client_sessions] == [5, 7, 9]
    assert service.sessions[7].encoded_principal == b"who"
    assert (service.sessions[7].response_channel, service.sessions[7].response_stream_id) == (RESPONSE, RESPONSE_STREAM_ID)
    assert rig.log is not None
    end = rig.log.position
    rig.log.close()
    rig.log = None
    rig.run(lambda: container.agent.log.image is None)
    rig.join(position=end)
    rig.run(lambda: container.cluster.role == ClusterRole.LEADER)
    assert all(session.publication is not None for session in container.cluster.client_sessions)
    publication = service.sessions[5].publication
    assert publication is not None
    rig.close_session(5)
    rig.run(lambda: service.events[-1][0] == "close")
    assert publication.is_closed


def test_what_goes_into_the_log_is_told_the_consensus_module(rig: Rig) -> None:
    def act(cluster: Cluster, _: Any) -> list[Any]:
        with cluster.try_claim(5) as claim:
            claim.put_bytes(b"claim")
        return [
            cluster.schedule_timer(7, 8000),
            cluster.cancel_timer(9),
            cluster.offer(b"xoffer", 1) > 0,
            cluster.offer_parts(b"a", b"b") > 0,
        ]

    service = Acting(act, "on_session_message")
    rig.start(service, service_id=0)
    rig.append(session_message(5, b"?", timestamp=2345))
    rig.run(lambda: len(rig.payloads) == 3)
    assert service.results == [[True, True, True, True]]
    assert rig.take(ScheduleTimer) == ScheduleTimer(correlation_id=7, deadline=8000)
    assert rig.take(CancelTimer) == CancelTimer(correlation_id=9)
    assert rig.payloads == [b"claim", b"offer", b"ab"]
    header = SessionMessageHeader(leadership_term_id=TERM_ID, cluster_session_id=0, timestamp=2345)
    assert [rig.take(SessionMessageHeader) for _ in range(3)] == [header] * 3


def test_a_session_is_closed_by_the_log_once_it_was_asked_for(rig: Rig) -> None:
    def close(cluster: Cluster, session: ClientSession | None) -> list[Any]:
        assert session is not None
        session.close()
        with pytest.raises(ClusterServiceError, match=r"there is no such session.*session 99"):
            cluster.close_client_session(99)
        return [session.is_closing, cluster.close_client_session(5), cluster.get_session(5) is session]

    service = Acting(close, "on_session_message")
    rig.start(service)
    rig.open_session(5)
    rig.append(session_message(5, b"?"))
    assert rig.take(CloseSession) == CloseSession(cluster_session_id=5)
    assert service.results == [[True, True, True]]
    rig.close_session(5)
    rig.run(lambda: service.events[-1][0] == "close")
    service.sessions[5].close()  # which has ended
    rig.cycles()
    assert not [message for message in rig.messages if isinstance(message, CloseSession)]


def test_nothing_can_be_told_a_module_that_does_not_listen(rig: Rig) -> None:
    service = Acting(lambda cluster, _: cluster.schedule_timer(1, 2), "on_session_message")
    container = rig.start(service)
    rig.from_services.close()
    rig.from_services = rig.aeron.add_subscription("aeron:ipc?term-length=64k", 9)
    rig.run(lambda: not container.agent.core.proxy.is_connected)
    rig.append(session_message(5, b"?"))
    rig.run(lambda: service.results)
    assert "the consensus module cannot be told anything" in str(service.results[0])


def test_a_callback_that_waits_lets_the_container_live(rig: Rig) -> None:
    worked: list[int] = []

    class Waiting(NotingService):
        def on_timer_event(self, correlation_id: int, at: int) -> None:
            while len(worked) < 3:
                self.cluster.idle_strategy.idle()
            self.cluster.idle_strategy.reset()
            super().on_timer_event(correlation_id, at)

        def do_background_work(self, now_ns: int) -> int:
            worked.append(now_ns)
            return 1

    service = Waiting()
    rig.start(service)
    worked.clear()
    rig.fire_timer(3)
    rig.run(lambda: service.events[-1] == ("timer", 3, 1003))
    assert len(worked) >= 3
