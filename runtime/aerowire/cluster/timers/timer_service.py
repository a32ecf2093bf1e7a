"""The contract of timer services. Aeron: TimerService.

A timer has a correlation id, chosen by the service that schedules it, and a deadline in the unit of the cluster's clock. Timers are part
of the state that a log builds: every member must hold the same ones, so none is refused, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

# Timers that expire in a poll, or in a tick of one: expired timers are appended to the log between polls of the ingress.
POLL_LIMIT = 20

TimerHandler = Callable[[int], bool]
"""Appends the expiry of a timer, by its correlation id. False if it could not: the timer stays, and the poll ends.

A handler must neither schedule nor cancel timers.
"""


class TimerService(Protocol):
    """Timers by their correlation ids."""

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, in place of the one that has the same correlation id."""

    def cancel_timer(self, correlation_id: int) -> bool:
        """Remove a timer; return whether there was one."""

    def poll(self, now: int) -> int:
        """Hand expired timers to the handler, until a limit is reached or the handler refuses; return how many it took."""

    def snapshot(self) -> Iterator[tuple[int, int]]:
        """Yield the correlation id and the deadline of each timer, in the order in which the official service has them."""

    def current_time(self, now: int) -> None:
        """Note the time of the cluster, before the first poll and when a member begins to lead."""

    def next_deadline(self) -> int | None:
        """Return when a poll finds the next expired timer, which may be in the past; None if there is no timer."""
