"""Processes of this machine, this one among them."""

from __future__ import annotations

import os
import time
from pathlib import Path

# States of /proc/PID/stat in which a process has ended and only waits for its parent to ask: zombie, dead.
_ENDED_STATES = "ZXx"
# Of the fields after the name in that file: the state, and when the process began, in ticks since the machine did.
_STATE_FIELD, _BEGIN_FIELD = 0, 19
_CLOCK_SLACK_MS = 1_000


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
    if pid <= 0:
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
