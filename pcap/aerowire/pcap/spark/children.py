"""Child processes that a library starts and, when it is interrupted, loses. Knows nothing of what they do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Java leaves its shutdown in less; what is slower ends without being waited for.
END_LIMIT_S = 0.5
POLL_S = 0.01


@contextmanager
def children_ended_on_interruption() -> Iterator[None]:
    """End every child process that is started in the block, and theirs, when the block is left by an exception.

    Spark's Java outlives a Python that is interrupted while it waits for it: nothing has told it of its end, and nobody knows its id.
    """
    before = set(_descendants_of(os.getpid()))
    try:
        yield
    except BaseException:
        _end([child for child in _descendants_of(os.getpid()) if child not in before])
        raise


def _end(processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + END_LIMIT_S
    while any(_is_running(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _descendants_of(process: int) -> list[int]:
    found = []
    for child in _children_of(process):
        found += [child, *_descendants_of(child)]
    return found


def _children_of(process: int) -> list[int]:
    """Return the children of a process's threads; none where the kernel does not tell."""
    found: list[int] = []
    for listing in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, listing.read_text().split())
    return found


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
