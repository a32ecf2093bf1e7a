"""`aerowire archive compact` and what else changes a directory whose Archive does not run. Aeron: ArchiveTool."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.archive.archive_command import add_command, add_writing_arguments, recording_id, require_unused
from aerowire.tools.arguments import count
from aerowire.tools.directory_command import Subparsers, is_agreed, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.codecs.flyweights.archive import RecordingState

NOT_AGREED = 1


def mark_valid_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive mark-valid`."""
    _add_mark(subparsers, "mark-valid", run_mark_valid, "mark a recording that is invalid as valid")


def mark_invalid_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive mark-invalid`."""
    _add_mark(subparsers, "mark-invalid", run_mark_invalid, "mark a recording as invalid: it is neither listed nor replayed")


def capacity_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive capacity`."""
    parser = add_command(
        subparsers,
        "capacity",
        run_capacity,
        purpose="print the capacity of an archive's catalog in bytes, or increase it",
        description="Print how many bytes the catalog has room for; with a number make it longer, if it is shorter than that.",
        examples=("aeron-archive", "aeron-archive 4194304"),
    )
    parser.add_argument("capacity", metavar="BYTES", nargs="?", type=count, help="the capacity that the catalog has at least")
    add_writing_arguments(parser, is_asked=False)


def compact_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive compact`."""
    parser = add_command(
        subparsers,
        "compact",
        run_compact,
        purpose="remove recordings that are not valid, with their files",
        description="Remove the entries of recordings that are not valid from the catalog, and delete their segment files. Nothing brings "
        "them back: --dry-run tells what would go.",
        examples=("aeron-archive --dry-run", "aeron-archive --yes"),
        finding="not agreed to, or interrupted before it was done",
    )
    add_writing_arguments(parser, is_asked=True)


