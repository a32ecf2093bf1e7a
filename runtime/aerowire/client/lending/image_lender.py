"""The images of a subscription, lent to a native agent as they come and taken back as they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.client.lending.lent_image import LentImage

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription


class ImageLender:
    """Lends each image of a subscription once: `on_lent` is called with its LentImage, to be handed to the agent.

    Call `do_work` in each cycle of the conductor that commands the agent. A loan is recalled by itself when its stream, the client or the
    driver ends, and is kept here until the agent has given it back.
    """

    def __init__(self, subscription: Subscription, on_lent: Callable[[LentImage], None]) -> None:
        self._subscription = subscription
        self._on_lent = on_lent
        self._seen: tuple[Image, ...] | None = None
        self._loans: dict[int, tuple[LentImage, Image]] = {}
        self._is_recalled = False

    @property
    def loans(self) -> list[LentImage]:
        """The images that the agent has."""
        return [loan for loan, _ in self._loans.values()]

    @property
    def is_returned(self) -> bool:
        """Whether all have been recalled and the agent has given them back."""
        return self._is_recalled and not self._loans

    def do_work(self) -> int:
        """Lend the images that have come, and forget those that were given back; return how many."""
        done = 0
        images = self._subscription.images
        if images is not self._seen and not self._is_recalled:
            self._seen = images
            for image in images:
                if image.correlation_id not in self._loans and not image.is_closed:
                    loan = LentImage(image)
                    self._loans[image.correlation_id] = loan, image
                    self._on_lent(loan)
                    done += 1
        for correlation_id, (loan, image) in list(self._loans.items()):
            if loan.is_returned:
                del self._loans[correlation_id]
                image.take_back()
                done += 1
        return done

    def recall(self) -> None:
        """Ask for all images back, and lend none any more: go on with `do_work` until `is_returned`. Idempotent."""
        self._is_recalled = True
        for loan in self.loans:
            loan.recall()
