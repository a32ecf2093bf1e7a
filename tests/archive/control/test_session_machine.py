"""The states of a control session, with literal times."""

from __future__ import annotations

import pytest

from aerowire.archive.control.session_machine import (
    REQUEST_IMAGE_UNAVAILABLE,
    RESPONSE_NOT_CONNECTED,
    SESSION_CLOSED,
    SessionMachine,
    SessionState,
    SessionTask,
)


def machine(*, is_version_valid: bool = True) -> SessionMachine:
    return SessionMachine(now_ms=0, connect_timeout_ms=5000, liveness_check_interval_ms=1000, is_version_valid=is_version_valid)


def connected(*, is_version_valid: bool = True) -> SessionMachine:
    session = machine(is_version_valid=is_version_valid)
    assert session.poll(0, is_connected=False) is SessionTask.OPEN
    session.on_open(0)
    assert session.poll(1, is_connected=True) is None
    assert session.state is SessionState.CONNECTED
    return session


def active() -> SessionMachine:
    session = connected()
    assert session.poll(2, is_connected=True) is SessionTask.AUTHENTICATE
    session.on_authenticated()
    assert session.on_request()
    return session


def test_goes_through_its_states_to_active() -> None:
    changes: list[str] = []
    session = SessionMachine(
        now_ms=0,
        connect_timeout_ms=5000,
        liveness_check_interval_ms=1000,
        on_change=lambda old, new, reason: changes.append(f"{old.value} {new.value} {reason}"),
    )
    session.on_open(0)
    session.poll(1, is_connected=True)
    session.poll(2, is_connected=True)
    session.on_authenticated()
    session.on_request()
    session.end(SESSION_CLOSED)
    assert changes == [
        "INIT CONNECTING connecting",
        "CONNECTING CONNECTED connected",
        "CONNECTED AUTHENTICATED authenticated",
        "AUTHENTICATED ACTIVE active",
        "ACTIVE DONE session closed",
    ]


def test_asks_the_authenticator_each_200_ms() -> None:
    session = connected()
    asked = [now for now in range(2, 700) if session.poll(now, is_connected=True) is SessionTask.AUTHENTICATE]
    assert asked == [2, 203, 404, 605]


def test_confirms_each_200_ms_until_the_first_request() -> None:
    session = connected()
    session.poll(2, is_connected=True)
    session.on_authenticated()
    confirmed = [now for now in range(3, 450) if session.poll(now, is_connected=True) is SessionTask.CONFIRM]
    assert confirmed == [203, 404]
    assert session.on_request()
    assert session.poll(700, is_connected=True) is None


def test_an_authenticated_session_waits_for_its_first_request_without_a_limit() -> None:
    session = connected()
    session.poll(2, is_connected=True)
    session.on_authenticated()
    assert session.poll(1_000_000, is_connected=True) is SessionTask.CONFIRM


def test_refuses_a_version_until_the_connect_timeout() -> None:
    session = connected(is_version_valid=False)
    refused = [now for now in range(2, 5002) if session.poll(now, is_connected=True) is SessionTask.REFUSE_VERSION]
    assert refused[:3] == [2, 203, 404]
    assert not session.on_request()
    assert session.end_reason == "failed to establish initial connection: state=CONNECTED"
    assert session.is_aborted


def test_rejects_at_the_next_interval_and_ends_with_the_connect_timeout() -> None:
    session = connected()
    session.poll(2, is_connected=True)
    session.on_rejected()
    rejected = [now for now in range(3, 5003) if session.poll(now, is_connected=True) is SessionTask.REJECT]
    assert rejected[:2] == [203, 404]
    assert session.end_reason == "failed to establish initial connection: state=REJECTED"


def test_asks_about_a_challenged_client_each_cycle_within_the_connect_timeout() -> None:
    session = connected()
    session.poll(2, is_connected=True)
    session.on_challenged()
    assert [session.poll(now, is_connected=True) for now in (3, 4, 5000)] == [SessionTask.CHALLENGE] * 3
    assert session.poll(5001, is_connected=True) is None
    assert session.end_reason == "failed to establish initial connection: state=CHALLENGED"


def test_pings_at_the_liveness_interval() -> None:
    session = active()
    pinged = [now for now in range(3, 3500) if session.poll(now, is_connected=True) is SessionTask.PING]
    assert pinged == [1001, 2002, 3003]


def test_ends_when_the_client_has_gone() -> None:
    session = active()
    assert session.poll(10, is_connected=False) is None
    assert session.end_reason == RESPONSE_NOT_CONNECTED
    assert not session.is_aborted


def test_ends_when_nothing_could_be_sent_for_the_connect_timeout() -> None:
    session = active()
    session.on_blocked(100)
    session.on_blocked(3000)
    session.poll(5100, is_connected=True)
    assert session.state is SessionState.ACTIVE
    session.poll(5101, is_connected=True)
    assert session.end_reason == "failed to send response for more than connectTimeoutMs=5000"
    assert session.is_aborted


def test_a_send_that_succeeds_ends_the_wait() -> None:
    session = active()
    session.on_blocked(100)
    session.on_sent()
    session.poll(9000, is_connected=True)
    assert session.state is SessionState.ACTIVE


@pytest.mark.parametrize("state", ["init", "connected", "challenged", "rejected"])
def test_serves_no_request_before_it_is_authenticated(state: str) -> None:
    session = machine() if state == "init" else connected()
    if state == "challenged":
        session.on_challenged()
    if state == "rejected":
        session.on_rejected()
    assert not session.on_request()


@pytest.mark.parametrize("reason", [SESSION_CLOSED, RESPONSE_NOT_CONNECTED, f"{REQUEST_IMAGE_UNAVAILABLE} : controlSessionId=1"])
def test_an_end_that_the_client_knows_of_is_no_abortion(reason: str) -> None:
    session = active()
    session.end(reason)
    assert session.is_done
    assert not session.is_aborted


def test_the_first_reason_of_an_end_stays() -> None:
    session = active()
    session.end("first")
    session.end("second")
    session.on_authenticated()
    session.on_open(1)
    assert (session.state, session.end_reason) == (SessionState.DONE, "first")
