"""Shows a report of a driver once, or again and again: to people, or to programs as JSON.

What a command shows is a `Report`. A driver that dies, is restarted or has not come yet is told, and waited for.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from aerowire.tools.arguments import INTERVAL_MIN_S, add_directory_arguments, interval

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from aerowire.base.errors import DriverError
    from aerowire.tools.driver.driver_files import DriverFiles
    from aerowire.tools.terminal.live_view import LiveView

INTERVAL_S = 1.0
# Where no terminal says how wide a line may be, nothing is folded or cut.
_WIDTH_WITHOUT_TERMINAL = 2_000
_WATCH_HELP = (
    f"show again each so many seconds, from {INTERVAL_MIN_S}, until Ctrl-C; on a terminal j, k, PgDn, PgUp, g and G, or arrows, reach "
    "what does not fit, and q ends"
)


class Report(Protocol):
    """What a command shows. Lines of `render()` in a style of `live_view.head_style` stay on a screen that is too small for all."""

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        ...

    def render(self) -> RenderableType:
        """Return it for people."""
        ...


def add_watch_arguments(parser: argparse.ArgumentParser, *, is_live: bool = False, fewer: str = "") -> None:
    """Add --dir, -D, --once, --watch and --json.

    `is_live`: the command watches on a terminal without being told to; `fewer`: its arguments that leave something out, for a screen that
    is too small for all.
    """
    add_directory_arguments(parser)
    where = "the default when the output is not a terminal" if is_live else "the default"
    parser.add_argument("--once", action="store_true", help=f"show once and end ({where})")
    parser.add_argument("--watch", metavar="SECONDS", type=interval, help=_WATCH_HELP)
    parser.add_argument("--json", action="store_true", help="one JSON object; with --watch one a line")
    parser.set_defaults(is_live=is_live, fewer=fewer, is_endless=lambda arguments: not is_single(arguments))


def is_single(arguments: argparse.Namespace) -> bool:
    """Return whether the command shows once and ends."""
    if arguments.once:
        return True
    if arguments.watch is not None:
        return False
    return arguments.json or not (arguments.is_live and sys.stdout.isatty())


def show(arguments: argparse.Namespace, look: Callable[[DriverFiles], Report]) -> int:
    """Show what `look` finds, once or until a signal; returns 0.

    Raises what `look` does the first time; later it is shown, and looked again.
    """
    from aerowire.tools.driver.driver_files import driver_files

    with driver_files(arguments) as files:
        report = look(files)
        if is_single(arguments):
            print_report(report, as_json=arguments.json)
        else:
            _watch(arguments, files, look, report)
    return 0


def print_report(report: Report, *, as_json: bool) -> None:
    """Print one report to standard output."""
    text = json.dumps(report.to_dict()) if as_json else as_text(report.render())
    print_text(text)


def print_text(text: str) -> None:
    """Print and flush; what the output's encoding does not have is written as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    print(text, flush=True)


def as_text(renderable: RenderableType) -> str:
    """Return what is to be shown as text: coloured and folded for a terminal, plain and whole for anything else."""
    console = _console()
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _console() -> Console:
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(width=_WIDTH_WITHOUT_TERMINAL, highlight=False, no_color=True, force_terminal=False)


def _watch(arguments: argparse.Namespace, files: DriverFiles, look: Callable[[DriverFiles], Report], report: Report) -> None:
    from aerowire.base.errors import DriverError

    interval_s = INTERVAL_S if arguments.watch is None else arguments.watch
    with _place(arguments) as place:
        while True:
            place.show(report)
            if not place.wait(interval_s):
                return
            try:
                report = look(files)
            except DriverError as error:
                report = _Absence(files.aeron_dir, error)


class _Place(Protocol):
    """Where reports are shown one after the other."""

    def show(self, report: Report) -> None: ...

    def wait(self, seconds: float) -> bool:
        """Wait until the next one is due; return False when somebody wants no more."""
        ...


@contextlib.contextmanager
def _place(arguments: argparse.Namespace) -> Iterator[_Place]:
    """Give the place of reports: a terminal's other screen, or one below the other where there is none."""
    console = _console()
    if arguments.json or not console.is_terminal or console.is_dumb_terminal:
        yield _Lines(as_json=arguments.json)
        return
    from aerowire.tools.terminal.live_view import LiveView

    with LiveView(console, arguments.fewer) as view:
        yield _OnScreen(view)


class _Lines:
    """Prints each report below the one before."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def show(self, report: Report) -> None:
        print_report(report, as_json=self._as_json)

    def wait(self, seconds: float) -> bool:
        time.sleep(seconds)
        return True


class _OnScreen:
    """Shows each report in the place of the one before."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self.wait = view.wait

    def show(self, report: Report) -> None:
        self._view.show(report.render())


class _Absence:
    """The report of a driver that is not there."""

    def __init__(self, aeron_dir: str, error: DriverError) -> None:
        self._aeron_dir = aeron_dir
        self._error = error

    def to_dict(self) -> dict[str, Any]:
        return {"time_ms": time.time_ns() // 1_000_000, "aeron_dir": self._aeron_dir, "driver": None, "error": str(self._error)}

    def render(self) -> RenderableType:
        from rich.text import Text

        from aerowire.base.text import printable

        told = printable(f"no driver in {self._aeron_dir}: {self._error.what}; waiting for one")
        return Text(f"{time.strftime('%H:%M:%S')} - {told}", style="bold red")
