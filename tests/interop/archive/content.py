"""Messages that tests have recorded, in batches that are each drawn from a seed, and read again: what arrives must have their hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aerowire.archive import NULL_POSITION, REPLAY_ALL_AND_STOP, AeronArchive, ReplayParams
from aerowire.client import ExclusivePublication, FragmentAssembler, Header, Publication, Subscription
from aerowire.client.subscriptions.image import Image
from tests.interop.scenarios import LENGTH_MAX
from tests.support.peers.payloads import ContentHash, Payloads
from tests.support.waiting import rest, wait_until

REPLAY_STREAM_ID = 4001
REPLAY_CHANNEL = "aeron:ipc?term-length=64k"


@dataclass(frozen=True)
class Batch:
    """So many messages of random length, drawn from a seed."""

    seed: int
    messages: int
    length_max: int = LENGTH_MAX

    def publish(self, publication: Publication | ExclusivePublication, work: Callable[[], object] | None = None) -> int:
        """Publish all of them, and return the position behind the last. Between two messages `work` is called."""
        payloads = Payloads(self.seed, self.length_max)
        for _ in range(self.messages):
            publication.send(payloads.next(), timeout_ns="60s")
            if work is not None:
                work()
        return publication.position


def hash_of(*batches: Batch) -> dict[str, object]:
    """Return messages, bytes and hash of batches that follow each other."""
    content = ContentHash()
    for batch in batches:
        payloads = Payloads(batch.seed, batch.length_max)
        for _ in range(batch.messages):
            content.add(payloads.next())
    return content.fields()


class Reading:
    """A subscription that is read to the end of its stream, or up to a number of messages."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._content = ContentHash()
        self._assembler = FragmentAssembler(self._take)
        self._image: Image | None = None

    def poll(self) -> None:
        """Read what is there."""
        if self._subscription.poll(self._assembler, 50) == 0:
            rest()

    def to_end(self) -> dict[str, object]:
        """Read until the stream has ended, and return messages, bytes and hash."""
        wait_until(lambda: self._subscription.is_connected, lambda: f"no stream on {self._subscription}")
        wait_until(self._has_ended, lambda: f"{self._content.messages} messages from {self._subscription}", work=self.poll)
        return self._content.fields()

    def up_to(self, messages: int, work: Callable[[], object] | None = None) -> dict[str, object]:
        """Read so many messages, and return messages, bytes and hash."""

        def poll() -> None:
            self.poll()
            if work is not None:
                work()

        wait_until(
            lambda: self._content.messages >= messages,
            lambda: f"{self._content.messages} of {messages} messages from {self._subscription}",
            work=poll,
        )
        return self._content.fields()

    def _has_ended(self) -> bool:
        images = self._subscription.images
        return all(image.is_end_of_stream and image.position >= image.end_of_stream_position for image in images)

    def _take(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self._content.add(buffer[offset : offset + length])


def replayed(
    archive: AeronArchive,
    recording_id: int,
    *,
    position: int = NULL_POSITION,
    length: int = REPLAY_ALL_AND_STOP,
    channel: str = REPLAY_CHANNEL,
) -> dict[str, object]:
    """Return messages, bytes and hash of a replay."""
    params = ReplayParams(position=position, length=length)
    with archive.replay(recording_id, channel, REPLAY_STREAM_ID, params) as subscription:
        return Reading(subscription).to_end()
