"""The native log agent as the parts of a consensus module use it: commands to it, and its events handed to the parts that they are for.

The package `aerowire.cluster.agents` says what the agent does and which commands have which events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerowire.cluster.agents.agent_proxies import LogAgentProxy
from aerowire.cluster.agents.events import MessageSent
from aerowire.cluster.agents.outbound_message import OutboundMessage

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.cluster.agents.agent_events import ClusterAgentEvents
    from aerowire.cluster.agents.log_agent import LogAgent

E = TypeVar("E")
_OnSent = Callable[[int], object]
_EVENTS_PER_POLL: Final = 64
# Batches of one poll, which take all that a full ring has.
_BATCHES_MAX: Final = 64


class LogAgentControl:
    """Commands and events of one agent. The conductor's thread. Invariant: `_on_sent` has each message that the agent was given to send.

    Handlers of events of one kind are called in the order in which they began to listen.
    """

    def __init__(self, agent: LogAgent, events: ClusterAgentEvents, *, wake: Callable[[], object] | None = None) -> None:
        """`wake` ends the sleep of the agent's thread, if it has one."""
        self.agent = agent
        self.proxy = LogAgentProxy(agent, wake=wake)
        self._events = events
        self._on_sent: dict[OutboundMessage, _OnSent | None] = {}
        self._handlers: dict[type, list[Callable[[Any], object]]] = {MessageSent: [self._tell_sent]}

    def listen(self, kind: type[E], on_event: Callable[[E], object]) -> None:
        """Call `on_event` with each event of a kind from now on."""
        self._handlers.setdefault(kind, []).append(on_event)

    def send(self, member_id: int, message: Buffer, on_sent: _OnSent | None = None) -> None:
        """Send an encoded message to a member, or lose it; `on_sent` is called later with its position, or a negative result."""
        outbound = OutboundMessage(message)
        self._on_sent[outbound] = on_sent
        self.proxy.send(member_id, outbound)

    def poll(self) -> int:
        """Give the agent what it had no room for, and handle all events that it has posted by now; return how many told something new.

        The result of a message that was sent does not count: one that is lost is tried again in each cycle, between which the thread may
        idle.
        """
        told = self.proxy.flush()
        for _ in range(_BATCHES_MAX):
            batch = self._events.poll(_EVENTS_PER_POLL)
            for event in batch:
                told += not isinstance(event, MessageSent)
                for on_event in self._handlers.get(type(event), ()):
                    on_event(event)
            if len(batch) < _EVENTS_PER_POLL:
                break
        return told

    def _tell_sent(self, event: MessageSent) -> None:
        on_sent = self._on_sent.pop(event.message, None)
        if on_sent is not None:
            on_sent(event.position)
