"""`aerowire archive truncate` and `aerowire archive purge`: recordings of a running Archive shortened and deleted."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aerowire.tools.archive.archive_command import recording_id
from aerowire.tools.archive.running.connection import add_running_command, connect, descriptor_of
from aerowire.tools.arguments import count_or_none
from aerowire.tools.directory_command import Subparsers, add_caution_arguments, is_agreed, show, show_json

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive, RecordingDescriptor

NOT_AGREED = 1


def truncate_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive truncate`."""
    parser = add_running_command(
        subparsers,
        "truncate",
        run_truncate,
        purpose="cut the end of a recording off",
        description="Cut a stopped recording of a running archive off at a position, where a message begins. Nothing brings back what is "
        "behind it: --dry-run tells how much that is.",
        examples=("aeron-archive 7 1048576 --dry-run", "aeron-archive 7 1048576 --yes"),
        finding="not agreed to, or interrupted before it was done",
    )
    parser.add_argument("recording_id", metavar="ID", type=recording_id, help="the recording")
    parser.add_argument("position", metavar="POSITION", type=count_or_none, help="where it is to end")
    add_caution_arguments(parser)


def purge_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive purge`."""
    parser = add_running_command(
        subparsers,
        "purge",
        run_purge,
        purpose="delete a recording, or its first segment files",
        description="Delete a stopped recording of a running archive with its files, or, with --before, the segment files that end at a "
        "position or before it, of a recording that goes on too. Nothing brings them back: --dry-run tells what would go.",
        examples=("aeron-archive 7 --dry-run", "aeron-archive 7 --yes", "aeron-archive 7 --before 1073741824 --yes"),
        finding="not agreed to, or interrupted before it was done",
    )
    parser.add_argument("recording_id", metavar="ID", type=recording_id, help="the recording")
    parser.add_argument("--before", metavar="POSITION", type=count_or_none, help="keep what is from this position on")
    add_caution_arguments(parser)


def run_truncate(arguments: argparse.Namespace) -> int:
    """Cut a recording off; returns 1 if the user does not agree."""
    with connect(arguments) as archive:
        found = descriptor_of(archive, arguments.recording_id)
        end = archive.get_max_recorded_position(arguments.recording_id)
        lost = max(end - arguments.position, 0)
        what = (
            f"recording {found.recording_id} from {found.start_position} to {end} is cut off at {arguments.position}: {lost} bytes are lost"
        )
        if not is_agreed(arguments, f"{what[0].upper()}{what[1:]}, for good. Continue?"):
            return NOT_AGREED
        files = None if arguments.dry_run else archive.truncate_recording(arguments.recording_id, arguments.position)
    _tell(arguments, what, lost, files)
    return 0


def run_purge(arguments: argparse.Namespace) -> int:
    """Delete a recording, or its first segments; returns 1 if the user does not agree."""
    with connect(arguments) as archive:
        found = descriptor_of(archive, arguments.recording_id)
        if arguments.before is None:
            end = archive.get_max_recorded_position(arguments.recording_id)
            lost = end - found.start_position
            what = f"recording {found.recording_id} from {found.start_position} to {end} is deleted: {lost} bytes are lost"
        else:
            base = _segment_base(archive, found, arguments.before)
            lost = base - found.start_position
            what = f"recording {found.recording_id} begins at {base} instead of {found.start_position}: {lost} bytes are lost"
            if lost <= 0:
                _tell(arguments, f"recording {found.recording_id} has no whole segment file before {arguments.before}", 0, 0)
                return 0
        if not is_agreed(arguments, f"{what[0].upper()}{what[1:]}, for good. Continue?"):
            return NOT_AGREED
        files = None
        if not arguments.dry_run:
            files = (
                archive.purge_recording(arguments.recording_id)
                if arguments.before is None
                else archive.purge_segments(arguments.recording_id, base)
            )
    _tell(arguments, what, lost, files)
    return 0


def _segment_base(archive: AeronArchive, found: RecordingDescriptor, position: int) -> int:
    """Return the last position up to another one at which a segment file begins that may be the first: not behind the recorded end."""
    from aerowire.archive import segment_file_base_position

    end = archive.get_max_recorded_position(found.recording_id)
    return segment_file_base_position(
        found.start_position, max(min(position, end), found.start_position), found.term_buffer_length, found.segment_file_length
    )


def _tell(arguments: argparse.Namespace, what: str, lost: int, files: int | None) -> None:
    if arguments.json:
        facts = {"recording_id": arguments.recording_id, "lost_bytes": lost, "deleted_files": files, "dry_run": arguments.dry_run}
        show_json(facts)
    elif arguments.dry_run:
        show(f"would be done: {what}")
    else:
        show(f"{what}; {files} files deleted" if files is not None else what)
