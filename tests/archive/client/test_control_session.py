"""Requests of one control session and what becomes of them: results, refusals, time, room, the end; signals and errors between them."""

from __future__ import annotations

import pytest

from aerowire.archive import ArchiveErrorCode, RecordingDescriptor, RecordingSignal, SessionState
from aerowire.base.errors import (
    ArchiveConnectionError,
    ArchiveError,
    ArchiveTimeoutError,
    ClosedError,
    MessageTooLongError,
)
from aerowire.base.idle import SleepingMillisIdleStrategy
from aerowire.client import ADMIN_ACTION, BACK_PRESSURED, CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages import recording_descriptor, recording_signal_event
from aerowire.codecs.flyweights.archive.messages.close_session_request import CloseSessionRequest
from tests.archive.client.fake_session import REQUESTS, RESPONSES, SECOND, SESSION_ID, FakeArchive
from tests.support.waiting import no_longer_than

# An answer of an official archive (archive_control.pcap): stop position 3200 of recording 0, asked for with correlation id 30.
CAPTURED = bytes.fromhex("2000010065000e009660b722000000001e00000000000000800c00000000000000000000000c010000000000")
SIGNAL = recording_signal_event.RecordingSignalEvent(
    control_session_id=SESSION_ID, correlation_id=5, recording_id=3, subscription_id=21, position=64, signal=RecordingSignal.STOP
)


def descriptor(recording_id: int, correlation_id: int, session_id: int = SESSION_ID) -> recording_descriptor.RecordingDescriptor:
    return recording_descriptor.RecordingDescriptor(
        control_session_id=session_id,
        correlation_id=correlation_id,
        recording_id=recording_id,
        start_timestamp=1000,
        stop_timestamp=-1,
        start_position=0,
        stop_position=-1,
        initial_term_id=9,
        segment_file_length=1 << 27,
        term_buffer_length=1 << 16,
        mtu_length=1408,
        session_id=77,
        stream_id=1001,
        stripped_channel="aeron:ipc",
        original_channel="aeron:ipc?alias=x",
        source_identity="aeron:ipc",
    )


# ---- answers


def test_an_answer_completes_the_request_of_its_correlation_id() -> None:
    fake = FakeArchive()
    first, second = fake.client.async_get_stop_position(0), fake.client.async_get_start_position(0)
    fake.answer(640, correlation_id=second.correlation_id)
    assert (second.poll(), first.poll(), second.result()) == (True, False, 640)
    fake.answer(3200, correlation_id=first.correlation_id)
    assert first.poll()
    assert first.result() == 3200
    assert fake.session.requests_in_flight == 0


def test_reads_an_answer_as_an_official_archive_sent_it() -> None:
    fake = FakeArchive()
    fake.session.session_id = 582443158
    fake.aeron.correlation_id = 29
    pending = fake.client.async_get_stop_position(0)
    fake.say(CAPTURED)
    assert pending.poll()
    assert pending.result() == 3200


def test_an_answer_to_another_session_is_no_answer() -> None:
    fake = FakeArchive()
    pending = fake.client.async_get_stop_position(0)
    fake.answer(3200, control_session_id=SESSION_ID + 1)
    assert not pending.poll()


def test_a_refusal_carries_code_request_correlation_and_recording() -> None:
    fake = FakeArchive()
    pending = fake.client.async_get_start_position(77)
    fake.refuse(5, "unknown recording id: 77")
    assert pending.poll()
    with pytest.raises(ArchiveError) as caught:
        pending.result()
    error = caught.value
    assert (error.error_code, error.correlation_id, error.recording_id) == (ArchiveErrorCode.UNKNOWN_RECORDING, 101, 77)
    assert error.request == "get the start position of recording 77"
    assert str(error) == (
        "the archive refused to get the start position of recording 77: unknown recording id: 77; "
        "at control session 7, correlation id 101; got error UNKNOWN_RECORDING (5)"
    )


def test_a_code_that_this_client_does_not_know_is_told_as_a_number() -> None:
    fake = FakeArchive()
    pending = fake.client.async_get_start_position(77)
    fake.refuse(1234)
    assert pending.poll()
    with pytest.raises(ArchiveError, match=r"got error 1234$") as caught:
        pending.result()
    assert caught.value.error_code == 1234


