"""Requests that are served, and those that are not: foreign images, unknown sessions, lengths that lie, templates that do not exist."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from aerowire.archive.control.refusals import RequestRefusedError, unknown_recording
from aerowire.archive.control.request_routes import ROUTES
from aerowire.archive.control.requests import NULL_VALUE, ExtendRecording, Replay, Replicate, StartRecording
from aerowire.archive.control.session_machine import SessionState
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive import BooleanType, ControlResponseCode, SourceLocation
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.security.authorisation import ALLOW_ALL, DENY_ALL, AuthorisationRule, SimpleAuthorisationService
from tests.support.archives.control_sessions import MemoryImage, SessionHost

REQUEST = archive.StartPositionRequest(control_session_id=100, correlation_id=9, recording_id=3)


def served(host: SessionHost, request: Any) -> Any:
    """Return the request as its operation got it."""
    host.active()
    host.send(request)
    [(_, found)] = host.operations.calls
    return found


def test_serves_every_request_of_the_schema() -> None:
    others = {"AuthConnectRequest", "CloseSessionRequest", "KeepAliveRequest"}
    requests = {name for name in archive.__all__ if "Request" in name and not name.endswith(("Decoder", "Encoder"))}
    assert {route.message.__name__ for route in ROUTES.values()} == requests - others


def test_the_older_and_the_newer_request_to_record_are_one() -> None:
    expected = StartRecording(
        correlation_id=9, stream_id=1001, source_location=SourceLocation.LOCAL, is_auto_stop=False, channel="aeron:ipc"
    )
    older = archive.StartRecordingRequest(
        control_session_id=100, correlation_id=9, stream_id=1001, source_location=SourceLocation.LOCAL, channel="aeron:ipc"
    )
    newer = archive.StartRecordingRequest2(
        control_session_id=100,
        correlation_id=9,
        stream_id=1001,
        source_location=SourceLocation.LOCAL,
        auto_stop=BooleanType.FALSE,
        channel="aeron:ipc",
    )
    assert served(SessionHost(), older) == served(SessionHost(), newer) == expected


def test_an_extension_says_whether_its_subscription_ends_with_it() -> None:
    request = archive.ExtendRecordingRequest2(
        control_session_id=100,
        correlation_id=9,
        recording_id=3,
        stream_id=1001,
        source_location=SourceLocation.REMOTE,
        auto_stop=BooleanType.TRUE,
        channel="aeron:ipc",
    )
    found = served(SessionHost(), request)
    assert isinstance(found, ExtendRecording)
    assert found.is_auto_stop


def replay(version: int, block_length: int) -> bytes:
    message = archive.ReplayRequest(
        control_session_id=100,
        correlation_id=9,
        recording_id=3,
        position=64,
        length=-1,
        replay_stream_id=1002,
        file_io_max_length=65536,
        replay_token=-1,
        replay_channel="aeron:ipc",
    ).encode()
    return struct.pack("<HHHH", block_length, 6, 101, version) + message[8 : 8 + block_length] + message[8 + 56 :]


@pytest.mark.parametrize(("version", "block_length", "file_io_max_length"), [(6, 44, -1), (7, 48, 65536), (9, 48, 65536), (10, 56, 65536)])
def test_a_replay_of_an_older_version_has_no_newer_fields(version: int, block_length: int, file_io_max_length: int) -> None:
    found = served(SessionHost(), replay(version, block_length))
    assert isinstance(found, Replay)
    assert (found.file_io_max_length, found.replay_token, found.channel) == (file_io_max_length, NULL_VALUE, "aeron:ipc")


@pytest.mark.parametrize(("version", "block_length"), [(6, 60), (7, 64), (8, 68)])
def test_a_replication_of_an_older_version_has_no_newer_fields(version: int, block_length: int) -> None:
    message = archive.ReplicateRequest2(
        control_session_id=100,
        correlation_id=9,
        src_recording_id=1,
        dst_recording_id=2,
        stop_position=-1,
        channel_tag_id=-1,
        subscription_tag_id=-1,
        src_control_stream_id=10,
        file_io_max_length=65536,
        replication_session_id=77,
        src_control_channel="a",
        live_destination="b",
        replication_channel="c",
        encoded_credentials=b"d",
        src_response_channel="",
    ).encode()
    texts = message[8 + 68 :]
    if version < 8:
        texts = texts[:15]
    elif version < 10:
        texts = texts[:20]
    found = served(SessionHost(), struct.pack("<HHHH", block_length, 66, 101, version) + message[8 : 8 + block_length] + texts)
    assert isinstance(found, Replicate)
    assert (found.file_io_max_length, found.replication_session_id, found.encoded_credentials) == (
        65536 if version >= 7 else NULL_VALUE,
        77 if version >= 8 else NULL_VALUE,
        b"d" if version >= 8 else b"",
    )


def test_drops_a_request_that_comes_by_another_image() -> None:
    host = SessionHost()
    session = host.active()
    stranger = MemoryImage(session_id=8, source_identity="127.0.0.1:6000")
    for request in (
        REQUEST,
        archive.CloseSessionRequest(control_session_id=100),
        archive.KeepAliveRequest(control_session_id=100, correlation_id=1),
    ):
        host.send(request, stranger)
    assert host.operations.calls == []
    assert host.publication.messages == []
    assert session.state is SessionState.ACTIVE
    assert host.reports[0] == "WARN - unauthorised archive action=52 controlSessionId=100 source=127.0.0.1:6000"


def test_drops_a_request_of_an_unknown_session() -> None:
    host = SessionHost()
    host.active()
    host.send(archive.StartPositionRequest(control_session_id=55, correlation_id=9, recording_id=3))
    assert host.operations.calls == []
    assert "unknown session: controlSessionId=55 templateId=52" in host.reports[0]


def test_closes_a_session_without_a_response() -> None:
    host = SessionHost()
    session = host.active()
    host.send(archive.CloseSessionRequest(control_session_id=100))
    assert session.machine.end_reason == "session closed"
    assert host.publication.messages == []


def test_ends_all_sessions_of_an_image_that_has_gone() -> None:
    host = SessionHost()
    sessions = [host.active(), host.active()]
    host.adapter.abort_by_image(host.image)  # type: ignore[arg-type]
    assert all(session.is_done and not session.machine.is_aborted for session in sessions)


def test_answers_what_may_not_be_asked_with_unauthorised_action() -> None:
    host = SessionHost(
        authorisation=SimpleAuthorisationService([AuthorisationRule(protocol_id=101, action_id=52, is_allowed=False)], ALLOW_ALL)
    )
    host.active()
    host.send(REQUEST)
    [found] = host.publication.take()
    assert (found.code, found.relevant_id, found.error_message) == (
        ControlResponseCode.ERROR,
        ArchiveErrorCode.UNAUTHORISED_ACTION,
        "unauthorised action",
    )
    assert host.operations.calls == []


def test_the_rules_for_a_principal_go_before_those_for_all() -> None:
    service = SimpleAuthorisationService(
        [
            AuthorisationRule(protocol_id=101, is_allowed=True),
            AuthorisationRule(protocol_id=101, action_id=104, is_allowed=False),
            AuthorisationRule(protocol_id=101, action_id=104, principal=b"admin", is_allowed=True),
            AuthorisationRule(protocol_id=101, principal=b"guest", is_allowed=False),
            AuthorisationRule(protocol_id=101, action_id=12, principal=b"guest", is_allowed=True),
            AuthorisationRule(protocol_id=101, action_id=9, action_type="x", is_allowed=False),
        ],
        DENY_ALL,
    )
    assert service.is_authorised(101, 104, None, b"admin")
    assert not service.is_authorised(101, 104, None, b"user")
    assert service.is_authorised(101, 5, None, b"user")
    assert not service.is_authorised(101, 5, None, b"guest")
    assert service.is_authorised(101, 12, None, b"guest")
    assert not service.is_authorised(101, 9, "x", b"user")
    assert service.is_authorised(101, 9, "y", b"user")
    assert not service.is_authorised(111, 1, None, b"admin")


def test_what_an_authorisation_service_cannot_decide_is_not_permitted() -> None:
    class Undecided:
        def is_authorised(self, _protocol_id: int, _action_id: int, _type: Any, _encoded_principal: bytes) -> bool:
            raise KeyError("no such principal")

    host = SessionHost(authorisation=Undecided())
    host.active()
    host.send(REQUEST)
    [found] = host.publication.take()
    assert (found.code, found.relevant_id) == (ControlResponseCode.ERROR, ArchiveErrorCode.UNAUTHORISED_ACTION)
    assert host.operations.calls == []
    assert "'no such principal'" in host.reports


def test_a_refusal_is_answered_with_its_code() -> None:
    host = SessionHost()
    host.active()
    host.operations.raises = unknown_recording(3)
    host.send(REQUEST)
    [found] = host.publication.take()
    assert (found.correlation_id, found.relevant_id, found.error_message) == (9, 5, "unknown recording id: 3")
    assert host.reports == []


def test_an_error_is_answered_and_reported() -> None:
    host = SessionHost()
    host.active()
    host.operations.raises = OSError("disk")
    host.send(REQUEST)
    [found] = host.publication.take()
    assert (found.code, found.relevant_id, found.error_message) == (ControlResponseCode.ERROR, 0, "disk")
    assert host.reports == ["disk"]


def test_a_refusal_keeps_its_text_whatever_it_holds() -> None:
    host = SessionHost()
    host.active()
    host.operations.raises = RequestRefusedError("käse \udcff")
    host.send(REQUEST)
    [found] = host.publication.take()
    assert found.error_message == "k\\xe4se \\udcff"


def tokened(token: int, recording_id: int = 3, channel: str = "aeron:udp?control-mode=response|control=a:1") -> archive.ReplayRequest:
    return archive.ReplayRequest(
        control_session_id=-1,
        correlation_id=9,
        recording_id=recording_id,
        position=0,
        length=-1,
        replay_stream_id=1002,
        file_io_max_length=-1,
        replay_token=token,
        replay_channel=channel,
    )


def test_a_replay_with_a_token_is_served_for_its_session_on_the_channel_of_its_image() -> None:
    host = SessionHost()
    session = host.active()
    token = host.tokens.generate(session, 3, 0)
    host.send(tokened(token), MemoryImage(correlation_id=71))
    [(_, found)] = host.operations.calls
    assert found.channel == "aeron:udp?control-mode=response|control=a:1|response-correlation-id=71"
    assert [sent.correlation_id for sent in host.publication.take()] == [9]


@pytest.mark.parametrize("fault", ["other recording", "other token", "late", "closed session"])
def test_drops_a_replay_whose_token_does_not_hold(fault: str) -> None:
    host = SessionHost()
    session = host.active()
    token = host.tokens.generate(session, 3, 0)
    if fault == "late":
        host.time.now_ns = 5_000_000_000
    if fault == "closed session":
        host.adapter.remove(session)
    host.send(tokened(token + 1 if fault == "other token" else token, 4 if fault == "other recording" else 3), MemoryImage())
    assert host.operations.calls == []
    assert "token timeout" in host.reports[-1]


def test_tokens_expire_in_their_order() -> None:
    host = SessionHost()
    session = host.active()
    for now_ns in (0, 1, 2):
        host.tokens.generate(session, 3, now_ns)
    assert host.tokens.expire(5_000_000_001) == 2
    assert len(host.tokens) == 1


@pytest.mark.parametrize(
    ("message", "report"),
    [
        (b"", "shorter than its header"),
        (b"\0" * 7, "shorter than its header"),
        (struct.pack("<HHHH", 24, 52, 111, 17) + bytes(24), "expected schemaId=101, actual=111"),
        (struct.pack("<HHHH", 24, 2, 101, 14) + bytes(24), "unknown request templateId=2"),
        (struct.pack("<HHHH", 24, 1, 101, 14) + bytes(24), "unknown request templateId=1"),
        (struct.pack("<HHHH", 24, 52, 101, 14) + bytes(15), "request templateId=52 is too short"),
        (struct.pack("<HHHH", 8, 3, 101, 14) + bytes(7), "close request too short"),
        (struct.pack("<HHHH", 16, 60, 101, 14) + bytes(16), "challenge response cannot be read"),
        (struct.pack("<HHHH", 16, 58, 101, 14) + bytes(15), "connect request cannot be served"),
    ],
)
def test_drops_a_message_that_cannot_be_answered(message: bytes, report: str) -> None:
    host = SessionHost()
    session = host.active()
    host.send(message)
    assert report in host.reports[0]
    assert host.publication.messages == []
    assert session.state is SessionState.ACTIVE


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**32 - 1, 100])
def test_answers_a_request_whose_text_is_longer_than_its_message(length: int) -> None:
    host = SessionHost()
    host.active()
    host.send(struct.pack("<HHHHqqiiI", 24, 4, 101, 14, 100, 9, 1001, 0, length) + b"aeron:ipc")
    [found] = host.publication.take()
    assert (found.correlation_id, found.code, found.relevant_id) == (9, ControlResponseCode.ERROR, ArchiveErrorCode.GENERIC)
    assert found.error_message.startswith("malformed request: ")
    assert host.operations.calls == []


def test_answers_a_request_whose_block_is_too_short() -> None:
    host = SessionHost()
    host.active()
    host.send(struct.pack("<HHHHqqq", 16, 52, 101, 14, 100, 9, 3))
    [found] = host.publication.take()
    assert (found.correlation_id, found.code) == (9, ControlResponseCode.ERROR)


def test_random_messages_neither_raise_nor_touch_another_session() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    host = SessionHost()
    session = host.active()
    templates = [*ROUTES, 3, 58, 60, 61, 1, 2, 200]
    for _ in range(20_000):
        body = source.randbytes(source.randrange(0, 120))
        block_length = source.choice((16, 24, 28, 32, 56, 60, 68, source.randrange(1 << 16)))
        header = struct.pack(
            "<HHHH", block_length, source.choice(templates), source.choice((101, 101, 101, 100)), source.choice((0, 7, 14, 99))
        )
        host.send(header + body, MemoryImage(session_id=9))
        for other in host.adapter.sessions:
            if other is not session:
                host.adapter.remove(other)
    assert session.state is SessionState.ACTIVE
    assert host.operations.calls == []
