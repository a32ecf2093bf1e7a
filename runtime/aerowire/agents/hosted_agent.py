"""A Python agent that is a component's only one: in a thread of its own, or invoked by the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.runner import AgentInvoker, AgentRunner

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.base.agent import Agent, Sleeper
    from aerowire.system.ports import Ports
    from aerowire.system.threads import ThreadFactory


class HostedAgent:
    """Starts an agent, and stops it. Invariant: exactly one thread runs the agent: its own, or that of the invoker's caller."""

    def __init__(
        self,
        agent: Agent,
        ports: Ports,
        sleeper: Sleeper,
        *,
        is_invoked: bool,
        on_error: Callable[[Exception], object],
        thread_factory: ThreadFactory | None,
    ) -> None:
        """Start the agent; `sleeper`, `on_error` and `thread_factory` are those of its thread."""
        self.invoker = AgentInvoker([agent], ports.clock) if is_invoked else None
        self.runner: AgentRunner | None = None
        if self.invoker is not None:
            self.invoker.start()
        else:
            self.runner = ports.threads.new_runner(
                [agent], ports.clock, sleeper, role_name=agent.role_name, on_error=on_error, thread_factory=thread_factory
            )
            self.runner.start()

    def invoke(self) -> None:
        """Run one cycle, if the agent is invoked and not stopped."""
        if self.invoker is not None and not self.invoker.is_closed:
            self.invoker.invoke()

    def stop(self, timeout_s: float) -> bool:
        """Close the invoker, or stop the thread; return whether it has stopped in time."""
        if self.invoker is not None:
            self.invoker.close()
        return self.runner is None or self.runner.stop(timeout_s)
