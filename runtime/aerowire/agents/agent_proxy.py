"""Commands to a native agent, in order and never lost: what the agent's bounded queue cannot take now waits here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.agents.command_queue import AgentCommand
    from aerowire.agents.counting import Counter
    from aerowire.agents.queued_agent import QueuedAgent

# Room that is always left in an agent's queue, so that a command of a few parts goes in whole.
_RESERVE = 8


class AgentProxy:
    """Orders commands to one agent; subclasses have a method for each operation. The agent's conductor only.

    Invariant: while `_waiting` is not empty, nothing goes past it.
    """

    __slots__ = ("_agent", "_failed_offers", "_waiting", "_wake")

    def __init__(self, agent: QueuedAgent, failed_offers: Counter | None = None, *, wake: Callable[[], object] | None = None) -> None:
        """`failed_offers` counts the commands that the agent had no room for; `wake` ends the sleep of the agent's thread, if it sleeps."""
        self._agent = agent
        self._failed_offers = failed_offers
        self._wake = wake
        self._waiting: deque[AgentCommand] = deque()

    @property
    def is_open(self) -> bool:
        """Whether a new request may be read that leads here."""
        return not self._waiting and self._agent.free_commands > _RESERVE

    def put(self, command: AgentCommand) -> None:
        """Give a command to the agent, or let it wait behind those that wait already."""
        if self._waiting or self._agent.free_commands <= 0:
            self._waiting.append(command)
            if self._failed_offers is not None:
                self._failed_offers.increment()
        else:
            self._put(command)

    def flush(self) -> int:
        """Release the objects of commands that were taken, then send waiting commands while there is room; return how many were sent."""
        self._agent.forget_taken()
        count = 0
        while self._waiting and self._agent.free_commands > 0:
            self._put(self._waiting.popleft())
            count += 1
        return count

    def _put(self, command: AgentCommand) -> None:
        self._agent.put(command)
        if self._wake is not None:
            self._wake()
