"""The columns of blocks: every value that has bytes, by its path of the schema's own names, as NumPy sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.ir import Block, ByteOrder, Composite, EncodedType, Enum, Field, FlagSet, Header, Member, Number, Presence
from aerowire.codegen.sbe.naming import null_member_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A value of a block.  `null` is the number that stands for none, `fill` what a message has that is older than the value."""

    path: str
    offset: int
    type: EncodedType | Enum | FlagSet
    presence: Presence
    since_version: int
    order: ByteOrder

    @property
    def format(self) -> str:
        return number_format(self.type, self.order)

    @property
    def length(self) -> int | None:
        """How many numbers there are in a row; None of one number and of text."""
        return self.type.length if isinstance(self.type, EncodedType) and self.type.length != 1 and not self.type.is_text else None

    @property
    def null(self) -> Number | None:
        """An element of an array is what it is, whatever its value, and so is a value of an enum."""
        if self.presence is not Presence.OPTIONAL or isinstance(self.type, FlagSet):
            return None
        if isinstance(self.type, EncodedType) and self.type.length != 1:
            return None
        if isinstance(self.type, Enum) and null_member_name(self.type) is None:
            return None
        return self.type.null

    @property
    def fill(self) -> Number:
        return 0 if isinstance(self.type, FlagSet) or (isinstance(self.type, EncodedType) and self.type.is_text) else self.type.null


def number_format(type: EncodedType | Enum | FlagSet, order: ByteOrder) -> str:
    """NumPy's name: an enum over char is a number, other characters are bytes."""
    if type.primitive.name == "char" and isinstance(type, EncodedType):
        return f"S{type.length}"
    return primitive_format(type.primitive, order)


def primitive_format(primitive: Primitive, order: ByteOrder) -> str:
    kind = "f" if primitive.is_float else "i" if primitive.signed and primitive.name != "char" else "u"
    return f"{'' if primitive.size == 1 else order.struct_prefix}{kind}{primitive.size}"


def columns_of(block: Block, order: ByteOrder) -> Iterator[Column]:
    """Every value of a block that takes bytes, those of composites one by one."""
    for field in block.fields:
        yield from columns_of_field(field, order)


def columns_of_header(header: Header, order: ByteOrder) -> Iterator[Column]:
    """Every value of the header that takes bytes."""
    for column in _members(header.type, "", 0, 0, order):
        yield replace(column, path=column.path.removeprefix("."))


def columns_of_field(field: Field, order: ByteOrder) -> Iterator[Column]:
    if field.presence is Presence.CONSTANT:
        return
    if isinstance(field.type, Composite):
        yield from _members(field.type, field.name, field.offset, field.since_version, order)
    elif field.type.size:
        yield Column(
            path=field.name, offset=field.offset, type=field.type, presence=field.presence, since_version=field.since_version, order=order
        )


def members_of(composite: Composite, path: str) -> Iterator[Column]:
    """The columns of a composite's members, where only their paths and types are of interest."""
    yield from _members(composite, path, 0, 0, ByteOrder.LITTLE_ENDIAN)


def _members(composite: Composite, path: str, offset: int, since_version: int, order: ByteOrder) -> Iterator[Column]:
    for member in composite.members:
        name, start, since = f"{path}.{member.name}", offset + member.offset, max(since_version, member.since_version)
        if isinstance(member.type, Composite):
            yield from _members(member.type, name, start, since, order)
        elif is_stored(member):
            yield Column(path=name, offset=start, type=member.type, presence=member.presence, since_version=since, order=order)


def is_stored(one: Field | Member) -> bool:
    """Whether it takes bytes: neither a constant nor an array of no elements."""
    return one.presence is not Presence.CONSTANT and one.size > 0
