"""The duty cycle of a simulated driver: its native agents each time, and its conductor when it is woken or due.

So it is where the conductor has a thread of its own, which sleeps in between: most cycles have nothing for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.runner import SLEEP_NS_MAX

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.driver.media_driver import MediaDriver


class DriverCycle:
    """Runs a driver in INVOKER mode. Invariant: the conductor runs after every cycle in which an agent or a client has woken it."""

    def __init__(self, driver: MediaDriver, clock: ClockPort) -> None:
        """`clock` is the driver's own."""
        self._invoker = driver.invoker
        self._conductor = driver.conductor
        self._events = driver.conductor.core.events
        self._to_driver = driver.conductor.core.to_driver
        self._clock = clock
        self._due_ns = clock.now_ns()

    def work(self) -> int:
        """Run one cycle; return how much was done."""
        if self._invoker.is_closed:
            return 0
        work_count = self._invoker.invoke_native()
        if self._events.is_pending() or self._to_driver.size > 0 or self._due_ns <= self._clock.now_ns():
            now_ns = self._clock.now_ns()
            work_count += self._conductor.do_work(now_ns, self._clock.now_ms())
            self._due_ns = min(self._conductor.next_deadline_ns(), now_ns + SLEEP_NS_MAX)
        return work_count

    def next_deadline_ns(self) -> int:
        """Return when there is something to do if nothing comes."""
        return min(self._invoker.next_native_deadline_ns(), self._due_ns)
