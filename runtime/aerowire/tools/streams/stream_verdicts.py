"""What is wrong with a stream, and whose doing it is: one slow subscriber holds up every other one, and the publisher.

Pure, from positions alone. Aeron: a publication's limit and a receiver's window are counted from the slowest reader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from aerowire.tools.streams.stream_model import LATE_SHARE, End, Image, Publication, Subscriber
from aerowire.tools.terminal.figures import size_text

# By severity.
GOOD, LATE, STALLED = "good", "late", "stalled"
_LATE_PERCENT = round(LATE_SHARE * 100)


class Verdict(NamedTuple):
    """How a stream does. `culprits` are the subscribers that hold it up."""

    severity: str
    text: str
    culprits: frozenset[int] = frozenset()


def verdict_of(
    end: End,
    name_of: Callable[[Subscriber], str] = lambda subscriber: f"subscriber {subscriber.registration_id}",
    images: Sequence[Image] = (),
) -> Verdict:
    """Return how a stream does; `name_of` names a subscriber to people, `images` are those of the same driver, of any stream."""
    if isinstance(end, Publication) and end.end_position is not None:
        return Verdict(GOOD, f"closed by its publisher{f': {size_text(end.unread)} still to be sent or read' if end.unread else ''}")
    if isinstance(end, Publication):
        return _of_publication(end, name_of, images)
    return _of_image(end, name_of)


def share_behind(end: End, subscriber: Subscriber) -> float | None:
    """Return how much of its window a subscriber takes up by what it has not read; None where the window is not known."""
    window = end.window_length
    return max(end.front - subscriber.position, 0) / window if window else None


def slowest_of(end: End) -> list[Subscriber]:
    """Return the subscribers that have read least, when others have read more."""
    positions = {subscriber.position for subscriber in end.subscribers}
    return [subscriber for subscriber in end.subscribers if subscriber.position == min(positions)] if len(positions) > 1 else []


def _of_publication(publication: Publication, name_of: Callable[[Subscriber], str], images: Sequence[Image]) -> Verdict:
    is_back_pressured = publication.window_left <= 0
    if not publication.subscribers and publication.sender_position is None:
        return Verdict(GOOD, "not connected: nobody subscribes")
    slowest = publication.slowest
    sender_position = publication.sender_position
    if (
        is_back_pressured
        and slowest is not None
        and slowest < publication.position
        and (sender_position is None or slowest <= sender_position)
    ):
        return _held_up(publication, slowest, "back-pressured", name_of)
    window_left = publication.sender_window_left
    # What is sent next does not fit into the rest of the window.
    packet_length = publication.log.mtu if publication.log is not None else 1
    if window_left is not None and window_left < min(packet_length, publication.send_backlog or 0):
        text = f"flow control holds the sender: {_slowest_reader(publication, name_of, images)}"
        return Verdict(STALLED if is_back_pressured else LATE, f"{'back-pressured: ' if is_back_pressured else ''}{text}")
    if is_back_pressured and publication.limit == publication.position == 0:
        return Verdict(GOOD, "not connected: nobody receives")
    if is_back_pressured:
        return Verdict(STALLED, "back-pressured: the sender is behind")
    return _late(publication, name_of) or Verdict(GOOD, "")


def _slowest_reader(publication: Publication, name_of: Callable[[Subscriber], str], images: Sequence[Image]) -> str:
    """Return who of this driver keeps a publication's receivers from letting more through; others are not to be seen from here."""
    same = [image for image in images if (image.session_id, image.stream_id) == (publication.session_id, publication.stream_id)]
    readers = [(image.front - item.position, name_of(item)) for image in same for item in image.subscribers if item.position < image.front]
    if not readers:
        return "a receiver does not read, or there is none"
    length, name = max(readers)
    return f"{name}, {size_text(length)} behind, reads its image here"


def _of_image(image: Image, name_of: Callable[[Subscriber], str]) -> Verdict:
    window = image.window_length
    slowest = image.slowest
    # No whole packet fits into the rest of the window.
    if window and image.log is not None and slowest is not None and image.high_water - slowest > window - image.log.mtu:
        return _held_up(image, slowest, "window full", name_of)
    late = _late(image, name_of)
    if late is not None:
        return late
    return Verdict(LATE, f"{size_text(image.missing)} wait behind a gap") if image.missing > 0 else Verdict(GOOD, "")


def _held_up(end: End, slowest: int, what: str, name_of: Callable[[Subscriber], str]) -> Verdict:
    culprits = [subscriber for subscriber in end.subscribers if subscriber.position == slowest]
    names = ", ".join(map(name_of, culprits))
    others = len(end.subscribers) - len(culprits)
    whom = f"the publisher and {others} other subscriber{'s' * (others > 1)}" if others else "the publisher"
    text = f"{what}: {names}, {size_text(end.front - slowest)} behind, stall{'s' * (len(culprits) == 1)} {whom}"
    return Verdict(STALLED, text, frozenset(subscriber.counter_id for subscriber in culprits))


def _late(end: End, name_of: Callable[[Subscriber], str]) -> Verdict | None:
    late = [subscriber for subscriber in end.subscribers if (share_behind(end, subscriber) or 0.0) >= LATE_SHARE]
    if not late:
        return None
    names = ", ".join(map(name_of, late))
    text = f"{names} {'has' if len(late) == 1 else 'have'} not read {_LATE_PERCENT} % of the window or more"
    return Verdict(LATE, text, frozenset(subscriber.counter_id for subscriber in late))
