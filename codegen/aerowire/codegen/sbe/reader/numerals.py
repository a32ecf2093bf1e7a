"""Numbers as schemas write them.  Which are accepted is the official tool's rule; whitespace around them is accepted besides.

Knows nothing of XML.
"""

from __future__ import annotations

import re
import struct

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.ir import Number

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
_DIGITS_MAX = 40  # more digits than any primitive has; the value of a longer number is of no interest

# The official tool reads an unsigned number into the next wider signed one, and does not look at its range here.
_RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (INT32_MIN, INT32_MAX),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint8": (-(1 << 15), (1 << 15) - 1),
    "uint16": (INT32_MIN, INT32_MAX),
    "uint32": (-(1 << 63), (1 << 63) - 1),
    "uint64": (None, (1 << 64) - 1),
}
_INTEGER = re.compile(r"([+-]?)(\d+)")
_FLOAT = re.compile(r"([+-]?)(NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEX_FLOAT = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_SHOWN_MAX = 80


class NumeralError(Exception):
    """A text is no number of the wanted kind; the message says why."""


def parse_int32(text: str) -> int:
    """Return the number of an attribute such as `length`.  Raises NumeralError."""
    return _in_range(text, INT32_MIN, INT32_MAX, "int32")


def parse_value(text: str, primitive: Primitive) -> Number:
    """Return a value of a primitive, a character as its code.  Raises NumeralError."""
    if primitive.name == "char":
        return _character(text)
    if primitive.is_float:
        return _float(text, primitive)
    low, high = _RANGES[primitive.name]
    return _in_range(text, low, high, primitive.name)


def as_long(value: Number) -> int:
    """The 64 bits of an integer as the official tool compares them, which is signed."""
    return ((int(value) + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def shorten(text: str) -> str:
    """A text for a message, on one line and not too long."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN_MAX else plain[: _SHOWN_MAX - 3] + "..."


def _in_range(text: str, low: int | None, high: int, name: str) -> int:
    found = _INTEGER.fullmatch(text.strip())
    if found is None:
        raise NumeralError(f"{shorten(text)!r} is no number")
    sign, digits = found.groups()
    digits = digits.lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS_MAX else 10**_DIGITS_MAX
    value = -value if sign == "-" else value
    if value > high or (low is not None and value < low):
        raise NumeralError(f"{shorten(text)} is out of the range of {name}")
    return value


def _character(text: str) -> int:
    character = text if len(text) == 1 else text.strip()
    if len(character) != 1 or ord(character) > 0xFFFF:
        raise NumeralError(f"{shorten(text)!r} is not one character")
    return ord(character) if character.isascii() else ord("?")


def _float(text: str, primitive: Primitive) -> float:
    plain = text.strip()
    if found := _FLOAT.fullmatch(plain):
        value = float(found[1] + found[2])
    elif found := _HEX_FLOAT.fullmatch(plain):
        try:
            value = float.fromhex(found[1])
        except OverflowError:
            value = float("-inf" if found[1].startswith("-") else "inf")
    else:
        raise NumeralError(f"{shorten(text)!r} is no number")
    if primitive.size == 8:
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
