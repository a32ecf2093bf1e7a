"""Messages with random bytes in every place that a schema leaves open: well-formed, and of no sense at all."""

from __future__ import annotations

import functools
import random
from pathlib import Path

from aerowire.codegen.sbe.ir import Block, Composite, EncodedType, Message, MessageSchema, Presence
from aerowire.codegen.sbe.reader import load_message_schema

SCHEMAS = Path(__file__).with_name("schemas")


@functools.cache
def own_schema(name: str) -> MessageSchema:
    """One of the schemas beside this file."""
    return load_message_schema(SCHEMAS / f"{name}.xml", f"{name}.xml")


def random_message(schema: MessageSchema, message: Message, chance: random.Random, version: int) -> bytes:
    """A message of an acting version; one in two has zeros where others have noise, so that plain ones come up too."""
    length = message.block_length if chance.random() < 0.6 else message.least_block_length(version) + chance.randrange(4)
    numbers = {"blockLength": length, "templateId": message.id, "schemaId": schema.id, "version": version}
    out = bytearray()
    _head(schema, schema.header.type, numbers, chance, schema.header.size, out)
    _entry(schema, message, chance, version, length, out)
    return bytes(out)


def _noise(chance: random.Random, length: int) -> bytes:
    kind = chance.random()
    if kind < 0.3:
        return bytes(length)
    if kind < 0.6:
        return bytes(chance.choice(b"\0 AbS9") for _ in range(length))
    return chance.randbytes(length)


def _head(schema: MessageSchema, composite: Composite, numbers: dict[str, int], chance: random.Random, size: int, out: bytearray) -> None:
    head = bytearray(_noise(chance, size))
    for name, number in numbers.items():
        member = composite.member(name)
        if member.presence is not Presence.CONSTANT:
            order = "little" if schema.byte_order.struct_prefix == "<" else "big"
            assert isinstance(member.type, EncodedType)
            head[member.offset : member.offset + member.size] = number.to_bytes(member.size, order)  # type: ignore[arg-type]
    out += head


def _entry(schema: MessageSchema, block: Block, chance: random.Random, version: int, length: int, out: bytearray) -> None:
    out += _noise(chance, length)
    for group in block.groups:
        if group.since_version <= version:
            count = chance.choice((0, 0, 1, 2, 3))
            extra = chance.choice((0, 0, 0, 2))
            entry = (group.block_length if chance.random() < 0.7 else group.least_block_length(version)) + extra
            _head(schema, group.dimension, {"blockLength": entry, "numInGroup": count}, chance, group.dimension.size, out)
            for _ in range(count):
                _entry(schema, group, chance, version, entry, out)
    for data in block.data:
        if data.since_version <= version:
            content = _noise(chance, chance.choice((0, 1, 5, 20)))
            _head(schema, data.type, {"length": len(content)}, chance, data.data_offset, out)
            out += content
