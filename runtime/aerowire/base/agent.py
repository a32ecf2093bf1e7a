"""The contract of agents: roles with a duty cycle, which an invoker runs in the caller's thread and a runner in one of their own.

Native agents (`base.runner.NativeAgent`) have the same five names and never take the interpreter lock. Aeron: org.agrona.concurrent.Agent.
"""

from __future__ import annotations

from typing import Protocol

from aerowire.base.units import INT64_MAX


class Agent:
    """A role with a duty cycle in Python. Subclasses override; all methods but `role_name` run on the agent's own thread."""

    role_name = "agent"  # for threads, counters and errors

    def on_start(self) -> None:
        """Prepare; called once, before the first cycle."""

    def do_work(self, now_ns: int, epoch_ms: int, /) -> int:
        """Run one duty cycle, limited and without blocking, and return how much was done. Both times are read once per cycle."""
        raise NotImplementedError

    def next_deadline_ns(self) -> int:
        """Return when work is due if nothing arrives; INT64_MAX if none is."""
        return INT64_MAX

    def on_close(self) -> None:
        """Clean up; called once, after the last cycle."""


class Sleeper(Protocol):
    """The place where a thread of Python agents sleeps between two cycles."""

    def sleep(self, timeout_ns: int, /) -> object:
        """Sleep until woken, at most `timeout_ns`; a wake-up that came before ends the sleep at once."""

    def wake(self) -> object:
        """End this sleep, or the next; any thread."""
