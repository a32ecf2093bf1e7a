"""A command, or a set-up, that waits for its log goes on where it stopped; what others have changed meanwhile is checked again."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import StorageSpaceError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import SetupEncoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from tests.support.processes import free_port

NOW = "sparse=true"  # a log that is made at once


class Later(Executor):
    """Runs calls when it is told to."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self.error: Exception | None = None  # of the next call

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        self.jobs.append((Future(), lambda: work(*arguments, **named)))
        return self.jobs[-1][0]

    def run(self, count: int | None = None) -> None:
        for _ in range(len(self.jobs) if count is None else count):
            future, work = self.jobs.popleft()
            error, self.error = self.error, None
            try:
                if error is not None:
                    raise error
                future.set_result(work())
            except Exception as raised:
                future.set_exception(raised)


class Stage:
    """A driver whose logs are made when a test says so, and a client of it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.conductor = client.driver.conductor
        self.worker = self.conductor.core.logs._worker = Later()

    def begin(self, channel: str, stream_id: int = 10, *, is_exclusive: bool = True) -> int:
        """Ask for a publication whose log is not there yet."""
        registration_id: int = self.client.add_publication(channel, stream_id, is_exclusive=is_exclusive)
        self.client.work_until(lambda: self.conductor.waiting_logs.has(registration_id))
        return registration_id

    def add(self, channel: str, stream_id: int = 10, *, is_exclusive: bool = True) -> Any:
        """Add a publication that is there at once."""
        return self.ready(self.client.add_publication(channel, stream_id, is_exclusive=is_exclusive), is_exclusive=is_exclusive)

    def ready(self, registration_id: int, *, is_exclusive: bool = True) -> Any:
        kind = CommandType.ON_EXCLUSIVE_PUBLICATION_READY if is_exclusive else CommandType.ON_PUBLICATION_READY
        return self.client.take(kind, registration_id)

    def remove(self, registration_id: int) -> None:
        removal = self.client.request(CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, registration_id=registration_id)
        self.client.take(CommandType.ON_OPERATION_SUCCESS, removal)

    def refused(self, registration_id: int) -> str:
        """Return why a publication was refused; nothing is left of it."""
        text: str = self.client.error_of(registration_id)[1]
        self.is_clean()
        return text

    def is_clean(self) -> None:
        self.worker.run()
        self.client.work()
        assert not self.conductor.waiting_logs
        assert not self.conductor.core.logs._making
        assert self.logs() == {str(item.registration_id) for item in self.conductor.publications}

    def logs(self) -> set[str]:
        return {path.name.removesuffix(".logbuffer") for path in Path(self.client.driver.aeron_dir).glob("*/*.logbuffer")}


@pytest.fixture
def stage(launch: Callable[..., Any]) -> Stage:
    return Stage(launch(term_buffer_sparse_file=False))


def test_a_command_goes_on_with_what_it_was_when_it_stopped(stage: Stage) -> None:
    waiting = stage.begin("aeron:ipc")
    chosen = stage.conductor.sessions.next_id
    stage.worker.run()
    assert stage.ready(waiting).session_id == chosen - 1
    assert stage.conductor.sessions.next_id == chosen


def test_answers_come_in_the_order_of_the_logs(stage: Stage) -> None:
    first, second = stage.begin("aeron:ipc"), stage.begin("aeron:ipc")
    at_once = stage.add(f"aeron:ipc?{NOW}").registration_id
    stage.worker.run(1)
    assert stage.ready(first).registration_id == first
    stage.client.work()
    assert stage.conductor.waiting_logs.has(second)
    stage.worker.run(1)
    assert stage.ready(second).registration_id == second
    assert stage.logs() == {str(first), str(second), str(at_once)}


def test_a_session_that_another_has_taken_meanwhile_is_refused(stage: Stage) -> None:
    waiting = stage.begin("aeron:ipc?session-id=5")
    stage.add(f"aeron:ipc?session-id=5|{NOW}")
    stage.worker.run()
    assert "an existing publication has the same session id" in stage.refused(waiting)


def test_a_session_of_the_drivers_choice_makes_way_for_one_that_a_client_has_chosen(stage: Stage) -> None:
    waiting = stage.begin("aeron:ipc")
    chosen = stage.conductor.sessions.next_id - 1
    assert stage.add(f"aeron:ipc?session-id={chosen}|{NOW}").session_id == chosen
    stage.worker.run()
    assert stage.ready(waiting).session_id != chosen


def test_a_stream_that_can_be_shared_by_now_is_shared(stage: Stage) -> None:
    first, second = stage.begin("aeron:ipc", is_exclusive=False), stage.begin("aeron:ipc", is_exclusive=False)
    assert len(stage.worker.jobs) == 1
    stage.worker.run()
    answers = stage.ready(first, is_exclusive=False), stage.ready(second, is_exclusive=False)
    assert [answer.registration_id for answer in answers] == [first, first]
    stage.is_clean()


def test_who_would_share_a_log_that_cannot_be_made_gets_its_own(stage: Stage) -> None:
    first, second = stage.begin("aeron:ipc", is_exclusive=False), stage.begin("aeron:ipc", is_exclusive=False)
    assert len(stage.worker.jobs) == 1
    stage.worker.error = StorageSpaceError("disk full", error_code=ErrorCode.STORAGE_SPACE)
    stage.worker.run()
    assert stage.client.error_of(first)[0] == ErrorCode.STORAGE_SPACE
    stage.client.work_until(lambda: second in stage.conductor.core.logs._making)
    stage.worker.run()
    assert stage.ready(second, is_exclusive=False).registration_id == second
    stage.is_clean()


def test_a_tag_that_another_has_taken_meanwhile_is_refused(stage: Stage) -> None:
    waiting = stage.begin("aeron:ipc?tags=1,77")
    stage.add(f"aeron:ipc?tags=2,77|{NOW}", 11)
    stage.worker.run()
    assert "tag is in use" in stage.refused(waiting)


def test_a_publication_whose_tag_is_named_may_have_gone_meanwhile(stage: Stage) -> None:
    named = stage.add(f"aeron:ipc?tags=1,77|{NOW}", 11).registration_id
    waiting = stage.begin("aeron:ipc?session-id=tag:77")
    stage.remove(named)
    stage.client.work_until(lambda: not stage.conductor.publications.has(named))
    stage.worker.run()
    assert "tag that no publication has" in stage.refused(waiting)


def test_a_tag_that_is_named_may_be_anothers_by_now(stage: Stage) -> None:
    named = stage.add(f"aeron:ipc?tags=1,77|{NOW}", 11).registration_id
    waiting = stage.begin("aeron:ipc?session-id=tag:77")
    stage.remove(named)
    stage.client.work_until(lambda: not stage.conductor.publications.has(named))
    session_id = stage.add(f"aeron:ipc?tags=1,77|{NOW}", 11).session_id
    stage.worker.run()
    assert stage.ready(waiting).session_id == session_id


def test_a_subscription_that_waits_for_responses_may_have_gone_meanwhile(stage: Stage) -> None:
    response = f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
    subscription = stage.client.add_subscription(response, 12)
    stage.client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
    waiting = stage.begin(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|response-correlation-id={subscription}")
    removal = stage.client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=subscription)
    stage.client.take(CommandType.ON_OPERATION_SUCCESS, removal)
    stage.worker.run()
    assert "no subscription waits for these responses" in stage.refused(waiting)


def test_an_endpoint_that_has_closed_meanwhile_is_opened_again(stage: Stage) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|linger=0"
    other = stage.add(f"{channel}|{NOW}").registration_id
    (before,) = stage.conductor.endpoints._senders
    waiting = stage.begin(channel)
    stage.remove(other)
    stage.client.work_until(lambda: not list(stage.conductor.endpoints._senders))
    stage.worker.run()
    stage.ready(waiting)
    (after,) = stage.conductor.endpoints._senders
    assert after is not before


def test_an_endpoint_that_another_has_opened_meanwhile_must_fit(stage: Stage) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    waiting = stage.begin(f"{channel}|so-sndbuf=128k")
    stage.add(f"{channel}|so-sndbuf=64k|{NOW}")
    stage.worker.run()
    assert "so-sndbuf" in stage.refused(waiting)


def test_a_client_that_has_gone_meanwhile_is_not_answered(stage: Stage) -> None:
    waiting = stage.begin("aeron:ipc")
    stage.client.send(CommandType.CLIENT_CLOSE, commands.ClientCloseEncoder.encode(client_id=stage.client.client_id, correlation_id=0))
    stage.client.work_until(lambda: not stage.conductor.core.clients.has(stage.client.client_id))
    stage.client.responses.clear()
    stage.worker.run()
    stage.client.work()
    stage.is_clean()
    assert not [item for _, item in stage.client.responses if getattr(item, "correlation_id", None) == waiting]
    assert stage.client.system(SystemCounter.ERRORS) == 0


def test_a_command_that_is_taken_back_is_forgotten(stage: Stage) -> None:
    waiting = stage.begin("aeron:ipc")
    stage.remove(waiting)
    stage.is_clean()
    assert not stage.conductor.publications.has(waiting)


class TestImages:
    """What waits is a set-up."""

    @pytest.fixture
    def port(self, stage: Stage) -> int:
        port = free_port()
        self.subscription = self.subscribe(stage, f"aeron:udp?endpoint=127.0.0.1:{port}")
        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            frame = SetupEncoder.encode(session_id=1, stream_id=10, term_length=65536, mtu=1408)
            sender.sendto(frame, ("127.0.0.1", port))
            stage.client.work_until(lambda: stage.conductor.waiting_logs)
        return port

    @staticmethod
    def subscribe(stage: Stage, channel: str) -> int:
        subscription: int = stage.client.add_subscription(channel, 10)
        stage.client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
        return subscription

    @staticmethod
    def unsubscribe(stage: Stage, subscription: int) -> None:
        removal = stage.client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=subscription)
        stage.client.take(CommandType.ON_OPERATION_SUCCESS, removal)

    def test_it_is_not_made_for_subscribers_that_have_gone(self, stage: Stage, port: int) -> None:
        del port
        self.unsubscribe(stage, self.subscription)
        stage.worker.run()
        stage.client.work()
        stage.is_clean()
        assert not list(stage.conductor.images)
        assert stage.client.system(SystemCounter.ERRORS) == 0

    def test_it_is_made_for_those_who_have_come(self, stage: Stage, port: int) -> None:
        other = self.subscribe(stage, f"aeron:udp?endpoint=127.0.0.1:{port}|{NOW}")
        self.unsubscribe(stage, self.subscription)
        stage.worker.run()
        image = stage.client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert image.subscription_registration_id == other
        assert stage.client.system(SystemCounter.ERRORS) == 0

    def test_the_receiver_may_ask_again_when_its_log_cannot_be_made(self, stage: Stage, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
        del port
        told: list[tuple[int, int]] = []
        proxy = type(stage.conductor.core.receiver)
        monkeypatch.setattr(proxy, "remove_init_in_progress", lambda _self, _endpoint, session, stream: told.append((session, stream)))
        stage.worker.error = StorageSpaceError("disk full")
        stage.worker.run()
        stage.client.work()
        assert told == [(1, 10)]
        assert not list(stage.conductor.images)
        assert stage.client.system(SystemCounter.ERRORS) == 1
