"""Draws message schemas: every feature of SBE, in every order and width, that the official tool accepts and generates Java for.

Everything comes out of one `random.Random`, so a seed says which schema; `schemas()` is the same as a Hypothesis strategy.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TypeVar

from hypothesis import strategies

from tests.support.sbe.names import CHOICES, CLASSES, JAVA, PLAIN, PYTHON, VALUES
from tests.support.sbe.schemas import (
    SIZES,
    Block,
    Composite,
    Data,
    Encoded,
    Enum,
    Field,
    FlagSet,
    Member,
    NamedNumber,
    Schema,
    Type,
    block_size,
    field_end,
    null_of,
    size,
    whole_range,
)

CHARACTER_SETS = ("UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16LE", "ASCII", "utf8")
ENUM_PRIMITIVES = ("char", "uint8", "int8", "uint16", "int16", "int32")
SET_PRIMITIVES = ("uint8", "uint16", "uint32", "uint64")
DEPTH_MAX = 3

Item = TypeVar("Item")


def schemas() -> strategies.SearchStrategy[Schema]:
    """Schemas as a Hypothesis strategy."""
    return strategies.randoms(use_true_random=False).map(draw_schema)


def draw_schema(random: Random) -> Schema:
    """Draw a schema."""
    return _Drawing(random).schema()


class _Drawing:
    """What was drawn so far of one schema."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.version = random.choice((0, 0, 1, 2, 3))
        # A schema of the other kind changes what its older versions do not skip.
        self.reads_newer = random.random() < 0.8
        self.reads_json = True
        self.makes_java = True
        self.classes = random.sample(CLASSES, len(CLASSES))
        self.types: list[Type] = []
        self.ids = 0

    def schema(self) -> Schema:
        schema_id = self.random.randint(1, 200)
        header = self.header(schema_id)
        for _ in range(self.random.randint(0, 4)):
            self.types.append(self.encoded(self.class_name(), self.chance(0.15) * self.since()))
        for _ in range(self.random.randint(0, 2)):
            self.types.append(self.enum(self.class_name(), self.chance(0.15) * self.since()))
        for _ in range(self.random.randint(0, 2)):
            self.types.append(self.flag_set(self.class_name(), self.chance(0.15) * self.since()))
        for _ in range(self.random.randint(0, 3)):
            self.types.append(self.composite(self.class_name(), 1))
        dimensions = [self.dimension("groupSizeEncoding"), *(self.dimension(f"dimension{i}") for i in range(self.random.randint(0, 2)))]
        data_types = [self.data_type(f"varData{i}") for i in range(self.random.randint(1, 3))]
        messages = [self.message(i, dimensions, data_types) for i in range(self.random.randint(1, 3))]
        types = [*self.types, *dimensions, *data_types]
        return Schema(
            schema_id,
            self.version,
            self.chance(0.4),
            header,
            types,
            messages,
            reads_newer=self.reads_newer,
            reads_json=self.reads_json,
            makes_java=self.makes_java,
        )

    # Small questions.

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def since(self) -> int:
        """A version, most often the first."""
        return self.random.choice((0, 0, self.random.randint(0, self.version)))

    def grown(self, count: int, least: int = 0) -> list[int]:
        """Versions of things that were added one after another."""
        return sorted(max(least, self.since()) for _ in range(count))

    def deprecated(self, since: int) -> int:
        return self.random.randint(since, self.version) if self.chance(0.1) else 0

    def class_name(self, beside: Iterable[str] = ()) -> str:
        """A name that becomes a class, and that differs from those of its neighbours."""
        taken = {_lowered(one) for one in beside}
        found = next(one for one in self.classes if _lowered(one) not in taken)
        self.classes.remove(found)
        return found

    def names(self, count: int) -> list[str]:
        """Different names, also when their first letter is made small."""
        pool = self.random.sample(PLAIN, len(PLAIN)) + self.random.sample(PYTHON, len(PYTHON))
        found: dict[str, str] = {}
        while len(found) < count:
            name = pool.pop() if self.chance(0.3) else pool.pop(0)
            found.setdefault(_lowered(name), name)
        return list(found.values())

    def next_id(self) -> int:
        self.ids += 1
        return self.ids

    # Types.

    def encoded(self, name: str, since: int, *, is_member: bool = False) -> Encoded:
        primitive = self.random.choice(tuple(SIZES))
        one = Encoded(name, primitive, since=since, deprecated=self.deprecated(since))
        kind = self.random.random()
        if kind < 0.15:
            self.make_constant(one)
        elif kind < 0.4:
            one.length = self.random.choice((2, 3, 4, 7, 16))
            one.is_optional = self.chance(0.2)
        else:
            one.is_optional = self.chance(0.5)
            if self.chance(0.4):
                self.limit(one)
        if primitive == "char" and self.chance(0.4):
            one.characters = self.random.choice(("US-ASCII", "ISO-8859-1", "UTF-8") if one.length != 1 else ("US-ASCII", "ISO-8859-1"))
        if is_member:
            one.deprecated = 0
        return one

    def make_constant(self, one: Encoded) -> None:
        enums = [found for found in self.types if isinstance(found, Enum) and found.primitive == one.primitive and not found.since]
        if enums and self.chance(0.5):
            enum = self.random.choice(enums)
            value = self.random.choice([value for value in enum.values if not value.since])
            one.value_ref, one.constant = f"{enum.name}.{value.name}", value.number
        elif one.primitive == "char":
            one.constant = self.random.choice(("x", "AB", "petrol", "a b"))
            one.length = len(one.constant) + self.random.choice((0, 0, 3)) * (len(one.constant) > 1)
        elif one.primitive in ("float", "double"):
            one.constant = self.random.choice((0.5, -2.0, 1048576.25))
        else:
            one.constant = self.random.choice((0, 1, 7, *whole_range(one.primitive)))

    def limit(self, one: Encoded) -> None:
        """Say null, least and greatest value, or some of them."""
        if one.primitive == "char":
            if one.is_optional:
                one.null_value = self.random.choice((0x30, 0x2D))
            return
        low, high = (-1000, 1000) if one.primitive in ("float", "double") else whole_range(one.primitive)
        if one.is_optional and self.chance(0.7):
            one.null_value = self.random.choice((low, high, 0)) if low else self.random.choice((high, high - 5, 0))
            if isinstance(null_of(one.primitive), float):
                one.null_value += 0.5
        if self.chance(0.6):
            one.minimum = low + self.random.randint(1, 20)
            one.maximum = high - self.random.randint(1, 20)

    def limits_of(self, primitive: str) -> tuple[str, int, int, int]:
        """An encoding of an enum: a primitive, or a type of it, whose null and range then count."""
        low, high = (0x21, 0x7E) if primitive == "char" else whole_range(primitive)
        low, high = low + (primitive.startswith("int")), high - primitive.startswith("uint")
        null = null_of(primitive)
        fitting = [
            one
            for one in self.types
            if isinstance(one, Encoded) and one.primitive == primitive and one.length == 1 and one.constant is None and not one.since
        ]
        if not fitting or self.chance(0.5):
            return primitive, low, high, int(null)
        one = self.random.choice(fitting)
        low, high = (low if one.minimum is None else int(one.minimum)), (high if one.maximum is None else int(one.maximum))
        return one.name, low, high, int(one.null)

    def enum(self, name: str, since: int) -> Enum:
        primitive = self.random.choice(ENUM_PRIMITIVES)
        encoding, low, high, null = self.limits_of(primitive)
        declared = None
        if self.chance(0.2):
            declared = null = ord("~") if primitive == "char" else self.random.choice((low, high))
        count = self.random.randint(1, 6)
        numbers = {low, high, *(self.random.randint(low, high) for _ in range(count)), *range(max(low, 1), max(low, 1) + count)}
        if primitive == "char":
            numbers = {*map(ord, self.random.sample("ABCabcxyz019", count + 1))}
        drawn = self.random.sample(sorted(numbers - {null}), count)
        values = self.numbered(VALUES, drawn, since)
        return Enum(name, primitive, encoding, null, values, declared, is_optional=self.chance(0.3), since=since)

    def flag_set(self, name: str, since: int) -> FlagSet:
        primitive = self.random.choice(SET_PRIMITIVES)
        bits = 8 * SIZES[primitive]
        drawn = self.random.sample(range(bits), self.random.randint(1, 6))
        if self.chance(0.5) and bits - 1 not in drawn:
            drawn[0] = bits - 1
        fitting = [
            one.name
            for one in self.types
            if isinstance(one, Encoded) and one.primitive == primitive and one.length == 1 and one.constant is None and not one.since
        ]
        encoding = self.random.choice((primitive, *fitting))
        return FlagSet(name, primitive, encoding, self.numbered(CHOICES, drawn, since), since)

    def numbered(self, names: list[str], numbers: list[int], since: int) -> list[NamedNumber]:
        """Names for numbers; the first one is as old as what they belong to."""
        versions = [since, *self.grown(len(numbers) - 1, since)]
        drawn = self.random.sample(names, len(numbers))
        return [NamedNumber(*one, self.deprecated(one[2])) for one in zip(drawn, numbers, versions, strict=True)]

    def composite(self, name: str, depth: int) -> Composite:
        count = self.random.randint(1, 5)
        members: list[Member] = []
        end = 0
        names = self.names(count)
        for member_name in names:
            member = self.member(member_name, [*names, *(one.name for one in members)], depth)
            if self.chance(0.15):
                member.offset = end + self.random.randint(0, 5)
            end = (end if member.offset is None else member.offset) + size(member.type, self.version)
            members.append(member)
        # The tool generates no flyweight worth a name for a composite without bytes.
        if end == 0:
            members.append(Member("solid", Encoded("solid", "uint8")))
        if depth == 1 and self.version and self.chance(0.25):
            newer = self.random.randint(1, self.version)
            members.append(Member("newer", Encoded("newer", "int32", is_optional=self.chance(0.5), since=newer), since=newer))
        return Composite(name, members)

    def member(self, name: str, beside: list[str], depth: int) -> Member:
        """A member that is declared in place, or a reference."""
        kind = self.random.random()
        targets = [one for one in self.types if not one.since and not (isinstance(one, Composite) and one.grows)]
        if kind < 0.3 and targets:
            target = self.random.choice(targets)
            return Member(name, target, reference=target.name)
        if kind < 0.75 or depth >= DEPTH_MAX:
            return Member(name, self.encoded(name, 0, is_member=True))
        name = self.class_name(beside)
        if kind < 0.83:
            return Member(name, self.enum(name, 0))
        if kind < 0.9:
            return Member(name, self.flag_set(name, 0))
        return Member(name, self.composite(name, depth + 1))

    def header(self, schema_id: int) -> Composite:
        """The four in any order and width, and others between them; the schema's id may be a constant."""
        members = [Encoded(name, "uint16") for name in ("blockLength", "templateId", "schemaId", "version")]
        if self.chance(0.5):
            # The generated Java does not compile with a wider one of the others.
            self.makes_java = self.chance(0.8)
            for one in members:
                widths = ("uint16", "uint32") if one.name == "blockLength" else ("uint8", "uint16", "uint32")
                one.primitive = self.random.choice(widths if one.name == "schemaId" or not self.makes_java else widths[:-1])
            members += [Encoded(f"extra{i}", self.random.choice(("uint8", "uint16", "int64"))) for i in range(self.random.randint(0, 2))]
            self.random.shuffle(members)
            if self.chance(0.1):
                next(one for one in members if one.name == "schemaId").constant = schema_id
                # The official JsonPrinter looks for its bytes.
                self.reads_json = False
        return self.padded(self.random.choice(("messageHeader", "messageHeader", "frameHeader")), members)

    def dimension(self, name: str) -> Composite:
        length = Encoded("blockLength", "uint16")
        count = Encoded("numInGroup", self.random.choice(("uint8", "uint16")))
        members = [length, count]
        if self.chance(0.3):
            length.primitive = self.random.choice(("uint16", "uint32"))
            count.primitive = self.random.choice(("uint8", "uint16", "uint32", "int32"))
            length.maximum = 65_000 if length.primitive == "uint32" else None
            count.maximum = 1_000_000 if count.primitive == "uint32" else None
            count.minimum = 0 if count.primitive == "int32" else None
        if self.chance(0.2):
            count.minimum, count.maximum = self.random.choice((0, 1)), self.random.choice((3, 100))
        if self.chance(0.2):
            members += [Encoded("numGroups", "uint16"), Encoded("numVarDataFields", "uint8")]
            if self.chance(0.5):
                self.random.shuffle(members)
                # The official JsonPrinter takes the first two members for length and count.
                self.reads_json = self.reads_json and members[:2] == [length, count]
        return self.padded(name, members)

    def padded(self, name: str, members: list[Encoded]) -> Composite:
        composite = Composite(name, [Member(one.name, one) for one in members])
        if self.chance(0.2):
            at = self.random.randrange(len(members))
            before = Composite(name, composite.members[:at])
            composite.members[at].offset = size(before, self.version) + self.random.randint(0, 3)
        return composite

    def data_type(self, name: str) -> Composite:
        length = Encoded("length", self.random.choice(("uint8", "uint16", "uint32")))
        length.maximum = 1_073_741_824 if length.primitive == "uint32" else self.random.choice((None, None, 40))
        characters = Encoded("varData", self.random.choice(("uint8", "uint8", "char")), length=0)
        if self.chance(0.6):
            characters.characters = self.random.choice(CHARACTER_SETS)
        elif characters.primitive == "char":
            characters.characters = "US-ASCII"
        return Composite(name, [Member("length", length), Member("varData", characters)])

    # Messages.

    def message(self, index: int, dimensions: list[Composite], data_types: list[Composite]) -> Block:
        since = self.random.randint(0, self.version) if index and self.chance(0.3) else 0
        message = Block(self.class_name(), index * 7 + self.random.randint(1, 7), since=since)
        self.fill(message, dimensions, data_types, 0)
        return message

    def fill(self, block: Block, dimensions: list[Composite], data_types: list[Composite], depth: int) -> None:
        counts = [self.random.choice(sizes) for sizes in ((0, 1, 2, 4, 8), (0, 0, 1, 2) if depth < DEPTH_MAX else (0,), (0, 0, 1, 2))]
        names = self.names(sum(counts))
        taken = list(names)
        end = 0
        grew = False
        for since in self.grown(counts[0], block.since):
            field = self.field(names.pop(), since)
            if grew or self.chance(0.1):
                # 0 says nothing.
                field.offset = (end + (0 if field.is_constant else self.random.randint(0, 4))) or None
            end = field_end(field, end, self.version)
            grew = isinstance(field.type, Composite) and field.type.grows
            block.fields.append(field)
        versions = self.added(counts[1] + counts[2], block, depth)
        for since in versions[: counts[1]]:
            group = Block(self.class_name(taken), self.next_id(), since=since, dimension=self.random.choice(dimensions))
            self.fill(group, dimensions, data_types, depth + 1)
            block.groups.append(group)
        for since in versions[counts[1] :]:
            # The generated Java does not compile with one of Java's words for data.
            name = names.pop()
            name = f"{name}Text" if _lowered(name) in JAVA else name
            block.data.append(Data(name, self.next_id(), self.random.choice(data_types), since))
        if self.chance(0.2) and block_size(block, self.version):
            block.padding = self.random.randint(0, 9)

    def added(self, count: int, block: Block, depth: int) -> list[int]:
        """Versions of groups and data: what older versions do not know stands behind all that they do, and not within a group."""
        if not self.reads_newer:
            return [max(block.since, self.since()) for _ in range(count)]
        return [block.since] * count if depth else self.grown(count, block.since)

    def field(self, name: str, since: int) -> Field:
        kind = self.random.random()
        if kind < 0.45 or not self.types:
            primitive = self.random.choice(tuple(SIZES))
            presence = "optional" if self.chance(0.3) else ""
            return Field(name, self.next_id(), Encoded(primitive, primitive), presence, since=since, deprecated=self.deprecated(since))
        one = self.random.choice(self.types)
        field = Field(name, self.next_id(), one, since=max(since, one.since), deprecated=self.deprecated(since))
        if field.since > since:
            # It would stand among older ones; a type that is as old as the field does as well.
            return self.field(name, since)
        if isinstance(one, Enum) and self.chance(0.2):
            field.presence, field.value_ref = (
                "constant",
                f"{one.name}.{self.random.choice([v.name for v in one.values if v.since <= one.since])}",
            )
        elif isinstance(one, FlagSet):
            field.presence = self.random.choice(("", "", "optional"))
        elif isinstance(one, Enum | Encoded) and not (isinstance(one, Encoded) and (one.constant is not None or one.length != 1)):
            field.presence = self.random.choice(("", "", "optional", "required"))
        return field


def _lowered(name: str) -> str:
    """What a name becomes for a method: the tool makes the first letter small."""
    return name[0].lower() + name[1:]
