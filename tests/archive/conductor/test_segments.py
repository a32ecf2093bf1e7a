"""Segments detached, attached, deleted, purged and moved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aerowire.archive import ArchiveErrorCode, ReplayParams
from aerowire.archive.conductor.deletions import DeleteSegmentsSession
from aerowire.archive.files.segment_move import SegmentMove, record_move, recover_move
from aerowire.base.errors import ArchiveError
from tests.archive.conductor.conftest import CHANNEL, SEGMENT_LENGTH, STREAM_ID, Rig
from tests.archive.conductor.test_recordings import extending_channel, refusal
from tests.archive.conductor.test_replays import read, replay


def test_detaches_and_attaches_again(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    rig.client.detach_segments(recording_id, 2 * SEGMENT_LENGTH)
    assert rig.client.get_start_position(recording_id) == 2 * SEGMENT_LENGTH
    assert len(rig.segments()) == 5
    assert refusal(replay, rig, recording_id, ReplayParams(position=0))[1] is ArchiveErrorCode.INVALID_POSITION
    assert rig.client.attach_segments(recording_id) == 2
    assert rig.client.get_start_position(recording_id) == 0
    assert len(read(rig, replay(rig, recording_id), 300)) == 300
    assert rig.client.attach_segments(recording_id) == 0


def test_deletes_what_was_detached(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    rig.client.detach_segments(recording_id, 2 * SEGMENT_LENGTH)
    assert rig.client.delete_detached_segments(recording_id) == 2
    rig.run(lambda: rig.signals)
    assert rig.segments() == [f"{recording_id}-{position}.rec" for position in (131072, 196608, 262144)]
    assert rig.client.delete_detached_segments(recording_id) == 0
    assert rig.client.attach_segments(recording_id) == 0


def test_deletes_what_was_detached_however_far_it_is_from_the_start(rig: Rig) -> None:
    recording_id, _ = rig.record(100)
    catalog = rig.archive.conductor.core.catalog
    entry = catalog.entry(recording_id)
    assert entry is not None
    far = 1 << 46
    catalog.replace_recording(replace(entry, start_position=far, stop_position=far))
    assert rig.client.delete_detached_segments(recording_id) == 2
    rig.run(lambda: rig.segments() == [])


def test_purges_segments(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    assert rig.client.purge_segments(recording_id, 3 * SEGMENT_LENGTH) == 3
    rig.run(lambda: rig.signals)
    assert rig.segments() == [f"{recording_id}-{position}.rec" for position in (196608, 262144)]
    assert rig.client.get_start_position(recording_id) == 3 * SEGMENT_LENGTH


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (100, "invalid segment start: newStartPosition=100"),
        (0, "invalid detach: newStartPosition=0 lowerBound=65536"),
        (5 * SEGMENT_LENGTH, "invalid detach: in use, newStartPosition=327680 upperBound=262144"),
    ],
)
def test_refuses_to_detach_elsewhere(rig: Rig, position: int, text: str) -> None:
    recording_id, _ = rig.record(300)
    for call in (rig.client.detach_segments, rig.client.purge_segments):
        said, code = refusal(call, recording_id, position)
        assert code is ArchiveErrorCode.GENERIC
        assert text in said
    assert rig.client.get_start_position(recording_id) == 0


def test_keeps_segments_that_are_replayed(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    subscription = replay(rig, recording_id)
    text, _ = refusal(rig.client.purge_segments, recording_id, 2 * SEGMENT_LENGTH)
    assert "invalid detach: replay in progress" in text
    assert "upperBound=0" in text
    read(rig, subscription, 300)
    rig.run(lambda: rig.archive.conductor.replays.count == 0)
    assert rig.client.purge_segments(recording_id, 2 * SEGMENT_LENGTH) == 2


def test_attaches_only_files_of_the_recording(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    rig.client.detach_segments(recording_id, 2 * SEGMENT_LENGTH)
    path = rig.directory / f"{recording_id}-65536.rec"
    content = path.read_bytes()
    for wrong, text in (
        (content[:-1], "fileLength=65535 not equal to segmentLength=65536"),
        (content[:16] + b"\1\0\0\0" + content[20:], f"stream id does not match: actual=1 expected={STREAM_ID}"),
        (content[:20] + b"\1\0\0\0" + content[24:], "term id does not match: actual=1 expected="),
        (bytes(SEGMENT_LENGTH), "fragment not found in first term of segment"),
    ):
        path.write_bytes(wrong)
        assert text in refusal(rig.client.attach_segments, recording_id)[0]
        assert rig.client.get_start_position(recording_id) == 2 * SEGMENT_LENGTH
    path.write_bytes(content)
    assert rig.client.attach_segments(recording_id) == 2


def test_attaches_nothing_that_is_about_to_be_deleted(rig: Rig) -> None:
    recording_id, _ = rig.record(300)
    purging = rig.client.async_purge_segments(recording_id, 3 * SEGMENT_LENGTH)
    attaching = rig.client.async_attach_segments(recording_id)
    rig.run(lambda: rig.signals)
    rig.run(lambda: purging.poll() and attaching.poll())
    assert (purging.result(), attaching.result()) == (3, 0)
    assert rig.client.get_start_position(recording_id) == 3 * SEGMENT_LENGTH
    assert rig.segments() == [f"{recording_id}-{position}.rec" for position in (196608, 262144)]


def continued(rig: Rig) -> tuple[int, int]:
    """Return two recordings, of which the second continues the first at a segment's end."""
    first, _ = rig.record(200)
    rig.client.truncate_recording(first, 2 * SEGMENT_LENGTH)
    rig.run(lambda: rig.signals)
    rig.signals.clear()
    second, _ = rig.record(62, channel=extending_channel(rig, first))
    return first, second


