"""Schemas of tens of thousands of members: the work grows with their number, where the square of it would take minutes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codegen.main import main
from aerowire.codegen.primitives import PRIMITIVES
from aerowire.codegen.sbe.comparison import compare_schemas
from aerowire.codegen.sbe.interpreter import MessageCodec, MessageError, codec
from aerowire.codegen.sbe.interpreter.plan import BlockPlan
from aerowire.codegen.sbe.ir import (
    ByteOrder,
    Composite,
    Data,
    EncodedType,
    Field,
    Header,
    Member,
    Message,
    MessageSchema,
    Presence,
    Type,
    size_in,
    versions_of,
)
from aerowire.codegen.sbe.naming import TakenNames, free_name, property_names
from aerowire.codegen.sbe.reader import load_message_schema, messages
from tests.codegen.sbe.writing import schema as written

COUNT = 40_000
BYTE = EncodedType(name="uint8", primitive=PRIMITIVES["uint8"])
HEADER = Header(
    type=Composite(
        name="messageHeader",
        members=tuple(
            Member(name=one, type=BYTE, offset=at) for at, one in enumerate(("blockLength", "templateId", "schemaId", "version"))
        ),
        size=4,
    )
)
STRING = Composite(name="s", members=(Member(name="length", type=BYTE, offset=0), Member(name="varData", type=BYTE, offset=1)), size=1)


def block(fields: tuple[Field, ...] = (), data: tuple[Data, ...] = ()) -> Message:
    return Message(name="M", id=1, block_length=len(fields), fields=fields, groups=(), data=data)


def schema(message: Message) -> MessageSchema:
    return MessageSchema(
        package="p", source="p.xml", id=1, version=COUNT, semantic_version="", description="", byte_order=ByteOrder.LITTLE_ENDIAN,
        header=HEADER, types=(), messages=(message,),
    )  # fmt: skip


def field(index: int, name: str = "", since: int = 0, type: Type = BYTE) -> Field:
    return Field(name=name or f"f{index}", id=index, type=type, offset=index, presence=Presence.REQUIRED, since_version=since)


def test_names_that_become_one_get_numbers_without_trying_all_before() -> None:
    spellings = map("".join, itertools.product("!@#$%^*()=+|;:,?~", repeat=4))
    names = property_names(block(tuple(field(index, f"x{spelling}") for index, spelling in enumerate(itertools.islice(spellings, COUNT)))))
    assert list(names.values()) == ["x", *(f"x_{number}" for number in range(2, COUNT + 1))]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "A", "a_2", "a_3", "a_2_2", "b", "class"])))
def test_numbers_are_those_that_trying_all_finds(bases: list[str]) -> None:
    taken, plain, reserved = TakenNames(), set[str](), frozenset({"class", "a_4"})
    for base in bases:
        found, numbers = f"{base}_" if base in reserved else base, itertools.count(2)
        while found.casefold() in plain or found in reserved:
            found = f"{base}_{next(numbers)}"
        plain.add(found.casefold())
        assert free_name(base, taken, reserved) == found


def test_growth_over_many_versions_is_found_in_one_pass() -> None:
    message = block(tuple(field(index, since=index) for index in range(COUNT)))
    assert message.growth() == tuple((version, version + 1) for version in range(COUNT))


@st.composite
def composites(draw: st.DrawFn, depth: int = 2) -> Composite:
    members: list[Member] = []
    end = 0
    for index in range(draw(st.integers(1, 3))):
        offset = end + draw(st.integers(0, 2))
        type = draw(composites(depth - 1)) if depth and draw(st.booleans()) else BYTE
        members.append(Member(name=f"m{index}", type=type, offset=offset, since_version=draw(st.integers(0, 4))))
        end = offset + type.size
    return Composite(name="c", members=tuple(members), size=end + draw(st.integers(0, 2)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(composites() | st.just(BYTE), st.integers(0, 4)), max_size=4))
def test_least_length_is_where_the_last_value_of_the_version_ends(values: list[tuple[Type, int]]) -> None:
    fields, end = [], 0
    for index, (type, since) in enumerate(values):
        fields.append(Field(name=f"f{index}", id=index, type=type, offset=end, presence=Presence.REQUIRED, since_version=since))
        end += type.size
    message = block(tuple(fields))
    lengths = {
        version: max([0, *(one.offset + size_in(one.type, version) for one in fields if one.since_version <= version)])
        for version in sorted({0, *(version for one in fields for version in (one.since_version, *versions_of(one.type)))})
    }
    assert all(message.least_block_length(version) == length for version, length in lengths.items())
    grown = [(version, length) for version, length in lengths.items() if length]
    assert message.growth() == tuple(one for index, one in enumerate(grown) if index == 0 or one[1] > grown[index - 1][1])


def test_comparison_takes_time_in_proportion_to_the_members() -> None:
    old = tuple(field(index) for index in range(COUNT))
    new = tuple(field(index, since=COUNT + 1) for index in range(COUNT, 2 * COUNT))
    found = compare_schemas(schema(block(old)), schema(block((*old, *new)))).changes
    assert sum(change.kind == "field-added" for change in found) == COUNT
    many = schema(block(data=tuple(Data(name=f"d{index}", id=index, type=STRING) for index in range(COUNT))))
    assert not compare_schemas(many, many).changes


def test_fields_of_great_composites_end_at_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "FIELD_MEMBERS_MAX", 30)
    types = '<composite name="c"><type name="a" primitiveType="int8"/><composite name="d"><type name="b" primitiveType="int8"/></composite>'
    fields = "".join(f'<field name="f{index}" id="{index}" type="c"/>' for index in range(11))
    (tmp_path / "own.xml").write_text(written(f"{types}</composite>", f'<message name="M" id="1">{fields}</message>'))
    assert main(["validate", str(tmp_path / "own.xml")]) == 1
    assert capsys.readouterr().out.count("fields have more than 30 members, their composites expanded (too-many-members)\n") == 1


def test_plans_of_few_versions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int] = []

    class Plan(BlockPlan):
        def __init__(self, forms: Any, order: Any, version: int, message: Any) -> None:
            super().__init__(forms, order, version, message)
            compiled.append(version)

    monkeypatch.setattr(codec, "PLANS_MAX", 2)
    monkeypatch.setattr(codec, "BlockPlan", Plan)
    fields = "".join(f'<field name="f{index}" id="{index}" type="uint8" sinceVersion="{index}"/>' for index in range(4))
    (tmp_path / "own.xml").write_text(written("", f'<message name="M" id="1">{fields}</message>', 'version="3"'))
    reader = MessageCodec(load_message_schema(tmp_path / "own.xml"))
    for version in (0, 1, 1, 2, 1, 0):
        reader.decode(bytes([4, 0, 1, 0, 1, 0, version, 0, 7, 7, 7, 7]))
    assert compiled == [0, 1, 2, 0]


def test_error_names_a_few_of_many_fields(tmp_path: Path) -> None:
    fields = "".join(f'<field name="f{index}" id="{index}" type="uint8"/>' for index in range(1_000))
    (tmp_path / "own.xml").write_text(written("", f'<message name="M" id="1">{fields}</message>'))
    with pytest.raises(MessageError, match=r"^M\.x: is not known \(expected one of f0, f1, .*, f19 and 980 more\)$"):
        MessageCodec(load_message_schema(tmp_path / "own.xml")).encode("M", {"x": 1})
