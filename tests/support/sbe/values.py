"""Draws values of a message of a drawn schema, by the schema's names: the edges of what each field can say, and what lies between.

Numbers are numbers (a float's are exact in its width), None an optional number's null; a char is a str of length 1; text is str; an enum
and a set are their number, None an optional enum's null; composites and entries are dicts; data without a character encoding is bytes.
A composite without a value is None.  Constants are not there.
"""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

from tests.support.sbe.schemas import (
    Block,
    Composite,
    Data,
    Encoded,
    Enum,
    Field,
    Number,
    Schema,
    Type,
    is_constant,
    living,
    null_of,
    whole_range,
)

Values = dict[str, Any]
TEXTS = ("", "a", "plain text", 'quoted "\\" \t', "Zürich", "naïve ÿ", "日本語", "👍 ok", "nul\0inside", " both sides ")


def draw_values(random: Random, schema: Schema, block: Block, version: int | None = None) -> Values:
    """Draw values of all that a message of a version has: of the schema's own one, if none is given."""
    return _Drawing(random, schema.version if version is None else version).block(block, 0)


class _Drawing:
    def __init__(self, random: Random, version: int) -> None:
        self.random = random
        self.version = version

    def block(self, block: Block, depth: int) -> Values:
        values: Values = {}
        for field in living(block.fields, self.version):
            if not field.is_constant:
                values[field.name] = self.field(field)
        for group in living(block.groups, self.version):
            least, most = group.count_range
            wanted = self.random.choice((0, 1, 2, 3, 40 if depth == 0 and not group.groups else 1))
            values[group.name] = [self.block(group, depth + 1) for _ in range(min(max(wanted, least), most))]
        for data in living(block.data, self.version):
            values[data.name] = self.data(data)
        return values

    def field(self, field: Field) -> object:
        is_nullable = isinstance(field.type, Composite) and (field.is_optional or field.since > 0) and has_null(field.type)
        if is_nullable and self.random.random() < 0.3:
            return None
        return self.value(field.type, field.is_optional)

    def value(self, one: Type, is_optional: bool) -> object:
        """A value of a type; whether it may be null is the field's to say."""
        if isinstance(one, Composite):
            members = [member for member in living(one.members, self.version) if not is_constant(member.type)]
            return {member.name: self.value(member.type, _is_optional(member.type)) for member in members}
        if isinstance(one, Enum):
            return self.enum(one, is_optional)
        if isinstance(one, Encoded):
            return self.encoded(one, is_optional)
        known = [1 << choice.number for choice in living(one.choices, self.version)]
        every = whole_range(one.primitive)[1]
        drawn = sum(bit for bit in known if self.random.random() < 0.5)
        return self.random.choice((drawn, drawn, drawn, 0, sum(known), every, self.random.randint(0, every)))

    def enum(self, one: Enum, is_optional: bool) -> int | None:
        known = [value.number for value in living(one.values, self.version)]
        if is_optional and self.random.random() < 0.3:
            return None
        if self.random.random() < 0.85:
            return self.random.choice(known)
        low, high = (1, 127) if one.primitive == "char" else whole_range(one.primitive)
        drawn = self.random.randint(low, high)
        return known[0] if drawn == one.null and is_optional else drawn

    def encoded(self, one: Encoded, is_optional: bool) -> object:
        if one.is_text:
            return self.text(one.characters or "US-ASCII", one.length, has_nul=False)
        if one.length != 1:
            return [self.number(one) for _ in range(one.length)]
        if is_optional and self.random.random() < 0.3:
            return None
        number = self.number(one)
        if is_optional and (number == one.null or (math.isnan(number) and math.isnan(one.null))):
            return None
        return chr(int(number)) if one.primitive == "char" else number

    def number(self, one: Encoded) -> Number:
        if one.primitive in ("float", "double"):
            return self.float(one)
        if one.primitive == "char":
            return self.random.choice((0x20, 0x7E, ord("A"), ord("z"), ord('"'), ord("\\"), self.random.randint(0x20, 0x7E)))
        low, high = whole_range(one.primitive)
        if null_of(one.primitive) == low:
            low += 1
        else:
            high -= 1
        low, high = (low if one.minimum is None else int(one.minimum)), (high if one.maximum is None else int(one.maximum))
        near = max(low, min(high, 0))
        return self.random.choice((low, high, near, min(high, near + 1), self.random.randint(low, high)))

    def float(self, one: Encoded) -> Number:
        if one.minimum is not None or one.maximum is not None:
            return self.random.choice((-900.0, 0.0, -0.0, 0.25, 900.0))
        drawn = self.random.choice(
            (0.0, -0.0, 1.5, -1e-30, 3.4028234663852886e38, math.inf, -math.inf, math.nan, self.random.uniform(-1e6, 1e6))
        )
        return in_width(drawn, one.primitive)

    def data(self, data: Data) -> str | bytes:
        most = min(data.length_max, 70_000 if self.random.random() < 0.01 else 300)
        if data.characters:
            return self.text(data.characters, most, has_nul=True)
        return self.random.randbytes(self.random.choice((0, 1, 16, most if self.random.random() < 0.2 else 7)))[:most]

    def text(self, characters: str, most: int, *, has_nul: bool) -> str:
        """Text that fits; sometimes it fills the place."""
        drawn = self.random.choice(TEXTS) * (40 if most > 100 and self.random.random() < 0.1 else 1)
        if self.random.random() < 0.2:
            drawn = "full" * (most // 4 + 1)
        allowed = "".join(one for one in drawn if (has_nul or one != "\0") and _can_say(characters, one))
        # An array has one byte for a character in all the encodings that are drawn for it, but in UTF-8.
        while len(allowed.encode(characters)) > most:
            allowed = allowed[:-1]
        return allowed


def has_null(composite: Composite) -> bool:
    """Whether null members tell a composite from all that hold something."""
    for member in composite.members:
        one = member.type
        if isinstance(one, Composite) and has_null(one):
            return True
        if isinstance(one, Enum) or (isinstance(one, Encoded) and not one.is_text and not is_constant(one)):
            return True
    return False


def null_members(composite: Composite, version: int) -> Values:
    """The members of a composite without a value, as they are on the wire."""
    return {member.name: _null(member.type, version) for member in living(composite.members, version) if not is_constant(member.type)}


def _null(one: Type, version: int) -> object:
    if isinstance(one, Composite):
        return null_members(one, version)
    if isinstance(one, Enum):
        return one.null
    if not isinstance(one, Encoded):
        return 0
    if one.is_text:
        return ""
    null = chr(int(one.null)) if one.primitive == "char" else one.null
    return null if one.length == 1 else [one.null] * one.length


def with_null_members(block: Block, values: Values, version: int) -> Values:
    """The values with the members of composites that are None, as the official encoders want them."""
    found = dict(values)
    for field in living(block.fields, version):
        if isinstance(field.type, Composite) and not field.is_constant and values[field.name] is None:
            found[field.name] = null_members(field.type, version)
    for group in living(block.groups, version):
        found[group.name] = [with_null_members(group, entry, version) for entry in values[group.name]]
    return found


def in_width(number: float, primitive: str) -> float:
    """The number that is left of it in so many bytes."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0]) if primitive == "float" else number


def _is_optional(one: Type) -> bool:
    return isinstance(one, Encoded | Enum) and one.is_optional


def _can_say(characters: str, one: str) -> bool:
    try:
        one.encode(characters)
    except UnicodeEncodeError:
        return False
    return True
