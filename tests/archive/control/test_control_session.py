"""A session with its publication, its counter and its authenticator."""

from __future__ import annotations

from typing import Any, cast

import pytest

from aerowire.archive.control.control_session import RESPONSES_WAITING_MAX
from aerowire.archive.control.retried_request import RETRY_INTERVAL_MS, RetriedRequest
from aerowire.archive.control.session_machine import SessionState
from aerowire.base.errors import RegistrationError
from aerowire.client.publications.publication import BACK_PRESSURED, CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive import ControlResponseCode, RecordingSignal
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.security.authentication import ChallengeAuthenticator, SimpleAuthenticator
from tests.support.archives.control_sessions import PROTOCOL_VERSION, SessionHost, answered, refused


def test_tells_the_client_its_session_id() -> None:
    host = SessionHost()
    session = host.connect()
    assert host.publication.take() == [
        archive.ControlResponse(
            control_session_id=session.session_id,
            correlation_id=1,
            relevant_id=session.session_id,
            code=ControlResponseCode.OK,
            version=PROTOCOL_VERSION,
        )
    ]
    assert session.state is SessionState.AUTHENTICATED
    assert (host.counter.value, host.counter.reference_id) == (session.session_id, host.publication.registration_id)


def test_refuses_another_major_version() -> None:
    host = SessionHost()
    session = host.new_session(invalid_version="invalid client version 2.0.0, archive is 1.12.0")
    for now in (0, 0, 0, 201, 402):
        host.time.now_ms = now
        session.do_work()
    sent = host.publication.take()
    assert [(found.code, found.error_message) for found in sent] == [
        (ControlResponseCode.ERROR, "invalid client version 2.0.0, archive is 1.12.0")
    ] * 3


def test_keeps_the_order_of_responses_that_were_blocked() -> None:
    host = SessionHost()
    session = host.active()
    host.publication.result = BACK_PRESSURED
    session.send_ok(10)
    session.send_signal(11, 3, 4, 5, RecordingSignal.START)
    host.publication.result = None
    session.send_error(12, "no", ArchiveErrorCode.MAX_REPLAYS)
    assert host.publication.messages == []
    assert not session.send_subscription_descriptor(13, 1, 2, "aeron:ipc")
    session.do_work()
    assert [found.correlation_id for found in host.publication.take()] == [10, 11, 12]
    assert session.send_subscription_descriptor(13, 1, 2, "aeron:ipc")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (NOT_CONNECTED, "control response publication is not connected"),
        (CLOSED, "control response publication is closed"),
        (MAX_POSITION_EXCEEDED, "control response publication is at max position"),
    ],
)
def test_ends_when_nothing_can_be_sent_any_more(result: int, reason: str) -> None:
    host = SessionHost()
    session = host.active()
    host.publication.result = result
    session.send_ok(10)
    assert session.is_done
    assert session.machine.end_reason == reason


def test_ends_when_too_many_responses_are_not_read() -> None:
    host = SessionHost()
    session = host.active()
    host.publication.result = BACK_PRESSURED
    for _ in range(RESPONSES_WAITING_MAX):
        session.send_ok(10)
    assert not session.is_done
    session.send_ok(10)
    assert (session.machine.end_reason or "").startswith(f"{RESPONSES_WAITING_MAX} responses of ")


def test_ends_when_too_many_bytes_are_not_read() -> None:
    host = SessionHost()
    session = host.active()
    host.publication.result = BACK_PRESSURED
    while not session.is_done:
        session.send_error(10, "long" * 10_000)
    assert session.machine.end_reason == "128 responses of 1048576 bytes are not read"


def test_close_revokes_the_publication_and_gives_the_counter_back() -> None:
    host = SessionHost()
    session = host.active()
    session.close()
    assert (host.publication.is_closed, host.publication.revoke_on_close, host.counter.is_closed) == (True, True, True)


