"""What the conductor writes into the event log: commands, responses, changes of state. Without a log: nothing. Aeron: DriverLog."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.events import EVENT_TEXT_LENGTH_MAX, CommandEventEncoder, DriverEventCode, StateEventEncoder

if TYPE_CHECKING:
    from aerowire.agents.event_log import EventLog
    from aerowire.driver.conductor.client_proxy import Transmitter
    from aerowire.driver.event_log.stream_events import StreamEvents

# Commands and responses that have no event of their own in Aeron are not here.
_COMMANDS_IN = {
    CommandType.ADD_PUBLICATION: DriverEventCode.CMD_IN_ADD_PUBLICATION,
    CommandType.ADD_EXCLUSIVE_PUBLICATION: DriverEventCode.CMD_IN_ADD_EXCLUSIVE_PUBLICATION,
    CommandType.REMOVE_PUBLICATION: DriverEventCode.CMD_IN_REMOVE_PUBLICATION,
    CommandType.ADD_SUBSCRIPTION: DriverEventCode.CMD_IN_ADD_SUBSCRIPTION,
    CommandType.REMOVE_SUBSCRIPTION: DriverEventCode.CMD_IN_REMOVE_SUBSCRIPTION,
    CommandType.CLIENT_KEEPALIVE: DriverEventCode.CMD_IN_KEEPALIVE_CLIENT,
    CommandType.ADD_DESTINATION: DriverEventCode.CMD_IN_ADD_DESTINATION,
    CommandType.REMOVE_DESTINATION: DriverEventCode.CMD_IN_REMOVE_DESTINATION,
    CommandType.REMOVE_DESTINATION_BY_ID: DriverEventCode.CMD_IN_REMOVE_DESTINATION_BY_ID,
    CommandType.ADD_RCV_DESTINATION: DriverEventCode.CMD_IN_ADD_RCV_DESTINATION,
    CommandType.REMOVE_RCV_DESTINATION: DriverEventCode.CMD_IN_REMOVE_RCV_DESTINATION,
    CommandType.ADD_COUNTER: DriverEventCode.CMD_IN_ADD_COUNTER,
    CommandType.REMOVE_COUNTER: DriverEventCode.CMD_IN_REMOVE_COUNTER,
    CommandType.CLIENT_CLOSE: DriverEventCode.CMD_IN_CLIENT_CLOSE,
    CommandType.TERMINATE_DRIVER: DriverEventCode.CMD_IN_TERMINATE_DRIVER,
    CommandType.REJECT_IMAGE: DriverEventCode.CMD_IN_REJECT_IMAGE,
}
_COMMANDS_OUT = {
    CommandType.ON_ERROR: DriverEventCode.CMD_OUT_ERROR,
    CommandType.ON_AVAILABLE_IMAGE: DriverEventCode.CMD_OUT_AVAILABLE_IMAGE,
    CommandType.ON_PUBLICATION_READY: DriverEventCode.CMD_OUT_PUBLICATION_READY,
    CommandType.ON_EXCLUSIVE_PUBLICATION_READY: DriverEventCode.CMD_OUT_EXCLUSIVE_PUBLICATION_READY,
    CommandType.ON_OPERATION_SUCCESS: DriverEventCode.CMD_OUT_ON_OPERATION_SUCCESS,
    CommandType.ON_UNAVAILABLE_IMAGE: DriverEventCode.CMD_OUT_ON_UNAVAILABLE_IMAGE,
    CommandType.ON_SUBSCRIPTION_READY: DriverEventCode.CMD_OUT_SUBSCRIPTION_READY,
    CommandType.ON_COUNTER_READY: DriverEventCode.CMD_OUT_COUNTER_READY,
    CommandType.ON_UNAVAILABLE_COUNTER: DriverEventCode.CMD_OUT_ON_UNAVAILABLE_COUNTER,
    CommandType.ON_CLIENT_TIMEOUT: DriverEventCode.CMD_OUT_ON_CLIENT_TIMEOUT,
}
# What agents note of a stream.
_OF_STREAMS = (
    DriverEventCode.RESEND,
    DriverEventCode.FLOW_CONTROL_RECEIVER_ADDED,
    DriverEventCode.FLOW_CONTROL_RECEIVER_REMOVED,
    DriverEventCode.PUBLICATION_REVOKE,
    DriverEventCode.PUBLICATION_IMAGE_REVOKE,
)


class ConductorEvents:
    """Writes to the event log, if there is one. Any thread."""

    __slots__ = ("_log",)

    def __init__(self, log: EventLog | None = None) -> None:
        self._log = log

    def has(self, code: DriverEventCode) -> bool:
        """Return whether events of `code` are noted."""
        return self._log is not None and self._log.has(code)

    def of_stream(self, session_id: int, stream_id: int, channel: str) -> StreamEvents | None:
        """Return what the agents of a stream note with; None when they have nothing to note."""
        if self._log is None or not any(self._log.has(code) for code in _OF_STREAMS):
            return None
        from aerowire.driver.event_log.stream_events import StreamEvents

        return StreamEvents(self._log, session_id, stream_id, channel)

    def command_in(self, command_type: int, body: bytes) -> None:
        """A client has sent a command."""
        self._note_command(_COMMANDS_IN, command_type, body)

    def command_out(self, command_type: int, body: bytes) -> None:
        """A response or an event is sent to the clients."""
        self._note_command(_COMMANDS_OUT, command_type, body)

    def state(self, code: DriverEventCode, **facts: str | int | None) -> None:
        """Something has changed its state, as `facts` tell."""
        if self._log is None or not self._log.has(code):
            return
        text = json.dumps(facts)
        if len(text) > EVENT_TEXT_LENGTH_MAX:
            share = EVENT_TEXT_LENGTH_MAX // len(facts) // 8  # a character takes six bytes at most
            text = json.dumps({name: fact[:share] if isinstance(fact, str) else fact for name, fact in facts.items()})
        self._log.note(code, StateEventEncoder.encode(text=text))

    def _note_command(self, codes: dict[CommandType, DriverEventCode], command_type: int, body: bytes) -> None:
        code = None if self._log is None else codes.get(command_type)  # type: ignore[call-overload]
        if self._log is not None and code is not None and self._log.has(code):
            kept = body[:EVENT_TEXT_LENGTH_MAX]
            self._log.note(code, CommandEventEncoder.encode(command_type=command_type, command_length=len(body), command=kept))


class LoggedTransmitter:
    """A transmitter around another that notes what it transmits."""

    __slots__ = ("_conductor_events", "_inner")

    def __init__(self, inner: Transmitter, conductor_events: ConductorEvents) -> None:
        self._inner = inner
        self._conductor_events = conductor_events

    def transmit(self, message_type: int, body: bytes, /) -> object:
        """Note and send a response."""
        self._conductor_events.command_out(message_type, body)
        return self._inner.transmit(message_type, body)
