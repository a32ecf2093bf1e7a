"""An agent in Python that has a cycle when it is woken or due, as in a thread that sleeps in between: most turns have nothing for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.runner import SLEEP_NS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.base.ports import ClockPort


class SleepingAgent:
    """Runs an agent's cycles. Invariant: after a cycle with work the next turn has one too."""

    def __init__(
        self, invoke: Callable[[], int], next_deadline_ns: Callable[[], int], has_news: Callable[[], bool], clock: ClockPort
    ) -> None:
        """`invoke` runs one cycle; `has_news` returns whether something has happened that ends a sleep."""
        self._invoke = invoke
        self._next_deadline_ns = next_deadline_ns
        self._has_news = has_news
        self._clock = clock
        self._due_ns = clock.now_ns()

    def work(self) -> int:
        """Run a cycle if the agent is due or has news; return how much was done."""
        now_ns = self._clock.now_ns()
        if now_ns < self._due_ns and not self._has_news():
            return 0
        work = self._invoke()
        self._due_ns = now_ns if work else min(self._next_deadline_ns(), now_ns + SLEEP_NS_MAX)
        return work

    def next_deadline_ns(self) -> int:
        """Return when the agent is due if it gets no news."""
        return self._due_ns
