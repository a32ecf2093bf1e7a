"""Standard output that cannot be written, as when its reader has gone or the disk is full."""

from __future__ import annotations

import os
import sys


def discard_output() -> None:
    """Discard buffered output that cannot be written, which the interpreter would try to write again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def code_of_parser(ended: SystemExit, name: str) -> int:
    """Return the exit code of the command `name` if its `--help` could not be written; else raise what the argument parser raised."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return 1
    except OSError as error:
        print(f"{name}: {error.strerror or error}", file=sys.stderr)
        discard_output()
        return 2
    raise ended
