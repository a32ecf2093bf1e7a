"""Message schemas as plain declarations, and the XML that says them: what random schemas are drawn as (drawing.py).

Knows what is on the wire and since which version, so that values can be drawn without a reader (sbe_values.py), and so that an older
version of a schema can be written: what is newer is left out, and everything else stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from xml.etree import ElementTree as Xml

Number = int | float
# What must not break code that has it in a docstring, a comment or a string.
DESCRIPTIONS = (
    'Says "what it is"',
    'Three quotes """ within',
    "A back\\slash at its end\\",
    "Größe, 尺寸 & <b>",
    "It's {x} %s #{y}",
    '"',
    "line\none",
)
NAMESPACE = "http://fixprotocol.io/2016/sbe"
SIZES = {
    "char": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float": 4,
    "double": 8,
}


def whole_range(primitive: str) -> tuple[int, int]:
    """The smallest and the greatest number that the bytes of a whole-number primitive can say, nulls among them."""
    bits = 8 * SIZES[primitive]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if primitive.startswith("int") else (0, (1 << bits) - 1)


def null_of(primitive: str) -> Number:
    """The null value where a schema declares none."""
    if primitive in ("float", "double"):
        return float("nan")
    if primitive == "char":
        return 0
    low, high = whole_range(primitive)
    return low if primitive.startswith("int") else high


@dataclass
class Encoded:
    """A number, a character or a row of either; `constant` makes it a constant, `value_ref` says that one by an enum."""

    name: str
    primitive: str
    length: int = 1
    is_optional: bool = False
    constant: Number | str | None = None
    null_value: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    characters: str = ""
    value_ref: str = ""
    since: int = 0
    deprecated: int = 0

    @property
    def null(self) -> Number:
        return null_of(self.primitive) if self.null_value is None else self.null_value

    @property
    def is_text(self) -> bool:
        return self.primitive == "char" and self.length != 1


@dataclass
class NamedNumber:
    """A valid value of an enum, or a choice of a set and its bit."""

    name: str
    number: int
    since: int = 0
    deprecated: int = 0


@dataclass
class Enum:
    """`encoding` is the primitive or the name of a type of it; `null_value` is there when the enum itself declares it."""

    name: str
    primitive: str
    encoding: str
    null: int
    values: list[NamedNumber]
    null_value: int | None = None
    is_optional: bool = False
    since: int = 0


@dataclass
class FlagSet:
    """Bits with names."""

    name: str
    primitive: str
    encoding: str
    choices: list[NamedNumber]
    since: int = 0


@dataclass
class Member:
    """A member of a composite; `reference` is the name of its type when it is a ref, `offset` stands when the schema says one."""

    name: str
    type: Type
    reference: str = ""
    offset: int | None = None
    since: int = 0


@dataclass
class Composite:
    name: str
    members: list[Member]
    since: int = 0

    @property
    def grows(self) -> bool:
        """Whether an older version of it is shorter."""
        return any(one.since for one in self.members)


Type = Encoded | Enum | FlagSet | Composite


@dataclass
class Field:
    """`presence` is what the field itself says, `since` is never before its type's."""

    name: str
    id: int
    type: Type
    presence: str = ""
    value_ref: str = ""
    offset: int | None = None
    since: int = 0
    deprecated: int = 0

    @property
    def is_constant(self) -> bool:
        return self.presence == "constant" or is_constant(self.type)

    @property
    def is_optional(self) -> bool:
        if self.presence:
            return self.presence == "optional"
        return isinstance(self.type, Encoded | Enum) and self.type.is_optional


@dataclass
class Data:
    """`type` has the members `length` and `varData`."""

    name: str
    id: int
    type: Composite
    since: int = 0

    @property
    def characters(self) -> str:
        return self._member("varData").characters

    @property
    def length_max(self) -> int:
        length = self._member("length")
        return int(whole_range(length.primitive)[1] - 1 if length.maximum is None else length.maximum)

    def _member(self, name: str) -> Encoded:
        found = next(one.type for one in self.type.members if one.name == name)
        assert isinstance(found, Encoded)
        return found


@dataclass
class Block:
    """A message, or a group when it has a dimension.  `padding` stands when the schema says a block length: that much more than needed."""

    name: str
    id: int
    fields: list[Field] = field(default_factory=list)
    groups: list[Block] = field(default_factory=list)
    data: list[Data] = field(default_factory=list)
    dimension: Composite | None = None
    padding: int | None = None
    since: int = 0

    @property
    def count_range(self) -> tuple[int, int]:
        assert self.dimension is not None
        count = next(one.type for one in self.dimension.members if one.name == "numInGroup")
        assert isinstance(count, Encoded)
        most = whole_range(count.primitive)[1] - (0 if count.primitive.startswith("int") else 1)
        return int(count.minimum or 0), int(most if count.maximum is None else count.maximum)


@dataclass
class Schema:
    """`reads_newer` says whether its older versions can read its messages: nothing was put where they expect something else.

    The official tool does not manage all that it accepts: `reads_json` and `makes_java` say whether its JsonPrinter and its generated
    Java can do with this schema.
    """

    id: int
    version: int
    is_big_endian: bool
    header: Composite
    types: list[Type]
    messages: list[Block]
    package: str = "drawn"
    reads_newer: bool = True
    reads_json: bool = True
    makes_java: bool = True

    def message(self, name: str) -> Block:
        return next(one for one in self.messages if one.name == name)

    def xml(self, version: int | None = None) -> str:
        """The schema file, of an older version if one is given."""
        return _Writing(self.version if version is None else version).schema(self)


def is_constant(one: Type) -> bool:
    """Whether a type says its value itself."""
    return isinstance(one, Encoded) and one.constant is not None


