"""Destinations that clients add to a channel of control-mode=manual: what a URI may say, and which name each came from.

Where datagrams go is the sender's table (protocol.destinations). Aeron: DriverConductor, ManualSndMultiDestination.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.channel_uri import SPY_PREFIX
from aerowire.base.errors import ChannelError, ChannelValueError, RegistrationError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.udp_channel import ControlMode
from aerowire.driver.resources.endpoint_table import check_usable
from aerowire.driver.resources.endpoints import SendChannel
from aerowire.driver.resources.receive_destinations import check_destination
from aerowire.protocol.destinations import DESTINATIONS_LIMIT

if TYPE_CHECKING:
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.base.socket_address import SocketAddress
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.publication_factory import Publication


@dataclass(slots=True, eq=False)
class _SendDestination:
    """One destination; `text` is its endpoint as it was written."""

    registration_id: int
    channel: SendChannel
    text: str
    address: SocketAddress


class SendDestinations:
    """The destinations of all manual channels. Invariant: the sender's tables hold the same registrations and addresses."""

    def __init__(self, core: DriverCore, find_publication: Callable[[int], Publication | None]) -> None:
        self._core = core
        self._find_publication = find_publication
        self._by_registration: dict[int, _SendDestination] = {}
        self._by_channel: dict[SendChannel, dict[int, _SendDestination]] = {}

    def channel_of(self, registration_id: int) -> SendChannel:
        """Return the manual channel of a publication; raises RegistrationError or ChannelError with the code that a client is told."""
        publication = self._find_publication(registration_id)
        if publication is None or publication.endpoint is None:
            raise RegistrationError(
                "unknown publication",
                where="destination",
                expected="the registration of a UDP publication",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_PUBLICATION,
            )
        channel = publication.endpoint
        if channel.channel.control_mode is not ControlMode.MANUAL:
            raise ChannelError(
                "the channel does not let clients choose destinations",
                where=channel.channel.original,
                expected="control-mode=manual",
                actual=f"control-mode={channel.channel.uri.get('control-mode')}",
                error_code=ErrorCode.INVALID_CHANNEL,
            )
        return check_usable(channel, "sending")

    def has(self, destination_id: int) -> bool:
        """Return whether a destination has that registration."""
        return destination_id in self._by_registration

    def add(self, destination_id: int, registration_id: int, text: str, address: SocketAddress) -> None:
        """Send a publication's channel to `address`, of which `text` is the name, as well.  Raises RegistrationError when it is full."""
        channel = self.channel_of(registration_id)
        count = len(self._of(channel))
        if count >= DESTINATIONS_LIMIT:
            raise RegistrationError(
                "too many destinations",
                where=channel.channel.original,
                expected=f"at most {DESTINATIONS_LIMIT}",
                actual=count + 1,
                error_code=ErrorCode.GENERIC_ERROR,
            )
        item = _SendDestination(destination_id, channel, text, address)
        self._by_registration[destination_id] = self._by_channel.setdefault(channel, {})[destination_id] = item
        self._core.sender.add_destination(channel.native, destination_id, address)

    def remove(self, registration_id: int, address: SocketAddress) -> None:
        """Send a publication's channel to `address` once less; that it never was there is no error."""
        channel = self.channel_of(registration_id)
        for item in self._of(channel):
            if item.address == address:
                self._remove(item)
                return

    def remove_by_id(self, registration_id: int, destination_id: int) -> None:
        """Remove a destination by the id of the command that added it; an unknown one is no error."""
        channel = self.channel_of(registration_id)
        item = self._by_registration.get(destination_id)
        if item is not None and item.channel is channel:
            self._remove(item)

    def text_of(self, destination_id: int) -> str | None:
        """Return what a destination was resolved from."""
        item = self._by_registration.get(destination_id)
        return None if item is None else item.text

    def on_resolved(self, channel: SendChannel, text: str, address: SocketAddress) -> bool:
        """A name has an address: send there what goes to the destinations of that name; returns whether that is new."""
        is_changed = False
        for item in self._of(channel):
            if item.text == text and item.address != address:
                item.address = address
                is_changed = True
                self._core.sender.update_destination(channel.native, item.registration_id, address)
        return is_changed

    def on_channel_closed(self, native: object) -> None:
        """Forget the destinations of an endpoint that the sender has let go of."""
        for channel in [channel for channel in self._by_channel if channel.native is native]:
            for registration_id in self._by_channel.pop(channel):
                self._by_registration.pop(registration_id, None)

    def _of(self, channel: SendChannel) -> Collection[_SendDestination]:
        return self._by_channel.get(channel, {}).values()

    def _remove(self, item: _SendDestination) -> None:
        self._by_registration.pop(item.registration_id, None)
        items = self._by_channel[item.channel]
        items.pop(item.registration_id, None)
        if not items:
            del self._by_channel[item.channel]
        self._core.sender.remove_destination(item.channel.native, item.registration_id)


def check_send_destination(uri: ChannelUri) -> str:
    """Return the endpoint of a destination to send to; raises ChannelError."""
    if uri.is_spy:
        raise _invalid("a spy cannot be a destination to send to", uri, "aeron:udp?endpoint=host:port", SPY_PREFIX)
    check_destination(uri)
    endpoint = uri.get("endpoint")
    if endpoint is not None and endpoint.endswith(":0"):
        raise _invalid("the endpoint of a destination has port 0", uri, "endpoint=host:port with a port", f"endpoint={endpoint}")
    return endpoint_of(uri)


def endpoint_of(uri: ChannelUri) -> str:
    """Return the endpoint of a UDP destination; raises ChannelError when it has none."""
    endpoint = uri.get("endpoint") if uri.is_udp else None
    if endpoint is None:
        raise _invalid("a destination does not say where it is", uri, "aeron:udp?endpoint=host:port", "no endpoint of UDP")
    return endpoint


def _invalid(what: str, uri: ChannelUri, expected: str, actual: str) -> ChannelValueError:
    return ChannelValueError(what, where=uri.original, expected=expected, actual=actual, error_code=ErrorCode.INVALID_CHANNEL)
