"""The messages of clients to a member: session messages go into the leader's log, all others to the sessions. Aeron: IngressAdapter.

A session message that finds no room in the log stays in its image, with all that came behind it.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import AerowireError, MessageTooLongError
from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.controlled_assembler import ControlledFragmentAssembler
from aerowire.cluster.module import channels
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.cluster.sessions.inputs import Connect, ImageUnavailable, IngressImage, SessionActive
from aerowire.cluster.sessions.request_codec import decode_ingress
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader, SessionMessageHeaderDecoder

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.module.clients.client_sessions import ClientSessions
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.extension.extension_host import ExtensionHost
    from aerowire.cluster.module.log.log_publisher import LogPublisher

_SESSION_HEADER: Final = Struct("<8xqqq")
_SESSION_MESSAGE: Final = (SessionMessageHeaderDecoder.SBE_TEMPLATE_ID, SessionMessageHeaderDecoder.SBE_SCHEMA_ID)
_IPC: Final = "aeron:ipc"


class IngressAdapter:
    """The ingress of one member, while it knows a leader. Changed by all methods; `dropped` counts messages that nothing is made of."""

    def __init__(self, core: ModuleCore, sessions: ClientSessions, extension: ExtensionHost) -> None:
        """Start closed."""
        self._core = core
        self._sessions = sessions
        self._extension = extension
        self._pending: list[Pending[Subscription]] = []
        self._subscriptions: list[Subscription] = []
        self._assembler = ControlledFragmentAssembler(self._on_message)
        self._log_publisher: LogPublisher | None = None
        self._leadership_term_id = -1
        self.dropped = 0

    def open(self, leadership_term_id: int, log_publisher: LogPublisher | None) -> None:
        """Subscribe to the ingress, as the leader of a term with the log to append to, or as a follower. A follower hears no multicast."""
        context = self._core.context
        self.close()
        self._leadership_term_id, self._log_publisher = leadership_term_id, log_publisher
        channel = channels.ingress(context.ingress_channel, context.member.ingress_endpoint)
        if log_publisher is not None or not channels.is_multicast(channel):
            self._subscribe(channel)
        if log_publisher is not None and context.ingress_ipc_allowed and channel != _IPC:
            self._subscribe(_IPC)

    def response_channel(self, channel: str) -> str | None:
        """Return the channel by which a request is answered, which names one; None where it cannot be."""
        context = self._core.context
        return channels.response(channel, context.egress_channel, is_ipc_allowed=context.ingress_ipc_allowed)

    def poll(self) -> int:
        """Read what has come; return how many fragments there were."""
        for pending in tuple(self._pending):
            if pending.poll():
                self._pending.remove(pending)
                try:
                    self._subscriptions.append(pending.result())
                except AerowireError as error:
                    self._core.errors.record(error)
        limit = self._core.context.ingress_fragment_limit
        return sum(subscription.controlled_poll(self._assembler, limit) for subscription in self._subscriptions)

    def close(self) -> None:
        """Leave the ingress."""
        for pending in self._pending:
            pending.abandon()
        self._pending.clear()
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions.clear()
        self._assembler.clear()
        self._log_publisher = None

    def _subscribe(self, channel: str) -> None:
        pending = self._core.aeron.async_add_subscription(
            channel, self._core.context.ingress_stream_id, unavailable_image_handler=self._on_unavailable_image
        )
        self._pending.append(pending)

    def _on_unavailable_image(self, image: Image) -> None:
        self._assembler.free_session_buffer(image.session_id)
        self._sessions.give(ImageUnavailable(image.correlation_id))

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        if length >= _SESSION_HEADER.size:
            _, template_id, schema_id, _ = HEADER.unpack(buffer, offset)
            if (template_id, schema_id) == _SESSION_MESSAGE:
                term_id, cluster_session_id, _ = _SESSION_HEADER.unpack_from(buffer, offset)
                message = buffer[offset + _SESSION_HEADER.size : offset + length]
                return self._on_session_message(term_id, cluster_session_id, message, header)
        image = header.image
        request = decode_ingress(
            bytes(buffer[offset : offset + length]), IngressImage(image.correlation_id, image.source_identity, image.session_id)
        )
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

    def _on_session_message(self, term_id: int, cluster_session_id: int, message: memoryview, header: Header) -> Action:
        publisher = self._log_publisher
        if publisher is None or term_id != self._leadership_term_id or cluster_session_id not in self._sessions.open_ids:
            self.dropped += 1
            return Action.CONTINUE
        core = self._core
        head = SessionMessageHeader(leadership_term_id=term_id, cluster_session_id=cluster_session_id, timestamp=core.cluster_clock.time())
        try:
            position = publisher.offer(head.encode(), message)
        except MessageTooLongError:  # the log's terms are shorter than those of the client's publication
            self.dropped += 1
            return Action.CONTINUE
        if position is None:
            return Action.ABORT
        self._sessions.give(SessionActive(cluster_session_id, core.ports.clock.now_ns(), header.image.correlation_id))
        return Action.CONTINUE
