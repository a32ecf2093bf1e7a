"""Commands to the driver: encodes each and writes it into the to-driver ring. Aeron: DriverProxy.

Knows layouts and the ring; knows nothing of what becomes of a command. Each method returns the command's correlation id.
Raises RingBufferFullError when the driver does not take commands out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights.commands import (
    NULL_CORRELATION_ID,
    AddCounterEncoder,
    AddDestinationEncoder,
    AddPublicationEncoder,
    AddRcvDestinationEncoder,
    AddStaticCounterEncoder,
    AddSubscriptionEncoder,
    ClientCloseEncoder,
    CommandType,
    GetNextAvailableSessionIdEncoder,
    RejectImageEncoder,
    RemoveCounterEncoder,
    RemoveDestinationByIdEncoder,
    RemoveDestinationEncoder,
    RemovePublicationEncoder,
    RemovePublicationFlags,
    RemoveRcvDestinationEncoder,
    RemoveSubscriptionEncoder,
    TerminateDriverEncoder,
)


class Ring(Protocol):
    """What a to-driver ring can do."""

    def next_correlation_id(self) -> int:
        """Return a number that no other command to this driver has."""
        ...

    def write(self, message_type: int, body: bytes) -> None:
        """Append a message; raises RingBufferFullError when there is no room."""
        ...


class DriverProxy:
    """The commands of one client. Any thread; the ring orders them."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self.client_id = ring.next_correlation_id()

    def next_correlation_id(self) -> int:
        """Return a number that no other command to this driver has."""
        return self._ring.next_correlation_id()

    def add_publication(self, channel: str, stream_id: int) -> int:
        """Ask for a publication shared with all who ask for the same channel and stream."""
        return self._add_publication(CommandType.ADD_PUBLICATION, channel, stream_id)

    def add_exclusive_publication(self, channel: str, stream_id: int) -> int:
        """Ask for a publication with a session of its own."""
        return self._add_publication(CommandType.ADD_EXCLUSIVE_PUBLICATION, channel, stream_id)

    def remove_publication(self, registration_id: int, *, revoke: bool) -> int:
        """Give a publication back."""
        flags = RemovePublicationFlags.REVOKE if revoke else RemovePublicationFlags(0)
        return self._send(CommandType.REMOVE_PUBLICATION, RemovePublicationEncoder.encode, registration_id=registration_id, flags=flags)

    def add_subscription(self, channel: str, stream_id: int) -> int:
        """Ask for a subscription."""
        return self._send(
            CommandType.ADD_SUBSCRIPTION,
            AddSubscriptionEncoder.encode,
            registration_correlation_id=NULL_CORRELATION_ID,
            stream_id=stream_id,
            channel=_ascii(channel, "channel"),
        )

    def remove_subscription(self, registration_id: int) -> int:
        """Give a subscription back."""
        return self._send(CommandType.REMOVE_SUBSCRIPTION, RemoveSubscriptionEncoder.encode, registration_id=registration_id)

    def destination(self, command: CommandType, registration_id: int, channel: str) -> int:
        """Add or remove a destination of a publication or subscription: `command` says which."""
        return self._send(
            command, _DESTINATION_ENCODERS[command].encode, registration_id=registration_id, channel=_ascii(channel, "channel")
        )

    def remove_destination_by_id(self, registration_id: int, destination_id: int) -> int:
        """Remove a destination of a publication by the registration id of the command that added it."""
        return self._send(
            CommandType.REMOVE_DESTINATION_BY_ID,
            RemoveDestinationByIdEncoder.encode,
            resource_registration_id=registration_id,
            destination_registration_id=destination_id,
        )

    def reject_image(self, image_correlation_id: int, position: int, reason: str) -> int:
        """Tell the publisher of an image that it is not wanted, and why."""
        return self._send(
            CommandType.REJECT_IMAGE,
            RejectImageEncoder.encode,
            image_correlation_id=image_correlation_id,
            position=position,
            reason=_ascii(reason, "reason"),
        )

    def add_counter(self, type_id: int, key: bytes, label: str) -> int:
        """Ask for a counter that lives as long as this client keeps it."""
        return self._send(CommandType.ADD_COUNTER, AddCounterEncoder.encode, type_id=type_id, key=key, label=_ascii(label, "label"))

    def add_static_counter(self, type_id: int, registration_id: int, key: bytes, label: str) -> int:
        """Ask for a counter that outlives its clients and is found again by type and registration id."""
        return self._send(
            CommandType.ADD_STATIC_COUNTER,
            AddStaticCounterEncoder.encode,
            registration_id=registration_id,
            type_id=type_id,
            key=key,
            label=_ascii(label, "label"),
        )

    def remove_counter(self, registration_id: int) -> int:
        """Give a counter back."""
        return self._send(CommandType.REMOVE_COUNTER, RemoveCounterEncoder.encode, registration_id=registration_id)

    def next_available_session_id(self, stream_id: int) -> int:
        """Ask for a session id that nobody uses on the stream."""
        return self._send(CommandType.GET_NEXT_AVAILABLE_SESSION_ID, GetNextAvailableSessionIdEncoder.encode, stream_id=stream_id)

    def client_close(self) -> int:
        """Take leave: the driver drops all that this client has."""
        return self._send(CommandType.CLIENT_CLOSE, ClientCloseEncoder.encode)

    def terminate_driver(self, token: bytes) -> int:
        """Ask the driver to end; its validator decides by the token."""
        return self._send(CommandType.TERMINATE_DRIVER, TerminateDriverEncoder.encode, token=token)

    def _add_publication(self, command: CommandType, channel: str, stream_id: int) -> int:
        return self._send(command, AddPublicationEncoder.encode, stream_id=stream_id, channel=_ascii(channel, "channel"))

    def _send(self, command: CommandType, encode: Callable[..., bytes], **fields: object) -> int:
        correlation_id = self._ring.next_correlation_id()
        self._ring.write(command, encode(client_id=self.client_id, correlation_id=correlation_id, **fields))
        return correlation_id


_DESTINATION_ENCODERS: dict[
    CommandType,
    type[AddDestinationEncoder] | type[RemoveDestinationEncoder] | type[AddRcvDestinationEncoder] | type[RemoveRcvDestinationEncoder],
] = {
    CommandType.ADD_DESTINATION: AddDestinationEncoder,
    CommandType.REMOVE_DESTINATION: RemoveDestinationEncoder,
    CommandType.ADD_RCV_DESTINATION: AddRcvDestinationEncoder,
    CommandType.REMOVE_RCV_DESTINATION: RemoveRcvDestinationEncoder,
}


def _ascii(text: str, what: str) -> str:
    if not text.isascii():
        raise AerowireError(f"{what} is not ASCII", where=what, expected="ASCII text: the protocol has no other", actual=repr(text))
    return text