def delete_orphaned_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive delete-orphaned-segments`."""
    parser = add_command(
        subparsers,
        "delete-orphaned-segments",
        run_delete_orphaned,
        purpose="delete segment files outside of what their recordings cover",
        description="Delete segment files that lie before the start or behind the end of their recording: those that were detached and "
        "never deleted.",
        examples=("aeron-archive --dry-run", "aeron-archive 6 --yes"),
        finding="not agreed to, or interrupted before it was done",
    )
    parser.add_argument("recording_id", metavar="ID", nargs="?", type=recording_id, help="those of this recording only")
    add_writing_arguments(parser, is_asked=True)


def migrate_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive migrate`."""
    parser = add_command(
        subparsers,
        "migrate",
        run_migrate,
        purpose="bring the files of an older archive up to date",
        description="Bring mark file, catalog and segment files of versions 0, 1 and 2 to version 3. Make a copy of the directory before.",
        examples=("aeron-archive --dry-run", "aeron-archive --yes"),
        finding="not agreed to, or interrupted: another run completes it",
    )
    add_writing_arguments(parser, is_asked=True)


def run_mark_valid(arguments: argparse.Namespace) -> int:
    """Mark a recording as valid; returns 0."""
    from aerowire.codecs.flyweights.archive import RecordingState

    return _change_state(arguments, RecordingState.INVALID, RecordingState.VALID)


def run_mark_invalid(arguments: argparse.Namespace) -> int:
    """Mark a recording as invalid; returns 0."""
    from aerowire.codecs.flyweights.archive import RecordingState

    return _change_state(arguments, RecordingState.VALID, RecordingState.INVALID)


def run_capacity(arguments: argparse.Namespace) -> int:
    """Print the capacity, increased if that was asked for; returns 0."""
    from aerowire.archive.files.catalog_file import check_capacity
    from aerowire.archive.files.offline_catalog import OfflineCatalog

    is_changing = arguments.capacity is not None and not arguments.dry_run
    if is_changing:
        require_unused(arguments)
    with OfflineCatalog(system_files(), Path(arguments.directory), writable=is_changing) as catalog:
        if is_changing:
            check_capacity(arguments.capacity, catalog.path)
            catalog.extend(arguments.capacity)
        capacity = max(catalog.capacity, arguments.capacity or 0)
        if arguments.json:
            show_json({"capacity": capacity})
        else:
            show(str(capacity))
    return 0


def run_compact(arguments: argparse.Namespace) -> int:
    """Remove recordings that are not valid; returns 1 if the user does not agree."""
    from aerowire.archive.files.compaction import compact, plan_compaction
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.base.errors import ArchiveFileError
    from aerowire.base.text import printable

    require_unused(arguments)
    with OfflineCatalog(system_files(), Path(arguments.directory)) as catalog:
        if catalog.problem is not None:
            raise ArchiveFileError("the catalog is damaged, and compaction would lose entries", where=catalog.path, actual=catalog.problem)
        plan = plan_compaction(catalog)
        ids = [one.recording_id for one in plan.entries]
        if arguments.json:
            summary = {"recordings": ids, "files": [str(path) for path in plan.files], "bytes": plan.length, "dry_run": arguments.dry_run}
        elif arguments.dry_run:
            show(f"{len(ids)} records and {plan.length} bytes would be removed: {', '.join(map(str, ids)) or 'none'}")
            for path in plan.files:
                show(printable(f"would delete {path}"))
        question = f"Compaction removes {len(ids)} recordings that are not valid, and {len(plan.files)} files, for good. Continue?"
        if not is_agreed(arguments, question):
            return NOT_AGREED
        if not arguments.dry_run:
            compact(catalog, plan)
        if arguments.json:
            show_json(summary)
        elif not arguments.dry_run:
            show(f"Compaction result: deleted {len(ids)} records and reclaimed {plan.length} bytes")
    return 0


def run_delete_orphaned(arguments: argparse.Namespace) -> int:
    """Delete orphaned segments; returns 1 if the user does not agree."""
    from aerowire.archive.files.compaction import orphaned_segments
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.base.text import printable

    require_unused(arguments)
    with OfflineCatalog(system_files(), Path(arguments.directory)) as catalog:
        orphans = orphaned_segments(catalog, arguments.recording_id)
        if not is_agreed(arguments, f"{len(orphans)} orphaned segment files will be deleted. Continue?"):
            return NOT_AGREED
        for path in orphans:
            if not arguments.dry_run:
                catalog.files.delete(path)
            if not arguments.json:
                show(printable(f"{'would delete' if arguments.dry_run else 'deleted'} {path}"))
        if arguments.json:
            show_json({"files": [str(path) for path in orphans], "dry_run": arguments.dry_run})
    return 0


def run_migrate(arguments: argparse.Namespace) -> int:
    """Migrate a directory; returns 1 if the user does not agree."""
    from aerowire.archive.files.migration import migrate
    from aerowire.base.text import printable

    require_unused(arguments)
    if not is_agreed(arguments, "The archive must not run, and a copy of its directory should be kept. Migrate?"):
        return NOT_AGREED
    steps: list[str] = []

    def tell(line: str) -> None:
        steps.append(line)
        if not arguments.json:
            show(printable(line))

    has_migrated = migrate(system_files(), Path(arguments.directory), tell, is_dry=arguments.dry_run)
    if arguments.json:
        show_json({"steps": steps, "dry_run": arguments.dry_run})
    elif not has_migrated:
        show("nothing to migrate")
    return 0


def _add_mark(subparsers: Subparsers[argparse.ArgumentParser], name: str, run: Callable[[argparse.Namespace], int], purpose: str) -> None:
    parser = add_command(
        subparsers,
        name,
        run,
        purpose=purpose,
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        examples=("aeron-archive 5",),
    )
    parser.add_argument("recording_id", metavar="ID", type=recording_id, help="the recording")
    add_writing_arguments(parser, is_asked=False)


def _change_state(arguments: argparse.Namespace, expected: RecordingState, target: RecordingState) -> int:
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.base.errors import ArchiveFileError

    require_unused(arguments)
    with OfflineCatalog(system_files(), Path(arguments.directory), writable=not arguments.dry_run) as catalog:
        entry = catalog.entry(arguments.recording_id)
        is_changing = entry.recording_state is not target
        if is_changing and entry.recording_state is not expected:
            raise ArchiveFileError(
                f"recording {entry.recording_id} cannot become {target.name}",
                where=catalog.path,
                expected=expected.name,
                actual=entry.recording_state.name,
            )
        if is_changing and not arguments.dry_run:
            catalog.set_state(entry, target)
        if arguments.json:
            states = {"old_state": entry.recording_state.name, "state": target.name}
            show_json({"recording_id": entry.recording_id, **states, "dry_run": arguments.dry_run})
        elif is_changing:
            verb = "would change" if arguments.dry_run else "changed"
            show(f"(recordingId={entry.recording_id}) {verb} state to {target.name}")
    return 0
