"""The ingress of a member: its images, lent to the native log agent, and the requests that the agent hands over. Aeron: IngressAdapter.

Messages of sessions and keep-alives are the agent's. The image of any other message is read on once that was carried out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import AerowireError
from aerowire.client.lending.image_lender import ImageLender
from aerowire.client.subscriptions.actions import Action
from aerowire.cluster.agents.events import ImageReturned, IngressClosed, IngressMessage
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.module import channels
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.cluster.sessions.inputs import Connect, IngressImage
from aerowire.cluster.sessions.request_codec import decode_ingress

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.lending.lent_image import LentImage
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.module.clients.client_sessions import ClientSessions
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.extension.extension_host import ExtensionHost

_IPC: Final = "aeron:ipc"


def source_of(image: MessageImage) -> IngressImage:
    """Return where a request came from."""
    return IngressImage(image.image_id, image.source_identity, image.loan.session_id)


class IngressAdapter:
    """The ingress of one member, while it knows a leader. Changed by all methods; `dropped` counts requests that nothing is made of.

    Invariant: the agent has the images of `_images`, of subscriptions that are open, and perhaps others that it is about to give back.
    """

    def __init__(self, core: ModuleCore, sessions: ClientSessions, extension: ExtensionHost) -> None:
        """Start closed."""
        self._core = core
        self._sessions = sessions
        self._extension = extension
        self._proxy = core.log_agent.proxy
        self._pending: list[Pending[Subscription]] = []
        self._subscriptions: list[tuple[Subscription, ImageLender]] = []
        self._images: set[MessageImage] = set()
        self._refused: dict[MessageImage, bytes] = {}  # by an extension, to which they come again
        self._is_read = False
        self._closes = 0  # that the agent has not confirmed
        self.dropped = 0
        core.log_agent.listen(IngressMessage, self._on_ingress_message)
        core.log_agent.listen(IngressClosed, self._on_ingress_closed)
        core.log_agent.listen(ImageReturned, self._on_image_returned)

    @property
    def is_closed(self) -> bool:
        """Whether the agent reads no ingress, and knows it."""
        return not self._is_read and not self._closes

    def open(self, *, is_leader: bool) -> None:
        """Subscribe to the ingress, as a leader or as a follower, who hears no multicast."""
        context = self._core.context
        self.close()
        channel = channels.ingress(context.ingress_channel, context.member.ingress_endpoint)
        if is_leader or not channels.is_multicast(channel):
            self._subscribe(channel)
        if is_leader and context.ingress_ipc_allowed and channel != _IPC:
            self._subscribe(_IPC)

    def let_read(self, is_read: bool) -> None:
        """Let the agent read ingress, or have it wait in its images."""
        if is_read is not self._is_read:
            self._is_read = is_read
            self._closes += not is_read
            self._proxy.open_ingress(is_open=is_read)

    def response_channel(self, channel: str) -> str | None:
        """Return the channel by which a request is answered, which names one; None where it cannot be."""
        context = self._core.context
        return channels.response(channel, context.egress_channel, is_ipc_allowed=context.ingress_ipc_allowed)

    def poll(self) -> int:
        """Lend images that have come, take back those that have gone, repeat what was refused; return how much was done."""
        for pending in tuple(self._pending):
            if pending.poll():
                self._pending.remove(pending)
                try:
                    subscription = pending.result()
                    self._subscriptions.append((subscription, ImageLender(subscription, self._lend)))
                except AerowireError as error:
                    self._core.errors.record(error)
        if self._refused and self._is_read:
            refused, self._refused = self._refused, {}
            for image, message in refused.items():
                self._serve(image, message)
        return sum(lender.do_work() for _, lender in self._subscriptions)

    def close(self) -> None:
        """Leave the ingress."""
        self.let_read(False)
        for pending in self._pending:
            pending.abandon()
        self._pending.clear()
        for subscription, _ in self._subscriptions:
            subscription.close()
        self._subscriptions.clear()
        self._images.clear()
        self._refused.clear()

    def _subscribe(self, channel: str) -> None:
        self._pending.append(self._core.aeron.async_add_subscription(channel, self._core.context.ingress_stream_id))

    def _lend(self, loan: LentImage) -> None:
        image = MessageImage(loan)
        self._images.add(image)
        self._proxy.add_ingress_image(image)

    # Events of the agent

    def _on_ingress_message(self, event: IngressMessage) -> None:
        if event.image in self._images:
            self._serve(event.image, event.message)

    def _on_ingress_closed(self, _event: IngressClosed) -> None:
        self._closes -= 1

    def _on_image_returned(self, event: ImageReturned) -> None:
        if event.image in self._images:
            self._images.remove(event.image)
            self._refused.pop(event.image, None)
            self._sessions.on_image_returned(event.image.image_id)

    def _serve(self, image: MessageImage, message: bytes) -> None:
        if self._on_request(message, source_of(image)) is Action.ABORT:
            self._refused[image] = message
        else:
            self._proxy.resume_image(image)

    def _on_request(self, message: bytes, source: IngressImage) -> Action:
        request = decode_ingress(message, source)
        if isinstance(request, ExtensionMessage):
            return self._on_extension_message(request)
        if isinstance(request, Connect):
            self._connect(request)
        elif request is None:
            self.dropped += 1
        else:
            self._sessions.give(request)
        return Action.CONTINUE

    def _on_extension_message(self, message: ExtensionMessage) -> Action:
        if not self._extension.is_running:
            self.dropped += 1
        return self._extension.on_ingress_message(message)

    def _connect(self, request: Connect) -> None:
        channel = self.response_channel(request.response_channel)
        if channel is None:
            self.dropped += 1
        else:
            self._sessions.give(replace(request, response_channel=channel))
