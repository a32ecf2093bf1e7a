"""What a field or a member is in Python: its types, how `struct` calls it, and the expressions that read and write it."""

from __future__ import annotations

import codecs
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from aerowire.codegen.primitives import FORMATS
from aerowire.codegen.sbe.flyweights.text import literal, number
from aerowire.codegen.sbe.ir import (
    HEADER_NUMBERS,
    Block,
    Composite,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Header,
    Member,
    Message,
    MessageSchema,
    Presence,
    Type,
    has_null,
    walk_blocks,
)
from aerowire.codegen.sbe.naming import ClassNames, class_names, enum_member_names, property_names

# What has values: they become properties of its flyweights, and attributes of its data class.
Owner = Block | Composite


def python_encoding(name: str) -> str | None:
    """Python's name of a character set; None when it has none, and the bytes stay bytes."""
    try:
        found = codecs.lookup(name.strip()).name
        "".encode(found)  # some are from bytes to bytes
    except (LookupError, ValueError):
        return None
    return found


def is_marked(encoding: str) -> bool:
    """Whether a mark in front of the text may say the order of bytes."""
    return encoding in {"utf-16", "utf-32"}


def errors_of(encoding: str) -> str:
    """What lets bytes that are no text survive reading and writing."""
    return "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "surrogateescape"


@dataclass(frozen=True)
class Value:
    """A field of a block or a member of a composite, with its Python name."""

    name: str
    node: Field | Member
    type: Type
    presence: Presence
    class_name: str

    @property
    def offset(self) -> int:
        return self.node.offset

    @property
    def size(self) -> int:
        return 0 if self.is_constant else self.type.size

    @property
    def since(self) -> int:
        return self.node.since_version

    @property
    def is_constant(self) -> bool:
        """It takes no bytes.  An enum in a composite cannot say which value it has, so it has none."""
        return self.presence is Presence.CONSTANT

    @property
    def constant_annotation(self) -> str:
        has_no_value = isinstance(self.node, Member) and isinstance(self.type, Enum)
        return f"{self.plain_annotation} | None" if has_no_value else self.plain_annotation

    @property
    def is_composite(self) -> bool:
        return isinstance(self.type, Composite)

    @property
    def kind(self) -> str:
        if isinstance(self.type, Composite):
            return "composite"
        if isinstance(self.type, Enum):
            return "enum"
        if isinstance(self.type, FlagSet):
            return "flags"
        if self.type.is_text:
            return "text"
        if self.type.length != 1:
            return "numbers"
        return "char" if self.type.primitive.name == "char" else "number"

    @property
    def code(self) -> str:
        """The format of a single value, or of a row of them."""
        if isinstance(self.type, Composite):
            return f"{self.type.size}s"
        plain = FORMATS[self.type.primitive.name]
        if self.kind == "text":
            return f"{self.size}s"
        return f"{self.type.length}{plain}" if isinstance(self.type, EncodedType) and self.kind == "numbers" else plain

    @property
    def is_optional(self) -> bool:
        """None stands for the null value."""
        return self.presence is Presence.OPTIONAL and self.kind in {"number", "char", "enum"}

    @property
    def is_nullable(self) -> bool:
        """A composite for which None stands when all its members are null: it is optional, or there are versions without it."""
        if not isinstance(self.type, Composite):
            return False
        return (self.presence is Presence.OPTIONAL or self.since > 0) and has_null(self.type)

    @property
    def may_be_none(self) -> bool:
        return self.is_optional or self.is_nullable or (self.since > 0 and not self.is_constant)

    @property
    def takes_none(self) -> bool:
        """None may be written; a row of optional numbers or characters is then null throughout, and so is a composite."""
        if self.is_composite:
            return self.is_nullable
        return self.may_be_none or (self.presence is Presence.OPTIONAL and self.kind in {"numbers", "text"})

    @property
    def plain_annotation(self) -> str:
        if self.kind in {"enum", "flags", "composite"}:
            return self.class_name
        if self.kind in {"text", "char"}:
            return "str"
        is_float = isinstance(self.type, EncodedType) and self.type.primitive.is_float
        one = "float" if is_float else "int"
        return f"tuple[{one}, ...]" if self.kind == "numbers" else one

    @property
    def null(self) -> float:
        if isinstance(self.type, EncodedType | Enum):
            return self.type.null
        return 0

    @property
    def encoding(self) -> str:
        declared = self.type.character_encoding if isinstance(self.type, EncodedType) else ""
        return python_encoding(declared or "ascii") or "latin-1"

    @property
    def primitive_name(self) -> str:
        return "" if isinstance(self.type, Composite) else self.type.primitive.name

    def null_bytes(self, order: str) -> bytes:
        """The bytes of no value."""
        if self.is_constant:
            return b""
        if isinstance(self.type, Composite):
            return null_image(self.type, order)
        code, null = FORMATS[self.type.primitive.name], self.null
        if self.kind in {"text", "flags"}:
            return bytes(self.size)
        length = self.type.length if isinstance(self.type, EncodedType) else 1
        return struct.pack(f"{order}{length}{code}", *([null] * length))

    def expected(self) -> str:
        """What a value must be, for the error that says that one is not."""
        if self.kind == "text":
            return f"text of at most {self.size} bytes of {self.encoding} without NUL"
        if self.kind == "char":
            return "one character"
        if self.kind == "numbers" and isinstance(self.type, EncodedType):
            return f"{self.type.length} numbers of {self.primitive_name}"
        name = f"{self.class_name}, {self.primitive_name}" if self.class_name else self.primitive_name
        return f"{name} or None" if self.takes_none else name


