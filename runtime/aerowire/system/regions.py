"""Mapped files from the file system, as a RegionPort."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from aerowire.base.ownership import check_owner
from aerowire.base.ports import RegionPort
from aerowire.memory.region import Region, free_space
from aerowire.system.bus_error import survive_bus_errors
from aerowire.system.file_locks import is_held
from aerowire.system.file_system import FileSystem
from aerowire.system.files import LogFile, identity_of


class FileRegionPort(RegionPort):
    """Creates, maps and deletes files of the operating system."""

    def __init__(self, *, checks_space: bool = True) -> None:
        """Without `checks_space` a sparse file may be longer than what is free."""
        self._checks_space = checks_space

    @property
    def page_size(self) -> int:
        return mmap.PAGESIZE

    def create(self, path: str | os.PathLike[str], length: int, *, sparse: bool) -> Region:
        return Region.create_file(path, length, sparse, self._checks_space)

    def unchecked(self) -> FileRegionPort:
        return FileRegionPort(checks_space=False)

    def map(self, path: str | os.PathLike[str], *, writable: bool = True, minimum_length: int = 1) -> Region:
        return Region.map_file(path, writable, minimum_length)

    def sync(self, region: Region) -> None:
        region.sync()

    def delete(self, path: str | os.PathLike[str]) -> bool:
        try:
            Path(path).unlink()
        except FileNotFoundError:
            return False
        return True

    def exists(self, path: str | os.PathLike[str]) -> bool:
        return Path(path).exists()

    def free_space(self, directory: str | os.PathLike[str]) -> int:
        return free_space(directory)

    def identity(self, path: str | os.PathLike[str]) -> tuple[int, int]:
        return identity_of(path)

    def check_owner(self, path: str | os.PathLike[str]) -> None:
        check_owner(FileSystem(), path)

    def is_locked(self, path: str | os.PathLike[str]) -> bool | None:
        return is_held(path)

    def open_file(self, path: str | os.PathLike[str]) -> LogFile:
        return LogFile(path, "rb")

    def survive_lost_pages(self) -> None:
        survive_bus_errors()
