"""The forms of JSON values: those of the official printer, and beside one that does not tell all, its bytes.

`Extended.raw` is a number for an enum or a set, else the bytes in hex.  A null value is the number that stands for it, as the official
printer has it; when writing, JSON's null means it too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown
from aerowire.codegen.sbe.interpreter.leaf import DataForm, Extended, Leaf, Slot, array, integer
from aerowire.codegen.sbe.interpreter.text import TextCodec, array_codec, text_codec
from aerowire.codegen.sbe.interpreter.values import CHARACTERS, char_check, encoded, float_check, text_check
from aerowire.codegen.sbe.ir import ByteOrder, Data, EncodedType, Enum, FlagSet, Number, Presence

NAN, INFINITY, MINUS_INFINITY = "0/0", "1/0", "-1/0"
SPECIAL_FLOATS = {NAN: math.nan, INFINITY: math.inf, MINUS_INFINITY: -math.inf}
NULL_NAME = "null"


class JsonForms:
    """Values as in JSON."""

    keeps_padding = True
    has_null_composites = False

    def number(self, type: EncodedType, presence: Presence, order: ByteOrder) -> Leaf:
        if type.primitive.is_float:
            return _floats(type, presence, order)
        primitive = type.primitive
        null = int(type.null) if presence is Presence.OPTIONAL else None
        check = integer(primitive.name, primitive.minimum, primitive.maximum)
        leaf = Leaf(code=FORMATS[primitive.name], encode=check, default=null, absent=null)
        return leaf if type.length == 1 else array(leaf, type.length)

    def char(self, type: EncodedType, presence: Presence) -> Leaf:
        null = bytes([int(type.null)]) if presence is Presence.OPTIONAL else None

        def encode(value: Any) -> bytes:
            return null if value == "" and null is not None else char_check(value)

        absent = None if null is None else null.decode("latin-1").rstrip("\0")
        return Leaf(code="c", encode=encode, decode=CHARACTERS.__getitem__, default=null, absent=absent)

    def text(self, type: EncodedType, presence: Presence) -> Leaf:
        codec, length = array_codec(type.character_encoding), type.length
        check = text_check(codec, length)

        def encode(value: Any) -> bytes:
            # The official printer has an array without characters as a list, not as a text.
            return b"" if not length and value == [] else check(value)

        def decode(slot: bytes) -> object:
            text = codec.until_nul(slot)
            plain = _text(codec, text)
            if plain.__class__ is Extended:
                return Extended(plain.value, slot.hex())
            return Extended(plain, slot.hex()) if slot[len(text) :].strip(b"\0") else plain

        is_optional = presence is Presence.OPTIONAL
        return Leaf(
            code=f"{length}s",
            encode=encode if not length else check,
            decode=decode if length else lambda _slot: [],
            default=b"" if is_optional or not length else None,
            absent=chr(int(type.null)).rstrip("\0") if is_optional else None,
            parse_raw=hex_of(length),
        )

    def enum(self, type: Enum, presence: Presence) -> Leaf:
        values: dict[str, int] = {}
        for one in type.values:
            values.setdefault(one.name, one.value)
        values.setdefault(NULL_NAME, type.null)
        names: dict[int, object] = {}
        for name, value in values.items():
            names.setdefault(value, name)

        def encode(value: Any) -> int:
            if not isinstance(value, str):
                raise MessageError("is of the wrong kind", expected="the name of a value", actual=shown(value))
            if value not in values:
                raise MessageError("is no value of the enum", expected=f"one of {', '.join(values)}", actual=shown(value))
            return values[value]

        is_optional = presence is Presence.OPTIONAL
        return Leaf(
            code=FORMATS[type.primitive.name],
            encode=encode,
            decode=lambda slot: names.get(slot) or Extended(NULL_NAME, slot),
            default=type.null if is_optional else None,
            absent=NULL_NAME if is_optional else None,
            parse_raw=integer(type.primitive.name, type.primitive.minimum, type.primitive.maximum),
        )

    def flags(self, type: FlagSet, presence: Presence) -> Leaf:
        masks: dict[str, int] = {}
        for one in type.choices:
            masks.setdefault(one.name, 1 << one.bit)
        unknown = ~sum(set(masks.values()))

        def decode(slot: int) -> object:
            plain = {name: slot & mask != 0 for name, mask in masks.items()}
            return Extended(plain, slot) if slot & unknown else plain

        return Leaf(
            code=FORMATS[type.primitive.name],
            encode=_flags_check(masks),
            decode=decode,
            default=0 if presence is Presence.OPTIONAL else None,
            parse_raw=integer(type.primitive.name, 0, type.primitive.maximum),
        )

    def data(self, data: Data) -> DataForm:
        codec = text_codec(data.encoding) if data.encoding else None
        if codec is None:
            return DataForm(decode=bytes.hex, encode=hex_of(None), absent="")

        def decode(raw: bytes) -> object:
            return _text(codec, raw)

        return DataForm(decode=decode, encode=lambda value: encoded(codec, value), absent="", parse_raw=hex_of(None))

    def constant(self, value: Number | str | None) -> object:
        return _special(value) if isinstance(value, float) else value

    def constant_enum(self, _type: Enum, name: str) -> object:
        return name

    def absent_composite(self, _members: dict[str, object]) -> object:
        return _members


def hex_of(length: int | None) -> Callable[[Any], bytes]:
    """A check of bytes in hex, of the length if there is one."""

    def parse(value: Any) -> bytes:
        if not isinstance(value, str):
            raise MessageError("is of the wrong kind", expected="bytes in hex", actual=shown(value))
        try:
            raw = bytes.fromhex(value)
        except ValueError:
            raise MessageError("is no hex", expected="two hex digits for each byte", actual=shown(value)) from None
        if length is not None and len(raw) != length:
            raise MessageError("has the wrong length", expected=f"{length} bytes in hex", actual=f"{len(raw)} bytes")
        return raw

    return parse


def _text(codec: TextCodec, raw: bytes) -> object:
    try:
        if codec.is_exact:
            return raw.decode(codec.name)
        text = codec.decode(raw)
    except UnicodeError:
        return Extended(_replaced(_legible(codec, raw)), raw.hex())
    return text if codec.is_reversible(raw, text) and _is_unicode(text) else Extended(_replaced(text), raw.hex())


def _legible(codec: TextCodec, raw: bytes) -> str:
    try:
        return codec.decode(raw, "replace")
    except UnicodeError:  # an encoding that cannot go on behind what it does not know
        return raw.decode("latin-1")


def _is_unicode(text: str) -> bool:
    """Whether it has no lone surrogate, which some encodings let through and JSON does not."""
    return text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text)


def _replaced(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _flags_check(masks: dict[str, int]) -> Callable[[Any], int]:
    def encode(value: Any) -> int:
        if not isinstance(value, dict):
            raise MessageError("is of the wrong kind", expected="an object of booleans", actual=shown(value))
        bits = 0
        for name, flag in value.items():
            if name not in masks:
                raise MessageError("is no choice of the set", expected=f"one of {', '.join(masks)}", actual=shown(name))
            if flag is True:
                bits |= masks[name]
            elif flag is not False:
                raise MessageError("is of the wrong kind", expected="true or false", actual=shown(flag)).within(name)
        return bits

    return encode


def _floats(type: EncodedType, presence: Presence, order: ByteOrder) -> Leaf:
    """Floats are taken as bytes: a NaN has more of them than a Python float tells."""
    code, length = FORMATS[type.primitive.name], type.length
    one = struct.Struct(order.struct_prefix + code)
    row = struct.Struct(f"{order.struct_prefix}{length}{code}")
    nan = one.pack(math.nan)
    check = float_check(type.primitive.name, one)
    show = _special if code == "d" else _shortest

    def decode_one(slot: bytes) -> object:
        value = one.unpack(slot)[0]
        shown_value = show(value)
        return Extended(shown_value, slot.hex()) if shown_value is NAN and slot != nan else shown_value

    def encode_one(value: Any) -> bytes:
        if isinstance(value, str) and value in SPECIAL_FLOATS:
            return one.pack(SPECIAL_FLOATS[value])
        if isinstance(value, str):
            raise MessageError(
                "is of the wrong kind", expected=f'a number, "{NAN}", "{INFINITY}" or "{MINUS_INFINITY}"', actual=shown(value)
            )
        return one.pack(check(value))

    def decode_row(slot: bytes) -> object:
        values = [show(value) for value in row.unpack(slot)]
        is_whole = NAN not in values or b"".join(encode_one(value) for value in values) == slot
        return values if is_whole else Extended(values, slot.hex())

    default = one.pack(type.null) if presence is Presence.OPTIONAL else None
    absent = None if default is None else show(one.unpack(default)[0])
    if length == 1:
        return Leaf(code=f"{one.size}s", encode=encode_one, decode=decode_one, default=default, absent=absent, parse_raw=hex_of(one.size))
    elements = array(Leaf(code="", encode=encode_one), length)

    def encode_row(value: Any) -> Slot:
        return b"".join(elements.encode(value))

    return Leaf(
        code=f"{row.size}s",
        encode=encode_row,
        decode=decode_row,
        default=None if default is None else default * length,
        absent=None if absent is None else [absent] * length,
        parse_raw=hex_of(row.size),
    )


def _special(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return NAN if math.isnan(value) else INFINITY if value > 0 else MINUS_INFINITY


_FLOAT = struct.Struct("f")


def _shortest(value: float) -> float | str:
    """The number with the fewest digits that is this float of four bytes."""
    if not math.isfinite(value):
        return _special(value)
    for digits in (6, 7, 8):
        shorter = float(f"{value:.{digits}g}")
        try:
            if _FLOAT.unpack(_FLOAT.pack(shorter))[0] == value:
                return shorter
        except OverflowError:  # rounded up beyond the greatest
            continue
    return float(f"{value:.9g}")
