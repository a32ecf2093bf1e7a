"""Wireshark dissectors of messages: one Lua file per schema, data that an engine reads (sbe/templates/wireshark_messages.lua.j2)."""

from __future__ import annotations

import math
import struct

from aerowire.codegen.mark import mark
from aerowire.codegen.primitives import FORMATS, Primitive
from aerowire.codegen.rendering.base import render
from aerowire.codegen.rendering.lua import Value, filter_name, lua_comment, lua_value
from aerowire.codegen.sbe.ir import (
    HEADER_NUMBERS,
    Block,
    ByteOrder,
    Composite,
    Data,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Group,
    Member,
    MessageSchema,
    Named,
    Number,
    Presence,
    Type,
)
from aerowire.codegen.sbe.naming import null_member_name
from aerowire.codegen.sbe.placement import Placement

ENCODINGS = {
    "us-ascii": "ascii",
    "ascii": "ascii",
    "utf-8": "utf8",
    "utf8": "utf8",
    "iso-8859-1": "latin1",
    "iso_8859-1": "latin1",
    "latin1": "latin1",
    "windows-1252": "cp1252",
    "cp1252": "cp1252",
    "utf-16": "utf16be",
    "utf-16be": "utf16be",
    "utf-16le": "utf16le",
}
# Words of Wireshark's filters, which no protocol may be called.
FILTER_WORDS = frozenset({"all", "and", "any", "contains", "eq", "ge", "gt", "in", "le", "lt", "matches", "ne", "not", "or", "xor"})


class WiresharkMessages:
    """Renders one dissector per message schema."""

    name = "wireshark"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        protocol = protocol_name(placement)
        text = render(
            "sbe/templates/wireshark_messages.lua.j2",
            mark=mark(placement.source),
            description=lua_comment(schema.description or f"Messages of {schema.package}."),
            protocol=protocol,
            id=schema.id,
            schema=lua_value(_View(schema).schema(protocol, _title(placement))),
        )
        return {placement.file(self.name, ".lua"): text}


def protocol_name(placement: Placement) -> str:
    """What filters call the messages of a schema: the name of its package."""
    if placement.is_project:
        return f"aerowire_{placement.package}"
    name = ".".join(filter_name(part) for part in placement.package.lower().split(".") if part) or "sbe"
    return f"sbe_{name}" if name in FILTER_WORDS or name[0].isdigit() else name


def _title(placement: Placement) -> str:
    return f"Aeron {placement.package.replace('_', ' ')}" if placement.is_project else placement.package