def null_image(composite: Composite, order: str) -> bytes:
    """A composite in which every member is null."""
    image = bytearray(composite.size)
    for member in composite.members:
        raw = Value("", member, member.type, member.presence, "").null_bytes(order)
        image[member.offset : member.offset + len(raw)] = raw
    return bytes(image)


def header_values(schema: MessageSchema, message: Message) -> dict[str, int]:
    """What the header of a message has in the four members that every header has."""
    return dict(zip(HEADER_NUMBERS, (message.block_length, message.id, schema.id, schema.version), strict=True))


def header_image(schema: MessageSchema, message: Message) -> bytes:
    """The header of a message as it is written, further members zero."""
    image = bytearray(schema.header.size)
    for name, value in header_values(schema, message).items():
        encoded = schema.header.encoded(name)
        if encoded.presence is not Presence.CONSTANT:
            struct.pack_into(schema.byte_order.struct_prefix + FORMATS[encoded.primitive.name], image, schema.header.offset(name), value)
    return bytes(image)


def has_further_members(header: Header) -> bool:
    """Whether some of its bytes are not those of the four members that every header has."""
    own = [header.encoded(name) for name in HEADER_NUMBERS]
    return sum(one.size for one in own if one.presence is not Presence.CONSTANT) != header.size


@dataclass(frozen=True)
class Model:
    """A schema with the names of everything in it; `support` is how the modules of the package name that of what they share."""

    schema: MessageSchema
    names: ClassNames
    support: str

    @classmethod
    def of(cls, schema: MessageSchema, support: str) -> Model:
        return cls(schema, class_names(schema), support)

    def is_asked(self, of: Owner) -> bool:
        """Whether it is a composite that is asked whether all its members are null; types that differ in a description share a class."""
        return isinstance(of, Composite) and self.names.types.get(of) in self._asked

    @cached_property
    def _asked(self) -> frozenset[str]:
        """The classes of composites for which None may stand, and of those within them."""
        owners: list[Owner] = [block for message in self.schema.messages for block in walk_blocks(message)]
        owners += [one for one in self.names.types if isinstance(one, Composite)]
        found: set[str] = set()
        for owner in owners:
            for value in self.values(owner):
                if value.is_nullable and isinstance(value.type, Composite):
                    found.update(self.names.types[one] for one in _with_inner(value.type))
        return frozenset(found)

    @property
    def order(self) -> str:
        """The byte order as `struct` has it."""
        return self.schema.byte_order.struct_prefix

    def values(self, of: Owner) -> list[Value]:
        """The fields or members in the schema's order."""
        names = property_names(of)
        nodes: tuple[Field | Member, ...] = of.members if isinstance(of, Composite) else of.fields
        return [Value(names[one.name], one, one.type, one.presence, self._class(one.type)) for one in nodes]

    def _class(self, of: Type) -> str:
        return "" if isinstance(of, EncodedType) else self.names.types[of]

    def constant(self, value: Value) -> str:
        """A constant as an expression."""
        found = value.node.constant if isinstance(value.node, Field) else None
        if found is None and isinstance(value.type, EncodedType):
            found = value.type.constant
        if isinstance(value.type, Enum):
            if found is None:
                return "None"
            return f"{value.class_name}.{enum_member_names(value.type)[str(found)]}"
        if isinstance(found, str):
            return literal(found)
        if value.kind == "char" and isinstance(found, int):
            return literal(chr(found))
        return number(found if found is not None else 0)


def _with_inner(composite: Composite) -> Iterator[Composite]:
    yield composite
    for member in composite.members:
        if isinstance(member.type, Composite):
            yield from _with_inner(member.type)


def limits(value: Value) -> Mapping[str, str]:
    """The constants of a value that say what it can be, as expressions."""
    if isinstance(value.type, EncodedType) and not value.is_constant:
        return {"NULL_VALUE": number(value.type.null), "MIN_VALUE": number(value.type.minimum), "MAX_VALUE": number(value.type.maximum)}
    if isinstance(value.type, Enum) and not value.is_constant:
        return {"NULL_VALUE": number(value.type.null)}
    return {}


def is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)
