"""Values of messages, and how the official encoders in the jar are told to write them (java/Codecs.java)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from aerowire.codegen.sbe.ir import Block, EncodedType, Enum, Field, Message, Presence

JAVA_NULL = "NULL_VAL"
SAMPLES = ("distinct", "extreme", "null")

Values = dict[str, Any]


class Samples:
    """Values of messages: `distinct` ones, the least and greatest with empty texts, or nulls wherever there may be some."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self.kind = kind
        self._chance = chance
        self._count = 0

    def of_block(self, block: Block) -> Values:
        values: Values = {field.name: self._of_field(field) for field in block.fields}
        for group in block.groups:
            values[group.name] = [self.of_block(group) for _ in range({"distinct": 3, "extreme": 0, "null": 1}[self.kind])]
        for data in block.data:
            text = "" if self.kind == "extreme" else f"{data.name} {self._next()}"
            values[data.name] = text if data.encoding else text.encode()
        return values

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _of_field(self, field: Field) -> int | None:
        if self.kind == "null" and field.presence is Presence.OPTIONAL:
            return None
        if isinstance(field.type, Enum):
            values = field.type.values
            return values[0 if self.kind == "extreme" else self._next() % len(values)].value
        assert isinstance(field.type, EncodedType)
        least, greatest = int(field.type.minimum), int(field.type.maximum)
        if self.kind == "extreme":
            return self._chance.choice((least, greatest))
        return least + 1 + self._next() * 7919 % (greatest - least - 1)


def steps_of(
    block: Block, values: Values, put: Callable[[str, str], str], data: Callable[[str, bytes], str], *, writing: bool
) -> Iterator[str]:
    """The steps that make Codecs.java write the values, or read them in the same order."""
    for field in block.fields:
        yield put(field.name, shown(field, values[field.name]))
    for group in block.groups:
        yield f"group\t{group.name}\t{len(values[group.name])}" if writing else f"group\t{group.name}"
        for entry in values[group.name]:
            yield "next"
            yield from steps_of(group, entry, put, data, writing=writing)
        yield "end"
    for one in block.data:
        raw = values[one.name].encode() if one.encoding else values[one.name]
        yield data(one.name, raw)


def shown(field: Field, value: int | None) -> str:
    """A value as the jar prints it: of an enum the name, of null its number."""
    if isinstance(field.type, Enum):
        return JAVA_NULL if value is None else next(one.name for one in field.type.values if one.value == value)
    assert isinstance(field.type, EncodedType)
    return str(field.type.null if value is None else value)


def writing_steps(package: str, message: Message, values: Values) -> list[str]:
    steps = steps_of(
        message, values, lambda name, value: f"put\t{name}\t{value}", lambda name, raw: f"bytes\t{name}\t{raw.hex()}", writing=True
    )
    return [f"encode\t{package}\t{message.name}", *steps, "done"]
