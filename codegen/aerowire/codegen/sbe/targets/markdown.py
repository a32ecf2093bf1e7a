"""A reference of a message schema as Markdown: messages with their layouts drawn, groups, data, and every type."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from aerowire.codegen.rendering.base import DOCUMENTS
from aerowire.codegen.rendering.drawing import Cell, draw
from aerowire.codegen.rendering.markdown_text import anchor, code, drawing, heading, link, page, place, prose, table
from aerowire.codegen.sbe.ir import (
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
    Message,
    MessageSchema,
    Named,
    Number,
    Presence,
    Type,
    walk_blocks,
)
from aerowire.codegen.sbe.placement import Placement

FIELD_TITLES = ("offset", "length", "field", "id", "type", "presence", "null, range, value", "semantic type", "since", "description")
MEMBER_TITLES = ("offset", "length", "member", "type", "presence", "null, range, value", "semantic type", "since", "description")
GROUP_TITLES = ("group", "id", "dimension", "entry length", "semantic type", "since", "description")
DATA_TITLES = ("data", "id", "type", "length", "at most", "characters", "semantic type", "since", "description")
TYPE_TITLES = ("type", "stored as", "presence", "null, range, value", "semantic type", "since", "description")

HOW_TO_READ = """\
Offsets count bytes from the start of the block, entry or composite. An optional value that equals its null is none. `since` is the
schema's version that a thing came with: messages of older versions do not have it."""


class MarkdownMessages:
    """Renders one page per message schema."""

    name = "markdown"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        path = f"{DOCUMENTS}/{placement.package}.md" if placement.is_project else placement.file(self.name, ".md")
        return {path: page(placement.source, list(_page(schema, placement.package)))}


def _page(schema: MessageSchema, title: str) -> Iterator[str]:
    yield from [f"# {prose(title)}", "", prose(schema.description), ""]
    order = "little-endian" if schema.byte_order is ByteOrder.LITTLE_ENDIAN else "big-endian"
    semantic = f" ({prose(schema.semantic_version)})" if schema.semantic_version else ""
    yield from [f"SBE schema {schema.id}, version {schema.version}{semantic}, package {code(schema.package)}; numbers are {order}.", ""]
    yield from [f"In front of every message stands {link(schema.header.type.name, 'header')}, {_bytes(schema.header.size)}.", ""]
    yield from [HOW_TO_READ, ""]
    rows = [
        [
            str(one.id),
            link(one.name, anchor("message", one.name)),
            str(one.block_length),
            prose(one.semantic_type),
            _since(one),
            _about(one),
        ]
        for one in schema.messages
    ]
    yield from table(["template id", "message", "block length", "semantic type", "since", "description"], rows)
    encoded, types = _encoded_types(schema), _types(schema)
    if types or encoded:
        yield from [f"Types: {', '.join(link(one.name, _type_anchor(one)) for one in (*encoded, *types))}.", ""]
    header = schema.header.type
    yield from [f'<a id="{_type_anchor(header)}"></a>', *heading(2, "Header", "header")]
    yield from _composite(header, header.name)
    yield from heading(2, "Messages", "messages")
    for message in schema.messages:
        yield from _message(message)
    if types or encoded:
        yield from heading(2, "Types", "types")
        yield from table(TYPE_TITLES, [_encoded_type(one) for one in encoded])
        for one in types:
            yield from _type(one)


def _encoded_types(schema: MessageSchema) -> list[EncodedType]:
    """Those that have a row: the numbers, characters and arrays that the schema gives a name."""
    found = {one.name: one for one in schema.types if isinstance(one, EncodedType) and one.name != one.primitive.name}
    for field in _fields(schema):
        if isinstance(field.type, EncodedType) and field.type.name not in (field.type.primitive.name, ""):
            found.setdefault(field.type.name, field.type)
    return list(found.values())


def _types(schema: MessageSchema) -> list[Enum | FlagSet | Composite]:
    """Those that have a section: the enums, sets and composites of the schema, the header apart, each name once."""
    header = schema.header.type.name
    found = {one.name: one for one in schema.types if not isinstance(one, EncodedType) and one.name != header}
    for field in _fields(schema):
        if not isinstance(field.type, EncodedType) and field.type.name != header:
            found.setdefault(field.type.name, field.type)
    for one in tuple(found.values()):
        for referenced in _referenced(one):
            found.setdefault(referenced.name, referenced)
    return list(found.values())


