"""Listeners that an application gives the client of its cluster. Aeron: EgressListener, ControlledEgressListener, their extensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from aerowire.base import arguments
from aerowire.base.errors import ConfigurationError

if TYPE_CHECKING:
    from aerowire.client.subscriptions.actions import Action
    from aerowire.client.subscriptions.header import Header
    from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
    from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
    from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

# (cluster_session_id, timestamp, buffer, offset, length, header)
MessageHandler: TypeAlias = "Callable[[int, int, memoryview, int, int, Header], object]"
ControlledMessageHandler: TypeAlias = "Callable[[int, int, memoryview, int, int, Header], Action]"


class ExtensionMessage(NamedTuple):
    """A message of another schema than the cluster's; `payload` is what stands behind its SBE header."""

    schema_id: int
    template_id: int
    version: int
    block_length: int
    payload: bytes


ExtensionListener: TypeAlias = "Callable[[ExtensionMessage], object]"


class EventListener:
    """What a client is told besides messages. Derive from it; what is not overridden is ignored."""

    def on_session_event(self, event: SessionEvent, /) -> None:
        """Take what became of the session; CLOSED is the last that comes."""

    def on_new_leader(self, event: NewLeaderEvent, /) -> None:
        """Take the news that the cluster has another leader. The client goes there by itself."""

    def on_admin_response(self, response: AdminResponse, /) -> None:
        """Take the answer to an admin request."""


class EgressListener(EventListener, ABC):
    """What `AeronCluster.poll_egress` tells. Derive from it."""

    @abstractmethod
    def on_message(
        self, cluster_session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, header: Header, /
    ) -> object:
        """Take a message of a service: `length` bytes of `buffer` at `offset`, valid until the return, at the cluster's time."""


class ControlledEgressListener(EventListener, ABC):
    """What `AeronCluster.controlled_poll_egress` tells: as EgressListener, and each message is answered with an Action."""

    @abstractmethod
    def on_message(
        self, cluster_session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, header: Header, /
    ) -> Action:
        """Take a message as in EgressListener, and return how the poll goes on."""


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
    """Return the listener that an option stands for: a function gets the messages and nothing else."""
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
    """Return what an EgressAdapter calls for a listener: it hands the parts of a message over as one value."""
    return lambda *parts: listener(ExtensionMessage(*parts))


def _no_listener(call: str, option: str) -> Callable[..., NoReturn]:
    def refuse(*_message: object) -> NoReturn:
        raise ConfigurationError(
            "a message has come, and there is no listener for it", where=f"AeronCluster.{call}", expected=f"the option {option}"
        )

    return refuse
