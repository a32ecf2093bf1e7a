"""`aerowire archive describe` and what else looks at a directory without changing it. Aeron: ArchiveTool."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.archive.archive_command import add_command, recording_id, tell
from aerowire.tools.directory_command import Subparsers, show, show_json, system_files

if TYPE_CHECKING:
    from aerowire.archive.files.mark_header import MarkHeader
    from aerowire.archive.files.offline_catalog import OfflineCatalog

LEGACY_ENTRIES_TEXT = "max-entries is deprecated please use capacity."


def describe_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive describe`."""
    parser = add_command(
        subparsers,
        "describe",
        lambda arguments: run_describe(arguments, all_states=False),
        purpose="show the descriptors of an archive's valid recordings, or of one recording",
        description="Show mark file, catalog and the descriptors of valid recordings; or the descriptor of one, valid or not.",
        examples=("aeron-archive", "aeron-archive 3", "aeron-archive --json"),
        done="shown",
        finding="the catalog is damaged: the entries before the damage are shown",
    )
    parser.add_argument("recording_id", metavar="ID", nargs="?", type=recording_id, help="show this recording only")


def describe_all_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive describe-all`."""
    parser = add_command(
        subparsers,
        "describe-all",
        lambda arguments: run_describe(arguments, all_states=True),
        purpose="show the descriptors of all recordings, with their states",
        description="Show mark file, catalog and the descriptors of all recordings, those that are invalid or deleted too.",
        examples=("aeron-archive", "aeron-archive --json"),
        done="shown",
        finding="the catalog is damaged: the entries before the damage are shown",
    )
    parser.set_defaults(recording_id=None)


def count_entries_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive count-entries`."""
    add_command(
        subparsers,
        "count-entries",
        run_count_entries,
        purpose="print the number of an archive's valid recordings",
        description="Print how many recordings of the catalog are valid.",
        examples=("aeron-archive",),
    )


def max_entries_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive max-entries`."""
    parser = add_command(
        subparsers,
        "max-entries",
        run_max_entries,
        purpose="deprecated: use `archive capacity`",
        description="Print that catalogs have no largest number of entries any more; `archive capacity` is in bytes.",
        examples=("aeron-archive",),
    )
    parser.add_argument("entries", metavar="N", nargs="?", type=int, help="has no effect")


def pid_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive pid`."""
    add_command(
        subparsers,
        "pid",
        run_pid,
        purpose="print the process id of an archive",
        description="Print the process id that is in the mark file of an archive, whether the process runs or not.",
        examples=("aeron-archive",),
    )


def errors_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive errors`."""
    add_command(
        subparsers,
        "errors",
        run_errors,
        purpose="show the distinct errors of an archive and of its driver",
        description="Show the error log in the mark file of an archive, and that of the driver that the mark file names.",
        examples=("aeron-archive", "aeron-archive --json"),
        done="shown, whether there are errors or not",
    )


def run_describe(arguments: argparse.Namespace, *, all_states: bool) -> int:
    """Show descriptors; returns 1 for a damaged catalog."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.codecs.flyweights.archive import RecordingState
    from aerowire.tools.archive.message_text import descriptor_text, entry_object, mark_object

    with OfflineCatalog(system_files(), Path(arguments.directory)) as catalog:
        if arguments.recording_id is not None:
            entry = catalog.entry(arguments.recording_id)
            if arguments.json:
                show_json(entry_object(entry))
            else:
                show(descriptor_text(entry))
            return 0
        chosen = [one for one in catalog.entries if all_states or one.recording_state is RecordingState.VALID]
        mark = mark_of(catalog)
        if arguments.json:
            show_json({"mark": mark_object(mark), "capacity": catalog.capacity, "recordings": [entry_object(one) for one in chosen]})
        else:
            show_beginning(catalog, mark)
            for one in chosen:
                show(descriptor_text(one) + (f"|{one.recording_state.name}" if all_states else ""))
        return tell_problem(catalog)


def run_count_entries(arguments: argparse.Namespace) -> int:
    """Print the number of valid recordings; returns 0."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog

    with OfflineCatalog(system_files(), Path(arguments.directory)) as catalog:
        if arguments.json:
            show_json({"entries": catalog.valid_count()})
        else:
            show(str(catalog.valid_count()))
        return tell_problem(catalog)


def run_max_entries(arguments: argparse.Namespace) -> int:
    """Print that there is no such number any more; returns 0."""
    if arguments.json:
        show_json({"max_entries": None})
    else:
        show(LEGACY_ENTRIES_TEXT)
    return 0


def run_pid(arguments: argparse.Namespace) -> int:
    """Print the process id; returns 0."""
    from aerowire.archive.files.mark_header import mark_path, read_mark_file

    files = system_files()
    header, _ = read_mark_file(files, mark_path(files, Path(arguments.directory)))
    if arguments.json:
        show_json({"pid": header.pid})
    else:
        show(str(header.pid))
    return 0


def run_errors(arguments: argparse.Namespace) -> int:
    """Show the errors of an archive and of its driver; returns 0."""
    from aerowire.archive.files.mark_header import mark_path, read_mark_file
    from aerowire.base.text import printable
    from aerowire.ipc.error_log import scan_errors
    from aerowire.tools.driver.distinct_errors import driver_errors, errors_text

    files = system_files()
    header, log = read_mark_file(files, mark_path(files, Path(arguments.directory)))
    errors, _ = scan_errors(log)
    of_driver, reason = driver_errors(header.aeron_directory)
    if arguments.json:
        driver = {"directory": header.aeron_directory, "errors": [one._asdict() for one in of_driver], "unreadable": reason}
        show_json({"errors": [one._asdict() for one in errors], "driver": driver})
        return 0
    show("Archive error log:")
    show(errors_text(errors))
    show(f"\nAeron driver error log (directory: {printable(header.aeron_directory)}):")
    show(errors_text(of_driver) if reason is None else printable(reason))
    return 0


def mark_of(catalog: OfflineCatalog) -> MarkHeader | None:
    """Return the header of the mark file that belongs to a catalog; None, and a line on standard error, where it cannot be read."""
    from aerowire.archive.files.mark_header import mark_path, read_mark_file
    from aerowire.base.errors import AerowireError

    try:
        return read_mark_file(catalog.files, mark_path(catalog.files, catalog.directory))[0]
    except AerowireError as error:
        tell(f"the mark file is not shown: {error}")
        return None


def show_beginning(catalog: OfflineCatalog, mark: MarkHeader | None) -> None:
    """Show what stands before descriptors."""
    from aerowire.tools.archive.message_text import mark_text
    from aerowire.tools.terminal.flyweight_text import times_text

    if mark is not None:
        show(times_text(time.time_ns() // 1_000_000, mark.start_timestamp_ms, mark.activity_timestamp_ms))
        show(mark_text(mark))
    show(f"Catalog capacity in bytes: {catalog.capacity}")


def tell_problem(catalog: OfflineCatalog) -> int:
    """Tell on standard error what ends a catalog early; return the exit code."""
    if catalog.problem is not None:
        tell(catalog.problem)
        return 1
    return 0
