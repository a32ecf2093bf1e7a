"""The log as the native agent consumes it, seen by the conductor: images lent, messages taken, held logs resumed. Aeron: LogAdapter.

A follower consumes its leader's log, and any member a replay of its own. The handler decides what a message means to sessions, timers and
services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from aerowire.client.lending.lent_image import LentImage
from aerowire.client.subscriptions.actions import Action
from aerowire.cluster.agents.agent_events import LogEnd
from aerowire.cluster.agents.followed_log import FollowedLog
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeaderDecoder
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.archive.agents.position_bound import PositionBound
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.agents.agent_proxies import LogAgentProxy
    from aerowire.cluster.agents.events import LogMessage, LogReturned

_NONE_SEEN = 0


class LogHandler(Protocol):
    """What is done with the messages of the log, in their order."""

    def on_service_message(self, cluster_session_id: int) -> None:
        """Take note of the session id of the latest message of a service."""
        ...

    def on_log_event(self, event: Any, log_position: int) -> None:
        """Take a message of another template than session messages, as its data class, and the position behind it."""
        ...

    def on_extension_message(self, message: ExtensionMessage, log_position: int) -> Action:
        """Take a message of another schema, and the position behind it; ABORT lets it come again before the log is consumed on."""
        ...

    def on_damaged_message(self, schema_id: int, template_id: int) -> None:
        """Take note of a message that is unknown or damaged."""
        ...


class LogConsumption:
    """At most one log that is consumed, and those before it that the agent has not given back yet.

    Changed by all methods. Invariant: `position` only moves forward, and all LogMessages up to it were handled.
    """

    def __init__(self, proxy: LogAgentProxy, handler: LogHandler, *, service_count: int, position: int) -> None:
        """Start at a position without a log."""
        self._proxy = proxy
        self._handler = handler
        self._swept = [_NONE_SEEN] * service_count
        self._position = position
        self._log: FollowedLog | None = None
        self._end: LogEnd | None = None
        self._handled_position = position
        self._is_held = False
        self._refused: LogMessage | None = None  # comes again, and is kept until its log is given back
        self._images: dict[FollowedLog, Image] = {}  # of the logs that the agent has

    # What it has come to

    @property
    def position(self) -> int:
        """How far the log is consumed."""
        log = self._log
        if log is not None and self._end is None:
            consumed = log.position  # BEFORE the handed position
            is_all_handled = self._handled_position >= log.handed_position
            self._position = max(self._position, consumed if is_all_handled else self._handled_position)
        return self._position

    @property
    def end(self) -> LogEnd | None:
        """Why the log has ended; None as long as it is consumed, and without one."""
        return self._end

    @property
    def is_stream_ended(self) -> bool:
        """Whether the leader has closed the log, consumed to its end or not."""
        return self._log is not None and self._log.is_stream_ended

    @property
    def is_left(self) -> bool:
        """Whether the agent has given back all logs: what was consumed does not grow any more."""
        return not self._images

    # What is to be done

    def join(self, image: Image, append_position: PositionBound | None = None) -> None:
        """Let the agent have an image, of which it consumes nothing before `limit`; no further than what a counter says is recorded."""
        log = FollowedLog(MessageImage(LentImage(image)), append_position)
        self._images[log] = image
        self._log, self._end, self._is_held = log, None, False
        self._handled_position = log.position
        self._proxy.add_log(log, log.position)

    def limit(self, position: int) -> None:
        """Let the log be consumed up to a position, unless a term is followed: then its leader's commit position is the limit."""
        self._proxy.limit_log(position)

    def resume(self) -> bool:
        """Let a log be consumed that is held behind a message, unless that is refused again; return whether there was one."""
        if self._refused is not None and self._refused.log is self._log:
            refused, self._refused = self._refused, None
            self._take(refused)
            if self._refused is not None:
                return False
        was_held, self._is_held = self._is_held, False
        if was_held:
            self._proxy.resume_log()
        return was_held

    def leave(self) -> None:
        """Leave the log. What is consumed by the time when `is_left` stays consumed."""
        if self._log in self._images:
            self._proxy.remove_log()
        self._position = self.position
        self._log, self._end, self._is_held = None, None, False

    # Events of the agent

    def on_log_message(self, event: LogMessage) -> None:
        """Handle a message; of a log that was left too, because it is consumed."""
        if event.is_held:
            self._sweep(event.log)
        is_current = event.log is self._log
        self._is_held |= is_current and event.is_held
        self._take(event)

    def on_log_returned(self, event: LogReturned) -> None:
        """Take an image back, and the position that its log has come to."""
        self._images.pop(event.log).take_back()
        self._sweep(event.log)
        if self._refused is not None and self._refused.log is event.log:
            self._refused = None
        else:
            self._position = max(self._position, event.position)
        if event.log is self._log:
            self._end = event.end

    def sweep(self) -> None:
        """Tell the handler how far messages of services have come."""
        if self._log is not None:
            self._sweep(self._log)

    def _take(self, event: LogMessage) -> None:
        """Have a message handled; one that is refused comes again, if the log is still consumed."""
        is_current = event.log is self._log
        if self._handle(event.message, event.position) is Action.ABORT and is_current:
            self._refused = event
        elif is_current:
            self._handled_position = event.position

    def _handle(self, message: bytes, log_position: int) -> Action:
        _, template_id, schema_id, _ = HEADER.unpack(memoryview(message), 0)
        if schema_id != SessionMessageHeaderDecoder.SBE_SCHEMA_ID:
            return self._handler.on_extension_message(ExtensionMessage.decode(message), log_position)
        try:
            event = decode(message)
        except SbeError:
            self._handler.on_damaged_message(schema_id, template_id)
        else:
            self._handler.on_log_event(event, log_position)
        return Action.CONTINUE

    def _sweep(self, log: FollowedLog) -> None:
        for service_id, swept in enumerate(self._swept):
            session_id = log.service_session_id(service_id)
            if session_id not in {_NONE_SEEN, swept}:
                self._swept[service_id] = session_id
                self._handler.on_service_message(session_id)
