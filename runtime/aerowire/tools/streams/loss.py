"""`aerowire loss`: which streams lost how much, and when. Aeron: LossStat."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.codecs.flyweights.cnc import LossRecordDecoder
from aerowire.tools.driver.watching import add_watch_arguments

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from aerowire.ipc.damage import Damage
    from aerowire.ipc.loss_report import LossEntry
    from aerowire.tools.driver.driver_files import DriverFiles

EXAMPLES = """\
Examples:
  aerowire loss
  aerowire loss --dir /dev/shm/aeron-me --watch 1
  aerowire loss --json | jq '[.losses[].total_bytes_lost] | add'
  aerowire loss --csv > losses.csv

A driver writes its loss report as it receives: an entry for each stream and source that lost something, with how often it saw a gap and
how many bytes were missing. Loss is repaired for reliable streams; the report is of what it cost. The largest loss comes first.
--csv prints the columns of the official LossStat.

Exit codes: 0 shown, whether there is loss or not; 1 interrupted before it had shown; 2 usage, or no loss report there, or a damaged one:
what stands before the damage is shown all the same.
"""
# Aeron: LossReportReader.
_CSV_HEADER = "#OBSERVATION_COUNT,TOTAL_BYTES_LOST,FIRST_OBSERVATION,LAST_OBSERVATION,SESSION_ID,STREAM_ID,CHANNEL,SOURCE"
_NAME = "a loss report"
_LENGTH_MIN = LossRecordDecoder.ENCODED_LENGTH


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "loss",
        help="show which streams lost data",
        description="Show the loss report of a driver.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_watch_arguments(parser)
    parser.add_argument("--csv", action="store_true", help="print once, as comma-separated values")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show losses; returns 0."""
    from aerowire.tools.driver.damage import require_whole
    from aerowire.tools.driver.driver_files import driver_files
    from aerowire.tools.driver.watching import is_single, print_text, show

    if arguments.csv:
        with driver_files(arguments) as files:
            report = _look(files)
        print_text("\n".join([_CSV_HEADER, *map(_csv, report.entries)]))
        require_whole(report.damage, report.path, _NAME)
        return 0
    shown: list[LossReportShown] = []

    def look(files: DriverFiles) -> LossReportShown:
        shown[:] = [_look(files)]
        return shown[0]

    code = show(arguments, look)
    if is_single(arguments):
        require_whole(shown[0].damage, shown[0].path, _NAME)
    return code


def losses_of(aeron_dir: Path) -> tuple[list[LossEntry], Damage | None]:
    """Return the entries of a directory's loss report, the largest first, and what ends them too early.

    Raises DriverDirectoryMissingError where there is no report.
    """
    from aerowire.base.directory import LOSS_REPORT_FILE_NAME
    from aerowire.base.errors import DriverDirectoryMissingError, MappedFileMissingError
    from aerowire.ipc.damage import Damage
    from aerowire.ipc.loss_report import scan_loss
    from aerowire.memory.region import Region

    path = aeron_dir / LOSS_REPORT_FILE_NAME
    try:
        with Region.map_file(path, writable=False) as region:
            entries, damage = scan_loss(region)
            if len(region) < _LENGTH_MIN:
                damage = Damage(0, "length of the report", f"at least {_LENGTH_MIN} bytes", len(region))
    except MappedFileMissingError:
        raise DriverDirectoryMissingError(
            "no loss report",
            where=path,
            expected="the loss report of a driver",
            actual="no such file",
            hint="start a media driver, or give its directory (aeron.dir)",
        ) from None
    return sorted(entries, key=lambda entry: -entry.total_bytes_lost), damage


@dataclass(frozen=True, slots=True)
class LossReportShown:
    """The losses of one moment."""

    aeron_dir: str
    entries: list[LossEntry]
    damage: Damage | None = None

    @property
    def path(self) -> str:
        """The report's file."""
        from aerowire.base.directory import LOSS_REPORT_FILE_NAME

        return f"{self.aeron_dir}/{LOSS_REPORT_FILE_NAME}"

    def to_dict(self) -> dict[str, Any]:
        """Return them for programs."""
        from aerowire.tools.driver.damage import damage_dict

        return {
            "time_ms": time.time_ns() // 1_000_000,
            "aeron_dir": self.aeron_dir,
            "losses": [entry._asdict() for entry in self.entries],
            "damage": damage_dict(self.damage),
        }

    def render(self) -> RenderableType:
        """Return them for people."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from aerowire.base.text import printable
        from aerowire.tools.driver.damage import damage_text
        from aerowire.tools.terminal.figures import grouped, size_text, time_text
        from aerowire.tools.terminal.live_view import head_style

        total = sum(entry.total_bytes_lost for entry in self.entries)
        what = f"{size_text(total)} lost on {len(self.entries)} streams" if self.entries else "" if self.damage else "no loss"
        whats = [*([what] if what else []), *([damage_text(self.damage, _NAME)] if self.damage is not None else [])]
        is_good = not self.entries and self.damage is None
        head = Text(f"{printable(self.aeron_dir)} - {'; '.join(whats)}", style=head_style("bold green" if is_good else "bold red"))
        if not self.entries:
            return head
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=head_style("dim"))
        for name in ("bytes", "times", "stream", "session", "first", "last", "source", "channel"):
            table.add_column(
                name, justify="right" if name in {"bytes", "times", "stream", "session"} else "left", no_wrap=name != "channel"
            )
        for entry in self.entries:
            cells = (
                grouped(entry.total_bytes_lost),
                grouped(entry.observation_count),
                str(entry.stream_id),
                str(entry.session_id),
                time_text(entry.first_timestamp_ms),
                time_text(entry.last_timestamp_ms),
                printable(entry.source),
                printable(entry.channel),
            )
            table.add_row(*map(Text, cells))
        return Group(head, table)


def _look(files: DriverFiles) -> LossReportShown:
    return LossReportShown(files.aeron_dir, *losses_of(files.directory))


def _csv(entry: LossEntry) -> str:
    from aerowire.base.text import printable
    from aerowire.tools.terminal.figures import time_text

    texts = (f'"{printable(text).replace(chr(34), chr(34) * 2)}"' for text in (entry.channel, entry.source))
    times = (time_text(entry.first_timestamp_ms), time_text(entry.last_timestamp_ms))
    return ",".join(map(str, (entry.observation_count, entry.total_bytes_lost, *times, entry.session_id, entry.stream_id, *texts)))
