"""Messages of schemas/shown.xml, packed by hand: what the targets that show or build them are compared with."""

from __future__ import annotations

import math
import struct
from pathlib import Path

SCHEMA = Path(__file__).parent / "schemas" / "shown.xml"
PRICE_NULL, QUANTITY_NULL = -(2**63), 1_000_000


def schema_text(order: str) -> str:
    """The schema in either byte order."""
    return SCHEMA.read_text().replace('byteOrder="littleEndian"', f'byteOrder="{"littleEndian" if order == "<" else "bigEndian"}"')


def header(order: str, *, template: int = 1, version: int = 2, schema: int = 77, block: int = 96, sequence: int = 5) -> bytes:
    return struct.pack(order + "HHIHI", version, template, schema, block, sequence)


def order_block(order: str, *, null: bool = False, nil: int = -9, klass: int = 7) -> bytes:
    """The 96 bytes of an Order; with `null` everything that may be null is."""
    price, quantity, ratio, state = (PRICE_NULL, QUANTITY_NULL, math.nan, 255) if null else (-12_345, 77, 0.25, 2)
    fixed = struct.pack(order + "QqId", 2**64 - 2, price, quantity, ratio) + b"S" + bytes([state])
    fixed += struct.pack(order + "H", 0x8201) + b"ABC\0\0\0\0\0" + b"x" + struct.pack(order + "3h", 1, -2, 300) + b"\x01\x02\xfe\xff"
    fixed += struct.pack(order + "qfc", 2**62 + 1, 1.5, b"B") + b"\0" + struct.pack(order + "H", 0x0200)
    return (fixed + struct.pack(order + "i", nil) + bytes([klass])).ljust(96, b"\xee")


def dimension(order: str, length: int, count: int) -> bytes:
    return struct.pack(order + "HB", length, count)


def text(order: str, value: bytes) -> bytes:
    return struct.pack(order + "H", len(value)) + value


def blob(order: str, value: bytes) -> bytes:
    return struct.pack(order + "I", len(value)) + value


def fill(order: str, size: int, parts: list[int], note: bytes) -> bytes:
    inner = dimension(order, 1, len(parts)) + b"".join(struct.pack("b", one) for one in parts)
    return struct.pack(order + "I", size) + inner + text(order, note)


def order_tail(order: str, version: int = 2) -> bytes:
    """Two fills, two ticks, and the data."""
    fills = dimension(order, 4, 2) + fill(order, 10, [1, -1], "é€".encode()) + fill(order, 20, [], b"")
    function = dimension(order, 2, 2) + struct.pack(order + "2h", 4, -4)
    data = text(order, b"hello") + blob(order, b"\x00\xff")
    return fills + (function if version >= 2 else b"") + data + (text(order, b"late") if version >= 2 else b"")


def whole_order(order: str = "<", *, null: bool = False) -> bytes:
    return header(order) + order_block(order, null=null) + order_tail(order)


def old_order(order: str, version: int) -> bytes:
    """An Order as a sender of an older version writes it: a shorter block, and less behind it."""
    length = {0: 67, 1: 71}[version]
    return header(order, version=version, block=length) + order_block(order)[:length] + order_tail(order, version)


def newer_order(order: str) -> bytes:
    """An Order of a version to come: blocks are longer, and what is behind is not known."""
    fills = dimension(order, 6, 1) + struct.pack(order + "I", 10) + b"\xaa\xbb" + dimension(order, 1, 0) + text(order, b"n")
    rest = dimension(order, 2, 0) + text(order, b"t") + blob(order, b"") + text(order, b"l")
    return header(order, version=3, block=100) + order_block(order) + b"\xcc" * 4 + fills + rest
