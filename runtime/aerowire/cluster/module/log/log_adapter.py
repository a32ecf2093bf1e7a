"""The log as the consensus module itself reads it: up to a bound, message by message. Aeron: LogAdapter.

A follower reads its leader's log, and any member a replay of its own. The handler decides what a message means to sessions, timers and
services.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from aerowire.base.units import INT64_MAX
from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.controlled_assembler import ImageControlledFragmentAssembler
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeaderDecoder
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image

_SESSION_MESSAGE: Final = Struct("<8xqqq")
_SESSION_MESSAGE_IDS: Final = (SessionMessageHeaderDecoder.SBE_TEMPLATE_ID, SessionMessageHeaderDecoder.SBE_SCHEMA_ID)


class LogHandler(Protocol):
    """What is done with the messages of the log, in their order."""

    def on_session_message(self, cluster_session_id: int, timestamp: int) -> None:
        """Take note of a message of a client or a service."""
        ...

    def on_log_event(self, event: Any, log_position: int) -> None:
        """Take a message of another template, as its data class, and the position behind it."""
        ...

    def on_extension_message(self, message: ExtensionMessage, log_position: int) -> Action:
        """Take a message of another schema, and the position behind it; return how the poll goes on."""
        ...

    def on_damaged_message(self, schema_id: int, template_id: int) -> None:
        """Take note of a message that is unknown or damaged."""
        ...


class LogAdapter:
    """Reads one image of the log at a time. Changed by `join`, `poll` and `leave`. Invariant: `position` is where the log is read up to."""

    def __init__(self, handler: LogHandler, fragment_limit: int, position: int) -> None:
        """Start at a position without an image; at most `fragment_limit` fragments are read at a time."""
        self._handler = handler
        self._fragment_limit = fragment_limit
        self._assembler = ImageControlledFragmentAssembler(self._on_message)
        self._image: Image | None = None
        self._position = position

    @property
    def position(self) -> int:
        """How far the log is read."""
        return self._position if self._image is None else self._image.position

    @property
    def is_image_closed(self) -> bool:
        """Whether the log that it reads has gone."""
        return self._image is not None and self._image.is_closed

    @property
    def is_stream_ended(self) -> bool:
        """Whether the leader has closed the log, read to its end or not."""
        return self._image is not None and self._image.end_of_stream_position < INT64_MAX

    @property
    def is_end_of_stream(self) -> bool:
        """Whether the leader has closed the log, and all of it is read."""
        return self._image is not None and self._image.is_end_of_stream

    def join(self, image: Image) -> None:
        """Read an image."""
        self._image = image
        self._assembler.clear()

    def poll(self, bound_position: int) -> int:
        """Read up to a position at most; return how many fragments there were."""
        image = self._image
        if image is None or image.is_closed or image.position >= bound_position:
            return 0
        return image.bounded_controlled_poll(self._assembler, bound_position, self._fragment_limit)

    def leave(self) -> None:
        """Leave the image; the position stays."""
        self._position, self._image = self.position, None

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        if length >= HEADER.size:
            _, template_id, schema_id, _ = HEADER.unpack(buffer, offset)
            if (template_id, schema_id) == _SESSION_MESSAGE_IDS and length >= _SESSION_MESSAGE.size:
                _, cluster_session_id, timestamp = _SESSION_MESSAGE.unpack_from(buffer, offset)
                self._handler.on_session_message(cluster_session_id, timestamp)
                return Action.CONTINUE
        else:
            template_id = schema_id = 0
        message = bytes(buffer[offset : offset + length])
        if length >= HEADER.size and schema_id != SessionMessageHeaderDecoder.SBE_SCHEMA_ID:
            return self._handler.on_extension_message(ExtensionMessage.decode(message), header.position)
        try:
            event = decode(message)
        except SbeError:
            self._handler.on_damaged_message(schema_id, template_id)
            return Action.CONTINUE
        self._handler.on_log_event(event, header.position)
        # Whether the log is read on behind them depends on what they have done.
        return Action.BREAK if isinstance(event, ClusterActionRequest | NewLeadershipTermEvent) else Action.CONTINUE
