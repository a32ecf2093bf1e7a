"""Measures how long names take to resolve, and counts those that take too long. Aeron: TimeTrackingNameResolver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.ipc.counters import AtomicCounter

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.driver.event_log.conductor_events import ConductorEvents
    from aerowire.ipc.counters import CountersManager
    from aerowire.system.names import NameResolver


class TimedResolver:
    """A name resolver around another. Any thread: its counters are written atomically."""

    def __init__(
        self, inner: NameResolver, clock: ClockPort, counters: CountersManager, *, threshold_ns: int, conductor_events: ConductorEvents
    ) -> None:
        self._inner = inner
        self._name = "default"
        self._clock = clock
        self._threshold_ns = threshold_ns
        self._conductor_events = conductor_events
        self._longest = AtomicCounter(counters, SystemCounter.NAME_RESOLVER_MAX_TIME)
        self._exceeded = AtomicCounter(counters, SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED)

    def use(self, inner: NameResolver, name: str) -> None:
        """Ask another resolver, which the event log calls `name`, from now on; before anybody asks this one."""
        self._inner = inner
        self._name = name

    def __call__(self, host: str, /) -> str | None:
        return self.resolve(host, is_again=False)

    def lookup(self, text: str, /) -> str:
        """Return `text`: no resolver here has texts that stand for others."""
        return self.look_up(text, is_again=False)

    def resolve(self, host: str, *, is_again: bool) -> str | None:
        """Resolve a host, which `is_again` when it was resolved before and has fallen silent."""
        started_ns = self._clock.now_ns()
        address: str | None = None
        try:
            address = self._inner(host)
            return address
        finally:
            elapsed_ns = self._clock.now_ns() - started_ns
            self._conductor_events.state(
                DriverEventCode.NAME_RESOLUTION_RESOLVE,
                resolver=self._name,
                duration_ns=elapsed_ns,
                name=host,
                is_re_resolution=is_again,
                address=address,
            )
            self._longest.propose_max(elapsed_ns)
            if elapsed_ns > self._threshold_ns:
                self._exceeded.increment()

    def look_up(self, text: str, *, is_again: bool) -> str:
        """Return `text` and note that it was looked up; there is no work in it that took time."""
        self._conductor_events.state(
            DriverEventCode.NAME_RESOLUTION_LOOKUP,
            resolver=self._name,
            duration_ns=0,
            name=text,
            is_re_lookup=is_again,
            resolved_name=text,
        )
        return text


class AgainResolver:
    """A timed resolver for names that were resolved before."""

    def __init__(self, inner: TimedResolver) -> None:
        self._inner = inner

    def __call__(self, host: str, /) -> str | None:
        return self._inner.resolve(host, is_again=True)

    def lookup(self, text: str, /) -> str:
        """Return what the text of an address stands for."""
        return self._inner.look_up(text, is_again=True)


def again(resolver: NameResolver) -> NameResolver:
    """Return `resolver` for a name that it has resolved before."""
    return AgainResolver(resolver) if isinstance(resolver, TimedResolver) else resolver
