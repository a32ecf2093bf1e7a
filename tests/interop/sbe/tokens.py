"""Our tree of a schema in the form of the official tool's tokens: places, lengths, versions, presence, ranges, constants."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from aerowire.codegen.sbe.ir import (
    Block,
    Composite,
    Data,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Group,
    Message,
    MessageSchema,
    Number,
    Presence,
    Type,
)

Row = dict[str, Any]


def token_differences(schema: MessageSchema, theirs: dict[str, Any]) -> list[str]:
    """Say where the tree differs from the tool's tokens."""
    found = _differences("header", list(_type(schema.header.type, schema.header.type.name, 0, Presence.REQUIRED, None)), theirs["header"])
    if {one.name for one in schema.messages} != set(theirs["messages"]):
        found.append(f"messages {[one.name for one in schema.messages]} instead of {list(theirs['messages'])}")
    for message in schema.messages:
        found += _differences(message.name, list(_block(message)), theirs["messages"].get(message.name, []))
    return found


def _differences(where: str, ours: list[Row], theirs: list[Row]) -> list[str]:
    found = [] if len(ours) == len(theirs) else [f"{where}: {len(ours)} tokens instead of {len(theirs)}"]
    for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        different = {key: (one[key], value) for key, value in _plain(other).items() if key in one and one[key] != value}
        if different:
            found.append(f"{where}, token {index} ({other['signal']} {other['name']}): ours and theirs {different}")
    return found


def _plain(row: Row) -> Row:
    """Floats are compared as their bits, constants of text without what pads them."""
    plain = dict(row)
    for key in ("minimum", "maximum", "null", "constant"):
        if row.get("primitive") in ("float", "double") and plain.get(key) is not None:
            plain[key] = _float(row["primitive"], float(plain[key]))
    if row.get("primitive") == "char" and plain.get("constant") is not None:
        plain["constant"] = plain["constant"].rstrip("\0")
    return plain


def _float(primitive: str, value: float) -> str:
    return struct.pack("<f" if primitive == "float" else "<d", value).hex()


def _block(block: Block) -> Iterator[Row]:
    kind = "BEGIN_MESSAGE" if isinstance(block, Message) else "BEGIN_GROUP"
    yield _named(kind, block) | {"size": block.block_length, "id": block.id, "version": block.since_version}
    if isinstance(block, Group):
        yield from _type(block.dimension, block.dimension.name, 0, Presence.REQUIRED, None)
    for field in block.fields:
        yield from _field(field)
    for group in block.groups:
        yield from _block(group)
    for data in block.data:
        yield from _data(data)


def _field(field: Field) -> Iterator[Row]:
    row = {"offset": field.offset, "presence": field.presence.value, "id": field.id, "version": field.since_version}
    yield _named("BEGIN_FIELD", field) | row
    yield from _type(field.type, field.type.name, field.offset, field.presence, field.constant)


def _data(data: Data) -> Iterator[Row]:
    yield _named("BEGIN_VAR_DATA", data) | {"id": data.id, "version": data.since_version}
    # The tool has no length for what has one of its own, and an offset that nobody uses.
    for row in _type(data.type, data.type.name, 0, Presence.REQUIRED, None):
        unsaid = {"size", "offset"} if row["signal"] == "BEGIN_COMPOSITE" else {"size"} if row["name"] == "varData" else set()
        yield {key: value for key, value in row.items() if key not in unsaid}


def _type(one: Type, name: str, offset: int, presence: Presence, constant: Number | str | None) -> Iterator[Row]:
    match one:
        case Composite():
            yield _head("BEGIN_COMPOSITE", one, name, offset)
            for member in one.members:
                for index, row in enumerate(_type(member.type, member.name, member.offset, member.presence, _constant(member.type))):
                    yield row if index else row | {"type": member.reference or member.name}
        case Enum():
            yield _head("BEGIN_ENUM", one, name, offset) | {"primitive": one.primitive.name, "null": _text(one.primitive.name, one.null)}
            for value in one.values:
                row = {"version": value.since_version, "value": _text(one.primitive.name, value.value)}
                yield _named("VALID_VALUE", value) | row
        case FlagSet():
            yield _head("BEGIN_SET", one, name, offset) | {"primitive": one.primitive.name}
            for choice in one.choices:
                yield _named("CHOICE", choice) | {"version": choice.since_version, "value": str(choice.bit)}
        case EncodedType():
            yield _encoded(one, name, offset, presence, _constant(one) if constant is None else constant)


def _constant(one: Type) -> Number | str | None:
    return one.constant if isinstance(one, EncodedType) else None


def _encoded(one: EncodedType, name: str, offset: int, presence: Presence, constant: Number | str | None) -> Row:
    primitive = one.primitive.name
    row = _head("ENCODING", one, name, offset) | {"primitive": primitive}
    if presence is Presence.CONSTANT:
        assert constant is not None
        is_one_character = isinstance(constant, str) and len(constant) == 1 == one.length
        said = str(ord(constant)) if isinstance(constant, str) and is_one_character else constant
        return row | {"size": 0, "constant": said if isinstance(said, str) else _text(primitive, said)}
    return row | {
        "presence": presence.value,
        "minimum": _text(primitive, one.minimum),
        "maximum": _text(primitive, one.maximum),
        "null": _text(primitive, one.null) if presence is Presence.OPTIONAL else None,
        "characters": one.character_encoding or None,
    }


def _head(signal: str, one: Type, name: str, offset: int) -> Row:
    return _named(signal, one) | {"name": name, "type": one.name, "size": one.size, "offset": offset}


def _named(signal: str, one: Any) -> Row:
    return {"signal": signal, "name": one.name, "deprecated": one.deprecated}


def _text(primitive: str, value: Number) -> str:
    return _float(primitive, float(value)) if primitive in ("float", "double") else str(int(value))
