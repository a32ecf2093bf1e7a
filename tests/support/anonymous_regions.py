"""Regions without files, by path, for tests of code that only makes and maps them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from aerowire.base.errors import MappedFileExistsError, MappedFileMissingError, StorageSpaceError, TruncatedFileError
from aerowire.base.ports import RegionPort
from aerowire.codecs.flyweights.transport import PAGE_SIZE_MIN
from aerowire.memory.region import Region

if TYPE_CHECKING:
    from os import PathLike


class AnonymousRegions(RegionPort):
    """A disk in memory: lazily zeroed pages under path names, up to `capacity` bytes.

    Changed by create and delete. Each call of create and map returns a handle of its own, and a deleted region stays usable for those who
    hold one, as an unlinked file does.
    """

    def __init__(self, capacity: int = 1 << 40) -> None:
        self._capacity = capacity
        self._regions: dict[str, Region] = {}
        self._identities: dict[str, int] = {}
        self._created = 0

    @property
    def page_size(self) -> int:
        """Bytes of a page."""
        return PAGE_SIZE_MIN

    @property
    def paths(self) -> frozenset[str]:
        """The paths that lead to regions."""
        return frozenset(self._regions)

    def create(self, path: str | PathLike[str], length: int, *, sparse: bool = True) -> Region:
        """Make a region of `length` zero bytes; MappedFileExistsError, StorageSpaceError."""
        del sparse  # pages are made when they are touched
        name = os.fspath(path)
        if name in self._regions:
            raise MappedFileExistsError("a region of that name exists", where=name)
        if length > self.free_space(path):
            raise StorageSpaceError("no room for a region", where=name, expected=f"{length} bytes", actual=self.free_space(path))
        self._regions[name] = Region.anonymous(length)
        self._created += 1
        self._identities[name] = self._created
        return self._regions[name].share()

    def map(self, path: str | PathLike[str], *, writable: bool = True, minimum_length: int = 1) -> Region:
        """Return the region of a path; MappedFileMissingError, TruncatedFileError."""
        del writable  # there is one process: who may write is a matter of trust
        name = os.fspath(path)
        region = self._regions.get(name)
        if region is None:
            raise MappedFileMissingError("no such region", where=name)
        if len(region) < minimum_length:
            raise TruncatedFileError("region is too short", where=name, expected=f"at least {minimum_length} bytes", actual=len(region))
        return region.share()

    def sync(self, region: Region) -> None:
        """Return at once: this memory outlives nothing."""

    def delete(self, path: str | PathLike[str]) -> bool:
        """Forget a path; False when there is none."""
        self._identities.pop(os.fspath(path), None)
        return self._regions.pop(os.fspath(path), None) is not None

    def free_space(self, path: str | PathLike[str]) -> int:
        """Return the bytes left, which are the same under every path."""
        del path
        return self._capacity - sum(len(region) for region in self._regions.values())

    def exists(self, path: str | PathLike[str]) -> bool:
        """Return whether a path has a region."""
        return os.fspath(path) in self._regions

    def identity(self, path: str | PathLike[str]) -> int:
        """Return a number that no other region of this disk has had; MappedFileMissingError."""
        name = os.fspath(path)
        if name not in self._identities:
            raise MappedFileMissingError("no such region", where=name)
        return self._identities[name]
