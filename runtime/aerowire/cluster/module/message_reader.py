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
    """Reads a subscription. Changed by `poll`: `dropped` counts messages that are of a foreign schema, unknown or damaged.

    The subscription is made with `on_unavailable_image` as its handler, so that parts of a message whose sender has gone are forgotten.
    """

    def __init__(self, decode: Callable[[bytes], T | None]) -> None:
        """`decode` makes a value of a message, or None."""
        self.dropped = 0
        self._decode = decode
        self._on_message: Callable[[T, Image], object] = lambda _message, _image: None
        self._subscription: Subscription | None = None
        self._assembler = FragmentAssembler(self._on_fragments)

    def open(self, subscription: Subscription) -> None:
        """Read a subscription from now on."""
        self._subscription = subscription

    def listen(self, on_message: Callable[[T, Image], object]) -> None:
        """Call `on_message` with each message, and the image that it came by."""
        self._on_message = on_message

    def on_unavailable_image(self, image: Image) -> None:
        """Forget what has come of an unfinished message."""
        self._assembler.free_session_buffer(image.session_id)

    def poll(self) -> int:
        """Read what has come, at most FRAGMENT_LIMIT fragments, and return how many there were."""
        return 0 if self._subscription is None else self._subscription.poll(self._assembler, FRAGMENT_LIMIT)

    def close(self) -> None:
        """Close the subscription."""
        if self._subscription is not None:
            self._subscription.close()

    def _on_fragments(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        message = self._decode(bytes(buffer[offset : offset + length]))
        if message is None:
            self.dropped += 1
        else:
            self._on_message(message, header.image)
