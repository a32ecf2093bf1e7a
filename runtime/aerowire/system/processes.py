"""What the operating system says about other processes."""

from __future__ import annotations

import os
from pathlib import Path

# States of /proc/PID/stat in which a process has ended and only waits for its parent to ask: zombie, dead.
_ENDED_STATES = "ZXx"


def process_is_running(pid: int) -> bool:
    """Return whether a process of this machine, as seen from this process's namespace, has the id and has not ended."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is there and not ours to signal
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[:1]
    except OSError:
        return True  # no such file system here: the signal's word counts
    return not state or state[0] not in _ENDED_STATES
