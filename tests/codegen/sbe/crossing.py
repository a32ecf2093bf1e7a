"""A reader of one schema that gets messages of another: does it read what was written?"""

from __future__ import annotations

from typing import Any

from aerowire.codegen.sbe.comparison import Comparison, Side
from aerowire.codegen.sbe.interpreter import MessageCodec, MessageError
from aerowire.codegen.sbe.ir import Block, Composite, EncodedType, Enum, Presence, Type


def check_reader(comparison: Comparison, side: Side) -> None:
    """What both schemas name must be the same for the reader on that side as for a writer of the other schema."""
    writer, reader = (comparison.new, comparison.old) if side is Side.OLD else (comparison.old, comparison.new)
    writing, reading = MessageCodec(writer), MessageCodec(reader)
    for message in writer.messages:
        if reader.message(message.id) is None:
            continue
        for has_nulls in (False, True):
            written = sample(message, has_nulls=has_nulls)
            try:
                raw = writing.encode(message.id, written)
            except MessageError:
                continue  # the schema has no room for the sample
            read = reading.decode(raw).values
            assert common(read, written) == common(written, read), f"{side}: {message.name}"


def sample(block: Block, *, has_nulls: bool) -> dict[str, Any]:
    """Different values for the fields of a block; null for those that may be."""
    values: dict[str, Any] = {}
    for number, field in enumerate(block.fields, start=len(block.name)):
        if has_nulls and field.presence is Presence.OPTIONAL and isinstance(field.type, EncodedType | Enum):
            values[field.name] = None
        elif field.presence is not Presence.CONSTANT:
            values[field.name] = _value(field.type, number)
    for group in block.groups:
        values[group.name] = [sample(group, has_nulls=has_nulls) for _ in range(2)]
    return values | {data.name: f"{block.name} {data.name}" for data in block.data}


def _value(of: Type, number: int) -> Any:
    if isinstance(of, Composite):
        named = enumerate(of.members, start=number)
        return {member.name: _value(member.type, place) for place, member in named if member.presence is not Presence.CONSTANT}
    if isinstance(of, EncodedType):
        return f"t{number}" if of.is_text else number % 9
    return of.values[number % len(of.values)].value if isinstance(of, Enum) else number % 4


def common(values: Any, others: Any) -> Any:
    """The values without what the others have no name for."""
    if isinstance(values, dict):
        return {name: common(value, others[name]) for name, value in values.items() if name in others}
    if isinstance(values, list):
        return [common(value, other) for value, other in zip(values, others, strict=True)]
    return values
