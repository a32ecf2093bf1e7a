"""The machine numbers of which layouts and messages are built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Primitive:
    """A machine number: its name as in SBE, its size in bytes, and how it is read."""

    name: str
    size: int
    signed: bool = True
    is_float: bool = False

    @property
    def minimum(self) -> int:
        return -(1 << (8 * self.size - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        return (1 << (8 * self.size - int(self.signed))) - 1


PRIMITIVES = {
    primitive.name: primitive
    for primitive in (
        Primitive("int8", 1),
        Primitive("uint8", 1, signed=False),
        Primitive("char", 1, signed=False),
        Primitive("int16", 2),
        Primitive("uint16", 2, signed=False),
        Primitive("int32", 4),
        Primitive("uint32", 4, signed=False),
        Primitive("int64", 8),
        Primitive("uint64", 8, signed=False),
        Primitive("float", 4, is_float=True),
        Primitive("double", 8, is_float=True),
    )
}
# What `struct` calls a primitive; a char is a number.
FORMATS = {
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float": "f",
    "double": "d",
}
