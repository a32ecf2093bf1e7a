"""The intermediate representation: a frozen tree in which every offset that can be known is a number.

Five node kinds carry every layout.  A `Struct` has fields at fixed offsets, then members whose place depends on the bytes:
`Var` (bytes with a length), `Repeat` (entries, by count or until the end) and `Variant` (a choice by a discriminator).  A
`Region` names the sections of a file or a mapping.  Nothing in here knows of XML or of a target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aerowire.codegen.primitives import Primitive


@dataclass(frozen=True, slots=True)
class Constant:
    """A named literal of a schema; `type` is a primitive's name or `string`."""

    name: str
    type: str
    value: int | str
    description: str


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value of an enum, or the mask of a flag or a combination of flags."""

    name: str
    value: int
    description: str


@dataclass(frozen=True, slots=True)
class Enum:
    """A closed list of numbers with names."""

    name: str
    primitive: Primitive
    values: tuple[NamedValue, ...]
    description: str


@dataclass(frozen=True, slots=True)
class FlagSet:
    """Bits with names.  `choices` are single bits, `combinations` several of them under one name."""

    name: str
    primitive: Primitive
    choices: tuple[NamedValue, ...]
    combinations: tuple[NamedValue, ...]
    description: str


@dataclass(frozen=True, slots=True)
class BitRange:
    """Bits `low` to `high`, both included, of an integer field, read as `primitive`."""

    name: str
    low: int
    high: int
    primitive: Primitive
    description: str


@dataclass(frozen=True, slots=True)
class Field:
    """A number, or `count` of them, at a fixed offset.  `is_tail`: there only when the struct is long enough to hold it.

    `role` is `length` (the struct's own length), `type` (its discriminator) or empty; `access` documents what code must do
    beyond a plain load or store (`atomic`, `release`).  `default` is what an encoder writes unasked; for a tail field without
    one it writes nothing.
    """

    name: str
    primitive: Primitive
    offset: int
    description: str
    count: int | None = None
    kind: str | None = None
    default: int | None = None
    is_tail: bool = False
    role: str = ""
    access: str = ""
    bits: tuple[BitRange, ...] = ()

    @property
    def size(self) -> int:
        return self.primitive.size * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class Var:
    """Bytes whose length stands in a prefix (`prefix`), in a fixed field (`length_field`), or is what is left (neither).

    `offset` is where the first Var of a struct starts; later ones have None and start where the member before them ends,
    aligned up to `align`.
    """

    name: str
    description: str
    offset: int | None
    prefix: Primitive | None
    length_field: str | None
    align: int
    encoding: str
    max_length: int | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """Entries of one struct, each starting on a multiple of `align`.

    There are `count` of them, or as many as `count_field` says; with neither, they go on until the end.
    """

    name: str
    description: str
    offset: int | None
    struct: str
    count_field: str | None
    count: int | None
    align: int


@dataclass(frozen=True, slots=True)
class Case:
    """One arm of a Variant: the discriminator's value and either a struct or a number of bytes."""

    value: int
    value_name: str
    struct: str | None
    length: int | None


@dataclass(frozen=True, slots=True)
class Variant:
    """A choice by a discriminator.

    As a member of a struct, `discriminator` is a field before it, and `length` the bytes it occupies whatever the case
    (None: as many as the case says).  On its own, it is a table from a type number to a struct; `discriminator` is then
    `Struct.field` or the name of an enum whose number stands outside the struct.
    """

    name: str
    description: str
    discriminator: str
    enum: str | None
    offset: int | None
    length: int | None
    cases: tuple[Case, ...]


Dynamic = Var | Repeat | Variant


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields at fixed offsets, then members whose place depends on the bytes.

    Invariant: fixed members do not overlap and end at or before `length`; tail fields follow at or after `length`.
    `type_value` is the discriminator's value where a top-level Variant gives one, `length_member` the field that
    holds the struct's own length.
    """

    name: str
    description: str
    length: int
    align: int
    fields: tuple[Field, ...]
    fixed_variants: tuple[Variant, ...]
    dynamic: tuple[Dynamic, ...]
    parent: str | None = None
    type_value: int | None = None

    @property
    def fixed_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if not field.is_tail)

    @property
    def tail_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.is_tail)

    @property
    def full_length(self) -> int:
        """Length with every tail field."""
        return max([self.length, *(field.offset + field.size for field in self.tail_fields)])

    @property
    def length_member(self) -> Field | None:
        return next((field for field in self.fields if field.role == "length"), None)

    def field(self, name: str) -> Field:
        return next(field for field in self.fields if field.name == name)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a Region.  Its length is `constant` or `times` x `field`, aligned up to `align`."""

    name: str
    description: str
    constant: int | None
    field: str | None
    times: int
    align: int
    struct: str | None
    region: str | None


@dataclass(frozen=True, slots=True)
class Region:
    """Sections of a file or a mapping, one after the other; the whole is aligned up to the field `align`, if there is one."""

    name: str
    description: str
    fields: str | None
    align: str | None
    sections: tuple[Section, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Fields that decide the layout, in the order of their first use."""
        names = [section.field for section in self.sections if section.field is not None]
        return tuple(dict.fromkeys([*names, *([self.align] if self.align else [])]))


Node = Struct | Var | Repeat | Variant | Region


@dataclass(frozen=True, slots=True)
class Schema:
    """Everything one schema file says."""

    package: str
    source: str
    id: int
    version: int
    byte_order: str
    description: str
    constants: tuple[Constant, ...]
    enums: tuple[Enum, ...]
    sets: tuple[FlagSet, ...]
    structs: tuple[Struct, ...]
    variants: tuple[Variant, ...]
    regions: tuple[Region, ...]

    def struct(self, name: str) -> Struct:
        return next(struct for struct in self.structs if struct.name == name)

    def nodes(self) -> Iterator[Node]:
        """Every node, depth first, in the order of the file."""
        for struct in self.structs:
            yield struct
            yield from struct.fixed_variants
            yield from struct.dynamic
        yield from self.variants
        yield from self.regions
