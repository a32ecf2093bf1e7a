"""Processes of this machine, this one among them."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

# States of /proc/PID/stat in which a process has ended and only waits for its parent to ask: zombie, dead.
_ENDED_STATES = "ZXx"
# Of the fields after the name in that file: the state, and when the process began, in ticks since the machine did.
_STATE_FIELD, _BEGIN_FIELD = 0, 19
_PID_MAX = 2**31 - 1  # of a pid_t; files have 64 bits for it
_CLOCK_SLACK_MS = 1_000


class ProcessPort(Protocol):
    """The process that a driver or a client runs in, and the other processes of its machine."""

    def own_id(self) -> int:
        """Return the id of this process."""
        ...

    def is_running(self, pid: int, *, begun_by_ms: int | None = None) -> bool:
        """Return whether a process has the id and has not ended; with `begun_by_ms` (epoch ms) one that began later does not count."""
        ...

    def at_exit(self, function: Callable[[], object], *, at_kill: Callable[[], object] | None = None) -> None:
        """Keep `function`, and call it when this process ends in an orderly way; the last one that was kept first.

        `at_kill` is called when a simulated process is killed, whose objects are still there: afterwards none may change what it shared.
        """
        ...

    def forget_at_exit(self, function: Callable[[], object]) -> None:
        """Drop a function that `at_exit` keeps, if it does, and what goes with it."""
        ...


class SystemProcesses:
    """The ProcessPort of the operating system."""

    def own_id(self) -> int:
        return own_process_id()

    def is_running(self, pid: int, *, begun_by_ms: int | None = None) -> bool:
        return process_is_running(pid, begun_by_ms=begun_by_ms)

    def at_exit(self, function: Callable[[], object], *, at_kill: Callable[[], object] | None = None) -> None:
        del at_kill  # nothing runs in a process that is killed
        atexit.register(function)

    def forget_at_exit(self, function: Callable[[], object]) -> None:
        atexit.unregister(function)


def own_process_id() -> int:
    """Return the id of this process."""
    return os.getpid()


def usable_cpus() -> set[int]:
    """Return the numbers of the processors that this thread may run on."""
    return os.sched_getaffinity(0)


def process_is_running(pid: int, *, begun_by_ms: int | None = None) -> bool:
    """Return whether a process of this machine, as seen from this process's namespace, has the id and has not ended.

    With `begun_by_ms` (epoch ms) one that began later, by a second at least, does not count: it has another's id again.
    """
    if not 0 < pid <= _PID_MAX:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there and not ours to signal
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        state, begin_ticks = fields[_STATE_FIELD], int(fields[_BEGIN_FIELD])
        age_ms = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000 - begin_ticks * 1_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, IndexError, ValueError):
        return True  # this system does not tell more
    if state in _ENDED_STATES:
        return False
    return begun_by_ms is None or time.time_ns() // 1_000_000 - age_ms <= begun_by_ms + _CLOCK_SLACK_MS
