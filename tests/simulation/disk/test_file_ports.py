"""Files ports, real and simulated: the same calls give the same bytes, lengths, names and errors."""

from __future__ import annotations

import errno
import gc
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.base.errors import ClosedError, ExistingFileError, FileError, MissingFileError, StorageError
from aerowire.base.file_facts import FileKind
from aerowire.base.file_port import FilePort, FileRequest
from aerowire.base.file_trees import delete_tree, make_directories
from aerowire.simulation.disk.disk import CAPACITY
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.file_system import FileSystem, FileWorkers
from tests.simulation.disk.ports import KINDS, disk_of, port_of
from tests.support.file_sequences import Player, draw_steps
from tests.support.waiting import wait_until

SEQUENCES = 400
STEPS = 40


@pytest.fixture(params=KINDS)
def port(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[FilePort, str]]:
    with port_of(request.param, tmp_path) as given:
        yield given


def result_of(files: FilePort, request: FileRequest) -> int:
    wait_until(lambda: request.is_done, "a request to be done", work=getattr(files, "complete_due", None))
    return request.result()


def test_what_is_written_in_pieces_is_read_in_pieces(port: tuple[FilePort, str]) -> None:
    files, directory = port
    with files.open(f"{directory}/a", writable=True, create=True) as file:
        assert file.write(3, b"one", b"", bytearray(b"two"), memoryview(b"three")) == 11
        one, other = bytearray(5), bytearray(100)
        assert file.read_into(2, one, other) == 12
        assert bytes(one + other[:7]) == b"\0onetwothree"
        assert file.read(0, 4) == b"\0\0\0o"
        assert file.read(14, 1) == b""
        assert file.length() == 14
        file.sync()
        file.sync(data_only=True)
    files.sync_directory(directory)


def test_requests_complete_with_their_results(port: tuple[FilePort, str]) -> None:
    files, directory = port
    with files.open(f"{directory}/a", writable=True, create=True) as file:
        assert result_of(files, file.start_write(0, b"abc", b"def")) == 6
        assert result_of(files, file.start_sync(data_only=True)) == 0
        assert result_of(files, file.start_sync()) == 0
        buffer = bytearray(10)
        assert result_of(files, file.start_read(1, buffer)) == 5
        assert bytes(buffer[:5]) == b"bcdef"
        with pytest.raises(FileError, match=r"cannot write to a file; at .*/a; got Invalid argument"):
            result_of(files, file.start_write(-1, b"x"))


def test_a_buffer_that_is_being_read_cannot_be_resized(port: tuple[FilePort, str]) -> None:
    files, directory = port
    buffer = bytearray(10)
    with files.open(f"{directory}/a", writable=True, create=True) as file:
        request = file.start_read(0, buffer)
        with pytest.raises(BufferError):
            buffer.append(0)
        result_of(files, request)
        buffer.append(0)


def test_files_and_directories_come_and_go(port: tuple[FilePort, str]) -> None:
    files, directory = port
    files.make_directory(f"{directory}/d", 0o700)
    files.open(f"{directory}/d/b", writable=True, create=True, exclusive=True).close()
    files.open(f"{directory}/d/a", writable=True, create=True).close()
    assert files.names(f"{directory}/d") == ["a", "b"]
    files.rename(f"{directory}/d/b", f"{directory}/d/a")
    assert files.names(f"{directory}/d") == ["a"]
    facts, of_directory = files.facts(f"{directory}/d/a"), files.facts(f"{directory}/d")
    assert facts is not None
    assert of_directory is not None
    assert (facts.kind, facts.length) == (FileKind.FILE, 0)
    assert (of_directory.kind, of_directory.mode) == (FileKind.DIRECTORY, 0o700)
    assert (facts.device, facts.inode) != (of_directory.device, of_directory.inode)
    assert files.delete(f"{directory}/d/a")
    assert not files.delete(f"{directory}/d/a")
    assert not files.exists(f"{directory}/d/a")
    assert files.delete_directory(f"{directory}/d")
    assert not files.delete_directory(f"{directory}/d")
    assert files.free_space(directory) > 0


def test_a_lock_is_of_the_open_file_and_ends_with_it(port: tuple[FilePort, str]) -> None:
    files, directory = port
    one = files.open(f"{directory}/a", writable=True, create=True)
    other = files.open(f"{directory}/a")
    assert one.lock()
    assert one.lock()
    assert not other.lock()
    one.close()
    assert other.lock()
    other.close()


