"""Links: a subscription's places in the streams that feed it, found by position counter, by stream and by subscription."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from aerowire.driver.endpoints import ReceiveChannel
    from aerowire.driver.ipc_publication import IpcPublication
    from aerowire.driver.network_publication import NetworkPublication
    from aerowire.driver.publication_image import PublicationImage
    from aerowire.driver.subscription_params import SubscriptionParams

_Key = TypeVar("_Key")


class Source(Protocol):
    """A stream that subscriptions can be linked to: an image, or a publication of this driver."""

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
    """A client's subscription; `endpoint` is None for IPC."""

    registration_id: int
    client_id: int
    channel: str
    stream_id: int
    params: SubscriptionParams
    endpoint: ReceiveChannel | None

    def wants(self, session_id: int, stream_id: int) -> bool:
        """Return whether a stream is one that was subscribed to."""
        return stream_id == self.stream_id and self.params.session_id in {None, session_id}


@dataclass(slots=True, eq=False)
class Link:
    """A subscription's place in one source.

    Invariant: the position counter is allocated, and the source's native object alive, as long as the link is in
    `Subscriptions`; `is_available` says that the client has been told of the image and not yet of its end; `unanswered`
    counts what the tracker was asked about it and has not answered.
    """

    subscription: Subscription
    source: Source
    position_id: int
    unanswered: int = 0
    is_available: bool = False
    is_ended: bool = False


@dataclass(slots=True)
class LinkTable:
    """Links by position, by source and by subscription. Invariant: a link is in all three or in none."""

    by_position: dict[int, Link] = field(default_factory=dict)
    _by_source: dict[Source, dict[int, Link]] = field(default_factory=dict)
    _by_subscription: dict[Subscription, dict[int, Link]] = field(default_factory=dict)

    def add(self, link: Link) -> None:
        self.by_position[link.position_id] = link
        self._by_source.setdefault(link.source, {})[link.position_id] = link
        self._by_subscription.setdefault(link.subscription, {})[link.position_id] = link

    def remove(self, link: Link) -> None:
        del self.by_position[link.position_id]
        _remove(self._by_source, link.source, link.position_id)
        _remove(self._by_subscription, link.subscription, link.position_id)

    def of_source(self, source: Source) -> list[Link]:
        return list(self._by_source.get(source, {}).values())

    def of_subscription(self, subscription: Subscription) -> list[Link]:
        return list(self._by_subscription.get(subscription, {}).values())


def _remove(table: dict[_Key, dict[int, Link]], key: _Key, position_id: int) -> None:
    links = table[key]
    del links[position_id]
    if not links:
        del table[key]
