"""A subscription by which an archive records: each of its images becomes a recording, or extends one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.archive.conductor.active_recording import ActiveRecording
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.requests import ExtendRecording, StartRecording
    from aerowire.archive.control.retried_request import RetriedRequest
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription


# Bytes of an image that are skipped in one cycle: a publisher of a gigabyte a second is not held up.
_SKIPPED_LENGTH = 1 << 20


class RecordingSubscription:
    """One request to record, for as long as it holds. The conductor's thread.

    Invariant: `is_listed` until the request is stopped; a subscription that is not is closed once its last recording has ended. Each image
    is recorded, or skipped: one that nothing reads would hold its publisher up, and with it all other subscribers.
    """

    def __init__(
        self,
        key: str,
        channel: str,
        stripped_channel: str,
        request: StartRecording | ExtendRecording,
        session: ControlSession,
        adding: RetriedRequest[Subscription],
    ) -> None:
        """`channel` is what it subscribes to: the stripped channel, or a spy of it."""
        self.key = key
        self.channel = channel
        self.stripped_channel = stripped_channel
        self.request = request
        self.session = session
        self.adding = adding
        self.subscription: Subscription | None = None
        self.recordings: list[ActiveRecording] = []
        self.is_listed = True
        self._seen: tuple[Image, ...] = ()
        self._skipped: list[Image] = []

    @property
    def registration_id(self) -> int:
        """Id by which clients know it; -1 while the driver has not answered."""
        return -1 if self.subscription is None else self.subscription.registration_id

    @property
    def has_news(self) -> bool:
        """Whether the driver has not answered yet, images have come or gone, or the subscription was closed."""
        subscription = self.subscription
        return subscription is None or subscription.images is not self._seen or subscription.is_closed

    def new_images(self) -> list[Image]:
        """Return the images that have come since the last call."""
        if self.subscription is None:
            return []
        images = self.subscription.images
        if images is self._seen:
            return []
        seen = {image.correlation_id for image in self._seen}
        self._seen = images
        return [image for image in images if image.correlation_id not in seen]

    def skip(self, image: Image) -> None:
        """Let an image that is not recorded, or not any more, flow by as long as the subscription is open."""
        self._skipped.append(image)

    @property
    def has_skipped(self) -> bool:
        """Whether there are images that are not recorded."""
        return bool(self._skipped)

    def skip_messages(self) -> int:
        """Read what the images that are not recorded bring; return how many bytes."""
        self._skipped = [image for image in self._skipped if not image.is_closed]
        return sum(image.block_poll(_ignore, _SKIPPED_LENGTH) for image in self._skipped)

    def close(self) -> None:
        """Give the subscription back, or give up adding it."""
        if self.subscription is None:
            self.adding.abandon()
        elif not self.subscription.is_closed:
            self.subscription.close()


def _ignore(_buffer: memoryview, _offset: int, _length: int, _session_id: int, _term_id: int) -> None:
    """Take a block of an image that is skipped."""
