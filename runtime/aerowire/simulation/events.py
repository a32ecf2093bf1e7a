"""What has happened to the hosts of a world: the last events of each, with their times."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort

EVENTS_KEPT = 8  # of each host: what led to a failure fits on a screen
_NS_PER_SECOND = 1e9


class EventLog:
    """Keeps the last events of each host. Changed by note().

    Set `on_event` to a function to have it called with a line for each event.
    """

    def __init__(self, clock: ClockPort, steps: Callable[[], int]) -> None:
        """`clock` tells the true time, `steps` the number of the step; events are dated from now on."""
        self.on_event: Callable[[str], None] | None = None
        self._clock = clock
        self._steps = steps
        self._begun_ns = clock.now_ns()
        self._events: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=EVENTS_KEPT))

    @property
    def elapsed_ns(self) -> int:
        """Simulated time since the log began."""
        return self._clock.now_ns() - self._begun_ns

    @property
    def by_host(self) -> dict[str, list[str]]:
        """The last events of each host, oldest first."""
        return {host: list(lines) for host, lines in self._events.items()}

    def note(self, host: str, event: str) -> None:
        """Keep an event of a host."""
        line = f"{self.elapsed_ns / _NS_PER_SECOND:.6f} s, step {self._steps()}: {event}"
        self._events[host].append(line)
        if self.on_event is not None:
            self.on_event(f"{host}: {line}")
