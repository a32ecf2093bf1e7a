"""The intermediate representation of an SBE message schema: a frozen tree in which every offset and constant is resolved.

It says what FIX Simple Binary Encoding 1.0 says, with the official tool's rules applied: a message is a block of fields at fixed
offsets, then groups, then variable data; a group is the same for each of its entries.  Layout schemas (frames, shared memory)
have a tree of their own, `aerowire.codegen.layouts.ir`; the primitives are shared.  Nothing in here knows of XML or of a target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from aerowire.codegen.primitives import PRIMITIVES, Primitive
from aerowire.codegen.problems import Location

Number = int | float


class Presence(StrEnum):
    """Whether a value is always there, may be null, or is a constant that takes no bytes."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    CONSTANT = "constant"


class ByteOrder(StrEnum):
    """The order of the bytes of every number of a schema."""

    LITTLE_ENDIAN = "littleEndian"
    BIG_ENDIAN = "bigEndian"

    @property
    def struct_prefix(self) -> str:
        """What `struct` and NumPy call it: `<` or `>`."""
        return "<" if self is ByteOrder.LITTLE_ENDIAN else ">"


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a primitive when the schema says nothing else; the null value lies outside [minimum, maximum]."""

    minimum: Number
    maximum: Number
    null: Number


def _ranges() -> Iterator[tuple[str, Range]]:
    """SBE: null is 0 for char, the smallest signed and the greatest unsigned number, and NaN."""
    for name, primitive in PRIMITIVES.items():
        if name == "char":
            yield name, Range(0x20, 0x7E, 0)
        elif primitive.is_float:
            greatest = 3.4028234663852886e38 if primitive.size == 4 else 1.7976931348623157e308
            yield name, Range(-greatest, greatest, math.nan)
        elif primitive.signed:
            yield name, Range(primitive.minimum + 1, primitive.maximum, primitive.minimum)
        else:
            yield name, Range(0, primitive.maximum - 1, primitive.maximum)


RANGES: dict[str, Range] = dict(_ranges())


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What every declaration of a schema has.  `since_version` 0 means always, `deprecated` 0 means not.

    `location` is where it stands; two declarations that differ only in it are equal.
    """

    name: str
    description: str = ""
    since_version: int = 0
    deprecated: int = 0
    semantic_type: str = ""
    location: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedType(Named):
    """A number, a character, or `length` of them in a row (a length other than 1 makes it an array, 0 included).

    `constant` is there exactly with presence constant: a number, or the text of a `char` (not padded; on no wire).
    `null_value`, `min_value`, `max_value` are what the schema declares, None where it declares none; the values that apply are
    `null`, `minimum` and `maximum`.
    """

    primitive: Primitive
    length: int = 1
    presence: Presence = Presence.REQUIRED
    constant: Number | str | None = None
    null_value: Number | None = None
    min_value: Number | None = None
    max_value: Number | None = None
    character_encoding: str = ""
    value_ref: str = ""
    package: str = ""

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        return 0 if self.presence is Presence.CONSTANT else self.primitive.size * self.length

    @property
    def is_text(self) -> bool:
        """A row of characters, which is shown as a string."""
        return self.primitive.name == "char" and self.length != 1

    @property
    def null(self) -> Number:
        return RANGES[self.primitive.name].null if self.null_value is None else self.null_value

    @property
    def minimum(self) -> Number:
        return RANGES[self.primitive.name].minimum if self.min_value is None else self.min_value

    @property
    def maximum(self) -> Number:
        return RANGES[self.primitive.name].maximum if self.max_value is None else self.max_value


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidValue(Named):
    """A value of an enum; of an enum over char it is the character's code."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Enum(Named):
    """Numbers (or characters) with names.  `null` stands for no value; unless the schema was read leniently no value has it."""

    primitive: Primitive
    values: tuple[ValidValue, ...]
    null: int
    presence: Presence = Presence.REQUIRED
    package: str = ""

    @property
    def size(self) -> int:
        return 0 if self.presence is Presence.CONSTANT else self.primitive.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Named):
    """A bit of a set; bit 0 is the least significant."""

    bit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagSet(Named):
    """Bits with names."""

    primitive: Primitive
    choices: tuple[Choice, ...]
    package: str = ""

    @property
    def size(self) -> int:
        return self.primitive.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Named):
    """A value within a composite, at `offset` from the composite's start.

    `name` is the member's; `type` has its own (a `ref` gives a type another name; `reference` is then the referenced type's
    name, else empty).  A member that is declared in place has a type of the same name.
    """

    type: Type
    offset: int
    reference: str = ""

    @property
    def presence(self) -> Presence:
        return self.type.presence if isinstance(self.type, EncodedType | Enum) else Presence.REQUIRED

    @property
    def size(self) -> int:
        return self.type.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite(Named):
    """Values side by side, at offsets that never change.  `size` includes padding between members."""

    members: tuple[Member, ...]
    size: int
    package: str = ""

    def member(self, name: str) -> Member:
        return next(member for member in self.members if member.name == name)

    def encoded(self, name: str) -> EncodedType:
        """The type of a member that the reader has checked to be a number or characters, such as a length."""
        found = self.member(name).type
        assert isinstance(found, EncodedType), f"{self.name}.{name} was checked to be an encoded type"
        return found

    def has(self, name: str) -> bool:
        return any(member.name == name for member in self.members)


Type = EncodedType | Enum | FlagSet | Composite


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Named):
    """A value at a fixed offset of a block.

    `presence` is the field's own or else its type's.  `since_version` is the later one of field and type.  `constant` is there
    exactly with presence constant: a number, a text, or for an enum the name of its value (`value_ref` is `Enum.Value`).
    """

    id: int
    type: Type
    offset: int
    presence: Presence
    constant: Number | str | None = None
    value_ref: str = ""
    epoch: str = ""
    time_unit: str = ""

    @property
    def size(self) -> int:
        """Bytes of the block that it takes."""
        return 0 if self.presence is Presence.CONSTANT else self.type.size

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Data(Named):
    """Bytes of any length behind a length.  Both stand in `type`, a composite with the members `length` and `varData`.

    `encoding` names the characters when the bytes are text, else it is empty.
    """

    id: int
    type: Composite

    @property
    def length_type(self) -> EncodedType:
        return self.type.encoded("length")

    @property
    def length_offset(self) -> int:
        return self.type.member("length").offset

    @property
    def data_offset(self) -> int:
        """Where the bytes start, counted from the start of the composite."""
        return self.type.member("varData").offset

    @property
    def encoding(self) -> str:
        return self.type.encoded("varData").character_encoding

    @property
    def max_length(self) -> int:
        return int(self.length_type.maximum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Named):
    """What a message and an entry of a group are: fields in `block_length` bytes, then groups, then data."""

    id: int
    block_length: int
    fields: tuple[Field, ...]
    groups: tuple[Group, ...]
    data: tuple[Data, ...]

    def least_block_length(self, acting_version: int) -> int:
        """Bytes that a block of `acting_version` must at least have: as many as the values take that exist in it and have bytes."""
        return max([0, *(end for version, end in self._ends() if version <= acting_version)])

    def growth(self) -> tuple[tuple[int, int], ...]:
        """How the least block length grew: pairs of a version and the length from it on, both rising."""
        found: dict[int, int] = {}
        least = 0
        for version, end in sorted(self._ends()):
            if end > least:
                found[version] = least = end
        return tuple(found.items())

    def _ends(self) -> Iterator[tuple[int, int]]:
        """Where each value with bytes ends, and the version from which on it does."""
        for one in self.fields:
            if one.size:
                yield from _ends_of(one.type, one.offset, one.since_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Block):
    """Entries, each a block; `dimension` is the composite in front of them, with the members `blockLength` and `numInGroup`."""

    dimension: Composite

    @property
    def block_length_type(self) -> EncodedType:
        return self.dimension.encoded("blockLength")

    @property
    def count_type(self) -> EncodedType:
        return self.dimension.encoded("numInGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Block):
    """A message; `id` is its template id."""


HEADER_NUMBERS = ("blockLength", "templateId", "schemaId", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The composite in front of every message.  It has the members that HEADER_NUMBERS names, in any order and of any width, and
    possibly others."""

    type: Composite

    @property
    def size(self) -> int:
        return self.type.size

    def encoded(self, name: str) -> EncodedType:
        """The type of one of the four."""
        return self.type.encoded(name)

    def offset(self, name: str) -> int:
        return self.type.member(name).offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSchema:
    """Everything that a message schema says.  `types` are those of the schema in their order; `messages` too."""

    package: str
    source: str
    id: int
    version: int
    semantic_version: str
    description: str
    byte_order: ByteOrder
    header: Header
    types: tuple[Type, ...]
    messages: tuple[Message, ...]
    location: Location | None = field(default=None, compare=False, repr=False)

    @property
    def file_name(self) -> str:
        """What generated files say that they were made from: a folder would be that of one machine."""
        return re.split(r"[/\\]", self.source)[-1]

    @property
    def told_id(self) -> int:
        """The schema id that headers tell: the schema's own, or what the header has as a constant, which may be another."""
        constant = self.header.encoded("schemaId").constant
        return self.id if constant is None else int(constant)

    def message(self, template_id: int) -> Message | None:
        return next((message for message in self.messages if message.id == template_id), None)

    def type(self, name: str) -> Type | None:
        return next((one for one in self.types if one.name == name), None)


