"""`aerowire errors`: the distinct errors of a driver or an archive, and those that earlier ones left. Aeron: ErrorStat."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.codecs.flyweights.cnc import ErrorRecordDecoder
from aerowire.tools.arguments import count_or_none
from aerowire.tools.driver.watching import add_watch_arguments

if TYPE_CHECKING:
    from rich.console import RenderableType

    from aerowire.ipc.damage import Damage
    from aerowire.ipc.error_log import ErrorObservation
    from aerowire.tools.driver.driver_files import DriverFiles

EXAMPLES = """\
Examples:
  aerowire errors
  aerowire errors --dir /dev/shm/aeron-me --watch 1 --brief
  aerowire errors --saved
  aerowire errors --archive recordings --saved
  aerowire errors --file archive-mark.dat --offset 8192
  aerowire errors --json | jq '.errors[].count'

A driver that takes over a directory saves the errors of the one before as text beside it, an archive beside its mark file; --saved shows
those too. --file reads the error log of another file, such as a cluster's mark file, which begins at --offset.

Exit codes: 0 shown, whether there are errors or not; 1 interrupted before it had shown; 2 usage, or something cannot be read, or is no
error log, or a damaged one: what stands before the damage is shown all the same.
"""
_NAME = "an error log"
_LENGTH_MIN = ErrorRecordDecoder.ENCODED_LENGTH


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "errors",
        help="show the distinct errors of a driver or an archive",
        description="Show each distinct error that a driver has met, or with --archive an archive, how often, when first and when last.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_watch_arguments(parser, fewer="--brief")
    parser.add_argument("--saved", action="store_true", help="also the logs that were saved of the directory's earlier drivers")
    parser.add_argument("--archive", metavar="DIR", help="read the error log of the archive in this directory instead of a driver's")
    parser.add_argument("--file", metavar="FILE", help="read the error log of this file instead of a driver's")
    parser.add_argument("--offset", metavar="BYTES", type=count_or_none, help="where in --file the log begins (default: 0)")
    parser.add_argument("--brief", action="store_true", help="only the first line of each error")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show errors; returns 0."""
    from aerowire.tools.driver.damage import require_whole
    from aerowire.tools.driver.watching import is_single, print_report, show

    if arguments.file is not None:
        report = _of_file(Path(arguments.file), arguments.offset or 0, is_brief=arguments.brief)
        print_report(report, as_json=arguments.json)
        require_whole(report.damage, report.source, _NAME)
        return 0
    _check_no_offset(arguments.offset)
    if arguments.archive is not None:
        report = _of_archive(Path(arguments.archive), arguments)
        print_report(report, as_json=arguments.json)
        require_whole(report.damage, report.source, _NAME)
        return 0
    if arguments.saved and not _has_driver(arguments):
        print_report(_of_saved_alone(arguments), as_json=arguments.json)
        return 0
    shown: list[ErrorsReport] = []

    def look(files: DriverFiles) -> ErrorsReport:
        shown[:] = [_of_driver(files, arguments)]
        return shown[0]

    code = show(arguments, look)
    if is_single(arguments):
        require_whole(shown[0].damage, shown[0].source, _NAME)
    return code


@dataclass(frozen=True, slots=True)
class Error:
    """A distinct error, wherever it was read."""

    count: int
    first: str
    last: str
    text: str


