"""Links: a subscription's places in the streams that feed it, found by position counter, by stream and by subscription."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from aerowire.driver.streams.untethered_subscriptions import Tether

if TYPE_CHECKING:
    from aerowire.driver.channels.subscription_params import SubscriptionParams
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.resources.endpoints import ReceiveChannel
    from aerowire.driver.streams.ipc_publication import IpcPublication
    from aerowire.driver.streams.network_publication import NetworkPublication
    from aerowire.driver.streams.publication_image import PublicationImage

_Key = TypeVar("_Key")


class Source(Protocol):
    """A stream that subscriptions can be linked to: an image, or a publication of this driver.

    `left_for_good`: registrations of subscriptions that do not rejoin, fell behind in it, and have no place in it any more.
    """

    left_for_good: set[int]

    @property
    def source_id(self) -> int: ...
    @property
    def native(self) -> IpcPublication | NetworkPublication | PublicationImage: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def log_path(self) -> str: ...
    @property
    def source_identity(self) -> str: ...


@dataclass(slots=True, eq=False)
class Subscription:
    """A client's subscription: to `endpoint`, to the publications on `spied`, or to IPC when both are None.

    `left`: the sources in whose `left_for_good` it is.
    """

    registration_id: int
    client_id: int
    channel: str
    stream_id: int
    params: SubscriptionParams
    endpoint: ReceiveChannel | None
    spied: UdpChannel | None = None
    left: list[Source] = field(default_factory=list)

    @property
    def is_ipc(self) -> bool:
        return self.endpoint is None and self.spied is None

    @property
    def tether(self) -> Tether:
        """Whether a stream waits for this subscription, and whether it comes back after it was left behind."""
        if self.params.is_tether:
            return Tether.TETHERED
        return Tether.REJOINS if self.params.is_rejoin else Tether.LEAVES

    @property
    def awaits_response(self) -> bool:
        """Whether it takes the one session that answers a request, and does not know yet which that is."""
        return self.params.is_response and self.params.session_id is None

    def wants(self, session_id: int, stream_id: int) -> bool:
        """Return whether a stream is one that was subscribed to."""
        return stream_id == self.stream_id and not self.awaits_response and self.params.session_id in {None, session_id}


@dataclass(slots=True, eq=False)
class SubscriptionLink:
    """A subscription's place in one source.

    Invariant: the position counter is allocated, and the source's native object alive, as long as the link is in
    `Subscriptions`; `is_available` says that the client has been told of the image and not yet of its end; `unanswered`
    counts what the conductor agent was asked about it and has not answered.
    """

    subscription: Subscription
    source: Source
    position_id: int
    unanswered: int = 0
    is_available: bool = False
    is_ended: bool = False


@dataclass(slots=True)
class SubscriptionLinks:
    """Links by position, by source and by subscription. Invariant: a link is in all three or in none."""

    by_position: dict[int, SubscriptionLink] = field(default_factory=dict)
    _by_source: dict[Source, dict[int, SubscriptionLink]] = field(default_factory=dict)
    _by_subscription: dict[Subscription, dict[int, SubscriptionLink]] = field(default_factory=dict)

    def add(self, link: SubscriptionLink) -> None:
        self.by_position[link.position_id] = link
        self._by_source.setdefault(link.source, {})[link.position_id] = link
        self._by_subscription.setdefault(link.subscription, {})[link.position_id] = link

    def remove(self, link: SubscriptionLink) -> None:
        del self.by_position[link.position_id]
        _remove(self._by_source, link.source, link.position_id)
        _remove(self._by_subscription, link.subscription, link.position_id)

    def of_source(self, source: Source) -> list[SubscriptionLink]:
        return list(self._by_source.get(source, {}).values())

    def is_linked(self, subscription: Subscription, source: Source) -> bool:
        """Return whether a subscription has a place in a source that has not ended."""
        places = min(self._by_subscription.get(subscription, {}), self._by_source.get(source, {}), key=len)
        links = (self.by_position[place] for place in places)
        return any(link.subscription is subscription and link.source is source and not link.is_ended for link in links)

    def of_subscription(self, subscription: Subscription) -> list[SubscriptionLink]:
        return list(self._by_subscription.get(subscription, {}).values())


def _remove(table: dict[_Key, dict[int, SubscriptionLink]], key: _Key, position_id: int) -> None:
    links = table[key]
    del links[position_id]
    if not links:
        del table[key]
