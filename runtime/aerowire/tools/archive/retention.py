"""`aerowire archive retention`: old segment files removed, by age, size or position, from a directory or by the Archive that runs."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.system.files import allocated_length
from aerowire.tools.archive.archive_command import recording_id, running_mark, tell
from aerowire.tools.archive.running.connection import add_running_command, connect, is_channel
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.retention import RecordingFiles, Removal, Rule, SegmentFile
    from aerowire.recordings.catalog_entry import RecordingEntry

_AGES_MS = {"h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_AMOUNT = re.compile(r"(\d{1,15})([hdwkmgt])", re.IGNORECASE)
_FILES_MAX = 1 << 22  # of a recording: at 64 KiB each they are 256 GiB, at 128 MiB each 512 TiB
_POSITION = re.compile(r"to-position[: =](\d{1,18})")


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive retention`."""
    parser = add_running_command(
        subparsers,
        "retention",
        run,
        purpose="remove old segment files, by age, size or position",
        description="Tell which whole segment files are older than what is to be kept, and with --apply remove them: recordings then begin "
        "later. Where an archive runs in the directory it is asked to purge them. The file that holds the end of a recording always stays. "
        "Age counts from the last write, or from when the recording stopped, if that was before; size is what files take on the disk. An "
        "archive that is named by its control channel tells neither: there it is to-position alone.",
        examples=(
            "aeron-archive --keep 30d",
            "aeron-archive --keep 500g --apply",
            "aeron-archive 7 --keep to-position:1073741824 --apply",
            "aeron:udp?endpoint=localhost:8010 7 --keep to-position:1073741824 --apply",
        ),
        done="done, or nothing to remove",
        finding="some recordings could not be shortened",
        archive="directory of an archive that runs or not, or control channel of one that runs",
    )
    parser.add_argument("recording_ids", metavar="ID", nargs="*", type=recording_id, help="of these recordings only (default: of all)")
    parser.add_argument(
        "--keep",
        metavar="WHAT",
        type=keep,
        required=True,
        help="hours, days or weeks (12h, 30d, 4w), bytes of all chosen recordings together (900m, 500g, 2t), or to-position:N",
    )
    parser.add_argument("--apply", action="store_true", help="remove the files; without it nothing is changed")


