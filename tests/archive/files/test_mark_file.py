"""The mark file: its bytes, which Archives count as living, and what is kept of one that has ended."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.archive.files.mark_header import mark_directory, read_mark_file
from aerowire.base.errors import ActiveArchiveError, ArchiveFileError, ConfigurationError
from aerowire.ipc.error_log import DistinctErrorLog, read_errors
from aerowire.system.ports import Ports
from tests.support.component_ports import Waiting
from tests.support.component_ports import ports_of as ports_at
from tests.support.snapshots import GOLDEN_NAMES

NOW_MS = 1_795_253_300_000
DETAILS = ArchiveDetails(
    archive_id=8210,
    control_channel="aeron:udp?endpoint=127.0.0.1:8210",
    control_stream_id=10,
    local_control_channel="aeron:ipc?term-length=64k",
    local_control_stream_id=11,
    events_channel="",
    events_stream_id=30,
    aeron_directory="/dev/shm/ofg",
)
OWN = 4242
ERROR_LENGTH = 1 << 20


def ports_of(own: int = OWN, running: dict[int, int] | None = None, now_ms: int = NOW_MS) -> tuple[Ports, Waiting]:
    return ports_at(own, running, now_ms)


def created(directory: Path, ports: Ports | None = None, marks: Path | None = None) -> ArchiveMarkFile:
    return ArchiveMarkFile.create(directory, marks or directory, DETAILS, ports or ports_of()[0], error_buffer_length=ERROR_LENGTH)


def test_the_official_mark_file_has_the_same_bytes(tmp_path: Path, golden_archives: Path) -> None:
    official = (golden_archives / "seg64k-orderly" / "archive-dir" / "archive-mark.dat").read_bytes()
    header, _ = read_mark_file(Ports.system().files, golden_archives / "seg64k-orderly" / "archive-dir" / "archive-mark.dat")
    ports, _ = ports_of(header.pid, now_ms=header.start_timestamp_ms)
    details = replace(DETAILS, **{name: getattr(header, name) for name in ArchiveDetails.__slots__})
    mark = ArchiveMarkFile.create(tmp_path, tmp_path, details, ports, error_buffer_length=ERROR_LENGTH)
    mark.signal_ready(header.start_timestamp_ms)
    mark.close()
    assert (tmp_path / "archive-mark.dat").read_bytes() == official
    assert [path.name for path in tmp_path.iterdir()] == ["archive-mark.dat"]


def test_the_version_is_written_when_the_archive_is_ready(tmp_path: Path) -> None:
    mark = created(tmp_path)
    files = Ports.system().files
    header, _ = read_mark_file(files, mark.path)
    assert (header.version, header.activity_timestamp_ms, header.pid, header.start_timestamp_ms) == (0, 0, OWN, NOW_MS)
    mark.signal_ready(NOW_MS + 5)
    mark.update_activity(NOW_MS + 1000)
    header, errors = read_mark_file(files, mark.path)
    assert (header.version, header.activity_timestamp_ms, header.offset, len(errors)) == (196864, NOW_MS + 1000, 8, ERROR_LENGTH)
    assert (header.control_channel, header.aeron_directory, header.archive_id) == (DETAILS.control_channel, "/dev/shm/ofg", 8210)
    mark.close()
    mark.close()
    assert read_mark_file(files, mark.path)[0].activity_timestamp_ms == -1
    with pytest.raises(ValueError, match="is closed"):
        mark.update_activity(1)


def test_a_living_archive_of_this_implementation_refuses_another(tmp_path: Path) -> None:
    first = created(tmp_path)
    with pytest.raises(ActiveArchiveError, match=f"process {OWN} holds it"):
        created(tmp_path)
    first.close()
    created(tmp_path).close()


@pytest.mark.parametrize("is_ready", [False, True])
def test_a_killed_archive_of_this_implementation_is_followed_at_once(tmp_path: Path, is_ready: bool) -> None:
    first = created(tmp_path)
    if is_ready:
        first.signal_ready(NOW_MS)
    first._on_fork()  # closes the lock file, as the end of the process does, and says nothing
    # Its process id is another's by now, which lives.
    ports, waiting = ports_of(OWN + 1, {OWN: 0}, NOW_MS + 1)
    created(tmp_path, ports).close()
    assert waiting.slept_ns == 0


def official(directory: Path, golden_archives: Path) -> int:
    """Leave a killed official Archive's mark file in a directory; return its process id."""
    shutil.copy(golden_archives / "seg64k-kill" / "archive-dir" / "archive-mark.dat", directory)
    return read_mark_file(Ports.system().files, directory / "archive-mark.dat")[0].pid


START_MS, ACTIVE_MS = 1_795_253_238_022, 1_795_253_238_093  # of that file


@pytest.mark.parametrize(
    ("age_ms", "begun_ms", "is_alive"),
    [
        (0, START_MS - 5_000, True),
        (9_999, START_MS - 5_000, True),
        (10_000, START_MS - 5_000, False),  # it has stopped telling
        (100, START_MS + 60, False),  # another process that has the id
    ],
)
def test_an_official_archive_lives_by_process_and_timestamp(
    tmp_path: Path, golden_archives: Path, age_ms: int, begun_ms: int, is_alive: bool
) -> None:
    pid = official(tmp_path, golden_archives)
    ports, _ = ports_of(OWN, {pid: begun_ms}, ACTIVE_MS + age_ms)
    if is_alive:
        with pytest.raises(ActiveArchiveError, match=f"process {pid}, last activity {age_ms} ms ago"):
            created(tmp_path, ports)
    else:
        created(tmp_path, ports).close()


