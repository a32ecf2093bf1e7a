"""What a stream of the suite's messages looks like, worked out from its seed: where each message begins, and hashes of parts of it.

Knows how a publication lays messages into terms; knows nothing of those who send or receive.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.interop.scenarios import Stream
from tests.support.peers.payloads import ContentHash, Payloads

HEADER_LENGTH = 32
# That of both implementations, when no option says otherwise.
MTU = 1408


def message_positions(stream: Stream) -> Iterator[int]:
    """Yield where each message of a stream begins, and at last where the stream ends, for one that began at position 0."""
    payloads = Payloads(stream.seed, stream.length_max)
    position = 0
    for _ in range(stream.messages):
        length = framed_length(len(payloads.next()))
        left = stream.term_length - position % stream.term_length
        # What does not fit begins the next term; padding fills the rest of this one.
        position += left if length > left else 0
        yield position
        position += length
    yield position


def framed_length(length: int) -> int:
    """Return the bytes of a term that a message of `length` bytes takes, in one frame or in several."""
    whole, rest = divmod(length, MTU - HEADER_LENGTH)
    return whole * MTU + (align(HEADER_LENGTH + rest) if rest or not whole else 0)


def align(length: int) -> int:
    return -(-length // HEADER_LENGTH) * HEADER_LENGTH


def content(stream: Stream, first: int = 0, end: int | None = None, *, times: int = 1) -> dict[str, object]:
    """Return what a peer says of messages `first` to `end` (excluded; all that follow when None), had so many times in a row."""
    expected = ContentHash()
    for _ in range(times):
        payloads = Payloads(stream.seed, stream.length_max)
        for index in range(stream.messages if end is None else end):
            message = payloads.next()
            if index >= first:
                expected.add(message)
    return expected.fields()


def content_from(stream: Stream, position: int) -> dict[str, object]:
    """Return what a peer must say of all messages that begin at `position` or behind it."""
    starts = list(message_positions(stream))[:-1]
    return content(stream, sum(start < position for start in starts))
