"""What the commands on an Archive's directory share: arguments, questions, output, and the check that no Archive uses the directory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.directory_command import Subparsers, add_caution_arguments, add_family_parser, system_files, tell_of

if TYPE_CHECKING:
    from aerowire.archive.files.checksum import Checksum
    from aerowire.archive.files.mark_header import MarkHeader
    from aerowire.archive.files.segments import Progress

_CODES = "Exit codes: 0 {done}; 1 {finding}; 2 usage, or something that cannot be read."


def add_command(
    subparsers: Subparsers[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    purpose: str,
    description: str,
    examples: Iterable[str],
    done: str = "done",
    finding: str = "interrupted before it was done",
) -> argparse.ArgumentParser:
    """Add `archive NAME` with its directory and --json; return the parser for the rest."""
    notes = _CODES.format(done=done, finding=finding)
    parser = add_parser(subparsers, name, run, purpose=purpose, description=description, examples=examples, notes=notes)
    parser.add_argument("directory", metavar="DIR", help="the directory of an archive, ours or an official one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def add_parser(
    subparsers: Subparsers[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    purpose: str,
    description: str,
    examples: Iterable[str],
    notes: str,
) -> argparse.ArgumentParser:
    """Add `archive NAME`, whose help ends with examples and notes; return its parser without arguments."""
    return add_family_parser(subparsers, "archive", name, run, purpose=purpose, description=description, examples=examples, notes=notes)


def add_writing_arguments(parser: argparse.ArgumentParser, *, is_asked: bool) -> None:
    """Add what commands have that write to a directory: --force, --dry-run, and --yes where the command asks before."""
    parser.add_argument("--force", action="store_true", help="also if an archive seems to run in the directory")
    add_caution_arguments(parser, is_asked=is_asked)


def recording_id(text: str) -> int:
    """Return the recording id that an argument says."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a recording id from 0, got {text!r}")
    return value


def checksum_name(text: str) -> Checksum:
    """Return the checksum that an argument names."""
    from aerowire.archive.files.checksum import checksum_named
    from aerowire.base.errors import ConfigurationError

    try:
        checksum = checksum_named(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(f"expected {error.expected}, got {text!r}") from None
    if checksum is None:
        raise argparse.ArgumentTypeError("expected the name of a checksum")
    return checksum


def require_unused(arguments: argparse.Namespace) -> None:
    """Raise ActiveArchiveError where an archive runs in the directory, unless it is forced or nothing is written."""
    from aerowire.archive.files.mark_life import check_unused
    from aerowire.system.ports import Ports

    if not arguments.force and not arguments.dry_run:
        check_unused(Path(arguments.directory), Ports.system())


def running_mark(directory: Path) -> MarkHeader | None:
    """Return the header of the mark file of a directory in which an Archive lives; None where none does."""
    from aerowire.archive.files.mark_header import mark_path, read_mark_file
    from aerowire.archive.files.mark_life import check_unused
    from aerowire.base.errors import ActiveArchiveError, AerowireError
    from aerowire.system.ports import Ports

    ports = Ports.system()
    try:
        check_unused(directory, ports)
    except ActiveArchiveError:
        return read_mark_file(ports.files, mark_path(ports.files, directory))[0]
    except AerowireError:
        return None
    return None


def tell(text: str) -> None:
    """Print a line on standard error."""
    tell_of("archive", text)


@contextmanager
def progress_bar(what: str, arguments: argparse.Namespace) -> Iterator[Progress | None]:
    """Give a function to be called with bytes of segment files that are done, on a terminal that shows them; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    from aerowire.archive.files.segments import segment_bytes
    from aerowire.tools.terminal.progress import Bars

    total = segment_bytes(system_files(), Path(arguments.directory), arguments.recording_id, all_segments=arguments.all)
    with Bars(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()) as bars:
        task = bars.add_task(what, total=total)
        yield lambda length: bars.advance(task, length)
