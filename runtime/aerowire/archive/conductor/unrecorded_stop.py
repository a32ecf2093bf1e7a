"""A recording that has ended while its catalog could not be written: where it ended is written as soon as that is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import FileError

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore

_RETRY_INTERVAL_MS = 1_000


class UnrecordedStop:
    """Writes a stop position again and again until the catalog has it; until then the recording is listed as active."""

    def __init__(self, core: ArchiveCore, recording_id: int, position: int, *, has_failed: bool) -> None:
        """`has_failed` says that something may be left behind the position, of a block that was not recorded."""
        self._core = core
        self._recording_id = recording_id
        self._position = position
        self._has_failed = has_failed
        self._timestamp_ms = core.time.now_ms
        self._retry_ms = self._timestamp_ms + _RETRY_INTERVAL_MS
        self._is_done = False

    @property
    def is_done(self) -> bool:
        """Whether the catalog has the stop position."""
        return self._is_done

    def do_work(self) -> int:
        """Try again when it is time; return whether the catalog has it now."""
        now_ms = self._core.time.now_ms
        if now_ms < self._retry_ms:
            return 0
        self._retry_ms = now_ms + _RETRY_INTERVAL_MS
        return int(self.write())

    def abort(self, reason: str) -> None:
        """Go on: the stop position is not a request's."""

    def close(self) -> None:
        """Try for the last time; the next start finds where the recording ended."""
        if not self._is_done:
            self.write()

    def write(self) -> bool:
        """Write it; return whether the catalog has it now."""
        catalog = self._core.catalog
        try:
            if catalog.has_recording(self._recording_id):
                if self._has_failed:  # BEFORE the recording has ended: if the archive dies now, the next start does it
                    self._core.clear_tail(self._core.entry_of(self._recording_id), self._position)
                catalog.recording_stopped(self._recording_id, self._position, self._timestamp_ms)
            self._is_done = True
        except FileError as error:
            self._core.errors.record(error, key=("recording stopped", error.errno))
        return self._is_done
