"""Frames as scripts write them: their bytes, and whether one that came is one that is meant.

What a script does not name is as the stream has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType, SmFlags
from aerowire.codecs.scapy import transport as layers
from aerowire.conformance.harness.frames import StreamFrames, pad
from aerowire.conformance.scripts.language import FrameText, Value

if TYPE_CHECKING:
    from scapy.packet import Packet

KINDS = {"HEARTBEAT": FrameType.DATA} | {kind.name: kind for kind in FrameType}
# Where a kind of frame has the term and the offset of its position.
PLACES = {"SM": ("consumption_term_id", "consumption_term_offset"), "SETUP": ("active_term_id", "term_offset")}
PLACE = ("term_id", "term_offset")
LAYERS: dict[str, Any] = {
    "DATA": layers.DataHeader,
    "PAD": layers.DataHeader,
    "HEARTBEAT": layers.DataHeader,
    "SETUP": layers.Setup,
    "SM": layers.StatusMessage,
    "NAK": layers.Nak,
    "ERR": layers.ErrorFrame,
    "RTTM": layers.Rttm,
    "RSP_SETUP": layers.ResponseSetup,
}


def to_bytes(text: FrameText, stream: StreamFrames, receiver_id: int) -> bytes:
    """Return the bytes of a frame that a script sends."""
    fields: dict[str, Any] = dict(text.fields)
    payload: bytes = fields.pop("payload", b"")
    if text.kind == "RAW":
        return payload
    length = fields.pop("datagram", None)
    position = fields.pop("position", None)
    frame = LAYERS[text.kind](**(_usual(text.kind, stream, position, payload, receiver_id, fields) | fields))
    data = bytes(frame) + payload
    data = pad(data) if text.kind == "DATA" else data
    return data if length is None else data[:length].ljust(length, b"\0")


def _usual(
    kind: str, stream: StreamFrames, position: int | None, payload: bytes, receiver_id: int, named: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of a frame as the stream has them."""
    found: dict[str, Any] = {"session_id": stream.session_id, "stream_id": stream.stream_id}
    if kind in ("SM", "SETUP", "NAK", "DATA", "PAD", "HEARTBEAT"):
        found |= dict(zip(PLACES.get(kind, PLACE), stream.term(position or 0), strict=True))
    if kind in ("DATA", "PAD", "HEARTBEAT"):
        frame_length = 0 if kind == "HEARTBEAT" else DataHeaderDecoder.ENCODED_LENGTH + len(payload)
        found |= {"flags": int(DataFlags.UNFRAGMENTED), "type": KINDS[kind], "frame_length": frame_length}
    elif kind == "SETUP":
        found |= {"initial_term_id": stream.initial_term_id, "term_length": stream.term_length, "mtu": stream.mtu}
    elif kind in ("SM", "ERR", "RTTM"):
        found["receiver_id"] = receiver_id
    if kind == "SM":
        found["receiver_window"] = stream.term_length // 2
        if named.get("flags", 0) & SmFlags.SEND_SETUP and position is None:
            found |= {"consumption_term_id": 0, "consumption_term_offset": 0, "receiver_window": 0}
    return found


def matches(frame: Packet, wanted: FrameText, stream: StreamFrames) -> bool:
    """Say whether a frame is of the kind, and has the fields, that a script names."""
    if wanted.kind == "ANY":
        return True
    if int(frame.type) != KINDS[wanted.kind]:
        return False
    # A heartbeat is DATA of length zero.
    if KINDS[wanted.kind] == FrameType.DATA and (int(frame.frame_length) == 0) is not (wanted.kind == "HEARTBEAT"):
        return False
    return all(_has(frame, wanted.kind, name, value, stream) for name, value in wanted.fields.items() if name != "datagram")


def _has(frame: Packet, kind: str, name: str, value: Value, stream: StreamFrames) -> bool:
    if name == "position":
        assert isinstance(value, int)
        term_id, term_offset = PLACES.get(kind, PLACE)
        return (int(getattr(frame, term_id)), int(getattr(frame, term_offset))) == stream.term(value)
    if name == "payload":
        return bytes(frame.data)[: int(frame.frame_length) - DataHeaderDecoder.ENCODED_LENGTH] == value
    found = getattr(frame, name)
    return (bytes(found) if isinstance(value, bytes) else int(found)) == value
