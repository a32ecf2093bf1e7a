"""The place where the agent's thread sleeps: one step of an idle strategy at a time, because nothing wakes it for what comes by streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.base.idle import IdleStrategy


class IdleSleeper:
    """Idles as a strategy says. Changed by the agent's thread alone."""

    def __init__(self, strategy: IdleStrategy) -> None:
        """Start as after work."""
        self._strategy = strategy

    def sleep(self, _timeout_ns: int, /) -> None:
        """Idle for one step."""
        self._strategy(0)

    def start_over(self) -> None:
        """Idle briefly at first the next time: there was work."""
        self._strategy.start_over()

    def wake(self) -> None:
        """Do nothing: a step ends by itself, within a millisecond for any official strategy but a long sleep."""
