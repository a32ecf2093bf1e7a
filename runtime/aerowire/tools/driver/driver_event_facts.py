"""The fields of a driver's events, read from the records of its event log."""

from __future__ import annotations

from typing import Any

from aerowire.codecs.flyweights.commands import COMMAND_DECODERS, CommandType
from aerowire.codecs.flyweights.events import (
    CommandEventDecoder,
    DriverEventCode,
    FrameEventDecoder,
    ReceiverEventDecoder,
    ResendEventDecoder,
    RevokeEventDecoder,
    StateEventDecoder,
)
from aerowire.codecs.flyweights.transport import FRAME_DECODERS, FrameHeaderDecoder, FrameType

_FRAMES = {DriverEventCode.FRAME_IN, DriverEventCode.FRAME_OUT, DriverEventCode.NAK_SENT, DriverEventCode.NAK_RECEIVED}
# Those of an agent's that have fields of their own.
_OF_STREAMS: dict[DriverEventCode, type[ResendEventDecoder | ReceiverEventDecoder | RevokeEventDecoder]] = {
    DriverEventCode.RESEND: ResendEventDecoder,
    DriverEventCode.FLOW_CONTROL_RECEIVER_ADDED: ReceiverEventDecoder,
    DriverEventCode.FLOW_CONTROL_RECEIVER_REMOVED: ReceiverEventDecoder,
    DriverEventCode.PUBLICATION_REVOKE: RevokeEventDecoder,
    DriverEventCode.PUBLICATION_IMAGE_REVOKE: RevokeEventDecoder,
}
_HEAD = {"sequence", "timestamp_ns", "channel_length"}


def driver_facts(kind: DriverEventCode, body: bytes) -> dict[str, Any]:
    """Return the fields of an event by name. Raises ValueError for a record that is not one of its kind."""
    if kind in _FRAMES:
        return _frame_facts(FrameEventDecoder(body))
    if kind.name.startswith("CMD_"):
        return _command_facts(CommandEventDecoder(body))
    if kind in _OF_STREAMS:
        return {name: value for name, value in _OF_STREAMS[kind](body).to_dict().items() if name not in _HEAD}
    import json

    return dict(json.loads(StateEventDecoder(body).text))


def _frame_facts(event: FrameEventDecoder) -> dict[str, Any]:
    import ipaddress

    frame = bytes(event.frame)
    packed = bytes(event.address)[: event.address_length]
    facts: dict[str, Any] = {"address": None, "length": event.datagram_length}
    if packed:
        address = ipaddress.ip_address(packed)
        facts["address"] = f"[{address}]:{event.port}" if address.version == 6 else f"{address}:{event.port}"
    try:
        kind = FrameType(FrameHeaderDecoder(frame).type)
        facts["type"] = kind.name
        facts["frame"] = {name: _plain(value) for name, value in FRAME_DECODERS[kind](frame).to_dict().items() if name not in _REPEATED}
    except (ValueError, KeyError):
        facts["bytes"] = frame.hex()  # not a frame, or more of it than was kept
    return facts


# What every frame has, or what was said before.
_REPEATED = {"version", "type", "payload"}


def _command_facts(event: CommandEventDecoder) -> dict[str, Any]:
    command = bytes(event.command)
    facts: dict[str, Any] = {"length": event.command_length}
    try:
        kind = CommandType(event.command_type)
        facts["command"] = {name: _plain(value) for name, value in COMMAND_DECODERS[kind](command).to_dict().items()}
    except (ValueError, KeyError):
        facts["bytes"] = command.hex()
    return facts


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else int(value) if isinstance(value, int) else value