def test_a_dead_official_archive_is_watched_only_while_its_timestamp_is_recent(tmp_path: Path, golden_archives: Path) -> None:
    official(tmp_path, golden_archives)
    ports, waiting = ports_of(now_ms=ACTIVE_MS + 60_000)
    created(tmp_path, ports).close()
    assert waiting.slept_ns == 0
    official(tmp_path, golden_archives)
    ports, waiting = ports_of(now_ms=ACTIVE_MS + 100)
    created(tmp_path, ports).close()
    assert 1_200_000_000 <= waiting.slept_ns < 1_300_000_000


def test_an_official_archive_in_another_pid_namespace_is_seen_by_its_next_timestamp(tmp_path: Path, golden_archives: Path) -> None:
    official(tmp_path, golden_archives)
    ports, waiting = ports_of(now_ms=ACTIVE_MS + 100)

    def beat() -> None:
        if waiting.slept_ns == 900_000_000:
            with (tmp_path / "archive-mark.dat").open("r+b") as file:
                file.seek(16)
                file.write((ACTIVE_MS + 1000).to_bytes(8, "little"))

    waiting.on_sleep = beat
    with pytest.raises(ActiveArchiveError):
        created(tmp_path, ports)
    assert waiting.slept_ns == 900_000_000


@pytest.mark.parametrize("is_running", [False, True])
def test_a_half_activated_mark_file_is_seen_by_its_process(tmp_path: Path, golden_archives: Path, is_running: bool) -> None:
    pid = official(tmp_path, golden_archives)
    with (tmp_path / "archive-mark.dat").open("r+b") as file:
        file.seek(8)
        file.write(bytes(4))
    ports, waiting = ports_of(OWN, {pid: 0} if is_running else {}, ACTIVE_MS + 100)
    if is_running:
        with pytest.raises(ActiveArchiveError, match="which is starting"):
            created(tmp_path, ports)
    else:
        created(tmp_path, ports).close()
    assert waiting.slept_ns == 0


@pytest.mark.parametrize("content", [b"", bytes(4096)])
def test_a_file_without_anything_in_it_is_taken_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "archive-mark.dat").write_bytes(content)
    mark = created(tmp_path)
    assert mark.path.stat().st_size == 8192 + ERROR_LENGTH
    mark.close()


@pytest.mark.parametrize(
    ("at", "data", "message"),
    [
        (8, b"\0\0\2\0", "offset 8; expected 3.1.0 or another 3.x; got 2.0.0"),
        (136, b"\xff\xff\xff\x7f", "offset 8; expected fields and texts"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, golden_archives: Path, at: int, data: bytes, message: str) -> None:
    official(tmp_path, golden_archives)
    with (tmp_path / "archive-mark.dat").open("r+b") as file:
        file.seek(at)
        file.write(data)
    before = (tmp_path / "archive-mark.dat").read_bytes()
    with pytest.raises(ArchiveFileError, match=message):
        created(tmp_path)
    assert (tmp_path / "archive-mark.dat").read_bytes() == before


def test_errors_are_kept_aside_and_the_log_is_empty_again(tmp_path: Path) -> None:
    first = created(tmp_path)
    first.signal_ready(NOW_MS)
    DistinctErrorLog(first.error_log_buffer).record("the disk is on fire", NOW_MS)
    first.close()
    second = created(tmp_path)
    assert second.saved_errors is not None
    assert second.saved_errors.name.startswith("archive-2026-")
    assert "the disk is on fire" in second.saved_errors.read_text()
    assert read_errors(second.error_log_buffer) == []
    assert not any(second.error_log_buffer)
    second.close()


def test_errors_that_cannot_be_kept_do_not_keep_the_archive_from_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = created(tmp_path)
    first.signal_ready(NOW_MS)
    DistinctErrorLog(first.error_log_buffer).record("the disk is on fire", NOW_MS)
    first.close()
    monkeypatch.setattr("aerowire.ipc.error_report._NAMES_MAX", 0)
    second = created(tmp_path)
    assert second.saved_errors is None
    assert "a name that is not taken" in str(second.save_error)
    second.close()


def test_a_mark_file_elsewhere_is_found_by_its_link(tmp_path: Path) -> None:
    marks, archive = tmp_path / "marks", tmp_path / "archive"
    marks.mkdir()
    archive.mkdir()
    files = Ports.system().files
    created(archive, marks=marks).close()
    assert (archive / "archive-mark.lnk").read_text() == str(marks)
    assert mark_directory(files, archive) == marks
    created(archive).close()
    assert not (archive / "archive-mark.lnk").exists()
    assert mark_directory(files, archive) == archive


def test_texts_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    details = replace(DETAILS, control_channel="x" * 8192)
    with pytest.raises(ConfigurationError, match="8192 bytes at most"):
        ArchiveMarkFile.create(tmp_path, tmp_path, details, ports_of()[0], error_buffer_length=ERROR_LENGTH)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_official_headers_are_read(golden_archives: Path, name: str) -> None:
    header, errors = read_mark_file(Ports.system().files, golden_archives / name / "archive-dir" / "archive-mark.dat")
    assert (header.offset, header.schema_version, header.version, header.archive_id) == (8, 2, 196864, 8210)
    assert (header.activity_timestamp_ms == -1) == name.endswith("orderly")
    assert read_errors(errors) == []
