"""The smallest values of a message: what `struct` makes of their bytes, and what becomes of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from aerowire.codegen.sbe.interpreter.errors import MessageError, shown
from aerowire.codegen.sbe.ir import ByteOrder, Data, EncodedType, Enum, FlagSet, Number, Presence

Slot = Any  # what struct packs and unpacks: a number or bytes


@dataclass(frozen=True, slots=True)
class Extended:
    """A value that its plain form does not tell whole; `raw` goes beside it, under a name of its own."""

    value: object
    raw: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value.  `code` is its part of a `struct` format and makes `slots` values; with other than one, `decode` and `encode` take and
    give a tuple.  `decode` None means as it is.  `default` is what is written for a value that is left out, None when it must be there.
    `absent` is what is read when the message is older than the value; `parse_raw` reads what stands in `Extended.raw`.
    """

    code: str
    encode: Callable[[Any], Slot]
    slots: int = 1
    decode: Callable[[Slot], object] | None = None
    default: Slot = None
    absent: object = None
    parse_raw: Callable[[Any], Slot] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataForm:
    """How the bytes of variable data become a value and back."""

    decode: Callable[[bytes], object]
    encode: Callable[[Any], bytes]
    absent: object
    parse_raw: Callable[[Any], bytes] | None = None


class Forms(Protocol):
    """What values look like: as Python's, or as JSON's.

    `keeps_padding`: bytes between the values are part of the form.  `has_null_composites`: None is read for an optional composite whose
    members are all null.
    """

    keeps_padding: bool
    has_null_composites: bool

    def number(self, type: EncodedType, presence: Presence, order: ByteOrder) -> Leaf: ...

    def char(self, type: EncodedType, presence: Presence) -> Leaf: ...

    def text(self, type: EncodedType, presence: Presence) -> Leaf: ...

    def enum(self, type: Enum, presence: Presence) -> Leaf: ...

    def flags(self, type: FlagSet, presence: Presence) -> Leaf: ...

    def data(self, data: Data) -> DataForm: ...

    def constant(self, value: Number | str | None) -> object: ...

    def constant_enum(self, _type: Enum, name: str) -> object: ...

    def absent_composite(self, _members: dict[str, object]) -> object: ...


def integer(name: str, minimum: int, maximum: int) -> Callable[[Any], int]:
    """A check of a number: `name` is its primitive's."""

    def check(value: Any) -> int:
        if type(value) is not int:
            value = _as_integer(value, name)
        if not minimum <= value <= maximum:
            raise MessageError("out of range", expected=f"{name} in {minimum}..{maximum}", actual=shown(value))
        return value  # type: ignore[no-any-return]

    return check


def _as_integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise MessageError("is of the wrong kind", expected=name, actual=shown(value))
    return int(value)


def leaf_of(forms: Forms, type: EncodedType | Enum | FlagSet, presence: Presence, order: ByteOrder) -> Leaf:
    """The leaf of a type that takes bytes."""
    if isinstance(type, Enum):
        return forms.enum(type, presence)
    if isinstance(type, FlagSet):
        return forms.flags(type, presence)
    if type.primitive.name == "char":
        return forms.char(type, presence) if type.length == 1 else forms.text(type, presence)
    return forms.number(type, presence, order)


def array(leaf: Leaf, length: int) -> Leaf:
    """A leaf of numbers to one of `length` numbers in a row, which is a list."""
    encode_one, decode_one, default = leaf.encode, leaf.decode, leaf.default

    def encode(value: Any) -> tuple[Slot, ...]:
        if isinstance(value, str) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
            raise MessageError("is of the wrong kind", expected=f"{length} numbers", actual=shown(value))
        if len(value) != length:
            raise MessageError("has the wrong length", expected=f"{length} numbers", actual=len(value))
        encoded = []
        for one in value:
            try:
                encoded.append(encode_one(one))
            except MessageError as error:
                raise error.within(f"[{len(encoded)}]") from None
        return tuple(encoded)

    def decode(slots: tuple[Slot, ...]) -> object:
        return list(slots) if decode_one is None else [decode_one(slot) for slot in slots]

    return Leaf(
        code=f"{length}{leaf.code}" if length else "",
        slots=length,
        decode=decode,
        encode=encode,
        default=None if default is None else (default,) * length,
        absent=None if leaf.absent is None else [leaf.absent] * length,
    )
