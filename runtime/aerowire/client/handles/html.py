"""Handles as tables for notebooks. Knows attributes of handles; reads shared memory only through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ClosedError
from aerowire.base.html import fields_html, table_html

if TYPE_CHECKING:
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.readable_counter import ReadableCounter
    from aerowire.client.publications.publication_base import PublicationBase
    from aerowire.client.subscriptions.image_base import ImageBase
    from aerowire.client.subscriptions.subscription import Subscription


def publication_html(publication: PublicationBase) -> str:
    """Render a publication: where it stands, and how much room there is."""
    rows = [*_stream(publication.channel, publication.stream_id), ("session", publication.session_id)]
    if publication.is_closed:
        rows.append(("state", "closed"))
    else:
        rows += [
            ("state", "connected" if publication.is_connected else "not connected"),
            ("position", publication.position),
            ("limit", publication.position_limit),
            ("window", publication.available_window),
        ]
    rows += [("term length", publication.term_buffer_length), ("MTU", publication.mtu_length)]
    return fields_html(type(publication).__name__, rows)


def subscription_html(subscription: Subscription) -> str:
    """Render a subscription with a line for each image."""
    head = ("session", "source", "position", "joined at", "state")
    lines = [(image.session_id, image.source_identity, image.position, image.join_position, _state(image)) for image in subscription.images]
    state = "closed" if subscription.is_closed else f"{subscription.image_count} images"
    return fields_html("Subscription", [*_stream(subscription.channel, subscription.stream_id), ("state", state)]) + table_html(head, lines)


def image_html(image: ImageBase) -> str:
    """Render an image: where its subscriber stands."""
    rows = [
        ("stream", image.stream_id),
        ("session", image.session_id),
        ("source", image.source_identity),
        ("state", _state(image)),
        ("position", image.position),
        ("joined at", image.join_position),
        ("term length", image.term_buffer_length),
    ]
    return fields_html("Image", rows)


def counter_html(counter: Counter | ReadableCounter) -> str:
    """Render a counter, of one's own or of somebody else's."""
    rows: list[tuple[str, object]] = [("id", counter.counter_id)]
    try:
        # The value LAST: it raises when the label has become that of another counter.
        rows += [("label", counter.label), ("value", counter.value)]
    except ClosedError:
        rows.append(("state", "closed"))
    return fields_html(type(counter).__name__, rows)


def _stream(channel: str, stream_id: int) -> list[tuple[str, object]]:
    return [("channel", channel), ("stream", stream_id)]


def _state(image: ImageBase) -> str:
    if image.is_publication_revoked:
        return "revoked"
    if image.is_end_of_stream:
        return "end of stream"
    return "closed" if image.is_closed else "open"