def _referenced(type_: Type) -> Iterator[Enum | FlagSet | Composite]:
    """What a composite refers to by name, however deep: newer than the composite, it may be none of the schema's types."""
    for member in type_.members if isinstance(type_, Composite) else ():
        if member.reference and not isinstance(member.type, EncodedType):
            yield replace(member.type, name=member.reference)
        yield from _referenced(member.type)


def _fields(schema: MessageSchema) -> Iterator[Field]:
    return (field for message in schema.messages for block in walk_blocks(message) for field in block.fields)


def _type_anchor(type_: Named) -> str:
    return anchor("type", type_.name)


def _message(message: Message) -> Iterator[str]:
    yield from heading(3, f"{prose(message.name)} ({message.id})", anchor("message", message.name))
    yield from [_told(message), ""] if _told(message) else []
    yield from _block(message, message.name)


def _block(block: Block, path: str) -> Iterator[str]:
    cells = [Cell(one.name, one.offset, one.size) for one in block.fields]
    behind = [f"group {one.name}: {one.dimension.name}, then entries" for one in block.groups]
    behind += [f"data {one.name}: {one.length_type.primitive.name} length, then bytes" for one in block.data]
    if block.block_length or behind:
        yield from drawing(draw(cells, block.block_length, behind))
    else:
        yield from ["No fields.", ""]
    yield from table(FIELD_TITLES, [_field(one) for one in block.fields])
    if block.groups:
        yield from [f"Groups of {code(path)}, in this order:", ""]
    yield from table(GROUP_TITLES, [_listed(one, f"{path}.{one.name}") for one in block.groups])
    if block.data:
        yield from [f"Data of {code(path)}, in this order{', behind the groups' if block.groups else ''}:", ""]
    yield from table(DATA_TITLES, [_data(one) for one in block.data])
    for group in block.groups:
        yield from _group(group, f"{path}.{group.name}")


def _listed(group: Group, path: str) -> list[str]:
    return [
        link(group.name, anchor("group", path)),
        str(group.id),
        link(group.dimension.name, _type_anchor(group.dimension)),
        str(group.block_length),
        prose(group.semantic_type),
        _since(group),
        _about(group),
    ]


def _data(data: Data) -> list[str]:
    return [
        code(data.name),
        str(data.id),
        link(data.type.name, _type_anchor(data.type)),
        code(data.length_type.primitive.name),
        _number(data.max_length),
        prose(data.encoding) or "bytes",
        prose(data.semantic_type),
        _since(data),
        _about(data),
    ]


def _group(group: Group, path: str) -> Iterator[str]:
    yield from heading(4, f"group {prose(path)}", anchor("group", path))
    told = f" {_told(group)}" if _told(group) else ""
    since = f" Since version {group.since_version}." if group.since_version else ""
    dimension = link(group.dimension.name, _type_anchor(group.dimension))
    behind = " and what is behind each" if group.groups or group.data else ""
    yield from [f"Id {group.id}; {dimension}, then entries of {_bytes(group.block_length)}{behind}.{since}{told}", ""]
    yield from _block(group, path)


def _field(field: Field) -> list[str]:
    where = ["", ""] if field.presence is Presence.CONSTANT else [str(field.offset), str(field.size)]
    shown = _values(field.type, field.presence, field.constant, field.value_ref)
    semantic = _semantic(field)
    kind = _type_text(field.type, is_named=True)
    return [*where, code(field.name), str(field.id), kind, str(field.presence), shown, semantic, _since(field), _about(field)]


def _semantic(field: Field) -> str:
    """The semantic type, with what a time counts where the schema says so."""
    parts = (field.semantic_type or field.type.semantic_type, field.time_unit, field.epoch and f"since {field.epoch}")
    return prose(", ".join(part for part in parts if part))


def _member(member: Member, path: str) -> list[str]:
    type_ = member.type
    is_constant = member.presence is Presence.CONSTANT
    constant = type_.constant if isinstance(type_, EncodedType) else None
    shown = _values(type_, member.presence, constant, type_.value_ref if isinstance(type_, EncodedType) else "")
    length = "any" if isinstance(type_, EncodedType) and type_.length == 0 else str(member.size)
    where = ["", ""] if is_constant else [str(member.offset), length]
    return [
        *where,
        code(member.name),
        _type_text(type_, member.reference or f"{path}.{member.name}"),
        str(member.presence),
        shown,
        prose(member.semantic_type or type_.semantic_type),
        _since(member),
        _about(member),
    ]


