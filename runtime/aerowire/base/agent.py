"""The agent: a role with a duty cycle, run by a thread, an invoker or the simulator."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

NO_DEADLINE_NS = (1 << 63) - 1


class Now(NamedTuple):
    """The time of one duty cycle, read once."""

    nano_ns: int
    epoch_ms: int


@runtime_checkable
class Agent(Protocol):
    """What every runner runs.  do_work never blocks and has a work limit."""

    @property
    def role_name(self) -> str:
        """Name for threads, counters and errors."""
        ...

    def on_start(self) -> None:
        """Run once, on the agent's thread, before the first cycle."""
        ...

    def do_work(self, now: Now) -> int:
        """Do what is due; return how much was done, 0 for nothing."""
        ...

    def next_deadline_ns(self) -> int:
        """Nano time at which work is due if nothing arrives; NO_DEADLINE_NS for none."""
        ...

    def on_close(self) -> None:
        """Run once after the last cycle."""
        ...
