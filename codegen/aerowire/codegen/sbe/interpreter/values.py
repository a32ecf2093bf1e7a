"""The forms of Python values: int, float, str, bytes, EnumValue, SetValue; None is null."""

from __future__ import annotations

import math
import struct
from typing import Any

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.interpreter.errors import MessageError, shown, shown_bytes
from aerowire.codegen.sbe.interpreter.leaf import DataForm, Leaf, array, integer
from aerowire.codegen.sbe.interpreter.text import TextCodec, array_codec, text_codec
from aerowire.codegen.sbe.ir import ByteOrder, Data, EncodedType, Enum, FlagSet, Number, Presence

NULL_NAME = "NULL_VALUE"


class EnumValue(int):
    """A value of an enum: the number on the wire (of a char its code), with the schema's name of it.

    The null value is called NULL_VALUE and one that the schema does not have UNKNOWN_77, if it is 77.
    """

    name: str

    def __new__(cls, value: int, name: str) -> EnumValue:
        self = super().__new__(cls, value)
        self.name = name
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return EnumValue, (int(self), self.name)

    def __repr__(self) -> str:
        return f"<{self.name}: {int(self)}>"


class SetValue(int):
    """A set: the number on the wire, whose bits have names.  Bits that the schema does not have stay."""

    choices: dict[str, int]

    def __new__(cls, value: int, choices: dict[str, int]) -> SetValue:
        self = super().__new__(cls, value)
        self.choices = choices
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return SetValue, (int(self), self.choices)

    @property
    def names(self) -> tuple[str, ...]:
        """The choices that are set, in the schema's order."""
        return tuple(name for name, bit in self.choices.items() if self >> bit & 1)

    def __contains__(self, name: str) -> bool:
        return name in self.choices and bool(self >> self.choices[name] & 1)

    def __repr__(self) -> str:
        return f"<{'|'.join(self.names) or 'none'}: {int(self)}>"


class ValueForms:
    """Values as Python's.  Padding, and what follows the NUL of a text, is not part of them."""

    keeps_padding = False
    has_null_composites = True

    def number(self, type: EncodedType, presence: Presence, order: ByteOrder) -> Leaf:
        leaf = self._one_number(type, presence, order)
        # Elements of an array are what they are; only the whole array can be left out.
        return leaf if type.length == 1 else array(_without_null(leaf), type.length)

    def _one_number(self, type: EncodedType, presence: Presence, order: ByteOrder) -> Leaf:
        name, code = type.primitive.name, FORMATS[type.primitive.name]
        encode: Any
        if type.primitive.is_float:
            layout = struct.Struct(order.struct_prefix + code)
            encode = float_check(name, layout)
            null = layout.unpack(layout.pack(type.null))[0]
        else:
            encode = integer(name, type.primitive.minimum, type.primitive.maximum)
            null = int(type.null)
        if presence is not Presence.OPTIONAL:
            return Leaf(code=code, encode=encode)
        if math.isnan(null):
            return Leaf(code=code, encode=encode, default=null, decode=lambda slot: None if math.isnan(slot) else slot)
        return Leaf(code=code, encode=encode, default=null, decode=lambda slot: None if slot == null else slot)

    def char(self, type: EncodedType, presence: Presence) -> Leaf:
        if presence is not Presence.OPTIONAL:
            return Leaf(code="c", encode=char_check, decode=CHARACTERS.__getitem__)
        null = bytes([int(type.null)])
        return Leaf(code="c", encode=char_check, default=null, decode=lambda slot: None if slot == null else slot.decode("latin-1"))

    def text(self, type: EncodedType, presence: Presence) -> Leaf:
        codec, length = array_codec(type.character_encoding), type.length

        def decode(slot: bytes) -> str:
            if codec.is_exact:
                return slot.partition(b"\0")[0].decode(codec.name, "surrogateescape")
            return decoded(codec, codec.until_nul(slot), codec.keeping)

        default = b"" if presence is Presence.OPTIONAL else None
        return Leaf(code=f"{length}s", encode=text_check(codec, length, codec.keeping), decode=decode, default=default)

    def enum(self, type: Enum, presence: Presence) -> Leaf:
        members: dict[int, EnumValue | None] = {}
        for one in type.values:
            members.setdefault(one.value, EnumValue(one.value, one.name))
        members.setdefault(type.null, None if presence is Presence.OPTIONAL else EnumValue(type.null, NULL_NAME))
        by_name = {one.name: one.value for one in type.values}
        check = integer(type.primitive.name, type.primitive.minimum, type.primitive.maximum)

        def decode(slot: int) -> EnumValue | None:
            found = members.get(slot, MISSING)
            return EnumValue(slot, f"UNKNOWN_{slot}") if found is MISSING else found  # type: ignore[return-value]

        def encode(value: Any) -> int:
            if isinstance(value, str):
                if value not in by_name:
                    raise MessageError("is no value of the enum", expected=f"one of {', '.join(by_name)}", actual=shown(value))
                return by_name[value]
            return check(value)

        default = type.null if presence is Presence.OPTIONAL else None
        return Leaf(code=FORMATS[type.primitive.name], encode=encode, decode=decode, default=default)

    def flags(self, type: FlagSet, presence: Presence) -> Leaf:
        choices = {one.name: one.bit for one in type.choices}
        return Leaf(
            code=FORMATS[type.primitive.name],
            encode=integer(type.primitive.name, 0, type.primitive.maximum),
            decode=lambda slot: SetValue(slot, choices),
            default=0 if presence is Presence.OPTIONAL else None,
        )

    def data(self, data: Data) -> DataForm:
        codec = text_codec(data.encoding) if data.encoding else None
        if codec is None:
            return DataForm(decode=lambda raw: raw, encode=_bytes_check, absent=b"")

        def encode(value: Any) -> bytes:
            return encoded(codec, value, codec.keeping)

        def decode(raw: bytes) -> str:
            return raw.decode(codec.name, "surrogateescape") if codec.is_exact else decoded(codec, raw, codec.keeping)

        return DataForm(decode=decode, encode=encode, absent="")

    def constant(self, value: Number | str | None) -> object:
        return value

    def constant_enum(self, _type: Enum, name: str) -> object:
        return next(EnumValue(one.value, one.name) for one in _type.values if one.name == name)

    def absent_composite(self, _members: dict[str, object]) -> object:
        return None


