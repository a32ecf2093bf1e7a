"""Directories of older versions of the Archive become what the official Archive of today has written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.migration import migrate
from aerowire.base.errors import FileError
from aerowire.base.file_port import FilePort
from aerowire.recordings.versions import compose_version
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from aerowire.system.file_system import FileSystem
from tests.archive.files.old_versions import aged, contents, simple


@pytest.mark.parametrize("name", ["seg64k-orderly", "seg128k-crc32c-orderly"])
@pytest.mark.parametrize("major", [2, 1])
def test_files_of_an_older_version_become_those_of_today(tmp_path: Path, golden_archives: Path, name: str, major: int) -> None:
    directory = simple(golden_archives, tmp_path / "archive", name)
    before = contents(directory)
    aged(directory, major)
    lines: list[str] = []
    steps = migrate(FileSystem(), directory, lines.append)
    assert [str(step) for step in steps] == [f"{one}.0.0 to {one + 1}.0.0" for one in range(major, 3)]
    after = contents(directory)
    assert set(after) - set(before) == {
        f"migration-{compose_version(one, 0, 0)}-to-{compose_version(one + 1, 0, 0)}.dat" for one in range(major, 3)
    }
    assert {path: data for path, data in after.items() if path.endswith(".rec")} == {
        path: data for path, data in before.items() if path.endswith(".rec")
    }
    assert after["archive.catalog"][:4] == after["archive-mark.dat"][8:12] == compose_version(3, 0, 0).to_bytes(4, "little")
    entries = after["archive.catalog"][32:]
    assert entries == before["archive.catalog"][32 : 32 + len(entries)]
    assert len(Catalog.open(directory, FileSystem(), capacity=4096)) == 15
    assert migrate(FileSystem(), directory, lines.append) == []


def test_segments_named_by_index_are_named_by_position(tmp_path: Path, golden_archives: Path) -> None:
    directory = simple(golden_archives, tmp_path / "archive", "seg64k-orderly")
    before = contents(directory)
    aged(directory, 0)
    assert (directory / "1-4.rec").exists()
    assert len(migrate(FileSystem(), directory, lambda _: None)) == 3
    assert {path for path in contents(directory) if path.endswith(".rec")} == {path for path in before if path.endswith(".rec")}
    assert (directory / "1-262144.rec").read_bytes() == before["1-262144.rec"]


def test_a_plan_that_names_others_than_segments_is_not_followed(tmp_path: Path, golden_archives: Path) -> None:
    directory = simple(golden_archives, tmp_path / "archive", "seg64k-orderly")
    aged(directory, 1)
    segment = next(directory.glob("*.rec")).name
    plan = directory / f"migration-{compose_version(1, 0, 0)}-to-{compose_version(2, 0, 0)}.dat"
    for renames in ([["archive.catalog", "../moved"]], [[segment, "../moved"]], [[segment, 5]]):
        plan.write_text(json.dumps(renames))
        (step,) = migrate(FileSystem(), directory, lambda _: None, is_dry=True)
        assert all(new.endswith(".rec") and "/" not in new for _, new in step.renames)
    migrate(FileSystem(), directory, lambda _: None)
    assert not (tmp_path / "moved").exists()
    assert len(Catalog.open(directory, FileSystem(), capacity=4096)) == 15


def test_a_dry_run_changes_nothing(tmp_path: Path, golden_archives: Path) -> None:
    directory = simple(golden_archives, tmp_path / "archive", "seg128k-crc32c-orderly")
    aged(directory, 1)
    before, lines = contents(directory), list[str]()
    assert len(migrate(FileSystem(), directory, lines.append, is_dry=True)) == 1
    renames = [f"rename {one}-0.rec to {one}-{base}.rec" for one, base in ((3, 262144), (6, 262144), (12, 196608))]
    assert lines == ["migration step 1.0.0 to 2.0.0", *renames]
    assert contents(directory) == before


def copied(files: FilePort, source: Path, target: str) -> None:
    files.make_directory(target)
    for name, data in contents(source).items():
        with files.open(f"{target}/{name}", writable=True, create=True) as file:
            file.write_all(0, data)
            file.sync()
    files.sync_directory(target)
    files.sync_directory("/")


def test_a_migration_that_is_interrupted_is_completed_by_another_run(tmp_path: Path, golden_archives: Path) -> None:
    directory = simple(golden_archives, tmp_path / "archive", "seg128k-crc32c-orderly")
    for path in directory.glob("*.rec"):
        if path.name.split("-")[0] not in ("3", "6", "12"):
            path.unlink()
        else:
            path.write_bytes(path.name.encode())  # what is in a segment does not matter here
    expected = {path.name: path.read_bytes() for path in directory.glob("*.rec")}
    aged(directory, 1)
    (directory / "archive-mark.dat").unlink()
    for operations in range(1, 40):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=operations)
        copied(SimulatedFiles(disk), directory, "/archive")
        files = SimulatedFiles(disk)
        files.kill_after(operations)
        try:
            migrate(files, Path("/archive"), lambda _: None)
        except FileError:
            disk.lose_power()
        files.kill()
        again = SimulatedFiles(disk)
        migrate(again, Path("/archive"), lambda _: None)
        found = {}
        for name in again.names("/archive"):
            if name.endswith(".rec"):
                with again.open(f"/archive/{name}") as file:
                    found[name] = file.read(0, 100)
        assert found == expected, f"killed after {operations} operations"
        assert len(Catalog.open(Path("/archive"), again, capacity=4096)) == 15
