"""Subscriptions and their links to the streams that feed them: local publications and images. Aeron: SubscriptionLink.

A link has a position counter. The conductor agent decides where a late subscriber joins; its events complete or end a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.subscription_checks import check_network
from aerowire.driver.channels.subscription_params import SubscriptionParams
from aerowire.driver.channels.udp_channel import UdpChannel
from aerowire.driver.resources.endpoints import conflict
from aerowire.driver.resources.subscription_links import Source, Subscription, SubscriptionLink, SubscriptionLinks

if TYPE_CHECKING:
    from aerowire.base.channel_uri import ChannelUri
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.endpoints import Endpoints, ReceiveChannel


class Subscriptions:
    """All subscriptions of the driver and their links."""

    def __init__(self, core: DriverCore, endpoints: Endpoints) -> None:
        self._core = core
        self._endpoints = endpoints
        self._subscriptions: dict[int, Subscription] = {}
        # IPC and spy destinations of multi-destination subscriptions, each a subscription with the registration of the one that has it.
        self._destinations: list[Subscription] = []
        self._links = SubscriptionLinks()
        self._free_when_answered: dict[Source, Callable[[], None]] = {}

    def __iter__(self) -> Iterator[Subscription]:
        return iter((*self._subscriptions.values(), *self._destinations))

    def find_multi_destination(self, registration_id: int, refusal: ErrorCode = ErrorCode.UNKNOWN_SUBSCRIPTION) -> Subscription:
        """Return a subscription that destinations can be added to; raises RegistrationError, with `refusal` for one that takes none.

        Aeron knows no such subscription when a destination is added, and finds its channel invalid when one is removed.
        """
        subscription = self._subscriptions.get(registration_id)
        if subscription is None or subscription.endpoint is None or not subscription.endpoint.native.is_multi_destination:
            raise RegistrationError(
                "unknown multi-destination subscription",
                where="destination",
                expected="the registration of a subscription with control-mode=manual",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_SUBSCRIPTION if subscription is None or subscription.endpoint is None else refusal,
            )
        return subscription

    def add_local_destination(self, owner: Subscription, uri: ChannelUri, spied: UdpChannel | None) -> Subscription:
        """Make an IPC or a spy destination of a multi-destination subscription; the caller links it to publications."""
        params = SubscriptionParams.of(uri, self._core.context)
        destination = Subscription(owner.registration_id, owner.client_id, uri.original, owner.stream_id, params, None, spied)
        self._destinations.append(destination)
        return destination

    def remove_local_destination(self, registration_id: int, channel: str) -> None:
        """End an IPC or a spy destination, named as it was added; its images become unavailable."""
        for item in self._destinations:
            if item.registration_id == registration_id and item.channel == channel:
                self._destinations.remove(item)
                for link in self._links.of_subscription(item):
                    self._tell_unavailable(link)
                self._end(item)
                return
        raise RegistrationError(
            "unknown destination",
            where="remove destination",
            expected=f"an IPC or a spy destination of subscription {registration_id}",
            actual=channel,
            error_code=ErrorCode.UNKNOWN_SUBSCRIPTION,
        )

    def add_ipc(self, uri: ChannelUri, stream_id: int, registration_id: int, client_id: int) -> Subscription:
        """Make an IPC subscription; the caller links it to publications."""
        self._core.clients.get_or_add(client_id)
        params = SubscriptionParams.of(uri, self._core.context)
        subscription = self._add(registration_id, client_id, uri.original, stream_id, params, None)
        self._core.client_proxy.subscription_ready(registration_id, cnc.CHANNEL_STATUS_NO_ID_ALLOCATED)
        return subscription

    def add_spy(self, channel: UdpChannel, stream_id: int, registration_id: int, client_id: int) -> Subscription:
        """Make a subscription to what this driver sends; the caller links it to publications."""
        self._core.clients.get_or_add(client_id)
        params = SubscriptionParams.of(channel.uri, self._core.context)
        subscription = Subscription(registration_id, client_id, channel.original, stream_id, params, None, channel)
        self._subscriptions[registration_id] = subscription
        self._core.client_proxy.subscription_ready(registration_id, cnc.CHANNEL_STATUS_NO_ID_ALLOCATED)
        return subscription

    def add_network(self, channel: UdpChannel, stream_id: int, registration_id: int, client_id: int) -> Subscription:
        """Make a UDP subscription and tell the receiver of it; the caller links it to images."""
        check_network(channel)
        self._core.clients.get_or_add(client_id)
        params = SubscriptionParams.of(channel.uri, self._core.context)
        self._check_clash(channel, stream_id, params)
        endpoint = self._endpoints.open_receiver(channel, params, registration_id)
        subscription = self._add(registration_id, client_id, channel.original, stream_id, params, endpoint)
        if subscription.awaits_response:
            endpoint.awaited[stream_id] += 1
        else:
            self._announce(endpoint, stream_id, params.session_id)
        self._core.client_proxy.subscription_ready(registration_id, endpoint.status_counter_id)
        return subscription

    def find(self, registration_id: int) -> Subscription | None:
        """Return a subscription by its registration."""
        return self._subscriptions.get(registration_id)

    def has(self, registration_id: int) -> bool:
        """Return whether a subscription has that registration."""
        return registration_id in self._subscriptions

    def on_response_session(self, registration_id: int, session_id: int) -> None:
        """A request is answered by a session: the subscription that waits for it takes it, or asks for its set-up once more."""
        subscription = self._subscriptions.get(registration_id)
        if subscription is None or subscription.endpoint is None:
            return
        endpoint = subscription.endpoint
        if subscription.params.session_id is not None:
            self._core.receiver.request_setup(endpoint.native, subscription.stream_id, subscription.params.session_id)
            return
        if not subscription.awaits_response:
            return  # a publisher may name any subscription: this one takes every session already
        self._await_no_longer(endpoint, subscription.stream_id)
        subscription.params.session_id = session_id
        self._announce(endpoint, subscription.stream_id, session_id)

    def on_ipc_response_session(self, registration_id: int, session_id: int) -> None:
        """An IPC request is about to be answered by a session: the subscription that waits for it takes it."""
        subscription = self._subscriptions.get(registration_id)
        if subscription is not None and subscription.endpoint is None:
            subscription.params.session_id = session_id

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
        self._end_destinations(lambda item: item.registration_id == registration_id)
        self._core.client_proxy.operation_success(correlation_id)

    def remove_client(self, client_id: int) -> None:
        """End every subscription of a client that is gone."""
        for subscription in tuple(self._subscriptions.values()):
            if subscription.client_id == client_id:
                del self._subscriptions[subscription.registration_id]
                self._end(subscription)
        self._end_destinations(lambda item: item.client_id == client_id)

    def of_stream(self, endpoint: ReceiveChannel | None, session_id: int, stream_id: int) -> list[Subscription]:
        """Return who subscribed to a stream on an endpoint (None: IPC), oldest first."""
        return [item for item in self if item.endpoint is endpoint and item.wants(session_id, stream_id)]

    def of_this_driver(self, stream_id: int) -> list[Subscription]:
        """Return the subscriptions to a stream of this driver's own publications, oldest first."""
        return [item for item in self if item.stream_id == stream_id and item.endpoint is None]

    def is_linked(self, subscription: Subscription, source: Source) -> bool:
        """Return whether a subscription is linked to a source, or about to be."""
        return self._links.is_linked(subscription, source)

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
        link = SubscriptionLink(subscription, source, position_id)
        self._links.add(link)
        self._core.counters.append_join_position(position_id, join_position)
        self._notify_available(link)

    def link_later(self, subscription: Subscription, source: Source) -> None:
        """Ask the conductor agent to add a subscriber to a running source; its event makes the image available."""
        position_id = self.allocate_position(subscription, source.source_id, source.session_id)
        self._links.add(SubscriptionLink(subscription, source, position_id, unanswered=1))
        self._core.conductor_agent.link_subscriber(source.native, position_id, subscription.registration_id, subscription.tether)

    def on_linked(self, native: object, position_id: int, registration_id: int, *, join_position: int | None) -> None:
        """The conductor agent has answered `link_later`; without a join position it refused, as the source is ending."""
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
        """The conductor agent uses a subscriber position no more."""
        link = self._answered(native, position_id, registration_id)
        if link is not None:
            self._free_unless_awaited(link)

    def unlink_all(self, source: Source) -> None:
        """Take a source that lives on away from everybody who is linked to it. The caller keeps others from joining."""
        self.notify_unavailable(source)
        for link in self._links.of_source(source):
            self._end_link(link)

    def on_untethered_unavailable(self, native: object, position_id: int, registration_id: int) -> None:
        """The conductor agent no longer waits for a subscriber that has fallen behind."""
        link = self._find(native, position_id, registration_id)
        if link is not None:
            self._tell_unavailable(link)
            self._note_tether(link, "RESTING")

    def on_untethered_available(self, native: object, position_id: int, registration_id: int) -> None:
        """A subscriber that had fallen behind has rested and is counted again."""
        link = self._find(native, position_id, registration_id)
        if link is not None and not link.is_ended:
            self._notify_available(link)
            self._note_tether(link, "ACTIVE")

    def on_untethered_dropped(self, native: object, position_id: int, registration_id: int) -> None:
        """The conductor agent uses the position of a subscriber that fell behind, and does not rejoin, no more."""
        link = self._find(native, position_id, registration_id)
        if link is not None and not link.is_ended:
            link.is_ended = True
            link.source.left_for_good.add(registration_id)
            link.subscription.left.append(link.source)
            self._free_unless_awaited(link)
            self._note_tether(link, "CLOSED")

    def notify_unavailable(self, source: Source) -> bool:
        """Tell every linked subscription that a source has ended; returns whether its session may join again.

        Who was left behind has a say in that as well: it is still subscribed. Aeron: DriverConductor.transitionToLinger.
        """
        is_rejoin = not source.left_for_good
        for link in self._links.of_source(source):
            if not link.is_ended:
                is_rejoin = is_rejoin and link.subscription.params.is_rejoin
                self._tell_unavailable(link)
        return is_rejoin

    def on_source_removed(self, source: Source, free: Callable[[], None]) -> None:
        """Free the positions that a removed source still had, then call `free`.

        The conductor agent may still be asked about the source: it goes only AFTER every answer has come.
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

    def _note_tether(self, link: SubscriptionLink, state: str) -> None:
        self._core.conductor_events.state(
            DriverEventCode.UNTETHERED_SUBSCRIPTION_STATE_CHANGE,
            registration_id=link.subscription.registration_id,
            stream_id=link.subscription.stream_id,
            session_id=link.source.session_id,
            channel=link.subscription.channel,
            state=state,
        )

    def _end(self, subscription: Subscription) -> None:
        self._core.conductor_events.state(
            DriverEventCode.REMOVE_SUBSCRIPTION_CLEANUP,
            registration_id=subscription.registration_id,
            stream_id=subscription.stream_id,
            channel=subscription.channel,
        )
        for link in self._links.of_subscription(subscription):
            self._end_link(link)
        for source in subscription.left:
            source.left_for_good.discard(subscription.registration_id)
        if subscription.endpoint is not None:
            if subscription.awaits_response:
                self._await_no_longer(subscription.endpoint, subscription.stream_id)
            else:
                self._withdraw(subscription.endpoint, subscription.stream_id, subscription.params.session_id)
            self._endpoints.close_receiver_if_unused(subscription.endpoint)

    def _end_destinations(self, is_over: Callable[[Subscription], bool]) -> None:
        over = [item for item in self._destinations if is_over(item)]
        if over:
            self._destinations = [item for item in self._destinations if not is_over(item)]
        for item in over:
            self._end(item)

    def _end_link(self, link: SubscriptionLink) -> None:
        if not link.is_ended:
            link.is_ended = True
            link.is_available = False
            link.unanswered += 1
            self._core.conductor_agent.unlink_subscriber(link.source.native, link.position_id, link.subscription.registration_id)

    def _announce(self, endpoint: ReceiveChannel, stream_id: int, session_id: int | None) -> None:
        if session_id is not None:
            endpoint.sessions[stream_id, session_id] += 1
            if endpoint.sessions[stream_id, session_id] == 1:
                self._core.receiver.add_subscription(endpoint.native, stream_id, session_id)
            return
        endpoint.streams[stream_id] += 1
        if endpoint.streams[stream_id] == 1:
            self._core.receiver.add_subscription(endpoint.native, stream_id)

    def _await_no_longer(self, endpoint: ReceiveChannel, stream_id: int) -> None:
        endpoint.awaited[stream_id] -= 1
        if endpoint.awaited[stream_id] == 0:
            del endpoint.awaited[stream_id]

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
                ("control-mode", params.is_response, item.params.is_response),
            ):
                if wanted != existing:
                    raise conflict(channel, item.channel, key, str(existing).lower())

    def _notify_available(self, link: SubscriptionLink) -> None:
        link.is_available = True
        source = link.source
        self._core.client_proxy.available_image(
            source.source_id,
            session_id=source.session_id,
            stream_id=link.subscription.stream_id,
            subscription_registration_id=link.subscription.registration_id,
            subscriber_position_counter_id=link.position_id,
            log_file=source.log_path,
            source_identity=source.source_identity,
        )

    def _tell_unavailable(self, link: SubscriptionLink) -> None:
        if link.is_available:
            link.is_available = False
            subscription = link.subscription
            self._core.client_proxy.unavailable_image(
                link.source.source_id, subscription.registration_id, subscription.stream_id, subscription.channel
            )

    def _find(self, native: object, position_id: int, registration_id: int) -> SubscriptionLink | None:
        # A counter's id is used again; only all three tell whose link this is.
        link = self._links.by_position.get(position_id)
        is_same = link is not None and link.source.native is native and link.subscription.registration_id == registration_id
        return link if is_same else None

    def _answered(self, native: object, position_id: int, registration_id: int) -> SubscriptionLink | None:
        link = self._find(native, position_id, registration_id)
        if link is not None:
            link.unanswered -= 1
        return link

    def _free_unless_awaited(self, link: SubscriptionLink) -> None:
        if link.unanswered:
            return
        self._links.remove(link)
        self._core.counters.manager.free(link.position_id)
        if link.source in self._free_when_answered and not self._links.of_source(link.source):
            self._free_when_answered.pop(link.source)()