class _View:
    """The data of a schema.  Types that are alike are listed once."""

    def __init__(self, schema: MessageSchema) -> None:
        self.tree = schema
        self.types: dict[str, int] = {}
        self.listed: list[Value] = []

    def schema(self, protocol: str, title: str) -> dict[str, Value]:
        tree = self.tree
        header = {name: self._at(tree.header.encoded(name), tree.header.offset(name)) for name in HEADER_NUMBERS}
        messages = [self._block(message) for message in tree.messages]
        header_type = self._type(tree.header.type)
        return {
            "protocol": protocol,
            "title": title,
            "id": tree.told_id,
            "version": tree.version,
            "little": tree.byte_order is ByteOrder.LITTLE_ENDIAN,
            "header": {"type": header_type, "numbers": header},
            "types": self.listed,
            "messages": messages,
        }

    def _block(self, block: Block) -> Value:
        view: dict[str, Value] = {**_named(block), "id": block.id, "length": block.block_length}
        if isinstance(block, Group):
            view |= {
                "dimension": self._type(block.dimension),
                "block_length_at": self._at(block.block_length_type, block.dimension.member("blockLength").offset),
                "count_at": self._at(block.count_type, block.dimension.member("numInGroup").offset),
            }
        view["fields"] = [self._field(one) for one in block.fields]
        view["groups"] = [self._block(one) for one in block.groups] or None
        view["data"] = [self._data(one) for one in block.data] or None
        return view

    def _field(self, field: Field) -> Value:
        constant = _constant(field.type, field.constant) if field.presence is Presence.CONSTANT else None
        return {
            **_named(field),
            "type": self._type(field.type, is_constant=constant is not None),
            "offset": field.offset if field.presence is not Presence.CONSTANT else None,
            "optional": field.presence is Presence.OPTIONAL or None,
            "constant": constant,
        }

    def _member(self, member: Member) -> Value:
        type_ = member.type
        constant = _constant(type_, type_.constant) if isinstance(type_, EncodedType) else None
        return {
            **_named(member),
            "type": self._type(type_, is_constant=constant is not None),
            "offset": member.offset if constant is None else None,
            "optional": member.presence is Presence.OPTIONAL or None,
            "constant": constant,
        }

    def _data(self, data: Data) -> Value:
        return {
            **_named(data),
            "offset": data.data_offset,
            "length": self._at(data.length_type, data.length_offset),
            "encoding": ENCODINGS.get(data.encoding.lower(), "ascii") if data.encoding else None,
        }

    def _at(self, type_: EncodedType, offset: int) -> Value:
        constant = int(type_.constant) if type_.presence is Presence.CONSTANT and isinstance(type_.constant, int | float) else None
        return {"offset": offset, **_number(type_.primitive), "constant": constant}

    def _type(self, type_: Type, *, is_constant: bool = False) -> int:
        """The place of a type in the list, from 1 on."""
        view = self._composite(type_) if isinstance(type_, Composite) else self._simple(type_, is_constant=is_constant)
        text = lua_value(view)
        if text not in self.types:
            self.listed.append(view)
            self.types[text] = len(self.listed)
        return self.types[text]

    def _composite(self, type_: Composite) -> dict[str, Value]:
        members = [self._member(member) for member in type_.members]
        return {"form": "composite", "size": type_.size, "bytes": type_.size, "members": members}

    def _simple(self, type_: EncodedType | Enum | FlagSet, *, is_constant: bool) -> dict[str, Value]:
        number = _number(type_.primitive)
        if isinstance(type_, FlagSet):
            choices: list[Value] = [{"bit": one.bit, **_named(one)} for one in sorted(type_.choices, key=lambda one: -one.bit)]
            return {"form": "set", **number, "kind": "uint", "bytes": type_.size, "choices": choices}
        if isinstance(type_, Enum):
            values: dict[int, Value] = {type_.null: "NULL_VALUE", **{one.value: one.name for one in type_.values}}
            null = _packed(type_.primitive, type_.null, self.tree.byte_order) if null_member_name(type_) else None
            return {"form": "enum", **number, "bytes": type_.size, "null": null, "values": values}
        if type_.primitive.name == "char":
            encoding = ENCODINGS.get(type_.character_encoding.lower(), "ascii")
            return {"form": "text", "length": type_.length, "bytes": type_.length, "encoding": encoding}
        if type_.primitive.name == "uint8" and type_.length != 1 and not is_constant:
            return {"form": "bytes", "length": type_.length, "bytes": type_.length}
        is_nan = type_.primitive.is_float and math.isnan(type_.null)
        return {
            "form": "number",
            **number,
            "bytes": type_.primitive.size * type_.length,
            "count": type_.length if type_.length != 1 and not is_constant else None,
            "null": None if is_nan else _packed(type_.primitive, type_.null, self.tree.byte_order),
            "null_is_nan": is_nan or None,
        }


def _named(named: Named) -> dict[str, Value]:
    """Name, what a filter calls it where that differs, and what is told of it."""
    about = named.description.strip()
    if named.deprecated:
        about = f"{about}  Deprecated since version {named.deprecated}.".strip()
    spelt = filter_name(named.name)
    return {
        "name": named.name,
        "filter": spelt if spelt != named.name else None,
        "about": " ".join(about.split()) or None,
        "since": named.since_version or None,
    }


def _number(primitive: Primitive) -> dict[str, Value]:
    return {"kind": "float" if primitive.is_float else "int" if primitive.signed else "uint", "size": primitive.size}


def _packed(primitive: Primitive, value: Number, order: ByteOrder) -> bytes:
    """The bytes of a value on the wire; those of no bytes that fit are none."""
    try:
        return struct.pack(order.struct_prefix + FORMATS[primitive.name], value)
    except (struct.error, OverflowError):
        return b""


def _constant(type_: Type, constant: Number | str | None) -> Value:
    """A constant as the field takes it: numbers of eight bytes as two halves, of an enum its number, text as text."""
    if constant is None or isinstance(type_, Composite | FlagSet):
        return None
    if isinstance(type_, Enum):
        return next((one.value for one in type_.values if one.name == constant), None)
    if isinstance(constant, str) or type_.primitive.name == "char":
        return constant if isinstance(constant, str) else chr(int(constant))
    if type_.primitive.is_float:
        return float(constant)
    if type_.primitive.size == 8:
        value = int(constant) % (1 << 64)
        return [value & 0xFFFFFFFF, value >> 32]
    return int(constant)
