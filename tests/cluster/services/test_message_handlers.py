"""Methods of a service for kinds of messages. The messages of the archive's schema stand for an application's."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.errors import ClusterServiceError, ConfigurationError
from aerowire.cluster.services import ClientSession, ClusteredService, MessageBatch, handles
from aerowire.cluster.services.service_calls import ServiceCalls
from aerowire.codecs.flyweights.archive.messages.keep_alive_request import KeepAliveRequest, KeepAliveRequestDecoder
from aerowire.codecs.flyweights.archive.messages.start_position_request import StartPositionRequest
from aerowire.codecs.flyweights.archive.messages.stop_position_request import StopPositionRequest
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import Rig, session_message

KEEP_ALIVE = KeepAliveRequest(control_session_id=1, correlation_id=2)
START = StartPositionRequest(control_session_id=1, correlation_id=2, recording_id=3)
STOP = StopPositionRequest(control_session_id=1, correlation_id=2, recording_id=4)


class Handling(ClusteredService):
    """Handles three kinds of messages."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    @handles(StartPositionRequest, StopPositionRequest)
    def on_position(self, session: ClientSession | None, request: StartPositionRequest | StopPositionRequest, at: int) -> None:
        self.found.append((session, request, at))

    @handles(KeepAliveRequestDecoder)
    def on_keep_alive(self, _session: ClientSession | None, request: KeepAliveRequestDecoder, at: int) -> None:
        self.found.append((request, request.correlation_id, at))


def test_each_message_goes_to_its_method() -> None:
    service = Handling()
    handle = ServiceCalls(service).on_session_message
    last = KeepAliveRequest(control_session_id=1, correlation_id=9)
    for at, message in enumerate((START.encode(), STOP.encode(), KEEP_ALIVE.encode(), last.encode())):
        handle(None, message, at)
    assert service.found[:2] == [(None, START, 0), (None, STOP, 1)]
    (first, *_), (second, *_) = service.found[2:]
    assert first is second  # a decoder is used again
    assert [found[1:] for found in service.found[2:]] == [(2, 2), (9, 3)]


def test_a_message_that_nothing_handles_is_an_error_that_names_those_that_are() -> None:
    handle = ServiceCalls(Handling()).on_session_message
    with pytest.raises(ClusterServiceError, match=r"schema 101 template 15, schema 101 template 52, schema 101 template 61; got schema 9"):
        handle(None, b"\x00\x00\x01\x00\x09\x00\x00\x00", 0)
    with pytest.raises(ClusterServiceError, match="a message of 3 bytes"):
        handle(None, b"abc", 0)


def test_a_damaged_message_is_an_error() -> None:
    handle = ServiceCalls(Handling()).on_session_message
    with pytest.raises(ClusterServiceError, match=r"a message to the service is damaged.*StartPositionRequest"):
        handle(None, START.encode()[:-1], 0)


def test_other_messages_go_to_on_session_message(rig: Rig) -> None:
    class Both(NotingService):
        @handles(StartPositionRequest)
        def on_start_position(self, session: ClientSession | None, request: StartPositionRequest, at: int) -> None:
            self.note("request", session and session.id, request.recording_id, at)

    service = Both()
    rig.start(service)
    rig.open_session(5)
    rig.append(session_message(5, START.encode()), session_message(5, b"text"))
    rig.run(lambda: service.events[-1][0] == "message")
    assert service.events[-2:] == [("request", 5, 3, 2000), ("message", 5, b"text", 2000)]


def test_two_methods_for_a_message_are_refused() -> None:
    class Twice(Handling):
        @handles(KeepAliveRequest)
        def on_other(self, *_: Any) -> None:
            raise AssertionError("not called")

    with pytest.raises(ConfigurationError, match="two methods are for the same message"):
        ServiceCalls(Twice())


def test_what_is_no_message_is_refused_where_it_is_marked() -> None:
    with pytest.raises(ConfigurationError, match=r"no message of a generated schema.*int"):
        handles(int)


def test_an_object_without_callbacks_is_no_service() -> None:
    with pytest.raises(ConfigurationError, match="this is no service"):
        ServiceCalls(object())


def test_methods_are_enough_of_a_service_and_exclude_batches() -> None:
    class Plain:
        @handles(StartPositionRequest)
        def on_start_position(self, _session: ClientSession | None, request: StartPositionRequest, at: int) -> None:
            found.append((request.recording_id, at))

    class Both(Plain):
        def on_batch(self, _batch: MessageBatch) -> None:
            raise AssertionError("not called")

    found: list[tuple[int, int]] = []
    ServiceCalls(Plain()).on_session_message(None, START.encode(), 9)
    assert found == [(3, 9)]
    with pytest.raises(ConfigurationError, match="takes messages in two ways"):
        ServiceCalls(Both())