def versions_of(type: Type) -> Iterator[int]:
    """The versions in which a value became longer."""
    if isinstance(type, Composite):
        for member in type.members:
            yield member.since_version
            yield from versions_of(member.type)


def size_in(type: Type, version: int) -> int:
    """Bytes that a value takes in messages of a version: members of a composite that are newer are not there."""
    if not isinstance(type, Composite) or all(since <= version for since in versions_of(type)):
        return type.size
    there = [member for member in type.members if member.size and member.since_version <= version]
    return max([0, *(member.offset + size_in(member.type, version) for member in there)])


def _ends_of(type: Type, start: int, since: int) -> Iterator[tuple[int, int]]:
    """Where a value and its members end, and the version from which on they do: once it has all of them, with the padding behind them."""
    yield max([since, *versions_of(type)]), start + type.size
    if isinstance(type, Composite):
        yield since, start  # a composite all of whose members are newer
        for member in type.members:
            if member.size:
                yield from _ends_of(member.type, start + member.offset, max(since, member.since_version))


def has_null(composite: Composite) -> bool:
    """Whether null members tell a composite from all that hold something: zeros may be a set, a text or no value at all."""
    for member in composite.members:
        one = member.type
        if isinstance(one, Composite):
            found = has_null(one)
        elif isinstance(one, Enum):
            found = member.size > 0 and all(value.value != one.null for value in one.values)
        else:
            found = isinstance(one, EncodedType) and one.size > 0 and not one.is_text
        if found:
            return True
    return False


def walk_blocks(block: Block) -> Iterator[Block]:
    """The block and, depth first, the groups within it."""
    yield block
    for group in block.groups:
        yield from walk_blocks(group)
