"""Messages that tests have recorded, in batches that are each drawn from a seed, and read again: what arrives must have their hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aerowire.archive import NULL_POSITION, REPLAY_ALL_AND_STOP, AeronArchive, ReplayParams
from aerowire.client import ExclusivePublication, FragmentAssembler, Header, Publication, Subscription
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


def read_to_end(subscription: Subscription) -> dict[str, object]:
    """Read a stream until it has ended, and return messages, bytes and hash."""
    content = ContentHash()

    def take(buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        content.add(buffer[offset : offset + length])

    assembler = FragmentAssembler(take)

    def poll() -> None:
        if subscription.poll(assembler, 50) == 0:
            rest()

    wait_until(lambda: subscription.is_connected, f"no stream on {subscription}")
    wait_until(
        lambda: all(image.is_end_of_stream for image in subscription.images),
        lambda: f"{content.messages} messages from {subscription}",
        work=poll,
    )
    return content.fields()


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
        return read_to_end(subscription)