def test_accepts_the_users_whose_secret_is_right() -> None:
    host = SessionHost(authenticator=SimpleAuthenticator({b"alice": b"secret", b"bob": b"other"}))
    for credentials, principal in ((b"other", b"bob"), (b"secret", b"alice")):
        session = host.new_session()
        host.authenticator.on_connect_request(session.session_id, credentials, 0)
        for _ in range(3):
            session.do_work()
        assert (session.state, session.encoded_principal) == (SessionState.AUTHENTICATED, principal)


def test_rejects_a_wrong_secret_after_200_ms() -> None:
    host = SessionHost(authenticator=SimpleAuthenticator({b"alice": b"secret"}))
    session = host.new_session()
    host.authenticator.on_connect_request(session.session_id, b"guess", 0)
    for now in (0, 0, 0, 200, 201):
        host.time.now_ms = now
        session.do_work()
    [found] = host.publication.take()
    assert (found.code, found.relevant_id, found.error_message) == (
        ControlResponseCode.ERROR,
        ArchiveErrorCode.AUTHENTICATION_REJECTED,
        "authentication rejected",
    )
    assert session.state is SessionState.REJECTED


def challenge_host() -> SessionHost:
    def verify(challenge: bytes, response: bytes) -> bytes | None:
        return b"alice" if response == challenge[::-1] else None

    return SessionHost(authenticator=ChallengeAuthenticator(lambda session_id, _: f"who {session_id}".encode(), verify))


def challenged(host: SessionHost) -> Any:
    session = host.new_session()
    host.authenticator.on_connect_request(session.session_id, b"", 0)
    for _ in range(4):
        session.do_work()
    assert [found.encoded_challenge for found in host.publication.take()] == [b"who 100"]
    return session


def test_accepts_the_right_response_to_a_challenge() -> None:
    host = challenge_host()
    session = challenged(host)
    session.on_challenge_response(9, b"001 ohw")
    session.do_work()
    assert session.state is SessionState.AUTHENTICATED
    assert [(found.code, found.correlation_id) for found in host.publication.take()] == [(ControlResponseCode.OK, 9)]


def test_rejects_the_wrong_response_to_a_challenge() -> None:
    host = challenge_host()
    session = challenged(host)
    session.on_challenge_response(9, b"guess")
    session.do_work()
    assert session.state is SessionState.REJECTED


def test_a_response_without_a_challenge_is_nothing() -> None:
    host = challenge_host()
    session = host.new_session()
    host.authenticator.on_connect_request(session.session_id, b"", 0)
    session.on_challenge_response(9, b"001 ohw")
    for _ in range(4):
        session.do_work()
    assert session.state is SessionState.CHALLENGED


def test_an_authenticator_that_raises_ends_its_session() -> None:
    def fail(session_id: int, credentials: bytes) -> bytes:
        raise KeyError(session_id, credentials)

    host = SessionHost(authenticator=ChallengeAuthenticator(fail, lambda _challenge, _response: None))
    session = host.new_session()
    for _ in range(2):
        session.do_work()
    with pytest.raises(KeyError):
        session.do_work()
    assert session.machine.is_aborted


def test_asks_again_for_what_the_driver_refuses_temporarily() -> None:
    busy = RegistrationError("busy", error_code=ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE)
    answers = [refused(busy), refused(busy), answered("added")]
    request: RetriedRequest[Any] = RetriedRequest(lambda: answers.pop(0))
    assert request.poll(0) is None
    assert request.poll(RETRY_INTERVAL_MS - 1) is None
    assert len(answers) == 2
    assert request.poll(RETRY_INTERVAL_MS) is None
    assert request.poll(2 * RETRY_INTERVAL_MS) == "added"


def test_a_refusal_for_good_ends_the_session() -> None:
    host = SessionHost()
    session = host.new_session()
    session._adding_publication = RetriedRequest(lambda: cast(Any, refused(RegistrationError("no", error_code=ErrorCode.INVALID_CHANNEL))))
    with pytest.raises(RegistrationError):
        session.do_work()
    assert session.machine.end_reason == "failed with exception: no"
