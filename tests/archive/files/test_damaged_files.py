"""Catalogs, mark files and segments with any bytes in them are read or refused, and never more than that."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.mark_header import read_mark_file
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.recorded_frames import recorded_frames
from aerowire.archive.files.recovery import recover_recordings
from aerowire.archive.files.verification import Verification
from aerowire.base.errors import ArchiveFileError
from aerowire.system.file_system import FileSystem

RUNS = 40
VALUES = (0, 1, 0x1F, 0x20, 0x7F, 0x80, 0xFF)


def damaged(rng: random.Random, path: Path, length: int) -> None:
    """Change some bytes within the first `length` of a file, or cut it."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 4, 40))):
        at, count = rng.randrange(min(length, len(data))), rng.choice((1, 4, 8, 64))
        data[at : at + count] = bytes(rng.choice((*VALUES, rng.randrange(256))) for _ in range(count))
    if rng.random() < 0.1:
        del data[rng.randrange(len(data)) :]
    path.write_bytes(data)


def test_a_damaged_directory_is_read_or_refused(tmp_path: Path, seed: int, golden_archives: Path) -> None:
    rng, files = random.Random(seed), FileSystem()
    directory = tmp_path / "archive"
    shutil.copytree(golden_archives / "seg64k-kill" / "archive-dir", directory, ignore=shutil.ignore_patterns("archive-mark.dat"))
    whole = {name: (directory / name).read_bytes() for name in ("archive.catalog", "15-131072.rec", "0-0.rec")}
    refused: list[str] = []
    for run in range(RUNS):
        where = f"seed {seed}, run {run}"
        for name, data in whole.items():
            (directory / name).write_bytes(data)
            damaged(rng, directory / name, 4500)
        try:
            with OfflineCatalog(files, directory) as catalog:
                verdicts = list(Verification(all_segments=True, is_dry=True, now_ms=1).verify(catalog))
                assert len(verdicts) == len(catalog.entries), where
                for entry in catalog.entries:
                    if entry.damage is None and entry.stop_position < 1 << 30:
                        assert sum(1 for _ in recorded_frames(files, directory, entry)) < 10_000, where
            online = Catalog.open(directory, files, capacity=4096)
            recover_recordings(online, 1)
            assert all(one.damage is None and not one.is_active for one in online.entries()), where
            kept = online.ids_from(0, 100)
            online.close()
            again = Catalog.open(directory, files, capacity=4096)
            assert (again.ids_from(0, 100), again.findings) == (kept, []), where
            again.close()
        except ArchiveFileError as error:
            refused.append(str(error))
        for path in directory.glob("*.del"):
            path.unlink()
    assert len(refused) < RUNS
    assert [message for message in refused if str(directory) not in message] == []


def test_a_damaged_mark_file_is_read_or_refused(tmp_path: Path, seed: int, golden_archives: Path) -> None:
    rng, path = random.Random(seed), tmp_path / "archive-mark.dat"
    whole = (golden_archives / "seg64k-kill" / "archive-dir" / "archive-mark.dat").read_bytes()[: 3 * 8192]
    refused: list[str] = []
    for _ in range(300):
        path.write_bytes(whole)
        damaged(rng, path, 200)
        try:
            read_mark_file(FileSystem(), path)
        except ArchiveFileError as error:
            refused.append(str(error))
    assert 0 < len(refused) < 300
    assert [message for message in refused if str(path) not in message] == []
