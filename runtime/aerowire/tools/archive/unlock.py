"""`aerowire archive unlock`: removes the signs of life that a dead archive has left."""

from __future__ import annotations

import argparse
from pathlib import Path

from aerowire.tools.archive.archive_command import add_command
from aerowire.tools.directory_command import Subparsers, show, show_json


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive unlock`."""
    parser = add_command(
        subparsers,
        "unlock",
        run,
        purpose="let others use a directory whose archive has died",
        description="Mark an archive as ended whose process is gone: its mark file shows it alive or half started, or left its lock file. "
        "Where it lives, the process is named, and nothing is changed. Our archives do that as they start; others may wait, or refuse.",
        examples=("aeron-archive --dry-run", "aeron-archive"),
        done="nothing keeps others out",
        finding="interrupted before it was done",
    )
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done, and change nothing")


def run(arguments: argparse.Namespace) -> int:
    """Unlock a directory; returns 0. Raises ActiveArchiveError where its archive lives."""
    from aerowire.archive.files.unlocking import unlock
    from aerowire.base.errors import MissingFileError
    from aerowire.base.text import printable
    from aerowire.system.ports import Ports

    ports = Ports.system()
    directory = Path(arguments.directory)
    if not ports.files.exists(directory):
        raise MissingFileError("cannot unlock a directory", where=directory, number=2)
    findings = unlock(directory, ports, is_dry=arguments.dry_run)
    if arguments.json:
        show_json({"unlocked": [str(finding) for finding in findings], "dry_run": arguments.dry_run})
        return 0
    verb = "would unlock" if arguments.dry_run else "unlocked"
    for finding in findings:
        show(printable(f"{verb} {finding}"))
    if not findings:
        show("nothing keeps others out")
    return 0
