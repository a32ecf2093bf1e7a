"""Subscriptions and their links to the streams that feed them: local publications and images. Aeron: SubscriptionLink.

A link has a position counter. The tracker decides where a late subscriber joins; its events complete or end a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.endpoints import conflict
from aerowire.driver.links import Link, LinkTable, Source, Subscription
from aerowire.driver.network_publication import NetworkPublication
from aerowire.driver.subscription_checks import check_network, check_supported
from aerowire.driver.subscription_params import SubscriptionParams
from aerowire.driver.udp_channel import UdpChannel

if TYPE_CHECKING:
    from aerowire.driver.driver_core import DriverCore
    from aerowire.driver.endpoints import Endpoints, ReceiveChannel
    from aerowire.driver.ipc_publication import IpcPublication
    from aerowire.driver.publication_image import PublicationImage


class Subscriptions:
    """All subscriptions of the driver and their links."""

    def __init__(self, core: DriverCore, endpoints: Endpoints) -> None:
        self._core = core
        self._endpoints = endpoints
        self._subscriptions: dict[int, Subscription] = {}
        self._links = LinkTable()
        self._free_when_answered: dict[Source, Callable[[], None]] = {}

    def __iter__(self) -> Iterator[Subscription]:
        return iter(tuple(self._subscriptions.values()))

    def add_ipc(self, channel: str, stream_id: int, registration_id: int, client_id: int) -> Subscription:
        """Make an IPC subscription; the caller links it to publications."""
        uri = ChannelUri.parse(channel)
        self._core.clients.get_or_add(client_id)
        params = SubscriptionParams.of(uri, self._core.context)
        check_supported(uri, params)
        subscription = self._add(registration_id, client_id, channel, stream_id, params, None)
        self._core.responses.subscription_ready(registration_id, cnc.CHANNEL_STATUS_NO_ID_ALLOCATED)
        return subscription

    def add_network(self, channel: UdpChannel, stream_id: int, registration_id: int, client_id: int) -> Subscription:
        """Make a UDP subscription and tell the receiver of it; the caller links it to images."""
        check_network(channel)
        self._core.clients.get_or_add(client_id)
        params = SubscriptionParams.of(channel.uri, self._core.context)
        check_supported(channel.uri, params)
        self._check_clash(channel, stream_id, params)
        endpoint = self._endpoints.open_receiver(channel, params, registration_id)
        subscription = self._add(registration_id, client_id, channel.original, stream_id, params, endpoint)
        self._announce(endpoint, stream_id, params.session_id)
        self._core.responses.subscription_ready(registration_id, endpoint.status_counter_id)
        return subscription

    def remove(self, correlation_id: int, registration_id: int) -> None:
        """End a subscription."""
        subscription = self._subscriptions.pop(registration_id, None)
        if subscription is None:
            raise RegistrationError(
                "unknown subscription",
                where="remove subscription",
                expected="the registration of a subscription",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_SUBSCRIPTION,
            )
        self._end(subscription)
        self._core.responses.operation_success(correlation_id)

    def remove_client(self, client_id: int) -> None:
        """End every subscription of a client that is gone."""
        for subscription in self:
            if subscription.client_id == client_id:
                del self._subscriptions[subscription.registration_id]
                self._end(subscription)

    def of_stream(self, endpoint: ReceiveChannel | None, session_id: int, stream_id: int) -> list[Subscription]:
        """Return who subscribed to a stream on an endpoint (None: IPC), oldest first."""
        return [item for item in self if item.endpoint is endpoint and item.wants(session_id, stream_id)]

    def allocate_position(self, subscription: Subscription, source_id: int, session_id: int) -> int:
        """Allocate a subscriber position counter that refers to its source."""
        return self._core.counters.stream(
            CounterType.SUB_POS,
            client_id=subscription.client_id,
            registration_id=subscription.registration_id,
            session_id=session_id,
            stream_id=subscription.stream_id,
            channel=subscription.channel,
            reference_id=source_id,
        )

    def link_first(self, subscription: Subscription, source: Source, position_id: int, join_position: int) -> None:
        """Note a link that was made together with its source: the image is available at once."""
        link = Link(subscription, source, position_id)
        self._links.add(link)
        self._core.counters.append_join_position(position_id, join_position)
        self._notify_available(link)

    def link_later(self, subscription: Subscription, source: Source) -> None:
        """Ask the tracker to add a subscriber to a running source; its event makes the image available."""
        position_id = self.allocate_position(subscription, source.source_id, source.session_id)
        self._links.add(Link(subscription, source, position_id, unanswered=1))
        self._core.tracker.link_subscriber(_linkable(source), position_id, subscription.registration_id)

    def on_linked(self, native: object, position_id: int, registration_id: int, *, join_position: int | None) -> None:
        """The tracker has answered `link_later`; without a join position it refused, as the source is ending."""
        link = self._answered(native, position_id, registration_id)
        if link is None:
            return
        if link.is_ended or join_position is None:
            link.is_ended = True
            self._free_unless_awaited(link)
        else:
            self._core.counters.append_join_position(position_id, join_position)
            self._notify_available(link)

    def on_unlinked(self, native: object, position_id: int, registration_id: int) -> None:
        """The tracker uses a subscriber position no more."""
        link = self._answered(native, position_id, registration_id)
        if link is not None:
            self._free_unless_awaited(link)

    def notify_unavailable(self, source: Source) -> bool:
        """Tell every linked subscription that a source has ended; returns whether the last one would join again."""
        is_rejoin = True
        for link in self._links.of_source(source):
            if link.is_available:
                link.is_available = False
                subscription = link.subscription
                is_rejoin = subscription.params.is_rejoin
                self._core.responses.unavailable_image(
                    source.source_id, subscription.registration_id, subscription.stream_id, subscription.channel
                )
        return is_rejoin

    def on_source_removed(self, source: Source, free: Callable[[], None]) -> None:
        """Free the positions that a removed source still had, then call `free`.

        The tracker may still be asked about the source: it goes only AFTER every answer has come.
        """
        for link in self._links.of_source(source):
            link.is_ended = True
            self._free_unless_awaited(link)
        if self._links.of_source(source):
            self._free_when_answered[source] = free
        else:
            free()

    def _add(
        self,
        registration_id: int,
        client_id: int,
        channel: str,
        stream_id: int,
        params: SubscriptionParams,
        endpoint: ReceiveChannel | None,
    ) -> Subscription:
        subscription = Subscription(registration_id, client_id, channel, stream_id, params, endpoint)
        self._subscriptions[registration_id] = subscription
        return subscription

    def _end(self, subscription: Subscription) -> None:
        for link in self._links.of_subscription(subscription):
            if not link.is_ended:
                link.is_ended = True
                link.is_available = False
                link.unanswered += 1
                self._core.tracker.unlink_subscriber(_linkable(link.source), link.position_id, subscription.registration_id)
        if subscription.endpoint is not None:
            self._withdraw(subscription.endpoint, subscription.stream_id, subscription.params.session_id)
            self._endpoints.close_receiver_if_unused(subscription.endpoint)

    def _announce(self, endpoint: ReceiveChannel, stream_id: int, session_id: int | None) -> None:
        if session_id is not None:
            endpoint.sessions[stream_id, session_id] += 1
            if endpoint.sessions[stream_id, session_id] == 1:
                self._core.receiver.add_subscription(endpoint.native, stream_id, session_id)
            return
        endpoint.streams[stream_id] += 1
        if endpoint.streams[stream_id] == 1:
            self._core.receiver.add_subscription(endpoint.native, stream_id)

    def _withdraw(self, endpoint: ReceiveChannel, stream_id: int, session_id: int | None) -> None:
        if session_id is not None:
            endpoint.sessions[stream_id, session_id] -= 1
            if endpoint.sessions[stream_id, session_id] == 0:
                del endpoint.sessions[stream_id, session_id]
                self._core.receiver.remove_subscription(endpoint.native, stream_id, session_id)
            return
        endpoint.streams[stream_id] -= 1
        if endpoint.streams[stream_id] == 0:
            del endpoint.streams[stream_id]
            self._core.receiver.remove_subscription(endpoint.native, stream_id)

    def _check_clash(self, channel: UdpChannel, stream_id: int, params: SubscriptionParams) -> None:
        endpoint = self._endpoints.find_receiver(channel)
        if endpoint is None:
            return
        self._endpoints.check_receiver(endpoint, channel, params)
        for item in self:
            if item.endpoint is not endpoint or item.stream_id != stream_id or item.params.session_id != params.session_id:
                continue
            for key, wanted, existing in (
                ("reliable", params.is_reliable, item.params.is_reliable),
                ("rejoin", params.is_rejoin, item.params.is_rejoin),
            ):
                if wanted != existing:
                    raise conflict(channel, item.channel, key, str(existing).lower())

    def _notify_available(self, link: Link) -> None:
        link.is_available = True
        source = link.source
        self._core.responses.available_image(
            source.source_id,
            session_id=source.session_id,
            stream_id=link.subscription.stream_id,
            subscription_registration_id=link.subscription.registration_id,
            subscriber_position_counter_id=link.position_id,
            log_file=source.log_path,
            source_identity=source.source_identity,
        )

    def _answered(self, native: object, position_id: int, registration_id: int) -> Link | None:
        # A counter's id is used again; only all three tell whose answer this is.
        link = self._links.by_position.get(position_id)
        if link is None or link.source.native is not native or link.subscription.registration_id != registration_id:
            return None
        link.unanswered -= 1
        return link

    def _free_unless_awaited(self, link: Link) -> None:
        if link.unanswered:
            return
        self._links.remove(link)
        self._core.counters.manager.free(link.position_id)
        if link.source in self._free_when_answered and not self._links.of_source(link.source):
            self._free_when_answered.pop(link.source)()


def _linkable(source: Source) -> IpcPublication | PublicationImage:
    native = source.native
    assert not isinstance(native, NetworkPublication), "nobody is linked to a network publication: spies are refused"
    return native