MISSING = object()
CHARACTERS = {bytes([code]): chr(code) for code in range(256)}  # Latin-1 has one for every byte


def _without_null(leaf: Leaf) -> Leaf:
    return Leaf(code=leaf.code, encode=leaf.encode, default=leaf.default)


def float_check(name: str, layout: struct.Struct) -> Any:
    """A check of a float: a number that the bytes of `layout` can hold."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise MessageError("is of the wrong kind", expected=name, actual=shown(value))
        try:
            layout.pack(value)
            return float(value)
        except (OverflowError, struct.error):
            raise MessageError("out of range", expected=name, actual=shown(value)) from None

    return check


def char_check(value: Any) -> bytes:
    """One character of Latin-1, which has all bytes."""
    if not isinstance(value, str):
        raise MessageError("is of the wrong kind", expected="one character", actual=shown(value))
    if len(value) != 1 or ord(value) > 0xFF:
        raise MessageError("is no single character of one byte", expected="one character up to U+00FF", actual=shown(value))
    return value.encode("latin-1")


def text_check(codec: TextCodec, length: int, errors: str = "strict") -> Any:
    """A check of the text of an array: it has to fit, and to end where reading ends it."""

    def check(value: Any) -> bytes:
        raw = encoded(codec, value, errors)
        if len(raw) > length:
            raise MessageError("is too long", expected=f"at most {length} bytes", actual=f"{len(raw)} bytes, {shown(value)}")
        if "\0" in value or codec.until_nul(raw) != raw:
            raise MessageError("has a NUL, which would end it", expected="no NUL", actual=shown(value))
        return raw

    return check


def encoded(codec: TextCodec, value: Any, errors: str = "strict") -> bytes:
    """The bytes of a text."""
    if not isinstance(value, str):
        raise MessageError("is of the wrong kind", expected="text", actual=shown(value))
    try:
        return codec.encode(value, errors)
    except UnicodeError:
        raise MessageError("has characters that its encoding does not", expected=codec.name, actual=shown(value)) from None


def decoded(codec: TextCodec, raw: bytes, errors: str) -> str:
    """The text of bytes."""
    try:
        return codec.decode(raw, errors)
    except UnicodeError as error:
        raise MessageError("is no text of its encoding", expected=codec.name, actual=shown_bytes(raw)) from error


def _bytes_check(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, bytearray | memoryview):
        raise MessageError("is of the wrong kind", expected="bytes", actual=shown(value))
    try:
        return bytes(value)
    except ValueError:
        raise MessageError("is released", expected="bytes", actual=shown(value)) from None