def keep(text: str) -> Rule:
    """Return the rule that an argument says; an age counts from now."""
    from aerowire.archive.files.retention import KeepBytes, KeepFrom, KeepSince

    if (position := _POSITION.fullmatch(text)) is not None:
        return KeepFrom(int(position[1]))
    if (amount := _AMOUNT.fullmatch(text)) is None:
        raise argparse.ArgumentTypeError(f"expected an age as 30d, a size as 500g, or to-position:N, got {text!r}")
    number, unit = int(amount[1]), amount[2].lower()
    return KeepSince(time.time_ns() // 1_000_000 - number * _AGES_MS[unit]) if unit in _AGES_MS else KeepBytes(number * _SIZES[unit])


def run(arguments: argparse.Namespace) -> int:
    """Tell what goes, or remove it; returns 1 where a recording could not be shortened."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.retention import plan_retention

    if is_channel(arguments.archive):
        return _run_by_channel(arguments)
    directory = Path(arguments.archive)
    is_running = running_mark(directory) is not None
    with OfflineCatalog(system_files(), directory) as catalog:
        removals = plan_retention(_recordings(catalog, arguments, is_running=is_running), arguments.keep)
        problems: dict[int, str] = {}
        if arguments.apply and is_running:
            with connect(arguments) as archive:
                problems = _purge(archive, removals)
        elif arguments.apply:
            _remove(directory, removals)
    _tell(arguments, removals, problems)
    return int(bool(problems))


def _run_by_channel(arguments: argparse.Namespace) -> int:
    """Do the same with what the archive at a control channel tells, which are positions."""
    from aerowire.archive.files.retention import KeepFrom, plan_retention
    from aerowire.base.errors import ConfigurationError
    from aerowire.tools.archive.running.described import described_recordings

    if not isinstance(arguments.keep, KeepFrom):
        raise ConfigurationError(
            "an archive tells neither times nor sizes of its files",
            where="--keep",
            expected="to-position:N",
            hint="name the archive by its directory, on its own machine, to keep by age or size",
        )
    with connect(arguments) as archive:
        described = described_recordings(archive, arguments.recording_ids)
        recordings = [found for entry, end in described if (found := _expected_files(entry, end)) is not None]
        removals = plan_retention(recordings, arguments.keep)
        problems = _purge(archive, removals) if arguments.apply else {}
    _tell(arguments, removals, problems)
    return int(bool(problems))


def _expected_files(entry: RecordingEntry, end: int) -> RecordingFiles | None:
    """Return the files that a recording has by its positions, at their full lengths; None where those positions cannot be."""
    from aerowire.archive.files.retention import RecordingFiles, SegmentFile

    problem, positions = entry.damage, range(0)
    if problem is None:
        positions = range(entry.segment_of(entry.start_position), entry.segment_of(end), entry.segment_length)
        if len(positions) > _FILES_MAX:
            problem = f"it would have {len(positions)} files, expected {_FILES_MAX} at most"
    if problem is not None:
        tell(f"recording {entry.recording_id} is left as it is: {problem}")
        return None
    files = tuple(SegmentFile(position, 0, entry.segment_length) for position in positions)
    return RecordingFiles(entry.recording_id, entry.segment_of(end), files)


def _recordings(catalog: OfflineCatalog, arguments: argparse.Namespace, *, is_running: bool) -> list[RecordingFiles]:
    """Return the recordings that may be shortened, with their files; say of the others why they stay as they are."""
    from aerowire.archive.files.retention import RecordingFiles
    from aerowire.archive.files.segments import list_segments
    from aerowire.tools.archive.recording_list import recorded_positions

    chosen = [catalog.entry(one) for one in arguments.recording_ids] or [one for one in catalog.entries if one.is_valid]
    positions = recorded_positions(catalog.directory) if is_running else {}
    segments = list_segments(catalog.files, catalog.directory)
    found = []
    for entry in chosen:
        end = positions.get(entry.recording_id) if entry.is_active else entry.stop_position
        if not entry.is_valid or end is None:
            state = "damaged or not valid" if not entry.is_valid else "unfinished: repair it first"
            tell(f"recording {entry.recording_id} is left as it is: it is {state}")
            continue
        files = [
            _file(catalog, entry, one) for one in segments.get(entry.recording_id, []) if one >= entry.segment_of(entry.start_position)
        ]
        found.append(RecordingFiles(entry.recording_id, entry.segment_of(end), tuple(files)))
    return found


def _file(catalog: OfflineCatalog, entry: RecordingEntry, position: int) -> SegmentFile:
    from aerowire.archive.files.retention import SegmentFile
    from aerowire.archive.files.segments import segment_path

    facts = segment_path(catalog.directory, entry.recording_id, position).stat()
    written_ms = facts.st_mtime_ns // 1_000_000
    # A copy of a directory may have the times of the copying.
    time_ms = written_ms if entry.is_active or entry.stop_timestamp_ms < 0 else min(written_ms, entry.stop_timestamp_ms)
    return SegmentFile(position, time_ms, allocated_length(facts))


def _remove(directory: Path, removals: list[Removal]) -> None:
    """Let recordings of a directory that is not in use begin later, and delete the files before. Raises FileError."""
    from aerowire.archive.files.mark_life import check_unused
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.segments import segment_path
    from aerowire.system.ports import Ports

    ports = Ports.system()
    check_unused(directory, ports)
    # The catalog BEFORE the files: a recording that begins before its first file could not be replayed.
    with OfflineCatalog(ports.files, directory, writable=True) as catalog:
        for removal in removals:
            catalog.set_start(catalog.entry(removal.recording_id), removal.new_start)
    for removal in removals:
        for file in removal.files:
            ports.files.delete(segment_path(directory, removal.recording_id, file.position))
    ports.files.sync_directory(directory)


def _purge(archive: AeronArchive, removals: list[Removal]) -> dict[int, str]:
    """Have a running archive purge the files; return recording id -> why it has refused."""
    from aerowire.base.errors import ArchiveError

    problems: dict[int, str] = {}
    for removal in removals:
        try:
            archive.purge_segments(removal.recording_id, removal.new_start)
        except ArchiveError as error:
            if error.error_code is None:
                raise
            problems[removal.recording_id] = str(error)
    return problems


def _tell(arguments: argparse.Namespace, removals: list[Removal], problems: dict[int, str]) -> None:
    from aerowire.tools.terminal.figures import grouped, size_text

    if arguments.json:
        shown: list[dict[str, Any]] = [
            {
                "recording_id": one.recording_id,
                "new_start_position": one.new_start,
                "segments": [file.position for file in one.files],
                "length_on_disk": one.length,
                "problem": problems.get(one.recording_id),
            }
            for one in removals
        ]
        show_json({"removals": shown, "length_on_disk": sum(one.length for one in removals), "dry_run": not arguments.apply})
        return
    for one in removals:
        if one.recording_id in problems:
            tell(f"recording {one.recording_id} is left as it is: {problems[one.recording_id]}")
            continue
        verb = "begins" if arguments.apply else "would begin"
        files = f"{len(one.files)} file{'s' * (len(one.files) > 1)}, {size_text(one.length)}"
        show(f"recording {one.recording_id} {verb} at {grouped(one.new_start)}: {files}")
    done = [one for one in removals if one.recording_id not in problems]
    total = f"{sum(len(one.files) for one in done)} files, {size_text(sum(one.length for one in done))}"
    show(f"removed {total}" if arguments.apply else f"would remove {total}; --apply removes them")
