"""Listeners that an application gives the client of its cluster. Aeron: EgressListener, ControlledEgressListener, their extensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from aerowire.base import arguments
from aerowire.base.errors import ConfigurationError
from aerowire.cluster.sessions.extension_message import ExtensionMessage

if TYPE_CHECKING:
    from aerowire.client.subscriptions.actions import Action
    from aerowire.client.subscriptions.header import Header
    from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
    from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
    from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

# (cluster_session_id, timestamp, buffer, offset, length, header)
MessageHandler: TypeAlias = "Callable[[int, int, memoryview, int, int, Header], object]"
ControlledMessageHandler: TypeAlias = "Callable[[int, int, memoryview, int, int, Header], Action]"


ExtensionListener: TypeAlias = "Callable[[ExtensionMessage], object]"


class EventListener:
    """Callbacks for events other than messages. Derive from it and override those that you need; the others do nothing."""

    def on_session_event(self, event: SessionEvent, /) -> None:
        """Handle an event of the session; CLOSED is the last one."""

    def on_new_leader(self, event: NewLeaderEvent, /) -> None:
        """Handle a change of the leader. The client connects to the new one by itself."""

    def on_admin_response(self, response: AdminResponse, /) -> None:
        """Handle the answer to an admin request."""


class EgressListener(EventListener, ABC):
    """Callbacks of `AeronCluster.poll_egress`. Derive from it."""

    @abstractmethod
    def on_message(
        self, cluster_session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, header: Header, /
    ) -> object:
        """Handle a message of a service: `length` bytes of `buffer` at `offset`, valid until the return, at the cluster's time."""


class ControlledEgressListener(EventListener, ABC):
    """Callbacks of `AeronCluster.controlled_poll_egress`: as EgressListener, but `on_message` returns an Action."""

    @abstractmethod
    def on_message(
        self, cluster_session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, header: Header, /
    ) -> Action:
        """Handle a message as in EgressListener, and return how the poll goes on."""


class _Messages(EgressListener):
    def __init__(self, handler: MessageHandler) -> None:
        self._handler = handler

    @property
    def on_message(self) -> MessageHandler:
        return self._handler


class _ControlledMessages(ControlledEgressListener):
    def __init__(self, handler: ControlledMessageHandler) -> None:
        self._handler = handler

    @property
    def on_message(self) -> ControlledMessageHandler:
        return self._handler


def listener_of(given: EgressListener | MessageHandler | None) -> EgressListener:
    """Return the listener that an option stands for. A function gets the messages and no other events."""
    if isinstance(given, EgressListener):
        return given
    arguments.function("egress_listener", given)
    return _Messages(given or _no_listener("poll_egress", "egress_listener"))


def controlled_listener_of(given: ControlledEgressListener | ControlledMessageHandler | None) -> ControlledEgressListener:
    """Return the controlled listener that an option stands for, as `listener_of`."""
    if isinstance(given, ControlledEgressListener):
        return given
    arguments.function("controlled_egress_listener", given)
    return _ControlledMessages(given or _no_listener("controlled_poll_egress", "controlled_egress_listener"))


def extension_handler(listener: ExtensionListener) -> Callable[[int, int, int, int, bytes], object]:
    """Return a function for an EgressAdapter that passes the parts of a message to a listener as one value."""
    return lambda *parts: listener(ExtensionMessage(*parts))


def _no_listener(call: str, option: str) -> Callable[..., NoReturn]:
    def refuse(*_message: object) -> NoReturn:
        raise ConfigurationError(
            "a message has come, and there is no listener for it", where=f"AeronCluster.{call}", expected=f"the option {option}"
        )

    return refuse
