"""The messages of a snapshot on their way to a recording, and from a replay: step by step, without waiting.

Each function is a generator: it yields where there is no room or nothing to read, and goes on when it is resumed.
Aeron: SnapshotTaker.offer, ServiceSnapshotLoader.poll, ConsensusModuleSnapshotLoader.poll.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import ClusterSnapshotError
from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED, error_string
from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.controlled_assembler import ImageControlledFragmentAssembler

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.snapshots.markers import SnapshotRecords

# As many as the official loader reads at a time.
_FRAGMENT_LIMIT: Final = 10
# Rounds of reading before others have their turn.
_ROUNDS_MAX: Final = 100


def write_messages(publication: ExclusivePublication, messages: Iterable[Buffer]) -> Generator[None, None, None]:
    """Offer messages in order, each until there is room. Raises ClusterSnapshotError where the publication does not go on."""
    for message in messages:
        while (result := publication.offer(message)) < 0:
            if result not in (BACK_PRESSURED, ADMIN_ACTION):
                raise ClusterSnapshotError(
                    "a snapshot cannot be written",
                    where=f"{publication.channel} stream {publication.stream_id}",
                    expected="room",
                    actual=error_string(result),
                )
            if result == BACK_PRESSURED:
                yield


def read_messages(image: Image, on_message: Callable[[bytes], bool], check: Callable[[], object]) -> Generator[None, None, None]:
    """Call `on_message` with each whole message of an image, until it returns true; what follows stays in the image.

    `check` is called where nothing is there to read: it raises what the archive reports. Raises ClusterSnapshotError if the image ends.
    """
    is_done = False

    def on_fragment(buffer: memoryview, offset: int, length: int, _header: Header) -> Action | None:
        nonlocal is_done
        is_done = on_message(bytes(buffer[offset : offset + length]))
        return Action.BREAK if is_done else None

    assembler = ImageControlledFragmentAssembler(on_fragment)
    rounds = 0
    while not is_done:
        is_over = image.is_closed or image.is_end_of_stream  # BEFORE the poll: what it brings was there by then
        rounds += 1
        if image.controlled_poll(assembler, _FRAGMENT_LIMIT) == 0:
            check()
            if is_over:
                raise ClusterSnapshotError(
                    "a snapshot has ended before its END marker",
                    where=f"session {image.session_id} stream {image.stream_id}, position {image.position}",
                    expected="an END marker",
                    actual="a closed image" if image.is_closed else "the end of the stream",
                )
            yield
        elif rounds % _ROUNDS_MAX == 0:
            yield


def read_records(
    image: Image, records: SnapshotRecords, on_record: Callable[[int, bytes], object], check: Callable[[], object]
) -> Generator[None, None, None]:
    """Read a snapshot up to its END marker: `on_record(template_id, message)` is called for each record between the markers.

    The service's state, which follows the marker, stays in the image. Raises ClusterSnapshotError, and what `check` raises.
    """

    def on_message(message: bytes) -> bool:
        template_id = records.on_message(message)
        if template_id is not None:
            on_record(template_id, message)
        return records.is_done

    yield from read_messages(image, on_message, check)