def test_an_unlocked_file_is_another_ones_to_lock(port: tuple[FilePort, str]) -> None:
    files, directory = port
    with files.open(f"{directory}/a", writable=True, create=True) as one, files.open(f"{directory}/a") as other:
        assert one.lock()
        other.unlock()  # it has no lock, and takes none away
        assert not other.lock()
        one.unlock()
        one.unlock()
        assert other.lock()


def test_a_directory_is_held_by_one_at_a_time(port: tuple[FilePort, str]) -> None:
    files, directory = port
    path = f"{directory}/d"
    assert files.hold_directory(path) is None
    files.make_directory(path, 0o755)
    held = files.hold_directory(path)
    assert held is not None
    assert files.hold_directory(path) is None
    assert held.facts() == files.facts(path)
    files.open(f"{path}/a", writable=True, create=True).close()
    assert held.facts_of("a") == files.facts(f"{path}/a")
    assert held.facts_of("b") is None
    held.release()
    held.release()
    again = files.hold_directory(path)
    assert again is not None
    again.release()
    with pytest.raises(FileError, match=r"cannot open a directory; at .*/d/a; got Not a directory"):
        files.hold_directory(f"{path}/a")


def test_a_held_directory_is_told_from_another_of_its_name(port: tuple[FilePort, str]) -> None:
    files, directory = port
    path = f"{directory}/d"
    files.make_directory(path)
    held = files.hold_directory(path)
    assert held is not None
    assert held.is_at(path)
    files.rename(path, f"{directory}/e")
    assert not held.is_at(path)
    files.make_directory(path)
    assert not held.is_at(path)
    assert held.is_at(f"{directory}/e")
    other = files.hold_directory(path)
    assert other is not None
    other.release()
    held.release()


def test_paths_and_users_are_told(port: tuple[FilePort, str]) -> None:
    files, directory = port
    assert files.real_path(f"{directory}/../{Path(directory).name}/a") == f"{directory}/a"
    facts = files.facts(directory)
    assert facts is not None
    assert files.user_id() == facts.owner


class TestTrees:
    def test_those_above_are_made_too(self, port: tuple[FilePort, str]) -> None:
        files, directory = port
        path = Path(directory, "a", "b")
        make_directories(files, path, 0o700)
        make_directories(files, path, 0o700)
        facts = files.facts(path)
        assert facts is not None
        assert (facts.kind, facts.mode) == (FileKind.DIRECTORY, 0o700)

    def test_a_file_is_no_directory(self, port: tuple[FilePort, str]) -> None:
        files, directory = port
        path = Path(directory, "a")
        files.open(path, writable=True, create=True).close()
        with pytest.raises(ExistingFileError):
            make_directories(files, path, 0o700)
        with pytest.raises(FileError, match="Not a directory"):
            make_directories(files, path / "b", 0o700)

    def test_all_that_is_in_it_is_deleted_with_a_directory(self, port: tuple[FilePort, str]) -> None:
        files, directory = port
        path = Path(directory, "a")
        make_directories(files, path / "b" / "c", 0o700)
        for name in ("one", "b/two", "b/c/three"):
            files.open(path / name, writable=True, create=True).close()
        delete_tree(files, path / "one")
        assert files.names(path) == ["b"]
        delete_tree(files, path)
        delete_tree(files, path)
        assert files.names(directory) == []

    def test_a_link_is_deleted_and_not_what_it_leads_to(self, tmp_path: Path) -> None:
        directory = tmp_path / "a"
        directory.mkdir()
        (directory / "file").write_bytes(b"")
        (tmp_path / "link").symlink_to(directory)
        files = FileSystem()
        facts = files.facts(tmp_path / "link")
        assert facts is not None
        assert (facts.kind, facts.target) == (FileKind.LINK, str(directory))
        with pytest.raises(FileError, match=r"Not a directory|symbolic link"):
            files.hold_directory(tmp_path / "link")
        delete_tree(files, tmp_path / "link")
        assert files.names(tmp_path) == ["a"]
        assert files.names(directory) == ["file"]


def test_a_file_that_is_forgotten_together_with_its_port_is_closed() -> None:
    disk, files, _ = disk_of()
    file = files.open("/a", writable=True, create=True)
    file.write_all(0, b"some")
    cycle: list[object] = [files, file]
    cycle.append(cycle)
    disk.detach(files)
    del files, file, cycle
    gc.collect()
    other = SimulatedFiles(disk)
    assert other.delete("/a")
    assert disk.free_bytes == CAPACITY


