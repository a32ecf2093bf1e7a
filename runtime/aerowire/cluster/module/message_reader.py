"""The reader of a stream of whole messages, which counts those that its decoder makes nothing of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from aerowire.client.subscriptions.assembler import FragmentAssembler

if TYPE_CHECKING:
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

T = TypeVar("T")
# As many as the official adapters read at a time.
FRAGMENT_LIMIT = 25


class MessageReader(Generic[T]):
    """Reads a subscription. Changed by `poll`: `dropped` counts messages that are of a foreign schema, unknown or damaged."""

    def __init__(self, subscription: Subscription, decode: Callable[[bytes], T | None], on_message: Callable[[T, Image], object]) -> None:
        """`on_message` is called with what `decode` makes of each message, and the image that it came by."""
        self.subscription = subscription
        self.dropped = 0
        self._decode = decode
        self._on_message = on_message
        self._assembler = FragmentAssembler(self._on_fragments)

    def poll(self) -> int:
        """Read what has come, at most FRAGMENT_LIMIT fragments, and return how many there were."""
        return self.subscription.poll(self._assembler, FRAGMENT_LIMIT)

    def close(self) -> None:
        """Close the subscription."""
        self.subscription.close()

    def _on_fragments(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        message = self._decode(bytes(buffer[offset : offset + length]))
        if message is None:
            self.dropped += 1
        else:
            self._on_message(message, header.image)
