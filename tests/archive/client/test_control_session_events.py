"""What comes between the answers of a control session: signals, errors, damage; and calls that wait for both."""

from __future__ import annotations

import pytest

from aerowire.archive import ArchiveErrorCode, RecordingSignal, RecordingSignalEvent
from aerowire.archive.client import control_session
from aerowire.base.errors import (
    AerowireError,
    ArchiveConnectionError,
    ArchiveError,
)
from aerowire.client import NOT_CONNECTED
from aerowire.codecs.flyweights.archive.messages.ping import Ping
from tests.archive.client.fake_session import SESSION_ID, FakeArchive
from tests.archive.client.test_control_session import CAPTURED, SIGNAL


def test_signals_reach_their_consumer_between_the_answers() -> None:
    signals: list[RecordingSignalEvent] = []
    fake = FakeArchive(recording_signal_consumer=signals.append)
    pending = fake.client.async_get_start_position(1)
    fake.say(SIGNAL)
    fake.answer(5)
    assert pending.poll()
    expected = RecordingSignalEvent(
        control_session_id=7, correlation_id=5, recording_id=3, subscription_id=21, position=64, signal=RecordingSignal.STOP
    )
    assert signals == [expected]
    fake.say(SIGNAL, SIGNAL)
    assert fake.client.poll_for_recording_signals() == 2
    assert fake.client.poll_for_recording_signals() == 0


def test_an_error_without_a_request_is_kept_until_it_is_asked_for() -> None:
    fake = FakeArchive()
    fake.refuse(ArchiveErrorCode.UNKNOWN_REPLAY, "replay failed", correlation_id=55)
    fake.client.poll()
    error = fake.client.poll_for_error_response()
    assert error is not None
    assert (error.error_code, error.correlation_id) == (ArchiveErrorCode.UNKNOWN_REPLAY, 55)
    assert fake.client.poll_for_error_response() is None
    fake.refuse(ArchiveErrorCode.GENERIC, "replay failed", correlation_id=55)
    with pytest.raises(ArchiveError, match="the archive reports an error: replay failed"):
        fake.client.check_for_error_response()
    fake.client.check_for_error_response()


def test_errors_that_are_never_asked_for_are_bounded() -> None:
    fake = FakeArchive()
    for number in range(100):
        fake.refuse(0, f"error {number}", correlation_id=55)
    while fake.subscription.messages:
        fake.client.poll()
    kept = []
    while (error := fake.client.poll_for_error_response()) is not None:
        kept.append(error.what)
    assert len(kept) == control_session.ERRORS_MAX
    assert kept[-1] == "the archive reports an error: error 99"


def test_an_error_handler_gets_errors_without_a_request_and_no_others() -> None:
    errors: list[ArchiveError] = []
    fake = FakeArchive(error_handler=errors.append)
    pending = fake.client.async_get_start_position(1)
    fake.refuse(5)
    fake.refuse(0, "apart", correlation_id=55)
    assert pending.poll()
    assert [error.what for error in errors] == ["the archive reports an error: apart"]
    assert fake.client.poll_for_error_response() is None


def test_a_handler_may_start_a_request_but_not_wait_for_it() -> None:
    started = []
    failures: list[str] = []

    def consume(_event: RecordingSignalEvent) -> None:
        started.append(fake.client.async_get_start_position(1))
        try:
            fake.client.get_start_position(2)
        except AerowireError as error:
            failures.append(str(error))

    fake = FakeArchive(recording_signal_consumer=consume)
    fake.say(SIGNAL)
    fake.client.poll()
    assert len(started) == 1
    assert "inside a handler" in failures[0]
    assert fake.session.requests_in_flight == 1


def test_what_a_handler_raises_goes_to_the_caller_and_loses_no_answer() -> None:
    def consume(_event: RecordingSignalEvent) -> None:
        raise ValueError("mine")

    fake = FakeArchive(recording_signal_consumer=consume)
    pending = fake.client.async_get_start_position(1)
    fake.say(SIGNAL)
    fake.answer(5)
    with pytest.raises(ValueError, match="mine"):
        pending.poll()
    assert pending.poll()
    assert pending.result() == 5


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x20\x00\x01\x00e\x00\x0e",
        CAPTURED[:-5],
        CAPTURED[:2] + b"\xff\x03" + CAPTURED[4:],  # a template that does not exist
        CAPTURED[:4] + b"\x6f\x00" + CAPTURED[6:],  # the Cluster's schema
        b"\x00\x00" + CAPTURED[2:8],  # a block that holds nothing
    ],
)
def test_counts_and_drops_what_it_does_not_understand(message: bytes) -> None:
    fake = FakeArchive()
    pending = fake.client.async_get_start_position(1)
    fake.say(message, Ping(control_session_id=SESSION_ID))
    fake.answer(5)
    assert pending.poll()
    assert (pending.result(), fake.session.poller.dropped) == (5, 1)


class AnsweringInvoker:
    """An archive without threads of its own: it answers the last request when it is invoked."""

    def __init__(self) -> None:
        self.archive: FakeArchive | None = None
        self.count = 0

    def invoke(self) -> int:
        self.count += 1
        if self.archive is not None and self.count == 3:
            self.archive.answer(640)
        return 0


def test_a_call_that_waits_invokes_what_has_no_threads_of_its_own() -> None:
    invoker = AnsweringInvoker()
    invoker.archive = fake = FakeArchive(agent_invoker=invoker)
    assert fake.client.get_start_position(0) == 640
    assert invoker.count == 3


def test_a_call_that_waits_raises_what_its_request_ends_with() -> None:
    fake = FakeArchive()
    fake.publication.results = [NOT_CONNECTED]
    with pytest.raises(ArchiveConnectionError, match="could not be sent: purge recording 3"):
        fake.client.purge_recording(3)


def test_the_blocking_forms_are_named_and_described_as_the_others() -> None:
    client = FakeArchive().client
    starts = [name for name in dir(client) if name.startswith("async_") and name not in {"async_connect", "async_close"}]
    assert len(starts) > 35
    for name in starts:
        call = getattr(client, name.removeprefix("async_"))
        assert call.__name__ == name.removeprefix("async_")
        assert call.__doc__.startswith(getattr(client, name).__doc__.rstrip())