@dataclass(frozen=True, slots=True)
class ErrorsReport:
    """The errors of a log, and of saved ones by file."""

    source: str
    errors: list[Error]
    saved: dict[str, list[Error]]
    is_brief: bool
    damage: Damage | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return them for programs."""
        from aerowire.tools.driver.damage import damage_dict

        saved = [{"file": path, "errors": [_as_dict(error) for error in errors]} for path, errors in self.saved.items()]
        return {
            "time_ms": time.time_ns() // 1_000_000,
            "source": self.source,
            "errors": [_as_dict(error) for error in self.errors],
            "damage": damage_dict(self.damage),
            "saved": saved,
        }

    def render(self) -> RenderableType:
        """Return them for people."""
        from rich.console import Group
        from rich.text import Text

        from aerowire.base.text import printable
        from aerowire.tools.driver.damage import damage_text
        from aerowire.tools.terminal.live_view import head_style

        parts: list[RenderableType] = []
        for source, errors in ((self.source, self.errors), *self.saved.items()):
            observed = sum(error.count for error in errors)
            name = printable(str(source))
            title = f"{name} - {len(errors)} distinct errors, observed {observed:,} times" if errors else f"{name} - no errors"
            if not parts and self.damage is not None:
                parts += [Text(title, style=head_style("bold red"))] if errors else []
                parts.append(Text(f"{name} - {damage_text(self.damage, _NAME)}", style=head_style("bold red")))
            else:
                style = "bold red" if errors else "bold green"
                parts.append(Text(title, style=style if parts else head_style(style)))
            parts += [part for error in errors for part in self._render(error)]
        return Group(*parts)

    def _render(self, error: Error) -> list[RenderableType]:
        from rich.padding import Padding
        from rich.text import Text

        from aerowire.tools.terminal.figures import printable_lines

        lines = printable_lines(error.text.rstrip("\n"))
        rest = len(lines) - 1
        shown = lines[:1] + ([f"... {rest} more lines"] if rest else []) if self.is_brief else lines
        when = f"at {error.last}" if error.first == error.last else f"from {error.first} to {error.last}"
        return [Text(f"\n{error.count:,} x  {when}", style="cyan"), Padding(Text("\n".join(shown)), (0, 0, 0, 4))]


def _as_dict(error: Error) -> dict[str, Any]:
    return {"count": error.count, "first": error.first, "last": error.last, "text": error.text}


def _of_driver(files: DriverFiles, arguments: argparse.Namespace) -> ErrorsReport:
    from aerowire.ipc.error_log import scan_errors

    errors, damage = scan_errors(files.cnc().error_log_buffer)
    saved = _saved_of_driver(files.directory) if arguments.saved else {}
    return ErrorsReport(files.aeron_dir, [_error(item) for item in errors], saved, arguments.brief, damage)


def _of_file(path: Path, offset: int, *, is_brief: bool) -> ErrorsReport:
    from aerowire.base.errors import ConfigurationError
    from aerowire.ipc.damage import Damage
    from aerowire.ipc.error_log import scan_errors
    from aerowire.memory.region import Region

    with Region.map_file(path, writable=False) as region:
        if offset >= len(region):
            raise ConfigurationError(
                "the log begins behind the file's end", where="--offset", expected=f"below {len(region)}", actual=offset
            )
        length = len(region) - offset
        errors, damage = scan_errors(memoryview(region)[offset:])
    if length < _LENGTH_MIN:
        damage = Damage(0, "length of the log", f"at least {_LENGTH_MIN} bytes", length)
    return ErrorsReport(
        f"{path} from {offset:,}" if offset else str(path), [_error(item) for item in errors], {}, is_brief=is_brief, damage=damage
    )


def _of_archive(directory: Path, arguments: argparse.Namespace) -> ErrorsReport:
    from aerowire.archive.files.mark_header import mark_path, read_mark_file
    from aerowire.codecs.flyweights.archive_files import ARCHIVE_ERROR_LOG_NAME
    from aerowire.ipc.error_log import scan_errors
    from aerowire.system.ports import Ports

    files = Ports.system().files
    path = mark_path(files, directory)
    errors, damage = scan_errors(read_mark_file(files, path)[1])
    saved = _saved(path.parent, ARCHIVE_ERROR_LOG_NAME) if arguments.saved else {}
    return ErrorsReport(str(path), [_error(item) for item in errors], saved, arguments.brief, damage)


def _check_no_offset(offset: int | None) -> None:
    from aerowire.base.errors import ConfigurationError

    if offset is not None:
        raise ConfigurationError("an offset is of a file", where="--offset", expected="--file FILE", actual="a driver's error log")


def _of_saved_alone(arguments: argparse.Namespace) -> ErrorsReport:
    from aerowire.tools.driver.driver_files import driver_files

    with driver_files(arguments) as files:
        return ErrorsReport(f"{files.aeron_dir}, where no driver is,", [], _saved_of_driver(files.directory), arguments.brief)


def _has_driver(arguments: argparse.Namespace) -> bool:
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.tools.driver.driver_files import driver_files

    with driver_files(arguments) as files:
        return (files.directory / CNC_FILE_NAME).exists()


def _saved_of_driver(aeron_dir: Path) -> dict[str, list[Error]]:
    return _saved(aeron_dir.parent, aeron_dir.name)


def _saved(folder: Path, name: str) -> dict[str, list[Error]]:
    from aerowire.tools.driver.saved_errors import saved_errors, saved_logs

    return {
        str(path): [Error(item.count, item.first, item.last, item.text) for item in saved_errors(path.read_text(errors="replace"))]
        for path in saved_logs(folder, name)
    }


def _error(item: ErrorObservation) -> Error:
    from aerowire.tools.terminal.figures import time_text

    return Error(item.observation_count, time_text(item.first_timestamp_ms), time_text(item.last_timestamp_ms), item.text)
