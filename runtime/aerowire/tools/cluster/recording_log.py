"""`aerowire cluster recording-log` and the other commands that read or change recording.log. Aeron: ClusterTool."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.tools.cluster.cluster_command import add_command, add_force_argument, require_unused
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerowire.cluster.files.recording_log import RecordingLog
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry

_FOR_STOPPED = "The member must not run."


def recording_log_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster recording-log`."""
    add_command(
        subparsers,
        "recording-log",
        run_recording_log,
        purpose="show the terms and snapshots that a member knows",
        description="Show the entries of recording.log in the order in which they count, with their places in the file, and the index of "
        "the terms among them.",
        examples=("node0/cluster", "node0/cluster --json | jq '.entries[].log_position'"),
        done="shown, whether the member runs or not",
    )


def sort_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster sort-recording-log`."""
    parser = add_command(
        subparsers,
        "sort-recording-log",
        run_sort,
        purpose="write the entries of recording.log in the order in which they count",
        description=f"Write recording.log anew with its entries in the order in which they count, and without removed ones. {_FOR_STOPPED}",
        examples=("node0/cluster",),
        done="sorted",
        finding="nothing to do: the entries are in their order",
    )
    add_force_argument(parser)


def seed_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster seed-recording-log-from-snapshot`."""
    parser = add_command(
        subparsers,
        "seed-recording-log-from-snapshot",
        run_seed,
        purpose="reduce recording.log to the latest snapshot",
        description="Reduce recording.log to the latest valid snapshot, as if it had been taken at position 0: the cluster then starts "
        "with that state and an empty log. The former file is kept as recording.log.bak. Without a snapshot recording.log is removed. "
        f"{_FOR_STOPPED}",
        examples=("node0/cluster",),
    )
    add_force_argument(parser)


def invalidate_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster invalidate-latest-snapshot`."""
    parser = add_command(
        subparsers,
        "invalidate-latest-snapshot",
        run_invalidate,
        purpose="let a member recover from the snapshot before the latest one",
        description="Mark the latest snapshot as invalid, those of all services with it, so that the member recovers from the one before "
        f"it and replays more of the log. {_FOR_STOPPED}",
        examples=("node0/cluster",),
        done="marked",
        finding="there is no valid snapshot",
    )
    add_force_argument(parser)


def run_recording_log(arguments: argparse.Namespace) -> int:
    """Show recording.log; returns 0."""
    with open_recording_log(Path(arguments.directory)) as log:
        if arguments.json:
            show_json({"entries": [_entry_object(entry) for entry in log.entries]})
        else:
            show(recording_log_text(log))
    return 0


def run_sort(arguments: argparse.Namespace) -> int:
    """Sort recording.log; returns 1 if it was sorted before."""
    from aerowire.cluster.files.member_directory import sort_recording_log

    require_unused(arguments)
    is_changed = sort_recording_log(system_files(), Path(arguments.directory))
    if arguments.json:
        show_json({"changed": is_changed})
    else:
        show("recording.log has its entries in their order now" if is_changed else "recording.log has its entries in their order already")
    return 0 if is_changed else 1


def run_seed(arguments: argparse.Namespace) -> int:
    """Seed recording.log; returns 0."""
    from aerowire.cluster.files.member_directory import seed_recording_log_from_snapshot

    require_unused(arguments)
    kept = seed_recording_log_from_snapshot(system_files(), Path(arguments.directory))
    if arguments.json:
        show_json({"snapshots": kept})
    else:
        what = f"recording.log holds a set of {kept} snapshots" if kept else "there was no valid snapshot, and there is no recording.log"
        show(f"{what}; the former one is recording.log.bak")
    return 0


def run_invalidate(arguments: argparse.Namespace) -> int:
    """Invalidate the latest snapshot; returns 1 if there is none."""
    from aerowire.cluster.files.recording_log import RecordingLog

    require_unused(arguments)
    log = RecordingLog.open(Path(arguments.directory), system_files(), sync_level=1)
    try:
        is_invalidated = log.invalidate_latest_snapshot()
        log.force()
    finally:
        log.close()
    if arguments.json:
        show_json({"invalidated": is_invalidated})
    else:
        show(f" invalidate latest snapshot: {str(is_invalidated).lower()}")
    return 0 if is_invalidated else 1


@contextmanager
def open_recording_log(directory: Path) -> Iterator[RecordingLog]:
    """Open the recording log of a member to be read. Raises ClusterFileError, MissingFileError, FileError."""
    from aerowire.cluster.files.recording_log import RecordingLog

    log = RecordingLog.open(directory, system_files(), writable=False)
    try:
        yield log
    finally:
        log.close()


def recording_log_text(log: RecordingLog) -> str:
    """Return a recording log as the official tool prints it, with the index of terms by their ids."""
    entries = ", ".join(map(_entry_text, log.entries))
    terms = ", ".join(f"{term_id}={index}" for term_id, index in sorted(log.term_indexes.items()))
    return f"RecordingLog{{entries=[{entries}], cacheIndex={{{terms}}}}}"


def _entry_text(entry: RecordingLogEntry) -> str:
    from aerowire.base.text import printable
    from aerowire.codecs.flyweights.recording_log import EntryType

    is_standby = entry.entry_type == EntryType.STANDBY_SNAPSHOT
    endpoint = f", archiveEndpoint={printable(entry.archive_endpoint)}" if is_standby else ""
    return (
        f"Entry{{recordingId={entry.recording_id}, leadershipTermId={entry.leadership_term_id}, "
        f"termBaseLogPosition={entry.term_base_log_position}, logPosition={entry.log_position}, timestamp={entry.timestamp}, "
        f"serviceId={entry.service_id}, type={entry.entry_type.name}, isValid={str(entry.is_valid).lower()}, "
        f"entryIndex={entry.entry_index}{endpoint}}}"
    )


def _entry_object(entry: RecordingLogEntry) -> dict[str, Any]:
    return asdict(entry) | {"entry_type": entry.entry_type.name}