def test_a_deleted_file_stays_for_those_who_have_it_open(port: tuple[FilePort, str]) -> None:
    files, directory = port
    with files.open(f"{directory}/a", writable=True, create=True) as file:
        file.write_all(0, b"kept")
        files.delete(f"{directory}/a")
        files.open(f"{directory}/a", writable=True, create=True).close()
        assert file.read(0, 10) == b"kept"


def test_errors_have_classes_numbers_and_places(port: tuple[FilePort, str]) -> None:
    files, directory = port
    with pytest.raises(MissingFileError, match=f"cannot open a file; at {directory}/a; got No such file") as missing:
        files.open(f"{directory}/a")
    assert missing.value.errno == errno.ENOENT
    assert isinstance(missing.value, FileNotFoundError | StorageError)
    files.open(f"{directory}/a", writable=True, create=True).close()
    with pytest.raises(ExistingFileError):
        files.open(f"{directory}/a", writable=True, create=True, exclusive=True)
    with pytest.raises(FileError, match=r"cannot open a file; .*; got Is a directory"):
        files.open(directory)
    with pytest.raises(MissingFileError, match=f"cannot rename a file; at {directory}/b -> {directory}/c"):
        files.rename(f"{directory}/b", f"{directory}/c")
    with pytest.raises(FileError) as directory_expected:
        files.sync_directory(f"{directory}/a")
    assert directory_expected.value.errno == errno.ENOTDIR
    with pytest.raises(ValueError, match="no NUL"):
        files.open(f"{directory}/a\0b")
    with files.open(f"{directory}/a") as file, pytest.raises(FileError, match="Bad file descriptor"):
        file.write(0, b"x")
    with pytest.raises(ClosedError):
        file.read(0, 1)
    with files.open(f"{directory}/a") as file, pytest.raises(ValueError, match="at most 64 buffers at once, actual 65"):
        file.read_into(0, *([bytearray(1)] * 65))


def test_write_all_goes_on_behind_what_was_written() -> None:
    files = disk_of(seed=3, short_write=0.7)[1]
    octets = random.Random(1).randbytes(50_000)
    with files.open("/a", writable=True, create=True) as file:
        file.write_all(5, octets[:1], b"", octets[1:7_000], octets[7_000:])
        assert file.read(5, 60_000) == octets


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    files = FileSystem()
    for name, number in (("pipe", errno.EINVAL), ("link", errno.ELOOP)):
        with pytest.raises(FileError) as refused:
            files.open(tmp_path / name, writable=True)
        assert refused.value.errno == number
    facts = files.facts(tmp_path / "pipe"), files.facts(tmp_path / "link")
    assert [one.kind for one in facts if one is not None] == [FileKind.OTHER, FileKind.LINK]


@pytest.mark.threads
def test_workers_perform_what_is_begun_before_they_stop(tmp_path: Path) -> None:
    files = FileWorkers(FileSystem(), 3)
    file = files.open(tmp_path / "a", writable=True, create=True)
    requests = [file.start_write(1000 * number, bytes([number]) * 1000) for number in range(100)]
    files.close()
    assert [request.result() for request in requests] == [1000] * 100
    assert file.read(0, 100_000) == b"".join(bytes([number]) * 1000 for number in range(100))
    with pytest.raises(ValueError, match="threads: expected at least 1, actual 0"):
        FileWorkers(FileSystem(), 0)


@pytest.mark.parametrize("folder", ["/dev/shm", "/tmp"])
def test_random_sequences_are_the_same_on_a_real_disk(seed: int, folder: str) -> None:
    for number in range(SEQUENCES):
        compare_sequence(seed + number, folder)


def compare_sequence(seed: int, folder: str) -> None:
    """Play a random sequence on a real file system and on a simulated disk; assert that all it shows is the same."""
    steps = list(draw_steps(random.Random(seed), STEPS))
    root = tempfile.mkdtemp(dir=folder)
    files = disk_of(seed)[1]
    files.make_directory("/root")
    real, simulated = Player(FileSystem(), root), Player(files, "/root")
    try:
        for number, step in enumerate(steps):
            assert simulated.play(step) == real.play(step), f"seed {seed}, step {number}: {step[0]}"
        assert simulated.tree() == real.tree(), f"seed {seed}"
    finally:
        real.close()
        shutil.rmtree(root)
