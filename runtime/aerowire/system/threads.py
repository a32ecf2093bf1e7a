"""Threads that run agents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

from aerowire.base.runner import AgentRunner

if TYPE_CHECKING:
    from aerowire.base.agent import Agent, Sleeper
    from aerowire.base.idle import IdleStrategy
    from aerowire.base.ports import ClockPort
    from aerowire.base.runner import AgentInvoker, NativeAgent

ThreadFactory = Callable[[Callable[[], None], str], threading.Thread]


class RunnerOptions(TypedDict, total=False):
    """What an AgentRunner is given beside its agents, a clock and an idle strategy or sleeper; each has the default that it has there."""

    role_name: str | None
    cpu: int | None
    on_start: Callable[[str], object] | None
    on_error: Callable[[Exception], object] | None
    thread_factory: ThreadFactory | None


class Runner(Protocol):
    """Runs agents in a thread, from `start` to `stop`: AgentRunner, or a place in a thread that others share."""

    def start(self) -> object:
        """Return once the agents have begun."""
        ...

    def stop(self, timeout_s: float | None = None) -> bool:
        """Have the agents run no more; return whether that was reached in time. Idempotent."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether the agents run."""
        ...

    @property
    def invoker(self) -> AgentInvoker:
        """The duty cycle of the agents."""
        ...

    @property
    def role_name(self) -> str:
        """The name of the agents."""
        ...


class ThreadPort(Protocol):
    """Gives agents threads of their own, or refuses to where one thread does everything."""

    def new_runner(
        self,
        agents: Sequence[NativeAgent | Agent],
        clock: ClockPort,
        idle: IdleStrategy | Sleeper,
        **options: Unpack[RunnerOptions],
    ) -> Runner:
        """Return a runner of the agents, as AgentRunner makes it. BlockingCallError where there are no threads."""
        ...

    def new_thread(self, target: Callable[[], None], name: str) -> threading.Thread:
        """Return a thread that no process waits for at its end, and do not start it: a ThreadFactory. BlockingCallError as `new_runner`."""
        ...


class SystemThreads:
    """The ThreadPort of the operating system."""

    def new_runner(
        self,
        agents: Sequence[NativeAgent | Agent],
        clock: ClockPort,
        idle: IdleStrategy | Sleeper,
        **options: Unpack[RunnerOptions],
    ) -> Runner:
        return AgentRunner(agents, clock, idle, **options)

    def new_thread(self, target: Callable[[], None], name: str) -> threading.Thread:
        return threading.Thread(target=target, name=name, daemon=True)
