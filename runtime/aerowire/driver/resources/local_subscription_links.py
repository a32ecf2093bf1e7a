"""Which subscriptions read which of this driver's own publications: IPC subscriptions those of IPC, spies those that are sent.

Aeron: IpcSubscriptionLink.matches, SpySubscriptionLink.matches. Images from the network are matched in images.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.driver.resources.publication_factory import Publication
    from aerowire.driver.resources.subscription_links import Subscription
    from aerowire.driver.resources.subscriptions import Subscriptions


def link_publication(publication: Publication, subscriptions: Subscriptions) -> None:
    """Link a publication, new or out of its cool-down, to everybody who wants it and does not have it."""
    for subscription in subscriptions.of_this_driver(publication.stream_id):
        _link(publication, subscription, subscriptions)


def link_subscription(subscription: Subscription, publications: Iterable[Publication], subscriptions: Subscriptions) -> None:
    """Link a new subscription, or a new destination of one, to the publications that it wants."""
    for publication in publications:
        _link(publication, subscription, subscriptions)


def matches(subscription: Subscription, publication: Publication) -> bool:
    """Return whether a subscription of this driver's own streams wants a publication."""
    if publication.endpoint is None:
        return subscription.is_ipc and subscription.wants(publication.session_id, publication.stream_id)
    spied = subscription.spied
    if spied is None or subscription.stream_id != publication.stream_id:
        return False
    channel = publication.endpoint.channel
    if spied.tag is not None and spied.tag == channel.tag:
        return True
    return spied.canonical_form == channel.canonical_form and subscription.wants(publication.session_id, publication.stream_id)


def _link(publication: Publication, subscription: Subscription, subscriptions: Subscriptions) -> None:
    # The stream first: it tells most apart, and there may be thousands of both.
    if publication.params.stream_id != subscription.stream_id or publication.is_ending or not matches(subscription, publication):
        return
    if publication.native.accepts_subscribers and not subscriptions.is_linked(subscription, publication):
        subscriptions.link_later(subscription, publication)