def test_an_unexpected_response_code_is_an_error() -> None:
    fake = FakeArchive()
    pending = fake.client.async_get_start_position(77)
    fake.answer(code=ControlResponseCode.RECORDING_UNKNOWN)
    assert pending.poll()
    with pytest.raises(ArchiveError, match="got error UNKNOWN_RECORDING"):
        pending.result()


def test_a_try_form_answers_false_to_the_code_that_it_allows_and_to_no_other() -> None:
    fake = FakeArchive()
    pending = fake.client.async_try_stop_recording(5)
    fake.refuse(ArchiveErrorCode.UNKNOWN_SUBSCRIPTION)
    assert pending.poll()
    assert pending.result() is False
    stopped = fake.client.async_try_stop_recording("aeron:ipc", 5)
    fake.answer()
    assert stopped.poll()
    assert stopped.result() is True
    other = fake.client.async_try_stop_replication(9)
    fake.refuse(ArchiveErrorCode.UNAUTHORISED_ACTION)
    assert other.poll()
    with pytest.raises(ArchiveError, match="UNAUTHORISED_ACTION"):
        other.result()


# ---- listings


def test_a_listing_ends_with_the_last_descriptor_asked_for() -> None:
    fake = FakeArchive()
    pending = fake.client.async_list_recordings(0, 2)
    fake.say(descriptor(0, 101), descriptor(4, 99), descriptor(3, 101, SESSION_ID + 1), descriptor(1, 101))
    assert pending.poll()
    assert [found.recording_id for found in pending.result()] == [0, 1]
    found = pending.result()[0]
    assert isinstance(found, RecordingDescriptor)
    assert (found.stripped_channel, found.original_channel, found.stop_position) == ("aeron:ipc", "aeron:ipc?alias=x", -1)
    assert found.is_active


def test_a_listing_ends_where_the_archive_knows_no_more() -> None:
    fake = FakeArchive()
    pending = fake.client.async_list_recordings()
    fake.say(descriptor(0, 101))
    assert not pending.poll()
    fake.answer(1, code=ControlResponseCode.RECORDING_UNKNOWN)
    assert pending.poll()
    assert [found.recording_id for found in pending.result()] == [0]


def test_a_call_that_waits_does_not_idle_while_there_is_more_to_read() -> None:
    fake = FakeArchive(idle_strategy=SleepingMillisIdleStrategy(60_000))
    pending = fake.client.async_list_recordings(0, 25)
    fake.say(*(descriptor(recording_id, 101) for recording_id in range(25)))
    with no_longer_than(30.0, "it has idled"):
        assert [found.recording_id for found in fake.session.wait(pending)] == list(range(25))


def test_each_descriptor_gives_a_listing_its_whole_time_again() -> None:
    fake = FakeArchive(message_timeout_ns="1s")
    pending, other = fake.client.async_list_recordings(), fake.client.async_get_start_position(0)
    fake.pass_time(SECOND - 1)
    fake.say(descriptor(0, 101))
    assert not pending.poll()
    fake.pass_time(1)
    assert (pending.poll(), other.poll()) == (False, True)
    fake.pass_time(SECOND - 1)
    assert pending.poll()
    with pytest.raises(ArchiveTimeoutError):
        pending.result()


# ---- time, room, the end


def test_a_late_request_says_what_it_waited_for_where_how_long_and_the_last_error() -> None:
    fake = FakeArchive(message_timeout_ns="2s")
    pending = fake.client.async_get_start_position(3)
    fake.refuse(0, "something else failed", correlation_id=1)
    assert not pending.poll()
    fake.pass_time(2 * SECOND - 1)
    assert not pending.poll()
    fake.pass_time(1)
    assert pending.poll()
    with pytest.raises(ArchiveTimeoutError) as caught:
        pending.result()
    assert str(caught.value) == (
        "no answer of the archive to: get the start position of recording 3; "
        f"at control session 7, requests {REQUESTS} stream 10, responses {RESPONSES} stream 20, correlation id 101; "
        "expected an answer within 2 s; got none; the last error was: the archive reports an error: something else failed"
    )
    assert (caught.value.recording_id, caught.value.request) == (3, "get the start position of recording 3")


def test_an_answer_that_comes_too_late_changes_nothing() -> None:
    fake = FakeArchive(message_timeout_ns="2s")
    pending = fake.client.async_get_start_position(3)
    fake.pass_time(2 * SECOND)
    assert pending.poll()
    fake.answer(5)
    fake.client.poll()
    with pytest.raises(ArchiveTimeoutError):
        pending.result()