def size(one: Type, version: int) -> int:
    """Bytes on the wire."""
    if isinstance(one, Composite):
        end = 0
        for member in living(one.members, version):
            end = (end if member.offset is None else member.offset) + size(member.type, version)
        return end
    if isinstance(one, Encoded):
        return 0 if one.constant is not None else SIZES[one.primitive] * one.length
    return SIZES[one.primitive]


def field_end(one: Field, start: int, version: int) -> int:
    """Where the field ends that begins at its own offset or else at `start`."""
    return (start if one.offset is None else one.offset) + (0 if one.is_constant else size(one.type, version))


def block_size(block: Block, version: int) -> int:
    """Bytes of the block's fields."""
    end = 0
    for one in living(block.fields, version):
        end = field_end(one, end, version)
    return end


class _Aging(Protocol):
    since: int


Aging = TypeVar("Aging", bound=_Aging)


def living(declared: list[Aging], version: int) -> Iterator[Aging]:
    """What is not newer than a version."""
    return (one for one in declared if one.since <= version)


class _Writing:
    """Writes one version of a schema."""

    def __init__(self, version: int) -> None:
        self.version = version

    def schema(self, schema: Schema) -> str:
        root = Xml.Element(
            "sbe:messageSchema",
            {
                "xmlns:sbe": NAMESPACE,
                "package": schema.package,
                "id": str(schema.id),
                "version": str(self.version),
                "byteOrder": "bigEndian" if schema.is_big_endian else "littleEndian",
                **({} if schema.header.name == "messageHeader" else {"headerType": schema.header.name}),
            },
        )
        types = Xml.SubElement(root, "types")
        for one in (schema.header, *schema.types):
            if one.since <= self.version:
                self.type(types, one, one.name, None, one.since)
        for message in living(schema.messages, self.version):
            self.block(root, "sbe:message", message, {})
        Xml.indent(root, "    ")
        return Xml.tostring(root, encoding="unicode", xml_declaration=False) + "\n"

    def type(self, parent: Xml.Element, one: Type, name: str, offset: int | None, since: int) -> None:
        """A type of the schema, or a member that is declared in place."""
        shared: dict[str, object] = {"name": name, "offset": offset, "sinceVersion": since or None}
        match one:
            case Encoded():
                self._encoded(parent, one, shared)
            case Enum():
                presence = "optional" if one.is_optional else None
                null_value = _literal(one.primitive, one.null_value)
                element = _add(parent, "enum", **shared, encodingType=one.encoding, presence=presence, nullValue=null_value)
                for value in living(one.values, self.version):
                    _named(element, "validValue", value, str(_literal(one.primitive, value.number)))
            case FlagSet():
                element = _add(parent, "set", **shared, encodingType=one.encoding)
                for choice in living(one.choices, self.version):
                    _named(element, "choice", choice, str(choice.number))
            case Composite():
                element = _add(parent, "composite", **shared)
                for member in living(one.members, self.version):
                    if member.reference:
                        _add(
                            element,
                            "ref",
                            name=member.name,
                            type=member.reference,
                            offset=member.offset,
                            sinceVersion=member.since or None,
                        )
                    else:
                        self.type(element, member.type, member.name, member.offset, member.since)

    def _encoded(self, parent: Xml.Element, one: Encoded, shared: dict[str, object]) -> None:
        presence = "constant" if one.constant is not None else "optional" if one.is_optional else None
        element = _add(
            parent,
            "type",
            **shared,
            primitiveType=one.primitive,
            length=None if one.length == 1 else one.length,
            presence=presence,
            nullValue=_literal(one.primitive, one.null_value),
            minValue=_literal(one.primitive, one.minimum),
            maxValue=_literal(one.primitive, one.maximum),
            characterEncoding=one.characters or None,
            valueRef=one.value_ref or None,
            deprecated=one.deprecated or None,
        )
        if one.constant is not None and not one.value_ref:
            element.text = str(one.constant)

    def block(self, parent: Xml.Element, tag: str, block: Block, more: dict[str, object]) -> None:
        padded = None if block.padding is None else block_size(block, self.version) + block.padding
        # A length of 0 means that none is given.
        element = _add(parent, tag, name=block.name, id=block.id, blockLength=padded or None, sinceVersion=block.since or None, **more)
        for one in living(block.fields, self.version):
            _add(
                element,
                "field",
                name=one.name,
                id=one.id,
                type=one.type.name,
                presence=one.presence or None,
                valueRef=one.value_ref or None,
                offset=one.offset,
                sinceVersion=one.since or None,
                deprecated=one.deprecated or None,
            )
        for group in living(block.groups, self.version):
            assert group.dimension is not None
            named = group.dimension.name
            self.block(element, "group", group, {} if named == "groupSizeEncoding" else {"dimensionType": named})
        for data in living(block.data, self.version):
            _add(element, "data", name=data.name, id=data.id, type=data.type.name, sinceVersion=data.since or None)


def _add(parent: Xml.Element, tag: str, **attributes: object) -> Xml.Element:
    element = Xml.SubElement(parent, tag, {name: str(value) for name, value in attributes.items() if value is not None})
    turn = sum(map(ord, str(attributes["name"]))) + len(parent)
    if turn % 3 == 0 and tag != "ref":
        element.set("description", DESCRIPTIONS[turn // 3 % len(DESCRIPTIONS)])
    return element


def _named(parent: Xml.Element, tag: str, one: NamedNumber, text: str) -> None:
    element = _add(parent, tag, name=one.name, sinceVersion=one.since or None, deprecated=one.deprecated or None)
    element.text = text


def _literal(primitive: str, value: Number | None) -> object:
    """Characters are written as such, numbers as numbers."""
    return chr(int(value)) if primitive == "char" and value is not None else value
