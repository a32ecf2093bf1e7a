"""Recordings cut off and purged: nothing is written before all is checked."""

from __future__ import annotations

import pytest

from aerowire.archive import ArchiveErrorCode, RecordingSignal
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, STREAM_ID, Rig
from tests.archive.conductor.test_recordings import extending_channel, refusal
from tests.archive.conductor.test_replays import read, replay, replay_count

FRAMES_IN_TERM = 62  # the rest of a term is padding


def test_cuts_a_recording_off_in_the_midst_of_a_segment(rig: Rig) -> None:
    recording_id, _ = rig.record(200)
    before = (rig.directory / f"{recording_id}-65536.rec").read_bytes()
    position = 65536 + 10 * FRAME_LENGTH
    assert rig.client.truncate_recording(recording_id, position) == 2
    rig.run(lambda: rig.signals)
    assert (rig.signals[0].signal, rig.signals[0].position, rig.signals[0].subscription_id) == (RecordingSignal.DELETE, -1, -1)
    assert rig.client.get_stop_position(recording_id) == position
    assert rig.segments() == [f"{recording_id}-0.rec", f"{recording_id}-65536.rec"]
    after = (rig.directory / f"{recording_id}-65536.rec").read_bytes()
    assert after == before[: 10 * FRAME_LENGTH].ljust(65536, b"\0")
    assert len(read(rig, replay(rig, recording_id), FRAMES_IN_TERM + 10)) == FRAMES_IN_TERM + 10


def test_a_recording_that_was_cut_off_can_be_extended(rig: Rig) -> None:
    recording_id, _ = rig.record(20)
    rig.client.truncate_recording(recording_id, 10 * FRAME_LENGTH)
    rig.run(lambda: rig.signals)
    rig.signals.clear()
    rig.client.extend_recording(recording_id, CHANNEL, STREAM_ID)
    publication = rig.publication(extending_channel(rig, recording_id))
    rig.started()
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end == 13 * FRAME_LENGTH)


def test_files_that_a_deletion_has_left_are_set_aside_and_reported_when_the_recording_goes_on(rig: Rig) -> None:
    recording_id, _ = rig.record(200)
    rig.client.truncate_recording(recording_id, 65536)
    rig.run(lambda: rig.signals)
    rig.signals.clear()
    (rig.directory / f"{recording_id}-65536.rec").write_bytes(bytes(100) + b"left")
    (rig.directory / f"{recording_id}-131072.rec").write_bytes(bytes(65536))
    rig.client.extend_recording(recording_id, CHANNEL, STREAM_ID)
    publication = rig.publication(extending_channel(rig, recording_id))
    rig.started()
    end = rig.offer(publication, FRAMES_IN_TERM + 3)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    assert (rig.directory / f"{recording_id}-65536.rec.del").read_bytes() == bytes(100) + b"left"
    assert rig.segments() == [f"{recording_id}-{name}" for name in ("0.rec", "131072.rec", "65536.rec", "65536.rec.del")]
    assert any(f"{recording_id}-65536.rec: offset 0" in text and "the file is given up" in text for text in rig.errors())


@pytest.mark.parametrize(("position", "left"), [(65536, ["0-0.rec"]), (0, [])])
def test_deletes_the_segments_behind(rig: Rig, position: int, left: list[str]) -> None:
    recording_id, _ = rig.record(200)
    assert rig.client.truncate_recording(recording_id, position) == 4 - len(left)
    rig.run(lambda: rig.signals)
    assert rig.segments() == left
    assert rig.client.get_stop_position(recording_id) == position


def test_cutting_nothing_off_deletes_nothing(rig: Rig) -> None:
    recording_id, end = rig.record(20)
    assert rig.client.truncate_recording(recording_id, end) == 0
    rig.run(lambda: rig.signals)
    assert rig.client.get_stop_position(recording_id) == end


def test_refuses_a_position_amid_a_frame_and_writes_nothing(rig: Rig) -> None:
    recording_id, end = rig.record(100)
    before = {name: (rig.directory / name).read_bytes() for name in (*rig.segments(), "archive.catalog")}
    text, code = refusal(rig.client.truncate_recording, recording_id, 64)
    assert code is ArchiveErrorCode.GENERIC
    assert "64 position not aligned to a data header" in text
    assert {name: (rig.directory / name).read_bytes() for name in (*rig.segments(), "archive.catalog")} == before
    assert rig.client.get_stop_position(recording_id) == end


@pytest.mark.parametrize("position", [3, -32, 1 << 40])
def test_refuses_a_position_out_of_the_recording(rig: Rig, position: int) -> None:
    recording_id, end = rig.record(5)
    text, code = refusal(rig.client.truncate_recording, recording_id, position)
    assert code is ArchiveErrorCode.INVALID_POSITION
    assert f"invalid position {position}: start=0 stop={end} alignment=32" in text


def test_replays_end_before_files_are_deleted(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    replay(rig, recording_id)
    rig.client.truncate_recording(recording_id, 0)
    rig.run(lambda: rig.signals)
    assert (replay_count(rig), rig.segments(), rig.failures) == (0, [], [])


def test_purges_a_recording(rig: Rig) -> None:
    recording_id, _ = rig.record(200)
    assert rig.client.purge_recording(recording_id) == 4
    rig.run(lambda: rig.signals)
    assert rig.signals[0].signal is RecordingSignal.DELETE
    assert rig.segments() == []
    assert rig.client.list_recordings() == []
    assert refusal(rig.client.purge_recording, recording_id)[1] is ArchiveErrorCode.UNKNOWN_RECORDING


def test_keeps_a_recording_that_is_in_use(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    replay(rig, recording_id)
    text, code = refusal(rig.client.purge_recording, recording_id)
    assert code is ArchiveErrorCode.ACTIVE_RECORDING
    assert f"cannot purge recording with active replay {recording_id}" in text
    rig.client.start_recording(CHANNEL, STREAM_ID)
    rig.publication()
    active = rig.started()
    assert refusal(rig.client.purge_recording, active)[1] is ArchiveErrorCode.ACTIVE_RECORDING
    assert refusal(rig.client.truncate_recording, active, 0)[1] is ArchiveErrorCode.ACTIVE_RECORDING