def test_moves_segments_to_the_recording_that_continues_them(rig: Rig) -> None:
    first, second = continued(rig)
    assert rig.client.migrate_segments(first, second) == 2
    rig.run(lambda: rig.signals)
    assert (rig.client.get_start_position(second), rig.client.get_start_position(first), rig.client.get_stop_position(first)) == (0, 0, 0)
    assert not [name for name in rig.segments() if name.startswith(f"{first}-")]
    assert len(read(rig, replay(rig, second), 62 * 3)) == 62 * 3


def test_moves_segments_to_the_recording_that_they_continue(rig: Rig) -> None:
    first, second = continued(rig)
    stop = rig.client.get_stop_position(second)
    assert rig.client.migrate_segments(second, first) == 1
    assert rig.client.get_stop_position(first) == stop
    assert rig.client.get_stop_position(second) == rig.client.get_start_position(second) == 2 * SEGMENT_LENGTH
    assert len(read(rig, replay(rig, first), 62 * 3)) == 62 * 3


def test_moves_nothing_to_names_that_are_about_to_be_deleted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first one ends on a segment's end: the file that would begin there is among those to delete when it is cut off.
    first, _ = rig.record(300)
    end, cut = 4 * SEGMENT_LENGTH, 2 * SEGMENT_LENGTH
    rig.client.truncate_recording(first, end)
    rig.run(lambda: rig.signals)
    rig.signals.clear()
    second, _ = rig.record(62 * 3, channel=extending_channel(rig, first, position=cut))
    with monkeypatch.context() as holding:
        delete = DeleteSegmentsSession.do_work
        last_file = f"{first}-{end - SEGMENT_LENGTH}.rec"
        holding.setattr(DeleteSegmentsSession, "do_work", lambda deletion: delete(deletion) if last_file in rig.segments() else 0)
        rig.client.truncate_recording(first, cut)
        rig.run(lambda: last_file not in rig.segments())
        with pytest.raises(ArchiveError, match="preexisting dst segment file"):
            rig.client.migrate_segments(second, first)
    rig.run(lambda: rig.signals)
    assert rig.client.migrate_segments(second, first) == 3
    assert set(rig.segments()) == {f"{first}-{position}.rec" for position in range(0, 5 * SEGMENT_LENGTH, SEGMENT_LENGTH)}


@pytest.mark.parametrize("is_first_source", [True, False])
@pytest.mark.parametrize(("step", "is_moved"), [("renamed", False), ("target", True), ("source", True)])
def test_a_move_that_died_is_completed_or_taken_back(rig: Rig, step: str, is_moved: bool, is_first_source: bool) -> None:
    first, second = continued(rig)
    source, target = (first, second) if is_first_source else (second, first)
    before, end = rig.segments(), rig.client.get_stop_position(second)
    catalog = rig.archive.conductor.core.catalog
    entry = catalog.entry(source)
    assert entry is not None
    files, seam = rig.archive.conductor.core.ports.files, 2 * SEGMENT_LENGTH
    move = SegmentMove(source, target, entry.start_position, SEGMENT_LENGTH, entry.start_position, entry.stop_position)
    record_move(files, rig.directory, move)
    for position in (*move.positions(),)[: 1 if step == "renamed" else None]:
        (rig.directory / f"{source}-{position}.rec").rename(rig.directory / f"{target}-{position}.rec")
    if step != "renamed":
        catalog.set_start_position(target, 0) if is_first_source else catalog.set_stop_position(target, end)
    if step == "source":
        catalog.set_stop_position(source, entry.start_position)
    (finding,) = recover_move(catalog)
    assert str(finding).endswith("completed" if is_moved else "taken back")
    assert recover_move(catalog) == []
    found = {one: (catalog.start_position(one), catalog.stop_position(one)) for one in (source, target)}
    if is_moved:
        assert found == {source: (entry.start_position,) * 2, target: (0, end)}
        assert len(read(rig, replay(rig, target), 62 * 3)) == 62 * 3
    else:
        assert found == {first: (0, seam), second: (seam, end)}
        assert rig.segments() == before


def test_refuses_recordings_that_do_not_fit(rig: Rig) -> None:
    first, _ = rig.record(5)
    second, _ = rig.record(5)
    assert "invalid migrate: srcInitialTermId=" in refusal(rig.client.migrate_segments, first, second)[0]
    assert refusal(rig.client.migrate_segments, first, 99)[1] is ArchiveErrorCode.UNKNOWN_RECORDING
    third, _ = rig.record(5, channel=extending_channel(rig, first))
    assert "join position is not on segment boundary of src" in refusal(rig.client.migrate_segments, first, third)[0]
    assert "src and dst are not contiguous" in refusal(rig.client.migrate_segments, first, first)[0]
    rig.client.start_recording(CHANNEL, STREAM_ID)
    rig.publication()
    active = rig.started()
    assert f"recording {active} is still active" in refusal(rig.client.migrate_segments, active, first)[0]
