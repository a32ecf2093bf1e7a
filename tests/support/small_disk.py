"""A file system of a few megabytes for commands that are to run out of space, in a mount namespace of their own.

Only root may mount; `reason_against()` says why a test has to be skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_SCRIPT = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'


@cache
def reason_against() -> str | None:
    """Return why there can be no small file system here, or None."""
    if shutil.which("unshare") is None:
        return "no unshare command"
    try:
        done = subprocess.run(within(Path("/mnt"), "1m", ["true"]), capture_output=True, text=True, timeout=30, check=False)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else f"cannot mount a file system of one's own: {done.stderr.strip()}"


def within(folder: Path, size: str, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` where `folder` is a file system of `size` (as mount reads it: 16m), seen by it alone."""
    return ["unshare", "--mount", "sh", "-c", _SCRIPT, "sh", size, str(folder), *command]


def beside(pid: int, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` in the namespace of another process, where it sees the same small file system."""
    return ["nsenter", "--mount", f"--target={pid}", *command]
