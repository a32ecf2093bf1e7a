"""A reference of a message schema as Markdown: messages with their layouts drawn, groups, data, and every type."""

from __future__ import annotations

import math
from collections.abc import Iterator

from aerowire.codegen.sbe.ir import (
    Block,
    ByteOrder,
    Composite,
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
)
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.targets.base import DOCUMENTS
from aerowire.codegen.targets.drawing import Cell, draw
from aerowire.codegen.targets.markdown_text import anchor, code, drawing, heading, link, page, prose, table

FIELD_TITLES = ("offset", "length", "field", "id", "type", "presence", "null, range, value", "since", "description")
MEMBER_TITLES = ("offset", "length", "member", "type", "presence", "null, range, value", "since", "description")


class MarkdownMessages:
    """Renders one page per message schema."""

    name = "markdown"

    def render(self, schema: MessageSchema, placement: Placement) -> dict[str, str]:
        own = placement.is_project
        path = f"{DOCUMENTS}/{placement.package}.md" if own else placement.file(self.name, ".md")
        source = f"spec/{placement.package}.xml" if own else placement.package
        return {path: page(source, list(_page(schema, placement.package)))}


def _page(schema: MessageSchema, title: str) -> Iterator[str]:
    yield from [f"# {prose(title)}", "", prose(schema.description), ""]
    order = "little-endian" if schema.byte_order is ByteOrder.LITTLE_ENDIAN else "big-endian"
    semantic = f" ({prose(schema.semantic_version)})" if schema.semantic_version else ""
    yield from [f"SBE schema {schema.id}, version {schema.version}{semantic}, package {code(schema.package)}; numbers are {order}.", ""]
    yield from [f"In front of every message stands {link(schema.header.type.name, 'header')}, {_bytes(schema.header.size)}.", ""]
    rows = [
        [str(one.id), link(one.name, anchor("message", one.name)), str(one.block_length), _since(one), _about(one)]
        for one in schema.messages
    ]
    yield from table(["template id", "message", "block length", "since", "description"], rows)
    types = _types(schema)
    if types:
        yield from [f"Types: {', '.join(link(one.name, _type_anchor(one)) for one in types)}.", ""]
    header = schema.header.type
    yield from [f'<a id="{_type_anchor(header)}"></a>', *heading(2, "Header", "header")]
    yield from _composite(header, header.name)
    yield from heading(2, "Messages", "messages")
    for message in schema.messages:
        yield from _message(message)
    if types:
        yield from heading(2, "Types", "types")
        for one in types:
            yield from _type(one)


def _types(schema: MessageSchema) -> list[Enum | FlagSet | Composite]:
    """Those that have a section: the enums, sets and composites of the schema, the header apart, each name once."""
    header = schema.header.type.name
    found = {one.name: one for one in schema.types if not isinstance(one, EncodedType) and one.name != header}
    held = [one.type for message in schema.messages for block in _blocks(message) for one in block.fields]
    for one in held:
        if not isinstance(one, EncodedType) and one.name != header:
            found.setdefault(one.name, one)
    return list(found.values())


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for group in block.groups:
        yield from _blocks(group)


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
    for group in block.groups:
        yield from _group(group, f"{path}.{group.name}")
    rows = [
        [
            code(one.name),
            str(one.id),
            link(one.type.name, _type_anchor(one.type)),
            code(one.length_type.primitive.name),
            _number(one.max_length),
            prose(one.encoding) or "bytes",
            _since(one),
            _about(one),
        ]
        for one in block.data
    ]
    if rows:
        yield from [f"Data of {code(path)}, in this order:", ""]
    yield from table(["data", "id", "type", "length", "at most", "characters", "since", "description"], rows)


def _group(group: Group, path: str) -> Iterator[str]:
    yield from heading(4, f"group {prose(path)}", anchor("group", path))
    told = f" {_told(group)}" if _told(group) else ""
    since = f" Since version {group.since_version}." if group.since_version else ""
    dimension = link(group.dimension.name, _type_anchor(group.dimension))
    behind = " and what is behind each" if group.groups or group.data else ""
    yield from [f"Id {group.id}; {dimension}, then entries of {_bytes(group.block_length)}{behind}.{since}{told}", ""]
    yield from _block(group, path)


def _field(field: Field) -> list[str]:
    place = ["", ""] if field.presence is Presence.CONSTANT else [str(field.offset), str(field.size)]
    shown = _values(field.type, field.presence, field.constant, field.value_ref)
    return [*place, code(field.name), str(field.id), _type_text(field.type), str(field.presence), shown, _since(field), _about(field)]


def _member(member: Member, path: str) -> list[str]:
    type_ = member.type
    is_constant = member.presence is Presence.CONSTANT
    constant = type_.constant if isinstance(type_, EncodedType) else None
    shown = _values(type_, member.presence, constant, type_.value_ref if isinstance(type_, EncodedType) else "")
    length = "any" if isinstance(type_, EncodedType) and type_.length == 0 else str(member.size)
    place = ["", ""] if is_constant else [str(member.offset), length]
    return [
        *place,
        code(member.name),
        _type_text(type_, member.reference or f"{path}.{member.name}"),
        str(member.presence),
        shown,
        _since(member),
        _about(member),
    ]


def _type_text(type_: Type, reference: str = "") -> str:
    """A primitive with its number, or a link to the type's section; `reference` is what that is called if not as the type."""
    if not isinstance(type_, EncodedType):
        name = reference or type_.name
        return link(name, anchor("type", name))
    count = f"[{type_.length}]" if type_.length != 1 else ""
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
    if composite.size:
        yield from drawing(draw(cells, composite.size))
    yield from table(MEMBER_TITLES, [_member(one, path) for one in composite.members])
    for member in composite.members:
        if not member.reference and not isinstance(member.type, EncodedType):
            yield from _type(member.type, f"{path}.{member.name}")
