"""The streams of a driver, put together from its counters: who sends, who receives, who reads, and how far each is.

Pure: counters, and what is known of logs and losses, come as arguments. Aeron: StreamStat, BacklogStat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from aerowire.base.units import INT64_MAX
from aerowire.codecs.tables.counters import CounterType, parse_label
from aerowire.tools.driver.counter_keys import CounterKey, key_of

if TYPE_CHECKING:
    from aerowire.ipc.counters import CounterInfo

# A receiver that is this part of its window behind its publisher is shown as one that slows it down.
LATE_SHARE = 0.5


class LogFacts(NamedTuple):
    """What a stream's log says of it: bytes."""

    mtu: int
    term_length: int
    publication_window_length: int
    receiver_window_length: int
    end_of_stream_position: int = INT64_MAX  # the stream has no end yet


@dataclass(slots=True)
class Subscriber:
    """A subscription's place in a stream."""

    counter_id: int
    registration_id: int
    client_id: int
    channel: str
    position: int
    join_position: int | None


class Recording(NamedTuple):
    """A recording of a stream that an Archive writes: how far it is written."""

    counter_id: int
    recording_id: int
    client_id: int
    position: int


@dataclass(slots=True)
class _End:
    registration_id: int
    session_id: int
    stream_id: int
    channel: str
    client_id: int = 0
    log: LogFacts | None = None
    subscribers: list[Subscriber] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)

    @property
    def slowest(self) -> int | None:
        """The position of the subscriber that has read least; None without one."""
        return min((subscriber.position for subscriber in self.subscribers), default=None)


@dataclass(slots=True)
class Publication(_End):
    """A publication on this driver. Its subscribers are those of the same driver: of IPC, or spies. None for what it has no counter of."""

    mode: str = ""
    position: int = 0
    limit: int = 0
    sender_position: int | None = None
    sender_limit: int | None = None
    back_pressure_events: int | None = None
    naks_received: int | None = None
    receivers: int | None = None

    @property
    def front(self) -> int:
        """The position that its subscribers read up to."""
        return self.position if self.end_position is None else max(self.position, self.end_position)

    @property
    def end_position(self) -> int | None:
        """Where the stream ends, once its publisher has closed it; None before.

        Its counters stand where they stood when it was closed; the driver still sends what is left.
        """
        return None if self.log is None or self.log.end_of_stream_position == INT64_MAX else self.log.end_of_stream_position

    @property
    def unread(self) -> int:
        """Bytes up to the end or the front that the sender or the slowest subscriber has still before it."""
        positions = [subscriber.position for subscriber in self.subscribers]
        positions += [] if self.sender_position is None else [self.sender_position]
        return max(self.front - min(positions, default=self.front), 0)

    @property
    def window_left(self) -> int:
        """Bytes that may still be written before back pressure."""
        return self.limit - self.position

    @property
    def window_length(self) -> int | None:
        """How far the publication may run ahead of its slowest reader."""
        return None if self.log is None else self.log.publication_window_length or self.log.term_length // 2

    @property
    def send_backlog(self) -> int | None:
        """Bytes that are written and have not been sent; None without a sender."""
        return None if self.sender_position is None else max(self.front - self.sender_position, 0)

    @property
    def sender_window_left(self) -> int | None:
        """Bytes that flow control lets the sender still send."""
        if self.sender_position is None or self.sender_limit is None:
            return None
        return self.sender_limit - self.sender_position


@dataclass(slots=True)
class Image(_End):
    """A stream that this driver receives, rebuilt in a log of its own."""

    high_water: int = 0
    position: int = 0
    naks_sent: int | None = None
    lost_bytes: int | None = None
    losses: int | None = None

    @property
    def front(self) -> int:
        """The position that its subscribers read up to, once what is missing has come."""
        return self.high_water

    @property
    def window_length(self) -> int | None:
        """How far the publisher may run ahead of the slowest subscriber."""
        return None if self.log is None else self.log.receiver_window_length or self.log.term_length // 2

    @property
    def missing(self) -> int:
        """Bytes behind a gap: received, and not readable until what is missing has come."""
        return self.high_water - self.position


End = Publication | Image


@dataclass(slots=True)
class Streams:
    """All streams of a driver, publications first, each kind by stream and session."""

    publications: list[Publication]
    images: list[Image]

    @property
    def ends(self) -> list[End]:
        """Publications and images."""
        return [*self.publications, *self.images]


