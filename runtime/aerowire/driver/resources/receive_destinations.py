"""Destinations of multi-destination subscriptions: each a socket of the subscription's endpoint.

Aeron: DriverConductor.AddRcvNetworkDestinationCommand, RemoveRcvNetworkDestinationCommand, validateDestinationUri.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ChannelError, RegistrationError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.media.receive_transport import TRANSPORTS_MAX, ReceiveTransport
from aerowire.driver.resources.endpoint_sockets import explicit_control, multicast_control, multicast_ttl
from aerowire.driver.resources.endpoints import ReceiveChannel, ReceiveDestination

if TYPE_CHECKING:
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.endpoints import Endpoints
    from aerowire.driver.resources.subscription_links import Subscription

# What belongs to the subscription, or to publications, and not to one of its destinations.
_FOREIGN_KEYS = ("mtu", "rcv-wnd", "so-rcvbuf", "so-sndbuf", "response-correlation-id")


class ReceiveDestinations:
    """Adds and removes destinations. Invariant: an index is used again only behind the command that removes its last user."""

    def __init__(self, core: DriverCore, endpoints: Endpoints) -> None:
        self._core = core
        self._endpoints = endpoints
        self._leaving: dict[ReceiveTransport, tuple[ReceiveChannel, ReceiveDestination]] = {}

    def add(self, subscription: Subscription, channel: UdpChannel) -> None:
        """Receive a subscription's streams from one more place."""
        entry = _endpoint_of(subscription)
        taken = {destination.native.index for destination in entry.destinations}
        index = next((index for index in range(TRANSPORTS_MAX) if index not in taken), None)
        if index is None:
            raise RegistrationError(
                "a multi-destination subscription has too many destinations",
                where=channel.original,
                expected=f"at most {TRANSPORTS_MAX}",
                actual=len(taken) + 1,
                error_code=ErrorCode.GENERIC_ERROR,
            )
        bound = self._endpoints.bind_destination(entry, channel, subscription.registration_id)
        native = ReceiveTransport(
            bound.port,
            index=index,
            multicast_control=multicast_control(channel),
            explicit_control=explicit_control(channel),
            named_control=channel.has_named_control,
            ttl=multicast_ttl(channel, self._core.context),
        )
        entry.destinations.append(ReceiveDestination(channel, bound, native))
        self._core.receiver.add_destination(entry.native, native)

    def remove(self, subscription: Subscription, channel: UdpChannel) -> None:
        """Receive from a place no more; one that was never added is no error."""
        entry = _endpoint_of(subscription)
        for destination in entry.destinations:
            if destination.channel.canonical_form == channel.canonical_form:
                entry.destinations.remove(destination)
                self._leaving[destination.native] = entry, destination
                self._core.receiver.remove_destination(entry.native, destination.native)
                return

    def on_removed(self, native: object) -> None:
        """The receiver uses a destination no more: close its socket."""
        if not isinstance(native, ReceiveTransport) or native not in self._leaving:
            return
        entry, destination = self._leaving.pop(native)
        native.close()
        entry.native.let_go(native)
        self._endpoints.free_bound(destination.bound)


def check_destination(uri: ChannelUri) -> None:
    """Raise ChannelError when a destination's URI asks for what only its subscription or publication can."""
    foreign = [key for key in _FOREIGN_KEYS if key in uri]
    if uri.get("control-mode") == "response":
        foreign.append("control-mode")
    if foreign:
        raise ChannelError(
            "a destination may not say this",
            where=uri.original,
            expected=f"none of {', '.join(_FOREIGN_KEYS)}, control-mode=response",
            actual=" ".join(f"{key}={uri.get(key)}" for key in foreign),
            error_code=ErrorCode.INVALID_CHANNEL,
        )


def _endpoint_of(subscription: Subscription) -> ReceiveChannel:
    assert subscription.endpoint is not None
    return subscription.endpoint
