"""The types and fields of a message schema as they are declared: what reading them needs before offsets can be known.

Lengths are the official tool's, whose oddities decide which schemas are valid: VARIABLE_LENGTH stands for data of any length.
Knows of XML only the element that each declaration was read from, which is where a problem is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml import etree

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.ir import Number, Presence

VARIABLE_LENGTH = -1
NO_OFFSET = -1


@dataclass(slots=True, kw_only=True, eq=False)
class Declared:
    """What every declaration has.  `since_version` of a referenced type is the reference's where that gives one."""

    element: etree._Element
    name: str
    description: str = ""
    since_version: int = 0
    deprecated: int = 0
    semantic_type: str | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredType(Declared):
    """A type of the schema, or a member of a composite; `reference` is then the name of the type that a `ref` means."""

    presence: Presence = Presence.REQUIRED
    package: str = ""
    reference: str = ""
    offset: int = NO_OFFSET

    @property
    def encoded_length(self) -> int:
        raise NotImplementedError


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredEncoding(DeclaredType):
    primitive: Primitive
    length: int = 1
    is_variable: bool = False
    constant: Number | str | None = None
    null_value: Number | None = None
    min_value: Number | None = None
    max_value: Number | None = None
    character_encoding: str = ""
    value_ref: str = ""

    @property
    def encoded_length(self) -> int:
        if self.presence is Presence.CONSTANT:
            return 0
        return VARIABLE_LENGTH if self.is_variable else self.primitive.size * self.length


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredValue(Declared):
    """A value of an enum or a choice of a set."""

    value: int


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredEnum(DeclaredType):
    """`told` has the names of all its values, those too that could not be read."""

    primitive: Primitive
    null: int
    values: dict[str, DeclaredValue] = field(default_factory=dict)
    told: set[str | None] = field(default_factory=set)

    @property
    def encoded_length(self) -> int:
        return 0 if self.presence is Presence.CONSTANT else self.primitive.size

    def constant(self, name: str) -> Number | str:
        """One of its values as that of a constant: of an enum over char the character."""
        value = self.values[name].value
        return chr(value) if self.primitive.name == "char" else value


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredSet(DeclaredType):
    primitive: Primitive
    values: dict[str, DeclaredValue] = field(default_factory=dict)

    @property
    def encoded_length(self) -> int:
        return self.primitive.size


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredComposite(DeclaredType):
    """`origins` has the composite's own child that each member comes from, which may be a `ref`.

    `told` has the names of all its children, those too that could not be read.
    """

    origins: dict[str, etree._Element] = field(default_factory=dict)
    members: dict[str, DeclaredType] = field(default_factory=dict)
    told: set[str | None] = field(default_factory=set)

    @property
    def encoded_length(self) -> int:
        length = 0
        for member in self.members.values():
            if isinstance(member, DeclaredEncoding) and member.is_variable:
                return VARIABLE_LENGTH
            if member.offset != NO_OFFSET:
                length = member.offset
            if member.presence is not Presence.CONSTANT:
                length += member.encoded_length
        return length


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredField(Declared):
    """A field, a group (`members` is then a list) or data; `type` is None where it was not found.

    `offset` and `block_length` are what the schema says, 0 where it says nothing; `computed_offset` and `computed_block_length`
    what the rules make of it.
    """

    id: int | None
    type: DeclaredType | None = None
    dimension: DeclaredComposite | None = None
    offset: int = 0
    block_length: int = 0
    presence: Presence = Presence.REQUIRED
    value_ref: str | None = None
    epoch: str = ""
    time_unit: str = ""
    is_data: bool = False
    members: list[DeclaredField] | None = None
    computed_offset: int = 0
    computed_block_length: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredMessage(Declared):
    id: int
    block_length: int
    members: list[DeclaredField]
    computed_block_length: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class DeclaredSchema(Declared):
    """`types` holds, of several with one name, the last; `messages` likewise by id.  `known` are all types, newer ones too."""

    package: str
    id: int
    semantic_version: str
    byte_order: str
    version: int
    header: DeclaredComposite
    types: dict[str, DeclaredType]
    known: dict[str, DeclaredType]
    messages: dict[int, DeclaredMessage]
