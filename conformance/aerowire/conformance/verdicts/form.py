"""Rules of form: whether each datagram is a frame, or several, that a driver may send."""

from __future__ import annotations

from typing import Any

from aerowire.codecs.flyweights.transport import (
    FRAME_DECODERS,
    GROUP_TAG_LENGTH,
    DataFlags,
    ErrorFlags,
    ErrorFrameDecoder,
    FrameHeaderDecoder,
    FrameType,
    NakDecoder,
    ResolutionDecoder,
    ResponseSetupDecoder,
    RttmDecoder,
    RttmFlags,
    SetupDecoder,
    SetupFlags,
    SmFlags,
    StatusMessageDecoder,
)
from aerowire.conformance.rules import is_valid_error, is_valid_frame
from aerowire.conformance.verdicts.checks import RuleChecks
from aerowire.conformance.verdicts.packets import Packet

KNOWN_FLAGS: dict[int, int] = {
    FrameType.PAD: DataFlags.UNFRAGMENTED,
    FrameType.DATA: DataFlags.UNFRAGMENTED | DataFlags.EOS | DataFlags.REVOKED,
    FrameType.NAK: 0,
    FrameType.SM: SmFlags.SEND_SETUP | SmFlags.EOS,
    FrameType.ERR: ErrorFlags.HAS_GROUP_TAG,
    FrameType.SETUP: SetupFlags.SEND_RESPONSE | SetupFlags.GROUP,
    FrameType.RTTM: RttmFlags.REPLY,
    FrameType.RES: 0,
    FrameType.RSP_SETUP: 0,
}
# Lengths that a frame of a type has; the others depend on their content.
LENGTHS: dict[int, tuple[int, ...]] = {
    FrameType.NAK: (NakDecoder.ENCODED_LENGTH,),
    FrameType.SETUP: (SetupDecoder.ENCODED_LENGTH,),
    FrameType.RTTM: (RttmDecoder.ENCODED_LENGTH,),
    FrameType.RSP_SETUP: (ResponseSetupDecoder.ENCODED_LENGTH,),
}
STATUS_LENGTHS = (StatusMessageDecoder.ENCODED_LENGTH, StatusMessageDecoder.ENCODED_LENGTH + GROUP_TAG_LENGTH)


def check_form(checks: RuleChecks, packet: Packet) -> bool:
    """Check a datagram of a driver; return whether the other rules can read it."""
    payload = packet.payload
    if not checks.check("M00", is_valid_frame(payload), [packet.number], "a frame", f"{len(payload)} bytes: {payload[:16].hex()}"):
        return False
    header = FrameHeaderDecoder(payload)
    unknown = header.flags & ~KNOWN_FLAGS[header.type] & 0xFF
    name = FrameType(header.type).name
    checks.check("M00", not unknown, [packet.number], f"flags of {name} that are known", f"0x{header.flags:02x}")
    if header.type in LENGTHS:
        lengths = LENGTHS[header.type]
        is_right = header.frame_length == len(payload) and len(payload) in lengths
        wanted = " or ".join(map(str, lengths))
        checks.check(
            "M00", is_right, [packet.number], f"{name} of {wanted} bytes", f"frame_length {header.frame_length} in {len(payload)} bytes"
        )
        return is_right
    if header.type == FrameType.SM:
        is_right = header.frame_length == len(payload) and len(payload) in STATUS_LENGTHS
        checks.check("A15", is_right, [packet.number], "36 or 44 bytes", f"frame_length {header.frame_length} in {len(payload)} bytes")
        return is_right
    if header.type == FrameType.ERR:
        error = ErrorFrameDecoder(payload)
        is_right = is_valid_error(error)
        actual = f"error_length {error.error_length} in a frame of {error.frame_length}"
        checks.check("Q01", is_right, [packet.number], "a text that fits the frame", actual)
        return is_right
    if header.type == FrameType.RES:
        return _check_resolution(checks, packet)
    return True


def _check_resolution(checks: RuleChecks, packet: Packet) -> bool:
    """Check that the entries of a RES frame fill it, each with a kind of address that is known and a name."""
    frame = ResolutionDecoder(packet.payload)
    try:
        entries = [(entry.res_type, len(entry.address), entry.name) for entry in frame.entries]
    except (ValueError, IndexError) as error:
        checks.check("S01", False, [packet.number], "whole entries", str(error))
        return False
    is_whole = frame.frame_length == len(packet.payload) and bool(entries)
    checks.check("S01", is_whole, [packet.number], "whole entries", f"frame_length {frame.frame_length} in {len(packet.payload)} bytes")
    for kind, length, name in entries:
        checks.check(
            "S01", bool(name) and length in (4, 16), [packet.number], "an address and a name", f"type {kind}, {length} bytes, {name!r}"
        )
    return is_whole


def is_data_header(packet: Packet) -> bool:
    """Say whether a datagram begins with DATA or PAD."""
    return packet.type in (FrameType.DATA, FrameType.PAD)


def ids_of(payload: bytes) -> tuple[int, int]:
    """Return session and stream of a frame of any type but RES."""
    header: Any = FRAME_DECODERS[FrameHeaderDecoder(payload).type](payload)
    return header.session_id, header.stream_id
