"""A component's Python agent, and the native one that it may command: each in a thread of its own, or both invoked by the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.runner import AgentInvoker

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.base.agent import Agent, Sleeper
    from aerowire.base.idle import IdleStrategy
    from aerowire.base.runner import NativeAgent
    from aerowire.system.ports import Ports
    from aerowire.system.threads import Runner, ThreadFactory


class HostedAgent:
    """Starts agents, and stops them. Invariant: exactly one thread runs an agent: its own, or that of the invoker's caller."""

    def __init__(
        self,
        agent: Agent,
        ports: Ports,
        sleeper: Sleeper,
        *,
        is_invoked: bool,
        on_error: Callable[[Exception], object],
        thread_factory: ThreadFactory | None,
        native: tuple[NativeAgent, IdleStrategy] | None = None,
    ) -> None:
        """Start the agents. `sleeper` and `on_error` are those of the Python agent's thread, `native` has an idle strategy of its own."""
        natives = [] if native is None else [native[0]]
        self.invoker = AgentInvoker([*natives, agent], ports.clock) if is_invoked else None
        self.runner: Runner | None = None
        self.native_runner: Runner | None = None
        if self.invoker is not None:
            self.invoker.start()
            return
        threads, clock, role_name = ports.threads, ports.clock, agent.role_name
        if native is not None:
            name = f"{role_name} {native[0].role_name}"
            self.native_runner = threads.new_runner(natives, clock, native[1], role_name=name, thread_factory=thread_factory)
            self.native_runner.start()
        self.runner = threads.new_runner([agent], clock, sleeper, role_name=role_name, on_error=on_error, thread_factory=thread_factory)
        self.runner.start()

    def invoke(self) -> None:
        """Run one cycle, if the agents are invoked and not stopped."""
        if self.invoker is not None and not self.invoker.is_closed:
            self.invoker.invoke()

    def stop(self, timeout_s: float) -> bool:
        """Close the invoker, or stop the threads, that of the Python agent FIRST; return whether they have stopped in time."""
        if self.invoker is not None:
            self.invoker.close()
        stopped = [runner.stop(timeout_s) for runner in (self.runner, self.native_runner) if runner is not None]
        return all(stopped)