def _encoded_type(type_: EncodedType) -> list[str]:
    return [
        place(_type_anchor(type_)) + code(type_.name),
        _primitive(type_),
        str(type_.presence),
        _values(type_, type_.presence, type_.constant, type_.value_ref),
        prose(type_.semantic_type),
        _since(type_),
        _about(type_),
    ]


def _type_text(type_: Type, reference: str = "", *, is_named: bool = False) -> str:
    """A primitive with its number, or a link to the type's section; `reference` is what that is called if not as the type.

    `is_named`: a primitive under a name that has a row among the types is a link, too.
    """
    if isinstance(type_, EncodedType):
        named = f"{link(type_.name, _type_anchor(type_))} " if is_named and type_.name not in (type_.primitive.name, "") else ""
        return named + _primitive(type_)
    name = reference or type_.name
    return link(name, anchor("type", name))


def _primitive(type_: EncodedType) -> str:
    count = "" if type_.length == 1 else f"[{type_.length or ''}]"
    encoding = f" {prose(type_.character_encoding)}" if type_.character_encoding else ""
    return code(f"{type_.primitive.name}{count}") + encoding


def _values(type_: Type, presence: Presence, constant: Number | str | None, value_ref: str) -> str:
    """The constant; else the null of what is optional, and the range where the schema gives one."""
    if presence is Presence.CONSTANT:
        return code(value_ref or (constant if isinstance(constant, str) else _number(constant)))
    parts = []
    if presence is Presence.OPTIONAL and isinstance(type_, EncodedType | Enum) and not (isinstance(type_, EncodedType) and type_.is_text):
        parts.append(f"null {_number(type_.null)}")
    if isinstance(type_, EncodedType) and (type_.min_value is not None or type_.max_value is not None):
        parts.append(f"{_number(type_.minimum)} … {_number(type_.maximum)}")
    return "; ".join(parts)


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"


def _number(value: Number | None) -> str:
    if value is None:
        return ""
    return "NaN" if isinstance(value, float) and math.isnan(value) else str(value)


def _since(named: Named) -> str:
    return str(named.since_version or "")


def _about(named: Named) -> str:
    """What is said of it in a table."""
    deprecated = f"Deprecated since version {named.deprecated}." if named.deprecated else ""
    return " ".join(part for part in (prose(named.description), deprecated) if part)


def _told(named: Named) -> str:
    since = f"Since version {named.since_version}." if named.since_version and isinstance(named, Message) else ""
    return " ".join(part for part in (_about(named), since) if part)


def _type(type_: Enum | FlagSet | Composite, path: str = "") -> Iterator[str]:
    """The section of a type; `path` is where it is declared, if within a composite."""
    name = path or type_.name
    kind = "enum" if isinstance(type_, Enum) else "set" if isinstance(type_, FlagSet) else "composite"
    yield from heading(4 if path else 3, f"{kind} {prose(name)}", anchor("type", name))
    yield from [_about(type_), ""] if _about(type_) else []
    if isinstance(type_, Composite):
        yield from _composite(type_, name)
    elif isinstance(type_, Enum):
        yield from [f"Stored as {code(type_.primitive.name)}; null is {type_.null}.", ""]
        is_char = type_.primitive.name == "char"
        rows = [
            [code(_character(one.value) if is_char else str(one.value)), code(one.name), _since(one), _about(one)] for one in type_.values
        ]
        yield from table(["value", "name", "since", "description"], rows)
    else:
        yield from [f"Stored as {code(type_.primitive.name)}.", ""]
        choices = [[str(one.bit), code(f"{1 << one.bit:#x}"), code(one.name), _since(one), _about(one)] for one in type_.choices]
        yield from table(["bit", "mask", "name", "since", "description"], choices)


def _character(value: int) -> str:
    return chr(value) if 0x20 < value < 0x7F else f"{value:#04x}"


def _composite(composite: Composite, path: str) -> Iterator[str]:
    cells = [Cell(one.name, one.offset, one.size) for one in composite.members if one.presence is not Presence.CONSTANT]
    behind = [f"{one.name}: bytes" for one in composite.members if isinstance(one.type, EncodedType) and one.type.length == 0]
    if composite.size or behind:
        yield from drawing(draw(cells, composite.size, behind))
    yield from table(MEMBER_TITLES, [_member(one, path) for one in composite.members])
    for member in composite.members:
        if not member.reference and not isinstance(member.type, EncodedType):
            yield from _type(member.type, f"{path}.{member.name}")
