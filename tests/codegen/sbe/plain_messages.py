"""Random messages, written field by field with `struct` from a schema's tree, and what each column of them must hold.

The dumb twin of the decoders of columns: it knows one value at a time, in the order of the bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from random import Random
from typing import Any

from aerowire.codegen.sbe.ir import (
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
)

CODES = {
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float": "f",
    "double": "d",
}


@dataclass
class Plain:
    """One block: values by path (None is null, or older than the value), entries by group, bytes by data."""

    values: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, list[Plain]] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)


class Writer:
    """Draws messages of a schema."""

    def __init__(self, schema: MessageSchema, random: Random, *, longer_by: int = 5) -> None:
        self.schema = schema
        self.random = random
        self.longer_by = longer_by
        self.prefix = schema.byte_order.struct_prefix

    def message(self, message: Message, version: int | None = None) -> tuple[bytes, Plain]:
        """Return the bytes of a message with its header, and what is in it."""
        acting = self.schema.version if version is None else version
        plain = Plain()
        block = self._block(message, acting, plain, self._length(message, acting))
        numbers = {"blockLength": len(block), "templateId": message.id, "schemaId": self.schema.id, "version": acting}
        return self._header(self.schema.header, numbers) + block + self._tail(message, acting, plain), plain

    def _length(self, block: Block, version: int) -> int:
        least = max(block.least_block_length(version), block.block_length if version >= self.schema.version else 0)
        return least + self.random.choice((0, 0, self.longer_by))

    def _header(self, header: Header, numbers: dict[str, int]) -> bytes:
        made = bytearray(self.random.randbytes(header.size))
        for name, number in numbers.items():
            if header.encoded(name).size:
                struct.pack_into(self.prefix + CODES[header.encoded(name).primitive.name], made, header.offset(name), number)
        return bytes(made)

    def _block(self, block: Block, version: int, plain: Plain, length: int) -> bytes:
        made = bytearray(self.random.randbytes(length))
        for one in block.fields:
            self._value(one, "", 0, one.since_version, version, made, plain)
        return bytes(made)

    def _value(self, one: Field | Member, path: str, base: int, since: int, version: int, made: bytearray, plain: Plain) -> None:
        name, start = path + one.name, base + one.offset
        if one.presence is Presence.CONSTANT:
            return
        if isinstance(one.type, Composite):
            for member in one.type.members:
                self._value(member, f"{name}.", start, max(since, member.since_version), version, made, plain)
        elif since > version:
            plain.values[name] = None
        else:
            plain.values[name] = self._leaf(one.type, one.presence, made, start)

    def _leaf(self, one: EncodedType | Enum | FlagSet, presence: Presence, made: bytearray, start: int) -> Any:
        if isinstance(one, EncodedType) and one.primitive.name == "char":
            text = bytes(self.random.choice(b"ABC xyz\0") for _ in range(one.length))
            made[start : start + len(text)] = text
            return None if presence is Presence.OPTIONAL and one.length == 1 and text[0] == one.null else text
        count = one.length if isinstance(one, EncodedType) else 1
        numbers = [self._number(one) for _ in range(count)]
        struct.pack_into(f"{self.prefix}{count}{CODES[one.primitive.name]}", made, start, *numbers)
        if count != 1:
            return numbers
        is_null = presence is Presence.OPTIONAL and not isinstance(one, FlagSet) and numbers[0] in (one.null, None)
        return None if is_null or (presence is Presence.OPTIONAL and numbers[0] != numbers[0]) else numbers[0]

    def _number(self, one: EncodedType | Enum | FlagSet) -> int | float:
        primitive = one.primitive
        if primitive.is_float:
            number = self.random.choice((float("nan"), float("inf"), -0.0, -1.0, self.random.uniform(-1e6, 1e6)))
            return float(struct.unpack("f", struct.pack("f", number))[0])
        if not isinstance(one, FlagSet) and self.random.random() < 0.2:
            return int(one.null)
        if isinstance(one, Enum) and self.random.random() < 0.7:
            return self.random.choice(one.values).value
        least, most = (0, 255) if primitive.name == "char" else (primitive.minimum, primitive.maximum)
        return self.random.choice((least, most, self.random.randint(least, most)))

    def _tail(self, block: Block, version: int, plain: Plain) -> bytes:
        made = b""
        for group in block.groups:
            entries = plain.groups[group.name] = []
            if group.since_version > version:
                continue
            length, bodies = self._length(group, version), b""
            for _ in range(self.random.choice((0, 0, 1, 2, 5))):
                entries.append(Plain())
                bodies += self._block(group, version, entries[-1], length) + self._tail(group, version, entries[-1])
            dimension = bytearray(self.random.randbytes(group.dimension.size))
            for name, number in (("blockLength", length), ("numInGroup", len(entries))):
                member = group.dimension.member(name)
                assert isinstance(member.type, EncodedType)
                if member.size:
                    struct.pack_into(self.prefix + CODES[member.type.primitive.name], dimension, member.offset, number)
            made += dimension + bodies
        for data in block.data:
            plain.data[data.name] = b""
            if data.since_version > version:
                continue
            text = "".join(self.random.choice("abé€") for _ in range(self.random.choice((0, 1, 5, 16))))
            raw = text.encode(data.encoding, errors="ignore") if data.encoding else self.random.randbytes(len(text))
            front = bytearray(self.random.randbytes(data.data_offset))
            struct.pack_into(self.prefix + CODES[data.length_type.primitive.name], front, data.length_offset, len(raw))
            made += front + raw
            plain.data[data.name] = raw
        return made
