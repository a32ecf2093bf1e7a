"""What users of the official archive complain of, from the client's side: each test's name says how it is here.

Beside these: mark files in files/test_mark_file.py, dumps in tests/tools/archive, merges in client/test_replay_merge.py and
persistent/test_subscription.py, truncation in conductor/test_truncation.py, extensions in conductor/test_recordings.py, a recording that
goes on after its end in client/test_recording_follower.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aerowire.archive import REPLAY_ALL_AND_STOP, ArchiveErrorCode, ReplayParams
from aerowire.base.errors import ArchiveError
from aerowire.codecs.flyweights.archive import CloseSessionRequest, KeepAliveRequest, StopRecordingRequest
from aerowire.recordings.segment_names import segment_name
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, PAYLOAD, SEGMENT_LENGTH, STREAM_ID, Rig
from tests.archive.conductor.test_replays import REPLAY_CHANNEL, REPLAY_STREAM_ID, replay, replay_count

PAGE = 4096
MESSAGES = 100
# The first segment holds 62 messages and padding.
IN_FIRST_SEGMENT = 62


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path / "archive")
    yield found
    found.close()


def write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def cut(path: Path, length: int) -> None:
    with path.open("r+b") as file:
        file.truncate(length)


@pytest.mark.parametrize(
    ("damage", "whole", "words"),
    [
        (lambda path: path.unlink(), IN_FIRST_SEGMENT, ["segment missing"]),
        (lambda path: cut(path, 3 * FRAME_LENGTH), IN_FIRST_SEGMENT + 3, ["segment short", f"found={3 * FRAME_LENGTH}"]),
        # What the system had not written when the power failed.
        (lambda path: write(path, 3 * FRAME_LENGTH, bytes(FRAME_LENGTH)), IN_FIRST_SEGMENT + 3, [f"segmentOffset={3 * FRAME_LENGTH}"]),
        (lambda path: write(path, 5 * FRAME_LENGTH, b"\xff\xff\xff\x7f"), IN_FIRST_SEGMENT + 5, [f"segmentOffset={5 * FRAME_LENGTH}"]),
        (lambda path: write(path, 5 * FRAME_LENGTH + 8, b"\1"), IN_FIRST_SEGMENT + 5, [f"segmentOffset={5 * FRAME_LENGTH}"]),
    ],
    ids=["missing", "short", "zeros", "length", "offset"],
)
def test_lost_or_corrupt_data_ends_a_replay_with_a_precise_error_and_no_stall(
    rig: Rig, damage: Callable[[Path], object], whole: int, words: list[str]
) -> None:
    recording_id, _ = rig.record(MESSAGES)
    name = segment_name(recording_id, SEGMENT_LENGTH)
    damage(rig.directory / name)
    found: list[bytes] = []
    subscription = replay(rig, recording_id)

    def poll() -> bool:
        subscription.poll(lambda buffer, offset, length, _: found.append(bytes(buffer[offset : offset + length])))
        return bool(rig.failures) and replay_count(rig) == 0 and not subscription.images

    rig.run(poll, cycles=1_000_000)
    assert found == [PAYLOAD] * whole
    (failure,) = rig.failures
    for word in (f"recordingId={recording_id}", f"segmentFile={name}", *words):
        assert word in str(failure)
    assert any(f"segmentFile={name}" in text for text in rig.errors())


def test_a_torn_tail_is_repaired_at_start_and_reported(rig: Rig, tmp_path: Path) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    # As a machine leaves it whose power fails: of the frame that lies on two pages only the first one was written, and nothing behind it.
    crashed = shutil.copytree(rig.directory, tmp_path / "crashed", ignore=shutil.ignore_patterns("archive-mark.*", "archive.lock"))
    torn = 3 * FRAME_LENGTH
    assert torn < PAGE < torn + FRAME_LENGTH
    write(crashed / segment_name(recording_id, 0), PAGE, bytes(SEGMENT_LENGTH - PAGE))
    rig.clients.clear()
    rig.archive.close()
    rig.directory = crashed
    rig.archive = rig.launch()
    rig.client = rig.connect()
    assert rig.client.get_stop_position(recording_id) == torn
    (text,) = (text for text in rig.errors() if segment_name(recording_id, 0) in text)
    assert f"offset {torn}" in text
    subscription = replay(rig, recording_id, ReplayParams(length=REPLAY_ALL_AND_STOP))
    found: list[int] = []

    def poll() -> bool:
        subscription.poll(lambda _buffer, _offset, length, _header: found.append(length))
        return len(found) == 3

    rig.run(poll)
    assert rig.failures == []


def test_a_live_segment_that_is_removed_ends_its_recording_and_is_told(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    (rig.directory / segment_name(recording_id, 0)).unlink()
    rig.run(lambda: rig.failures, cycles=10_000_000)
    (failure,) = rig.failures
    assert "segment missing" in str(failure)
    assert segment_name(recording_id, 0) in str(failure)
    assert rig.client.get_stop_position(recording_id) == end


def test_start_and_stop_without_an_image_leaks_nothing(rig: Rig) -> None:
    for _ in range(3 * rig.archive.context.max_concurrent_recordings):
        rig.client.stop_recording(rig.client.start_recording(CHANNEL, STREAM_ID))
    assert rig.archive.conductor.recordings.count == 0
    assert rig.client.list_recording_subscriptions() == []
    assert rig.segments() == []
    assert rig.client.list_recordings() == []


def test_an_empty_replay_that_is_to_stop_ends_with_one_error(rig: Rig) -> None:
    subscription_id = rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    for is_active in (True, False):
        with pytest.raises(ArchiveError) as caught:
            rig.client.start_replay(recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID, ReplayParams(length=REPLAY_ALL_AND_STOP))
        assert caught.value.error_code == ArchiveErrorCode.EMPTY_RECORDING
        if is_active:
            rig.client.stop_recording(subscription_id)
    publication.close()
    assert (replay_count(rig), rig.archive.conductor.replays.count, rig.failures) == (0, 0, [])


@pytest.mark.parametrize("position", [1, FRAME_LENGTH + 8])
def test_a_position_that_is_not_aligned_is_an_invalid_position(rig: Rig, position: int) -> None:
    recording_id, end = rig.record(MESSAGES)
    segments = rig.segments()
    requests: list[Callable[[], object]] = [
        lambda: rig.client.start_replay(recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID, ReplayParams(position=position)),
        lambda: rig.client.truncate_recording(recording_id, position),
    ]
    for ask in requests:
        with pytest.raises(ArchiveError) as caught:
            ask()
        assert caught.value.error_code == ArchiveErrorCode.INVALID_POSITION
        assert caught.value.recording_id == recording_id
    assert (rig.client.get_stop_position(recording_id), rig.segments()) == (end, segments)


def test_a_session_answers_only_the_image_that_opened_it(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    other = rig.connect()
    session_id = rig.client.control_session_id
    for message in (
        StopRecordingRequest(control_session_id=session_id, correlation_id=1, stream_id=STREAM_ID, channel=CHANNEL),
        KeepAliveRequest(control_session_id=session_id, correlation_id=2),
        CloseSessionRequest(control_session_id=session_id),
    ):
        assert other._session.proxy.publication.offer(message.encode()) > 0
    other.get_recording_position(recording_id)  # answered after those
    assert rig.client.get_recording_position(recording_id) == rig.offer(publication, 0)
    assert [one.stream_id for one in other.list_recording_subscriptions()] == [STREAM_ID]
    assert len([text for text in rig.errors() if "unauthorised archive action" in text]) == 1
