"""How busy the machine was while a case ran: what tells a late driver from a starved one."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import NamedTuple

PRESSURE = Path("/proc/pressure/cpu")
CANARY_PERIOD_S = 0.002
# A canary that overslept this much shows that runnable threads waited for a core; a quiet machine stays below 2 ms.
OVERSLEEP_LIMIT_NS = 4_000_000
# Share of the interval in which some task waited for a core (Linux pressure stall information).
PRESSURE_LIMIT = 0.10


class LoadMark(NamedTuple):
    """A point in time to compare with later."""

    at_ns: int
    stalled_us: int


class LoadGauge:
    """Watches scheduling delay with a sleeping canary thread and, on Linux, the kernel's pressure figures.

    Invariant: the worst oversleep since a mark is never below any oversleep the canary has seen since then.
    """

    def __init__(self) -> None:
        self._oversleeps: list[tuple[int, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load-canary", daemon=True)

    def start(self) -> None:
        """Start the canary."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and join the canary."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def mark(self) -> LoadMark:
        """Return a mark for `reason_since`, and forget what happened before it."""
        now = time.monotonic_ns()
        self._oversleeps = [entry for entry in self._oversleeps if entry[0] > now - 1_000_000_000]
        return LoadMark(now, stalled_us())

    def reason_since(self, mark: LoadMark) -> str | None:
        """Return why the machine counts as loaded since `mark`, or None when it was quiet."""
        worst = max((late for at, late in list(self._oversleeps) if at >= mark.at_ns), default=0)
        if worst > OVERSLEEP_LIMIT_NS:
            return f"a thread that asked to sleep {CANARY_PERIOD_S * 1e3:.0f} ms woke {worst / 1e6:.1f} ms late"
        elapsed_us = max(1, (time.monotonic_ns() - mark.at_ns) // 1000)
        share = (stalled_us() - mark.stalled_us) / elapsed_us
        if share > PRESSURE_LIMIT:
            return f"tasks waited for a core in {share:.0%} of the time"
        return None

    def _run(self) -> None:
        while not self._stop.is_set():
            before = time.monotonic_ns()
            time.sleep(CANARY_PERIOD_S)
            after = time.monotonic_ns()
            late = after - before - int(CANARY_PERIOD_S * 1e9)
            # Small delays are every machine's; keeping only the others bounds the list.
            if late > 1_000_000:
                self._oversleeps.append((after, late))
                del self._oversleeps[:-10_000]


def stalled_us() -> int:
    """Return the kernel's total of time in which a runnable task waited for a core, or 0 where unknown."""
    try:
        first = PRESSURE.read_text().splitlines()[0]
    except (OSError, IndexError):
        return 0
    return int(first.rpartition("total=")[2])
