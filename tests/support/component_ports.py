"""Ports of a component whose processes, clock and sleeps a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aerowire.system.clock import ManualClock
from aerowire.system.ports import Ports


class Processes:
    """Processes by id, and when they began."""

    def __init__(self, own: int, begun_ms: dict[int, int] | None = None) -> None:
        self._own = own
        self.begun_ms = {own: 0} | (begun_ms or {})

    def own_id(self) -> int:
        return self._own

    def is_running(self, pid: int, *, begun_by_ms: int | None = None) -> bool:
        return pid in self.begun_ms and (begun_by_ms is None or self.begun_ms[pid] <= begun_by_ms)


class Waiting:
    """Sleeps that move a clock on, and call a function."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.slept_ns = 0
        self.on_sleep: Callable[[], None] = lambda: None

    def sleep(self, duration_ns: int) -> None:
        self.slept_ns += duration_ns
        self._clock.advance(duration_ns)
        self.on_sleep()


def ports_of(own: int, running: dict[int, int] | None, now_ms: int) -> tuple[Ports, Waiting]:
    """Return the system's ports with a clock that stands still, one process of that id, and those that run as process id -> begin."""
    clock = ManualClock(now_ns=1, epoch_ms=now_ms)
    waiting = Waiting(clock)
    return replace(Ports.system(), clock=clock, processes=Processes(own, running), waiting=waiting), waiting  # type: ignore[arg-type]