def test_a_request_without_room_is_sent_by_a_later_poll_and_those_behind_it_keep_their_order() -> None:
    fake = FakeArchive()
    fake.publication.results = [BACK_PRESSURED, ADMIN_ACTION]
    first = fake.client.async_get_start_position(1)
    second = fake.client.async_get_start_position(2)
    assert fake.sent == []
    assert not first.poll()
    assert [int.from_bytes(message[16:24], "little") for message in fake.sent] == [first.correlation_id, second.correlation_id]


def test_a_request_that_finds_no_room_too_often_fails() -> None:
    fake = FakeArchive(message_retry_attempts=2)
    fake.publication.results = [BACK_PRESSURED, BACK_PRESSURED]
    pending = fake.client.async_get_start_position(1)
    assert pending.poll()
    with pytest.raises(ArchiveConnectionError, match=r"could not be sent: get the start position of recording 1.*back pressure, 2 times"):
        pending.result()
    assert (fake.sent, fake.session.requests_in_flight) == ([], 0)


def test_a_request_waits_for_room_until_its_time_is_over() -> None:
    fake = FakeArchive(message_timeout_ns="2s")
    fake.publication.results = [BACK_PRESSURED] * 1000
    pending = fake.client.async_get_start_position(1)
    assert not any(pending.poll() for _ in range(500))
    fake.pass_time(2 * SECOND)
    assert pending.poll()
    with pytest.raises(ArchiveTimeoutError, match="expected an answer within 2 s; got no room in the control publication to send it"):
        pending.result()


def test_a_request_that_is_too_long_fails_and_those_behind_it_are_sent() -> None:
    fake = FakeArchive()
    fake.publication.max_message_length = 100
    long, short = fake.client.async_start_replay(1, "aeron:ipc?alias=" + "x" * 100, 7), fake.client.async_get_start_position(1)
    with pytest.raises(MessageTooLongError, match="expected 0 to 100 bytes"):
        long.result()
    fake.answer(64, correlation_id=short.correlation_id)
    assert short.poll()
    assert (short.result(), len(fake.sent), fake.session.requests_in_flight) == (64, 1, 0)


@pytest.mark.parametrize("result", [CLOSED, NOT_CONNECTED, MAX_POSITION_EXCEEDED])
def test_a_request_that_can_never_be_sent_fails_at_once(result: int) -> None:
    fake = FakeArchive()
    fake.publication.results = [result]
    pending = fake.client.async_get_start_position(1)
    assert pending.is_done
    with pytest.raises(ArchiveConnectionError, match="could not be sent"):
        pending.result()


def test_a_request_that_was_given_up_is_not_sent_any_more() -> None:
    fake = FakeArchive()
    fake.publication.results = [BACK_PRESSURED]
    pending = fake.client.async_get_start_position(1)
    pending.cancel()
    fake.client.poll()
    assert fake.sent == []
    with pytest.raises(ClosedError, match="given up"):
        pending.result()


def test_requests_fail_when_the_archive_is_not_connected_any_more() -> None:
    fake = FakeArchive()
    answered, pending = fake.client.async_get_start_position(1), fake.client.async_get_start_position(2)
    fake.answer(5, correlation_id=answered.correlation_id)
    fake.subscription.is_connected = False
    while not pending.poll():
        continue
    assert answered.result() == 5
    with pytest.raises(ArchiveConnectionError, match="not connected any more: get the start position of recording 2"):
        pending.result()
    assert fake.client.state is SessionState.DISCONNECTED
    with pytest.raises(ArchiveConnectionError):
        fake.client.async_get_start_position(3)
    with pytest.raises(ArchiveConnectionError):
        fake.client.check_for_error_response()
    assert isinstance(fake.client.poll_for_error_response(), ArchiveConnectionError)


def test_close_ends_the_session_at_the_archive_and_every_request() -> None:
    fake = FakeArchive()
    pending = fake.client.async_get_start_position(1)
    fake.client.close()
    fake.client.close()
    assert fake.sent[1:] == [CloseSessionRequest(control_session_id=SESSION_ID).encode()]
    assert fake.publication.is_closed
    assert fake.subscription.is_closed
    with pytest.raises(ClosedError, match="was closed: get the start position"):
        pending.result()
    with pytest.raises(ClosedError, match="the client of the archive is closed"):
        fake.client.async_get_start_position(1)


# ---- signals, and errors without a request


# ---- what is no message of an archive


# ---- the blocking form
