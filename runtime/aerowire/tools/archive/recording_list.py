"""`aerowire archive list`: the recordings of an Archive, a line each.

Those of a directory are read there, whether an Archive runs in it or not: what a running one has recorded is taken from the counters of its
driver, and nothing is asked of it. An Archive that is named by its control channel is asked, and tells nothing of its files.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.system.files import allocated_length
from aerowire.tools.archive.archive_command import recording_id, running_mark
from aerowire.tools.archive.running.connection import add_running_command, connect, is_channel
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.recordings.catalog_entry import RecordingEntry

_COLUMNS = ("id", "state", "start", "stop", "files", "size", "duration", "stream", "session", "started", "stopped", "channel")
_NUMBERS = _COLUMNS[0:1] + _COLUMNS[2:9]


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive list`."""
    parser = add_running_command(
        subparsers,
        "list",
        run,
        purpose="list the recordings of an archive as a table",
        description="List recordings, those of a running archive too: state, positions, files and what they take on the disk, times, "
        "stream and channel. The state is recording while an archive writes it, unfinished when its archive died before it stopped. An "
        "archive that is named by its control channel tells nothing of its files.",
        examples=(
            "aeron-archive",
            "aeron-archive 3 4",
            "aeron-archive --all",
            "aeron-archive --json | jq '.recordings[].position'",
            "aeron:udp?endpoint=localhost:8010",
        ),
        done="shown",
        finding="the catalog is damaged: the entries before the damage are shown",
        archive="directory of an archive that runs or not, or control channel of one that runs",
    )
    parser.add_argument("recording_ids", metavar="ID", nargs="*", type=recording_id, help="these recordings only")
    parser.add_argument("--all", action="store_true", help="also those that are invalid or deleted")


def run(arguments: argparse.Namespace) -> int:
    """Show a table of recordings; returns 1 for a damaged catalog."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.codecs.flyweights.archive import RecordingState
    from aerowire.tools.archive.inspection import tell_problem

    now_ms = time.time_ns() // 1_000_000
    if is_channel(arguments.archive):
        _show(arguments, _described(arguments, now_ms))
        return 0
    with OfflineCatalog(system_files(), Path(arguments.archive)) as catalog:
        chosen = [catalog.entry(one) for one in arguments.recording_ids] or [
            one for one in catalog.entries if arguments.all or one.recording_state is RecordingState.VALID
        ]
        _show(arguments, _found(catalog, chosen, now_ms))
        return tell_problem(catalog)


@dataclass(frozen=True, slots=True)
class Row:
    """A recording and its files, which are None where its archive was asked.

    `position` is where it ends now, None where only its files tell; `duration_ms` likewise.
    """

    entry: RecordingEntry
    state: str
    segments: list[int] | None
    length_on_disk: int | None
    position: int | None
    duration_ms: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        from aerowire.tools.archive.message_text import entry_object

        facts = {"activity": self.state, "position": self.position, "duration_ms": self.duration_ms}
        return entry_object(self.entry) | facts | {"segments": self.segments, "length_on_disk": self.length_on_disk}


def _described(arguments: argparse.Namespace, now_ms: int) -> list[Row]:
    """Return what the archive that the arguments name tells of recordings."""
    from aerowire.base.errors import ConfigurationError
    from aerowire.tools.archive.running.described import described_recordings

    if arguments.all:
        raise ConfigurationError("an archive tells of valid recordings only", where="--all", expected="the directory of the archive")
    with connect(arguments) as archive:
        found = described_recordings(archive, arguments.recording_ids)
    return [_described_row(entry, end, now_ms) for entry, end in found]


def _described_row(entry: RecordingEntry, end: int, now_ms: int) -> Row:
    state = "damaged" if entry.damage is not None else "recording" if entry.is_active else "valid"
    return Row(entry, state, None, None, end, _duration_ms(entry, now_ms, is_recorded=entry.is_active))


def _found(catalog: OfflineCatalog, entries: list[RecordingEntry], now_ms: int) -> list[Row]:
    """Return what is known of some recordings of a catalog."""
    from aerowire.archive.files.segments import list_segments

    segments = list_segments(catalog.files, catalog.directory)
    positions = recorded_positions(catalog.directory) if any(one.is_active for one in entries) else {}
    return [_row(catalog, one, segments.get(one.recording_id, []), positions, now_ms) for one in entries]


def recorded_positions(directory: Path) -> dict[int, int]:
    """Return recording id -> position of what the Archive of a directory records now; nothing where none runs, or its driver has ended."""
    from aerowire.archive.client.recording_pos import recording_positions
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.base.errors import AerowireError
    from aerowire.ipc.cnc import CncFile

    mark = running_mark(directory)
    if mark is None:
        return {}
    try:
        with CncFile.map(Path(mark.aeron_directory) / CNC_FILE_NAME, writable=False) as cnc:
            counters = cnc.counters_reader()
            return {one.recording_id: counters.value(one.counter_id) for one in recording_positions(counters, mark.archive_id)}
    except AerowireError:
        return {}


def _row(catalog: OfflineCatalog, entry: RecordingEntry, segments: list[int], positions: Mapping[int, int], now_ms: int) -> Row:
    from aerowire.archive.files.segments import segment_path

    position = positions.get(entry.recording_id)
    state = "damaged" if entry.damage is not None else entry.recording_state.name.lower()
    if entry.is_active and state == "valid":
        state = "unfinished" if position is None else "recording"
    if not entry.is_active:
        position = entry.stop_position
    length = sum(_length_on_disk(segment_path(catalog.directory, entry.recording_id, one)) for one in segments)
    return Row(entry, state, segments, length, position, _duration_ms(entry, now_ms, is_recorded=state == "recording"))


def _duration_ms(entry: RecordingEntry, now_ms: int, *, is_recorded: bool) -> int | None:
    """Return for how long was recorded; None where that is not known."""
    end_ms = entry.stop_timestamp_ms if entry.stop_timestamp_ms >= 0 else now_ms if is_recorded else None
    return None if end_ms is None else max(end_ms - entry.start_timestamp_ms, 0)


def _length_on_disk(path: Path) -> int:
    try:
        return allocated_length(path.stat())
    except OSError:
        return 0  # it was deleted meanwhile


def _show(arguments: argparse.Namespace, rows: list[Row]) -> None:
    if arguments.json:
        show_json({"recordings": [row.to_dict() for row in rows]})
    else:
        _show_table(rows)


def _show_table(rows: list[Row]) -> None:
    from rich.table import Table

    from aerowire.tools.driver.watching import as_text
    from aerowire.tools.terminal.figures import age_text, grouped, printable_text, size_text, time_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in _COLUMNS:
        table.add_column(name, justify="right" if name in _NUMBERS else "left")
    for row in rows:
        entry = row.entry
        table.add_row(
            str(entry.recording_id),
            row.state,
            grouped(entry.start_position),
            "" if row.position is None else grouped(row.position),
            "" if row.segments is None else str(len(row.segments)),
            "" if row.length_on_disk is None else size_text(row.length_on_disk),
            "" if row.duration_ms is None else age_text(row.duration_ms),
            str(entry.stream_id),
            str(entry.session_id),
            time_text(entry.start_timestamp_ms),
            "" if entry.stop_timestamp_ms < 0 else time_text(entry.stop_timestamp_ms),
            printable_text(entry.original_channel),
        )
    show(as_text(table).rstrip("\n"))
