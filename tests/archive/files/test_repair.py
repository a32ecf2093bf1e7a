"""Directories that a crash or a loss of files has left inconsistent are repaired, and told of before."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.repair import Repair, repair_archive
from aerowire.archive.files.verification import Verification
from aerowire.base.errors import ActiveArchiveError, ArchiveFileError, MissingFileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.system.ports import Ports
from tests.archive.files.test_unlocking import dead, mark
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

SEGMENT = 2 * TERM
NOW_MS = 1_800_000_000_000


def written(directory: Path, *, length: int = 3 * SEGMENT + 5000, start: int = 0, stop: bool = True) -> RecordingWriter:
    """Write a recording of messages without zeros, of four segment files, and its catalog."""
    writer = RecordingWriter(directory, start=start)
    while writer.position < start + length:
        writer.message(b"x" * 1000)
    writer.stop = writer.position if stop else -1
    write_catalog(directory, [writer])
    return writer


def facts(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.iterdir()}


def repaired(directory: Path, tmp_path_factory: pytest.TempPathFactory, *, has_orphans: bool = False) -> list[Repair]:
    """Return what a dry run tells, which changes nothing; then do what it tells: afterwards all is sound, but for orphans."""
    before = facts(directory)
    told = repair_archive(directory, Ports.system(), scratch=tmp_path_factory.mktemp("scratch"))
    assert facts(directory) == before
    assert repair_archive(directory, Ports.system()) == told
    assert [one for one in repair_archive(directory, Ports.system()) if not one.is_left] == []
    if has_orphans:
        return told
    with OfflineCatalog(Ports.system().files, directory) as catalog:
        verdicts = list(Verification(all_segments=True, is_dry=True, now_ms=NOW_MS).verify(catalog))
        wrong = [one for one in verdicts if one.problem or one.stop_position is not None]
        assert [one for one in wrong if catalog.entry(one.recording_id).recording_state is RecordingState.VALID] == []
    return told


def entry(directory: Path) -> tuple[RecordingState, int, int]:
    with OfflineCatalog(Ports.system().files, directory) as catalog:
        found = catalog.entry(0)
        return found.recording_state, found.start_position, found.stop_position


def test_a_sound_directory_needs_no_repair(golden_archives: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = shutil.copytree(golden_archives / "seg64k-orderly" / "archive-dir", tmp_path / "archive")
    told = repair_archive(directory, Ports.system(), scratch=tmp_path_factory.mktemp("scratch"))
    assert [str(one) for one in told if not one.is_left] == []


def test_an_unfinished_recording_ends_where_its_frames_end(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    writer = written(tmp_path, stop=False)
    path, offset = writer.segment(writer.position)
    writer.write(writer.position + 64, b"torn")
    told = repaired(tmp_path, tmp_path_factory)
    assert [(one.finding.path, one.finding.offset, one.finding.text) for one in told] == [
        (
            str(tmp_path / "archive.catalog"),
            32,
            f"the recording has not stopped; its frames end at position {writer.position}, where it stops now",
        ),
        (str(path), offset, "bytes behind a gap that are no frames: removed up to the end of the segment"),
    ]
    assert entry(tmp_path) == (RecordingState.VALID, 0, writer.position)


@pytest.mark.parametrize(
    ("gone", "start", "stop"),
    [
        ([0], SEGMENT, None),
        ([0, 1], 2 * SEGMENT, None),
        ([3], 0, 3 * SEGMENT),
        ([1], 0, SEGMENT),
        ([0, 2], SEGMENT, 2 * SEGMENT),
    ],
)
def test_a_recording_is_shortened_to_what_its_files_hold(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, gone: list[int], start: int, stop: int | None
) -> None:
    writer = written(tmp_path)
    for number in gone:
        (tmp_path / f"0-{number * SEGMENT}.rec").unlink()
    told = repaired(tmp_path, tmp_path_factory)
    end = writer.position if stop is None else stop
    assert entry(tmp_path) == (RecordingState.VALID, start, end)
    assert sum(one.lost_length for one in told) == writer.position - (end - start)


def test_a_recording_without_any_file_is_marked_as_invalid(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    writer = written(tmp_path)
    for path in tmp_path.glob("*.rec"):
        path.unlink()
    (told,) = repaired(tmp_path, tmp_path_factory)
    assert (told.finding.text, told.lost_length) == (
        f"no segment file is left of {writer.position} bytes; marked as invalid",
        writer.position,
    )
    assert entry(tmp_path)[0] is RecordingState.INVALID


@pytest.mark.parametrize("number", [1, 3])
def test_a_file_that_was_cut_ends_the_recording_there(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, number: int) -> None:
    written(tmp_path)
    with (tmp_path / f"0-{number * SEGMENT}.rec").open("r+b") as file:
        file.truncate(3000)
    told = repaired(tmp_path, tmp_path_factory)
    assert told[0].finding.text.startswith(f"the frames end; the recording ends at position {number * SEGMENT + 2112} instead of")


def test_damage_with_frames_behind_it_is_told_and_left(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    writer = written(tmp_path)
    position = writer.rows[-4][0]
    writer.write(position, b"\7\0\0\0")
    before = facts(tmp_path)
    (told,) = repaired(tmp_path, tmp_path_factory, has_orphans=True)
    assert told.is_left
    assert told.finding.text.startswith(f"no frame can be read at position {position}, but bytes are behind it")
    assert {name: content for name, (_, content) in facts(tmp_path).items()} == {name: content for name, (_, content) in before.items()}


def test_files_of_another_version_are_not_taken_for_damaged_ones(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = dead(tmp_path, version=2 << 16)
    written(tmp_path)
    content = path.read_bytes()
    with pytest.raises(ArchiveFileError, match="the mark file is of another version"):
        repair_archive(tmp_path, Ports.system())
    assert path.read_bytes() == content
    (tmp_path / "archive.catalog").write_bytes(b"\0\0\2\0" + bytes(60))
    with pytest.raises(ArchiveFileError, match="migrate older files"):
        repair_archive(tmp_path, Ports.system(), scratch=tmp_path_factory.mktemp("scratch"))


def test_frames_behind_the_stop_position_are_removed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    writer = written(tmp_path)
    writer.stop = writer.rows[-3][0]
    write_catalog(tmp_path, [writer])
    (told,) = repaired(tmp_path, tmp_path_factory)
    assert told.finding.text.startswith(f"frames are behind the stop position {writer.stop}")
    assert told.lost_length == 0
    path, offset = writer.segment(writer.stop)
    assert not any(path.read_bytes()[offset:])


@pytest.mark.parametrize("has_files", [True, False])
def test_a_stop_position_that_damage_puts_far_away_ends_where_the_files_do(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, *, has_files: bool
) -> None:
    writer = written(tmp_path)
    writer.stop = 1 << 62
    write_catalog(tmp_path, [writer])
    if not has_files:
        for path in tmp_path.glob("*.rec"):
            path.unlink()
    repaired(tmp_path, tmp_path_factory)
    expected = (RecordingState.VALID, 0, writer.position) if has_files else (RecordingState.INVALID, 0, 1 << 62)
    assert entry(tmp_path) == expected


def test_a_start_position_that_damage_puts_far_ahead_of_the_files_is_mended(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    far = 1 << 50
    writer = RecordingWriter(tmp_path, start=far)
    writer.message(b"x" * 1000)
    writer.start, writer.stop = 0, writer.position
    write_catalog(tmp_path, [writer])
    repaired(tmp_path, tmp_path_factory)
    assert entry(tmp_path) == (RecordingState.VALID, far, writer.position)


def sealed(directory: Path, count: int, *, stop_after: int) -> RecordingWriter:
    """Write frames with checksums, and a catalog with checksums; the recording stops after some of them."""
    writer = RecordingWriter(directory, mtu=8192)
    checksum = checksum_named("CRC-32C")
    assert checksum is not None
    for number in range(count):
        begin = writer.position
        writer.frame(b"x" * 1984, DataFlags.UNFRAGMENTED)
        writer.write(begin + 12, checksum.compute(b"x" * 1984).to_bytes(4, "little", signed=True))
        if number == stop_after - 1:
            writer.stop = writer.position
    write_catalog(directory, [writer])
    with OfflineCatalog(Ports.system().files, directory, writable=True) as catalog:
        catalog.set_checksum(catalog.entry(0), catalog.checksum_of(catalog.entry(0), checksum))
    return writer


@pytest.mark.parametrize("number", [3, 9])
def test_a_frame_that_lacks_a_part_is_told_and_left(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, number: int) -> None:
    writer = sealed(tmp_path, 10, stop_after=10)
    position = writer.rows[number][0]
    writer.write(position + 512, bytes(1504 if number == 9 else 1024))
    content = (tmp_path / "0-0.rec").read_bytes()
    (told,) = repaired(tmp_path, tmp_path_factory)
    assert (told.is_left, told.finding.offset, told.lost_length) == (True, position, 0)
    assert told.finding.text.startswith("the frame does not have its checksum, and lacks a part")
    assert (tmp_path / "0-0.rec").read_bytes() == content
    assert entry(tmp_path) == (RecordingState.VALID, 0, writer.position)


def test_a_file_that_was_cut_behind_a_damaged_frame_keeps_the_frames_between(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    writer = sealed(tmp_path, 10, stop_after=10)
    writer.write(writer.rows[3][0] + 512, bytes(1024))
    with (tmp_path / "0-0.rec").open("r+b") as file:
        file.truncate(writer.rows[8][0] + 100)
    damaged, ended = repaired(tmp_path, tmp_path_factory)
    assert (damaged.is_left, damaged.finding.offset) == (True, writer.rows[3][0])
    assert ended.finding.text.startswith(f"the frames end; the recording ends at position {writer.rows[8][0]} instead of")


def test_a_damaged_frame_behind_the_stop_position_is_removed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    writer = sealed(tmp_path, 7, stop_after=6)
    writer.write(writer.stop + 512, bytes(1024))
    (told,) = repaired(tmp_path, tmp_path_factory)
    assert told.finding.text.startswith(f"frames are behind the stop position {writer.stop}")
    assert not any((tmp_path / "0-0.rec").read_bytes()[writer.stop :])


def test_files_behind_recordings_are_given_up_and_others_that_belong_to_none_are_named_and_left(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    written(tmp_path, start=4 * SEGMENT)
    for name in ("7-0.rec", "0-0.rec", f"0-{9 * SEGMENT}.rec", "0-131072.rec.del"):
        (tmp_path / name).write_bytes(b"\1" * 64)
    *given_up, first, last = repaired(tmp_path, tmp_path_factory, has_orphans=True)
    assert sorted(Path(one.finding.path).name for one in given_up) == [f"0-{9 * SEGMENT}.rec", "7-0.rec"]
    assert all("the file is given up, as " in one.finding.text and not one.is_left for one in given_up)
    assert (first.is_left, last.is_left) == (True, True)
    assert [Path(one.finding.path).name for one in (first, last)] == ["0-0.rec", "0-131072.rec.del"]


def test_a_stale_mark_file_is_set_right_and_a_damaged_one_moved(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = dead(tmp_path)
    written(tmp_path)
    assert [one.finding.text for one in repaired(tmp_path, tmp_path_factory)][1] == "the lock file of an archive that has ended"
    content = bytearray(path.read_bytes())
    content[136:140] = b"\xff\xff\xff\x7f"  # length of the first text
    path.write_bytes(content)
    (told,) = repaired(tmp_path, tmp_path_factory)
    assert "moved to archive-mark.dat.damaged" in told.finding.text
    assert (tmp_path / "archive-mark.dat.damaged").read_bytes() == content


def test_the_directory_of_a_living_archive_is_refused(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    written(tmp_path)
    living = mark(tmp_path)
    living.signal_ready(Ports.system().clock.now_ms())
    for scratch in (None, tmp_path_factory.mktemp("scratch")):
        with pytest.raises(ActiveArchiveError):
            repair_archive(tmp_path, Ports.system(), scratch=scratch)
    living.close()
    (tmp_path / "archive.catalog").unlink()
    with pytest.raises(MissingFileError):
        repair_archive(tmp_path, Ports.system())


def test_a_torn_entry_is_removed_and_checksums_of_the_catalog_stay_right(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    writers = [RecordingWriter(tmp_path, number) for number in range(3)]
    for writer in writers:
        writer.message(b"x" * 100)
    writers[0].stop = writers[0].position
    write_catalog(tmp_path, writers)
    checksum = checksum_named("CRC-32C")
    assert checksum is not None
    with OfflineCatalog(Ports.system().files, tmp_path, writable=True) as catalog:
        for one in catalog.entries:
            catalog.set_checksum(one, catalog.checksum_of(one, checksum))
        last = catalog.entries[-1].catalog_offset
    with (tmp_path / "archive.catalog").open("r+b") as file:
        file.seek(last + 32 + 60)
        file.write(bytes(100))
    told = repaired(tmp_path, tmp_path_factory)
    assert any("the last entry is incomplete" in one.finding.text for one in told)
    assert any("belongs to no recording of the catalog" in one.finding.text for one in told)
    with OfflineCatalog(Ports.system().files, tmp_path) as catalog:
        assert [one.stop_position for one in catalog.entries] == [160, 160]
        assert [one.checksum for one in catalog.entries] == [catalog.checksum_of(one, checksum) for one in catalog.entries]


def test_whatever_files_are_lost_or_cut_the_rest_is_sound(tmp_path: Path, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = random.Random(seed)
    for number in range(4):
        directory = tmp_path / str(number)
        directory.mkdir()
        writers = [RecordingWriter(directory, recording_id, start=rng.choice((0, 4096, TERM))) for recording_id in range(3)]
        for writer in writers:
            writer.some(rng, rng.choice((0, 5, 200)))
            writer.stop = rng.choice((-1, writer.position))
        write_catalog(directory, writers)
        for path in sorted(directory.glob("*.rec")):
            if rng.random() < 0.3:
                path.unlink()
            elif rng.random() < 0.3:
                with path.open("r+b") as file:
                    file.truncate(rng.randrange(SEGMENT))
        repaired(directory, tmp_path_factory)
