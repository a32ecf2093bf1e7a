"""`aerowire archive repair`: tells what is wrong with a directory and what would be lost, and repairs it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from aerowire.tools.archive.archive_command import add_command, progress_bar
from aerowire.tools.directory_command import Subparsers, show, show_json


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive repair`."""
    parser = add_command(
        subparsers,
        "repair",
        run,
        purpose="repair the directory of an archive after a crash or a loss of files",
        description="Tell what is wrong with catalog, segment files and mark file, what a repair would change, and which bytes are lost; "
        "with --apply repair it. Torn ends of recordings are removed, recordings are shortened to what can be replayed, and files that "
        "belong to none are named and left. Frames within a recording are checked by `archive verify -a`.",
        examples=("aeron-archive", "aeron-archive --apply", "aeron-archive --json | jq '.repairs[].text'"),
        done="nothing is wrong, or it is repaired",
        finding="something is wrong, and nothing was changed",
    )
    parser.add_argument("--apply", action="store_true", help="repair it; without it nothing is changed")
    parser.set_defaults(recording_id=None, all=False)  # segment files, of which progress is shown


def run(arguments: argparse.Namespace) -> int:
    """Tell what is wrong, or repair it; returns 1 where something was found and not repaired."""
    from aerowire.archive.files.repair import repair_archive
    from aerowire.base.text import printable
    from aerowire.system.ports import Ports
    from aerowire.tools.exit_codes import DONE, FINDING
    from aerowire.tools.terminal.figures import grouped

    directory, ports = Path(arguments.directory), Ports.system()
    with progress_bar("checking", arguments) as progress:
        if arguments.apply:
            repairs = repair_archive(directory, ports, progress=progress)
        else:
            with tempfile.TemporaryDirectory(prefix="aerowire-repair-") as scratch:
                repairs = repair_archive(directory, ports, scratch=Path(scratch), progress=progress)
    lost = sum(one.lost_length for one in repairs)
    if arguments.json:
        shown = [
            {
                "path": one.finding.path,
                "offset": one.finding.offset,
                "recording_id": one.finding.recording_id,
                "text": one.finding.text,
                "lost_bytes": one.lost_length,
                "is_left": one.is_left,
            }
            for one in repairs
        ]
        show_json({"repairs": shown, "lost_bytes": lost, "dry_run": not arguments.apply})
    else:
        for one in repairs:
            verb = "left" if one.is_left else "repaired" if arguments.apply else "to repair"
            show(printable(f"{verb:<9}  {one.finding}"))
        count = sum(not one.is_left for one in repairs)
        done = f"{count} repaired" if arguments.apply else f"{count} to repair; --apply does it" if count else "nothing to repair"
        show(f"{done}; {grouped(lost)} bytes of recordings are lost" if lost else done)
    return FINDING if not arguments.apply and any(not one.is_left for one in repairs) else DONE