def streams_of(
    counters: Iterable[CounterInfo],
    *,
    log_facts: Callable[[int], LogFacts | None] = lambda _registration_id: None,
    losses: Mapping[tuple[int, int], tuple[int, int]] | None = None,
) -> Streams:
    """Return the streams that the counters tell of.

    log_facts: of the log of a registration id. losses: (observations, bytes) by session and stream.
    """
    publications: dict[int, Publication] = {}
    images: dict[int, Image] = {}
    subscribers: list[tuple[CounterInfo, CounterKey]] = []
    recordings: list[tuple[CounterInfo, CounterKey]] = []
    for item in counters:
        key = key_of(item)
        if key.identity is None or key.session_id is None or key.stream_id is None:
            continue
        if item.type_id == CounterType.SUB_POS:
            subscribers.append((item, key))
            continue
        if item.type_id == CounterType.ARCHIVE_RECORDING_POSITION:
            recordings.append((item, key))
            continue
        if item.type_id in _PUBLICATION_FIELDS:
            publication = publications.setdefault(key.identity, Publication(*_identity(key)))
            setattr(publication, _PUBLICATION_FIELDS[item.type_id], item.value)
            _complete(publication, item, key)
            if item.type_id == CounterType.PUB_POS:
                publication.mode = str((parse_label(item.type_id, item.label) or {}).get("mode", ""))
        elif item.type_id in _IMAGE_FIELDS:
            image = images.setdefault(key.identity, Image(*_identity(key)))
            setattr(image, _IMAGE_FIELDS[item.type_id], item.value)
            _complete(image, item, key)
    for item, key in subscribers:
        _place(item, key, publications, images)
    for image in images.values():
        image.losses, image.lost_bytes = (losses or {}).get((image.session_id, image.stream_id), (None, None))
    ends: list[End] = [*publications.values(), *images.values()]
    for item, key in recordings:
        _record(item, key, ends)
    for end in ends:
        end.log = log_facts(end.registration_id)
        end.subscribers.sort(key=lambda subscriber: subscriber.registration_id)
    return Streams(sorted(publications.values(), key=_order), sorted(images.values(), key=_order))


_PUBLICATION_FIELDS: dict[int, str] = {
    CounterType.PUB_POS: "position",
    CounterType.PUB_LMT: "limit",
    CounterType.SND_POS: "sender_position",
    CounterType.SND_LMT: "sender_limit",
    CounterType.SND_BPE: "back_pressure_events",
    CounterType.SND_NAKS_RECEIVED: "naks_received",
    CounterType.FC_RECEIVERS: "receivers",
}
_IMAGE_FIELDS: dict[int, str] = {
    CounterType.RCV_HWM: "high_water",
    CounterType.RCV_POS: "position",
    CounterType.RCV_NAKS_SENT: "naks_sent",
}


def _identity(key: CounterKey) -> tuple[int, int, int, str]:
    assert key.identity is not None
    assert key.session_id is not None
    assert key.stream_id is not None
    return key.identity, key.session_id, key.stream_id, key.channel or ""


def _order(end: End) -> tuple[int, int, int]:
    return end.stream_id, end.session_id, end.registration_id


def _complete(end: End, item: CounterInfo, key: CounterKey) -> None:
    # Labels have room for more of a channel in some counters than in others.
    if len(key.channel or "") > len(end.channel):
        end.channel = key.channel or ""
    end.client_id = item.owner_id or end.client_id


def _place(item: CounterInfo, key: CounterKey, publications: Mapping[int, Publication], images: Mapping[int, Image]) -> None:
    """Put a subscriber to the log that it reads: the one that its counter refers to, or, where a driver leaves that out, the stream's."""
    end: End | None = publications.get(item.reference_id) or images.get(item.reference_id)
    if end is None:
        ends: list[End] = [*images.values(), *publications.values()]
        same = [end for end in ends if (end.session_id, end.stream_id) == (key.session_id, key.stream_id)]
        end = next((end for end in same if end.channel == key.channel), same[0] if same else None)
    if end is None:
        return  # what it read has just gone
    join_position = (parse_label(item.type_id, item.label) or {}).get("join_position")
    assert key.identity is not None
    end.subscribers.append(
        Subscriber(
            item.counter_id,
            key.identity,
            item.owner_id,
            key.channel or "",
            item.value,
            join_position if isinstance(join_position, int) else None,
        )
    )


def _record(item: CounterInfo, key: CounterKey, ends: Iterable[End]) -> None:
    """Put a recording to the log that its archive reads, or, where that is not to be seen, to the first of the stream's."""
    same = [end for end in ends if (end.session_id, end.stream_id) == (key.session_id, key.stream_id)]
    read = [end for end in same if any(subscriber.client_id == item.owner_id for subscriber in end.subscribers)]
    if same and key.identity is not None:
        (read or same)[0].recordings.append(Recording(item.counter_id, key.identity, item.owner_id, item.value))
