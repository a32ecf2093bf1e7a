"""`aerowire archive verify` and `aerowire archive checksum`: recordings checked, and sealed, by their checksums. Aeron: ArchiveTool."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.tools.archive.archive_command import (
    add_command,
    add_writing_arguments,
    checksum_name,
    progress_bar,
    recording_id,
    require_unused,
)
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.segments import Progress
    from aerowire.archive.files.verification import Verdict
    from aerowire.recordings.catalog_entry import RecordingEntry


def verify_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive verify`."""
    parser = add_command(
        subparsers,
        "verify",
        run_verify,
        purpose="check recordings against their files, and mark faulty ones as invalid",
        description="Check the descriptors of recordings and the frames in their last segment file, or in all. Faulty recordings are "
        "marked as invalid, sound ones that were invalid as valid, and stop positions are corrected; with --dry-run nothing is changed.",
        examples=("aeron-archive", "aeron-archive -a -checksum CRC-32C", "aeron-archive 5 -a --dry-run", "aeron-archive --truncate"),
        done="all recordings are sound",
        finding="some are not",
    )
    parser.add_argument("recording_id", metavar="ID", nargs="?", type=recording_id, help="check this recording only")
    parser.add_argument("-a", "--all", action="store_true", help="check all segment files, not the last one of each recording alone")
    parser.add_argument("-checksum", "--checksum", metavar="NAME", type=checksum_name, help="compare checksums too: CRC-32 or CRC-32C")
    parser.add_argument(
        "--truncate", action="store_true", help="remove a last frame that may be written in part: some of its pages are empty"
    )
    add_writing_arguments(parser, is_asked=False)


def checksum_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive checksum`."""
    parser = add_command(
        subparsers,
        "checksum",
        run_checksum,
        purpose="compute checksums of recordings and write them into catalog and files",
        description="Write the checksum of each descriptor into the catalog, and the checksum of each frame in the place of its session "
        "id, in the last segment file of each recording or in all.",
        examples=("aeron-archive CRC-32C", "aeron-archive io.aeron.archive.checksum.Crc32 5 -a"),
        finding="a file could not be followed up to its end",
    )
    parser.add_argument("checksum", metavar="NAME", type=checksum_name, help="CRC-32 or CRC-32C, or the official class")
    parser.add_argument("recording_id", metavar="ID", nargs="?", type=recording_id, help="this recording only")
    parser.add_argument("-a", "--all", action="store_true", help="all segment files, not the last one of each recording alone")
    add_writing_arguments(parser, is_asked=False)


def run_verify(arguments: argparse.Namespace) -> int:
    """Check recordings; returns 1 where one is faulty."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.archive.files.verification import Verification
    from aerowire.tools.archive.inspection import tell_problem

    require_unused(arguments)
    verification = Verification(
        all_segments=arguments.all,
        checksum=arguments.checksum,
        cuts_torn=arguments.truncate,
        is_dry=arguments.dry_run,
        now_ms=time.time_ns() // 1_000_000,
    )
    verdicts: list[dict[str, Any]] = []
    code = 0
    with (
        OfflineCatalog(system_files(), Path(arguments.directory), writable=not arguments.dry_run) as catalog,
        progress_bar("verifying", arguments) as progress,
    ):
        for verdict in verification.verify(catalog, arguments.recording_id, progress):
            code |= verdict.problem is not None
            if arguments.json:
                verdicts.append(_as_object(verdict))
            else:
                _show(verdict, is_dry=arguments.dry_run)
        code |= tell_problem(catalog)
    if arguments.json:
        show_json({"recordings": verdicts})
    return code


def run_checksum(arguments: argparse.Namespace) -> int:
    """Write checksums; returns 1 where a file could not be followed up to its end."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.tools.archive.inspection import tell_problem
    from aerowire.tools.terminal.figures import printable_error

    require_unused(arguments)
    code = 0
    with (
        OfflineCatalog(system_files(), Path(arguments.directory), writable=not arguments.dry_run) as catalog,
        progress_bar("checksums", arguments) as progress,
    ):
        chosen = catalog.entries if arguments.recording_id is None else [catalog.entry(arguments.recording_id)]
        sealed: list[dict[str, Any]] = []
        for entry in chosen:
            problem = None if arguments.dry_run else _seal(catalog, entry, arguments, progress)
            sealed.append({"recording_id": entry.recording_id, "problem": problem})
            code |= problem is not None
            if arguments.json:
                continue
            if arguments.dry_run:
                show(f"(recordingId={entry.recording_id}) would be sealed by {arguments.checksum.name}")
            elif problem is not None:
                show(f"(recordingId={entry.recording_id}) ERR: {printable_error(problem)}")
        if arguments.json:
            show_json({"checksum": arguments.checksum.name, "recordings": sealed, "dry_run": arguments.dry_run})
        return code | tell_problem(catalog)


def _seal(catalog: OfflineCatalog, entry: RecordingEntry, arguments: argparse.Namespace, progress: Progress | None) -> str | None:
    """Write the checksums of one recording; return what kept a file from being sealed up to its end."""
    from aerowire.archive.files.compaction import write_checksums
    from aerowire.codecs.flyweights.archive import RecordingState

    if entry.damage is None and entry.recording_state is not RecordingState.DELETED:
        return write_checksums(catalog, entry, arguments.checksum, all_segments=arguments.all, progress=progress)
    catalog.set_checksum(entry, catalog.checksum_of(entry, arguments.checksum))
    return entry.damage


def _show(verdict: Verdict, *, is_dry: bool) -> None:
    from aerowire.base.text import printable

    start = f"(recordingId={verdict.recording_id})"
    if verdict.torn_file is not None:
        done = "is removed" if verdict.is_cut else "is left; --truncate removes it"
        text = f"{start}: the last fragment in {verdict.torn_file} may be written in part: it straddles a page boundary, and {done}"
        print(printable(text), file=sys.stderr)
    if verdict.skipped is not None:
        show(f"{start} skipping: {verdict.skipped}")
    elif verdict.problem is not None:
        where = start if verdict.file is None else f"{start[:-1]}, file={verdict.file})"
        show(printable(f"{where} ERR: {verdict.problem}"))
    else:
        show(f"{start} OK")
    if is_dry and verdict.stop_position is not None:
        show(f"{start} would get stopPosition={verdict.stop_position}")
    if is_dry and verdict.state is not None:
        show(f"{start} would become {verdict.state.name}")


def _as_object(verdict: Verdict) -> dict[str, Any]:
    return {
        "recording_id": verdict.recording_id,
        "ok": verdict.problem is None and verdict.skipped is None,
        "problem": verdict.problem,
        "file": verdict.file,
        "skipped": verdict.skipped,
        "new_stop_position": verdict.stop_position,
        "new_state": None if verdict.state is None else verdict.state.name,
        "torn_file": verdict.torn_file,
        "is_truncated": verdict.is_cut,
    }
