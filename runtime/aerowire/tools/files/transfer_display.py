"""Files on their way, as people see them: a bar on a terminal, and a line for each that has ended. Knows nothing of how they travel."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.base.text import printable
from aerowire.tools.terminal.figures import size_text

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rich.progress import Progress, TaskID

_REFRESH_S = 0.1


class TransferDisplay:
    """Bars on standard error, where that is a terminal; else nothing is shown of what is under way."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._progress: Progress | None = None
        self._tasks: dict[Hashable, TaskID] = {}
        self._begun_s: dict[Hashable, float] = {}
        self._next_look_s = 0.0
        if sys.stderr.isatty() and not is_quiet:
            self._progress = _progress()

    def is_due(self) -> bool:
        """Return whether it is time to show again how far things are."""
        now_s = time.monotonic()
        if now_s < self._next_look_s:
            return False
        self._next_look_s = now_s + _REFRESH_S
        return True

    def show(self, key: Hashable, name: str, done: int, length: int) -> None:
        """Show how far one file is."""
        self._begun_s.setdefault(key, time.monotonic())
        if self._progress is None:
            return
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(printable(name), total=length or None)
        self._progress.update(self._tasks[key], completed=done)

    def end(self, key: Hashable) -> float | None:
        """Show a file no more; return the seconds since it was first shown, None when it never was."""
        task = self._tasks.pop(key, None)
        if task is not None and self._progress is not None:
            self._progress.remove_task(task)
        begun_s = self._begun_s.pop(key, None)
        return None if begun_s is None else time.monotonic() - begun_s

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()


def speed_text(length: int, seconds: float | None) -> str:
    """Return how much went in how long: `10 MiB in 0.1 s, 98.2 MB/s`; without a time how much it was."""
    if not seconds:
        return size_text(length)
    return f"{size_text(length)} in {seconds:.1f} s, {length / seconds / 1e6:,.1f} MB/s"


def _progress() -> Progress:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from aerowire.tools.terminal.progress import Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    return Bars(*columns)
