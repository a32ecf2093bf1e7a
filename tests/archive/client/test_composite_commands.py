"""Operations of several steps: what a copy and a tail ask the archive for, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.archive import ArchiveErrorCode, RecordingSignal, ReplicationParams
from aerowire.base.errors import ArchiveConnectionError, ArchiveError, ClosedError
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive.messages.recording_signal_event import RecordingSignalEvent
from tests.archive.client.fake_session import SESSION_ID, FakeArchive

SOURCE = "aeron:udp?endpoint=other:8010"
REPLICATION_ID = 9000


def signal(kind: RecordingSignal, recording_id: int = 4, replication_id: int = REPLICATION_ID) -> RecordingSignalEvent:
    return RecordingSignalEvent(
        control_session_id=SESSION_ID,
        correlation_id=replication_id,
        recording_id=recording_id,
        subscription_id=-1,
        position=0,
        signal=kind,
    )


def asked(fake: FakeArchive) -> list[str]:
    return [type(archive.decode(message)).__name__ for message in fake.sent]


def test_a_copy_is_done_when_the_replication_and_the_recording_have_ended() -> None:
    fake = FakeArchive()
    pending = fake.client.async_copy_recording(3, 10, SOURCE)
    assert not pending.poll()
    fake.answer(REPLICATION_ID)
    fake.say(signal(RecordingSignal.REPLICATE), signal(RecordingSignal.EXTEND), signal(RecordingSignal.SYNC))
    assert not pending.poll()
    fake.say(signal(RecordingSignal.STOP, 8, REPLICATION_ID + 1), signal(RecordingSignal.REPLICATE_END, -1))
    assert not pending.poll()
    fake.say(signal(RecordingSignal.STOP))
    assert pending.poll()
    assert pending.result() == 4
    assert asked(fake) == ["ReplicateRequest2"]


def test_a_copy_hears_what_comes_together_with_the_answer() -> None:
    fake = FakeArchive()
    pending = fake.client.async_copy_recording(3, 10, SOURCE)
    fake.answer(REPLICATION_ID)
    fake.say(signal(RecordingSignal.REPLICATE), signal(RecordingSignal.STOP), signal(RecordingSignal.REPLICATE_END, -1))
    assert pending.poll()
    assert pending.result() == 4


def test_a_copy_that_follows_is_done_when_it_has_merged() -> None:
    fake = FakeArchive()
    pending = fake.client.async_copy_recording(3, 10, SOURCE, ReplicationParams(live_destination="aeron:udp?endpoint=me:1"))
    fake.answer(REPLICATION_ID)
    fake.say(signal(RecordingSignal.REPLICATE), signal(RecordingSignal.MERGE))
    assert pending.poll()
    assert pending.result() == 4


def test_the_error_of_a_replication_is_that_of_the_copy_and_of_nobody_else() -> None:
    fake = FakeArchive()
    pending = fake.client.async_copy_recording(3, 10, SOURCE)
    fake.answer(REPLICATION_ID)
    fake.refuse(ArchiveErrorCode.REPLICATION_CONNECTION_FAILURE, "no source", correlation_id=REPLICATION_ID)
    assert pending.poll()
    with pytest.raises(ArchiveError, match="the archive reports an error: no source"):
        pending.result()
    assert fake.client.poll_for_error_response() is None
    fake.refuse(0, "later", correlation_id=REPLICATION_ID)
    error = fake.client.poll_for_error_response()
    assert error is not None
    assert "later" in error.what


def test_a_copy_that_is_given_up_is_stopped() -> None:
    fake = FakeArchive()
    pending = fake.client.async_copy_recording(3, 10, SOURCE)
    fake.answer(REPLICATION_ID)
    assert not pending.poll()
    pending.cancel()
    assert asked(fake) == ["ReplicateRequest2", "StopReplicationRequest"]
    stop: Any = archive.decode(fake.sent[1])
    assert stop.replication_id == REPLICATION_ID
    with pytest.raises(ClosedError, match="given up: copy recording 3"):
        pending.result()


def test_a_copy_ends_with_its_session() -> None:
    fake = FakeArchive()
    pending = fake.client.async_copy_recording(3, 10, SOURCE)
    fake.answer(REPLICATION_ID)
    assert not pending.poll()
    fake.subscription.is_connected = False
    assert pending.poll()
    with pytest.raises(ArchiveConnectionError, match="not connected any more"):
        pending.result()
