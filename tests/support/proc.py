"""What /proc tells of a child process."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path


def catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process has a handler for a signal."""
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def descendants(pid: int) -> list[int]:
    """Return the ids of a process's children, theirs and so on."""
    found = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - a hundred of them are looked at again and again
    except OSError:
        return []  # it has ended
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:  # noqa: PTH123
                children = [int(word) for word in listing.read().split()]
        except OSError:
            continue  # it has ended meanwhile
        for child in children:
            found += [child, *descendants(child)]
    return found


def command_of(pid: int) -> str:
    """Return a process's command line, its words with zeros between; "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def shared_memory_of(pid: int) -> set[Path]:
    """Return the folders in shared memory that the command lines of a process's descendants name."""
    names = (name for child in descendants(pid) for name in re.findall(r"/dev/shm/([^/\0\"]+)", command_of(child)))
    return {Path("/dev/shm") / name for name in names}


def is_running(pid: int) -> bool:
    """Return whether a process is there and not waiting to be collected."""
    return state_of(pid) not in {"", "Z"}


def state_of(pid: int) -> str:
    """Return a process's state as /proc has it, such as S, T for stopped or Z; "" when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def maps_of(pid: int) -> str:
    """Return what a process has mapped; "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""


def peak_resident_of(pid: int) -> int:
    """Return the largest resident set that a process had so far, in bytes; 0 when it has ended."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0
