"""The messages of other members, and of backups, that the native log agent hands over. Aeron: ConsensusAdapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.client.lending.image_lender import ImageLender
from aerowire.cluster.agents.events import ConsensusMessage
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.module.consensus_codec import decode_message

if TYPE_CHECKING:
    from aerowire.client.lending.lent_image import LentImage
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.consensus.messages import Message
    from aerowire.cluster.module.consensus_codec import Request
    from aerowire.cluster.module.log_agent_control import LogAgentControl


class ConsensusAdapter:
    """Lends the images of the consensus stream. Changed by all methods: `dropped` counts messages that are of no use.

    Until `begin`, what has come waits in its images.
    """

    def __init__(self, log_agent: LogAgentControl, subscription: Subscription) -> None:
        """Start without lending."""
        self.dropped = 0
        self._log_agent = log_agent
        self._subscription = subscription
        self._lender: ImageLender | None = None
        self._on_message: Callable[[Message | Request, MessageImage], object] = lambda _message, _image: None
        log_agent.listen(ConsensusMessage, self._on_consensus_message)

    def begin(self, on_message: Callable[[Message | Request, MessageImage], object]) -> None:
        """Lend images from now on; `on_message` is called with each message, and the image that it came by."""
        self._on_message = on_message
        self._lender = ImageLender(self._subscription, self._lend)

    def poll(self) -> int:
        """Lend images that have come, and take back those that have gone; return how many."""
        return 0 if self._lender is None else self._lender.do_work()

    def close(self) -> None:
        """Close the subscription, which recalls its images."""
        self._subscription.close()

    def _lend(self, loan: LentImage) -> None:
        self._log_agent.proxy.add_consensus_image(MessageImage(loan))

    def _on_consensus_message(self, event: ConsensusMessage) -> None:
        message = decode_message(event.message)
        if message is None:
            self.dropped += 1
        else:
            self._on_message(message, event.image)
