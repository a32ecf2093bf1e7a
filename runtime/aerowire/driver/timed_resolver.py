"""Measures how long names take to resolve, and counts those that take too long. Aeron: TimeTrackingNameResolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.ipc.counters import AtomicCounter

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.driver.event_notes import EventNotes
    from aerowire.driver.socket_address import NameResolver
    from aerowire.ipc.counters import CountersManager


class TimedResolver:
    """A name resolver around another. Any thread: its counters are written atomically."""

    def __init__(self, inner: NameResolver, clock: ClockPort, counters: CountersManager, *, threshold_ns: int, notes: EventNotes) -> None:
        self._inner = inner
        self._clock = clock
        self._threshold_ns = threshold_ns
        self._notes = notes
        self._longest = AtomicCounter(counters, SystemCounter.NAME_RESOLVER_MAX_TIME)
        self._exceeded = AtomicCounter(counters, SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED)

    def use(self, inner: NameResolver) -> None:
        """Ask another resolver from now on; before anybody asks this one."""
        self._inner = inner

    def __call__(self, host: str, /) -> str | None:
        started_ns = self._clock.now_ns()
        address: str | None = None
        try:
            address = self._inner(host)
            return address
        finally:
            elapsed_ns = self._clock.now_ns() - started_ns
            self._notes.state(DriverEventCode.NAME_RESOLUTION_RESOLVE, name=host, address=address, duration_ns=elapsed_ns)
            self._longest.propose_max(elapsed_ns)
            if elapsed_ns > self._threshold_ns:
                self._exceeded.increment()
