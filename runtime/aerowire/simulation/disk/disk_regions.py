"""The mapped files of one process of a simulated machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from aerowire.base.errors import ExistingFileError, MappedFileExistsError, MappedFileMissingError, MissingFileError, TruncatedFileError
from aerowire.base.ports import RegionPort
from aerowire.codecs.flyweights.transport import PAGE_SIZE_MIN

if TYPE_CHECKING:
    from os import PathLike

    from aerowire.memory.region import Region
    from aerowire.simulation.disk.simulated_files import SimulatedFiles


class SimulatedRegions(RegionPort):
    """Maps files of the disk that a files port uses: what is written through one is read through the other at once."""

    def __init__(self, files: SimulatedFiles) -> None:
        self._files = files
        self._stored: WeakKeyDictionary[Region, Any] = WeakKeyDictionary()

    @property
    def mapped(self) -> list[str]:
        """The paths of the regions that are mapped, each as often as there are regions of it."""
        return sorted(str(region.path) for region in self._stored if not region.closed)

    @property
    def page_size(self) -> int:
        """Bytes of a page."""
        return PAGE_SIZE_MIN

    def create(self, path: str | PathLike[str], length: int, *, sparse: bool = True) -> Region:
        """Make a file of `length` zero bytes and map it. Raises MappedFileExistsError, StorageSpaceError."""
        del sparse  # the space of a mapped file is taken whole
        try:
            return self._keep(*self._files.map(path, create_length=length))
        except ExistingFileError:
            raise MappedFileExistsError("file already exists", where=path) from None
        except MissingFileError:
            raise MappedFileMissingError("no such directory", where=path) from None

    def map(self, path: str | PathLike[str], *, writable: bool = True, minimum_length: int = 1) -> Region:
        """Map a file. Raises MappedFileMissingError, TruncatedFileError."""
        try:
            facts = self._files.facts(path)
            if facts is not None and facts.length < minimum_length:
                expected = f">= {minimum_length} bytes"
                raise TruncatedFileError("file is too short", where=path, expected=expected, actual=f"{facts.length} bytes")
            return self._keep(*self._files.map(path, writable=writable))
        except MissingFileError:
            raise MappedFileMissingError("no such file", where=path) from None

    def sync(self, region: Region) -> None:
        """Return when what was written to a region is on the disk. Raises FileError."""
        self._files.sync_mapped(self._stored[region])

    def delete(self, path: str | PathLike[str]) -> bool:
        """Delete a file; False when there is none. Those who have it mapped keep it."""
        return self._files.delete(path)

    def free_space(self, directory: str | PathLike[str]) -> int:
        """Return the bytes that may still be written."""
        return self._files.free_space(directory)

    def exists(self, path: str | PathLike[str]) -> bool:
        """Return whether there is something of that name."""
        return self._files.exists(path)

    def identity(self, path: str | PathLike[str]) -> int:
        """Return a number that no other file of this disk has had. Raises MappedFileMissingError."""
        facts = self._files.facts(path)
        if facts is None:
            raise MappedFileMissingError("no such file", where=path)
        return facts.inode

    def is_locked(self, path: str | PathLike[str]) -> bool | None:
        """Return whether a living process holds the exclusive lock of a file; None where there is no such file."""
        return self._files.is_locked(path)

    def _keep(self, region: Region, stored: object) -> Region:
        self._stored[region] = stored
        return region
