"""The live stream of a persistent subscription: its subscription, its image, and how long that is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, ArchiveTimeoutError

if TYPE_CHECKING:
    from aerowire.archive.client.persistent.stream import PersistentStream
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription


class LiveStream:
    """The live stream while it is wanted. Changed by its persistent subscription only.

    `last_position` is the last position at which it was seen, from one subscription to the next; -1 before.
    """

    def __init__(self, aeron: Aeron, stream: PersistentStream, timeout_ns: int, tell: Callable[[AerowireError], object]) -> None:
        """`tell` is called once with an error when no image has come within `timeout_ns`."""
        self.image: Image | None = None
        self.last_position = -1
        self._aeron = aeron
        self._stream = stream
        self._timeout_ns = timeout_ns
        self._tell = tell
        self._clock = aeron.context.clock
        self._request: Pending[Subscription] | None = None
        self._subscription: Subscription | None = None
        self._deadline_ns = 0
        self._is_told = False

    @property
    def is_wanted(self) -> bool:
        """Whether it was subscribed to."""
        return self._request is not None or self._subscription is not None

    def subscribe(self) -> None:
        """Subscribe to it."""
        self._request = self._aeron.async_add_subscription(self._stream.live_channel, self._stream.live_stream_id)

    def find_image(self) -> Image | None:
        """Return the image once it has come. Raises RegistrationError when the driver refuses the subscription."""
        if self._request is not None and self._request.poll():
            request, self._request = self._request, None
            self._subscription = request.result()
            self._deadline_ns, self._is_told = self._clock.now_ns() + self._timeout_ns, False
        if self._subscription is None:
            return None
        images = self._subscription.images
        self.image = images[0] if images else None
        if self.image is None and not self._is_told and self._clock.now_ns() >= self._deadline_ns:
            self._is_told = True
            self._tell(self._missing())
        return self.image

    def note_position(self, position: int) -> None:
        """The stream was seen at a position."""
        self.last_position = max(self.last_position, position)

    def end(self) -> None:
        """Unsubscribe."""
        request, self._request = self._request, None
        subscription, self._subscription, self.image = self._subscription, None, None
        if request is not None:
            request.abandon()
        if subscription is not None:
            subscription.close()

    def _missing(self) -> ArchiveTimeoutError:
        return ArchiveTimeoutError(
            "the live stream of a persistent subscription does not come",
            where=f"{self._stream.live_channel}, stream {self._stream.live_stream_id}",
            expected=f"an image within {self._timeout_ns / 1e9:g} s",
            hint="does the publisher run, and can it reach this channel?",
            recording_id=self._stream.recording_id,
        )
