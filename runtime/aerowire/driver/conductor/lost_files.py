"""What a driver does when one of its own files has lost pages: another process cut it short, or its file system is full."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aerowire.memory.cut_watch import CutWatch
from aerowire.memory.lost_pages import lost_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aerowire.driver.conductor.driver_conductor import DriverConductor
    from aerowire.memory.region import Region

_REASON = "the driver's log file was cut short, or its file system is full"


class LostFiles:
    """Finds the files that have lost pages and ends what used them. Conductor thread.

    A stream with lost pages is ended, the others are not. Without its cnc file a driver has no clients: it writes a line to standard
    error and requests its own end.
    """

    def __init__(self, own_files: Iterable[Region], watch: CutWatch, *, on_end: Callable[[], None]) -> None:
        """`own_files`: the cnc file, then those that the driver can do without."""
        self._watch = watch
        self._cnc, *self._others = own_files
        self._on_end = on_end
        self._seen = lost_pages()
        self._reported: set[str | None] = set()

    def check(self, conductor: DriverConductor) -> int:
        """Look for lost pages if any mapping of this process has lost one since the last call; return how many files are newly affected."""
        self._watch.look(lambda: self._regions(conductor))
        total = lost_pages()
        if total == self._seen:
            return 0
        self._seen = total
        found = sum(self._report(conductor, region) for region in self._others)
        for publication in conductor.publications:
            found += self._report(conductor, publication.log.region)
        for image in conductor.images:
            if self._report(conductor, image.log.region):
                found += 1
                image.native.reject(_REASON)
                image.native.end_lost()
        if self._report(conductor, self._cnc):
            found += 1
            print(f"aerowire driver: {self._cnc.lost_pages_error()}; the driver ends", file=sys.stderr)
            self._on_end()
        return found

    def _regions(self, conductor: DriverConductor) -> Iterator[Region | None]:
        yield self._cnc
        yield from self._others
        for publication in conductor.publications:
            yield publication.log.region
        for image in conductor.images:
            yield image.log.region

    def _report(self, conductor: DriverConductor, region: Region | None) -> bool:
        if region is None or not region.lost_pages or region.path in self._reported:
            return False
        self._reported.add(region.path)
        conductor.core.errors.record(region.lost_pages_error(), key=("lost pages", region.path))
        return True
