"""Simple Open Framing Header (FIX): the length of a frame and what is in it, both big-endian, six bytes in all."""

from __future__ import annotations

import struct

from aerowire.codegen.sbe.interpreter.errors import MessageError
from aerowire.codegen.sbe.ir import ByteOrder
from aerowire.codegen.sbe.transcoding.window import HELD_MAX

HEADER = struct.Struct(">IH")
ENCODING_TYPES = {ByteOrder.BIG_ENDIAN: 0x5BE0, ByteOrder.LITTLE_ENDIAN: 0xEB50}


def frame(message: bytes, order: ByteOrder) -> bytes:
    """A message with its framing header."""
    return HEADER.pack(HEADER.size + len(message), ENCODING_TYPES[order]) + message


def frame_length(data: bytes, start: int) -> int:
    """The length of the frame at `start`, its header included; raises MessageError for one that cannot be."""
    length = int(HEADER.unpack_from(data, start)[0])
    if not HEADER.size <= length <= HELD_MAX:
        raise MessageError("the frame's length cannot be", expected=f"{HEADER.size}..{HELD_MAX}", actual=length, offset=start)
    return length


def check_encoding(data: bytes, start: int, order: ByteOrder) -> None:
    """Raise MessageError for a frame that holds something else."""
    actual = HEADER.unpack_from(data, start)[1]
    if actual != ENCODING_TYPES[order]:
        raise MessageError(
            "the frame holds another encoding", expected=f"0x{ENCODING_TYPES[order]:04X}", actual=f"0x{actual:04X}", offset=start
        )
