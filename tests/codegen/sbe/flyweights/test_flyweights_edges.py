"""Generated code at the edges of what a schema and a caller may do: entries and sets of nothing, odd names, odd buffers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aerowire.codegen.sbe.interpreter import MessageCodec, MessageError
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema
from tests.codegen.sbe.packages import import_package
from tests.codegen.sbe.writing import schema

TYPES = """<set name="Nothing" encodingType="uint8"></set>
<type name="Eight" primitiveType="char" length="8"/>
<composite name="Sized"><type name="encoded" primitiveType="char" length="3"/><type name="more" primitiveType="uint8"/></composite>
<composite name="varData"><type name="length" primitiveType="uint16"/><type name="varData" primitiveType="uint8" length="0"/></composite>"""
ONE = '<field name="x" id="1" type="uint16"/>'
MESSAGES = f"""<sbe:message name="Nest" id="1"><group name="outer" id="1"><group name="inner" id="2">
<field name="x" id="3" type="uint8" sinceVersion="1"/></group></group></sbe:message>
<sbe:message name="Flags" id="2"><field name="none" id="1" type="Nothing"/></sbe:message>
<sbe:message name="Raw" id="3">{ONE}<group name="rows" id="2"><field name="y" id="3" type="uint8"/></group>
<data name="bytes" id="4" type="varData"/></sbe:message>
<sbe:message name="HEADER" id="4">{ONE}</sbe:message><sbe:message name="ClassVar" id="5">{ONE}</sbe:message>
<sbe:message name="TYPE_CHECKING" id="6">{ONE}</sbe:message><sbe:message name="sbeError" id="7">{ONE}</sbe:message>
<sbe:message name="Lengths" id="9"><field name="foo" id="1" type="uint32"/><field name="fooEncoding" id="2" type="Eight"/>
<field name="barEncoding" id="3" type="Eight"/><field name="bar" id="4" type="uint32"/><field name="sized" id="5" type="Sized"/>
<field name="lateEncoding" id="6" type="Eight" sinceVersion="1"/></sbe:message>
<sbe:message name="FieldMeta" id="8">{ONE}</sbe:message>"""


@pytest.fixture(scope="module")
def edge_schema(tmp_path_factory: pytest.TempPathFactory) -> MessageSchema:
    file: Path = tmp_path_factory.mktemp("schema") / "edges.xml"
    file.write_text(schema(TYPES, MESSAGES, 'version="1"'))
    return load_message_schema(file, options=ReadOptions(lenient=True))


@pytest.fixture(scope="module")
def edges(edge_schema: MessageSchema, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_package(edge_schema, tmp_path_factory.mktemp("edges"))


def nest(*counts: int, version: int = 1) -> bytes:
    """A message of outer entries, of which each has so many inner ones that take no bytes."""
    return struct.pack("<6H", 0, 1, 1, version, 0, len(counts)) + b"".join(struct.pack("<HH", 0, one) for one in counts)


def walks(edges: ModuleType, data: bytes) -> list[Callable[[], Any]]:
    """Every way to go through all of a message."""
    decoder = edges.NestDecoder().wrap_and_apply_header(data)
    return [
        lambda: edges.Nest.decode(data),
        lambda: edges.NestDecoder().wrap_and_apply_header(data).to_dict(),
        lambda: edges.NestDecoder().wrap_and_apply_header(data).sbe_skip(),
        lambda: [inner.x for outer in decoder.outer for inner in outer.inner],
    ]


def test_all_groups_of_a_message_share_the_limit_of_entries_without_bytes(edges: ModuleType) -> None:
    told = r"^Nest\.outer\[1\]\.inner: too many entries without bytes: expected at most 65535 in a message, found 65536$"
    for walk in walks(edges, nest(65_535, 1, 65_535, version=0)):
        with pytest.raises(edges.SbeError, match=told):
            walk()
    for walk in walks(edges, nest(65_530, 5, version=0)):
        walk()


def test_entries_without_bytes_count_once_however_often_they_are_read(edges: ModuleType) -> None:
    decoder = edges.NestDecoder().wrap_and_apply_header(nest(60_000, version=0))
    for _ in range(3):
        assert len(decoder.outer[0].inner) == 60_000
    decoder.wrap_and_apply_header(nest(0, 0, 60_000, version=0))
    assert len(decoder.outer[2].inner) == 60_000
    buffer = bytearray(nest(60_000, 0, version=0))
    decoder.wrap_and_apply_header(buffer)
    assert len(decoder.outer[0].inner) == 60_000
    buffer[:] = nest(0, 60_000, version=0)
    decoder.rewind()
    assert [len(outer.inner) for outer in decoder.outer] == [0, 60_000]


def test_a_set_without_choices_keeps_its_bits(edges: ModuleType) -> None:
    data = struct.pack("<4HB", 1, 2, 1, 1, 5)
    read = edges.FlagsDecoder().wrap_and_apply_header(data)
    assert (read.none, type(read.none)) == (5, edges.Nothing)
    assert edges.Flags.decode(data).encode() == data
    assert edges.FlagsDecoder().wrap_and_apply_header(data[:8] + b"\0").none == 0


def test_a_set_without_choices_is_a_set(edges: ModuleType) -> None:
    read = edges.FlagsDecoder().wrap_and_apply_header(struct.pack("<4HB", 1, 2, 1, 1, 5)).none
    assert (read | 8, read & 4, read ^ 1, 2 | read, edges.Nothing(6)) == (13, 4, 4, 7, 6)
    assert {type(one) for one in (read | 8, read & 4, read ^ 1, ~read, read | edges.Nothing.NONE)} == {edges.Nothing}
    assert (list(edges.Nothing), int(edges.Nothing.NONE)) == ([], 0)
    assert edges.Flags(none=read | 8).encode() == struct.pack("<4HB", 1, 2, 1, 1, 13)


def test_an_encoder_shows_the_fields_of_its_block(edges: ModuleType) -> None:
    out = edges.RawEncoder().wrap_and_apply_header(bytearray(40))
    out.x = 7
    assert (repr(out), out.to_dict()) == ("RawEncoder(x=7)", {"x": 7})
    row = out.rows(1).next()
    row.y = 3
    assert (repr(row), row.to_dict()) == ("RawRowsEncoder(y=3)", {"y": 3})
    assert repr(edges.RawEncoder()) == "RawEncoder(<not wrapped>)"


@pytest.mark.parametrize(
    ("template", "name"), [(4, "HEADERType"), (5, "ClassVarType"), (6, "TYPECHECKING"), (7, "SbeErrorType"), (8, "FieldMetaType")]
)
def test_messages_may_be_called_like_names_in_the_modules(edges: ModuleType, template: int, name: str) -> None:
    data = struct.pack("<5H", 2, template, 1, 1, 9)
    record = edges.decode(data)
    assert (type(record).__name__, record.x, record.encode()) == (name, 9, data)
    assert getattr(edges, f"{name}Decoder")().wrap_and_apply_header(data).x == 9


def test_constants_that_come_to_one_name_stay_apart(edges: ModuleType) -> None:
    found = edges.LengthsDecoder
    assert (found.FOO_ENCODING_LENGTH, found.FOO_ENCODING_LENGTH_2, found.FOO_ENCODING_ENCODING_LENGTH) == (4, 8, 8)
    assert (found.BAR_ENCODING_LENGTH, found.BAR_ENCODING_LENGTH_2, found.BAR_ENCODING_OFFSET) == (8, 4, 20)
    assert found.LATE_ENCODING_LENGTH == 8
    assert (edges.SizedDecoder.ENCODED_LENGTH, edges.SizedDecoder.ENCODED_LENGTH_2) == (4, 3)
    with pytest.raises(edges.SbeError, match="expected 4 bytes at offset 0, found 3"):
        edges.SizedEncoder().wrap(bytearray(3))


@pytest.mark.parametrize("of_items", [lambda view: view.cast("b"), lambda view: view.cast("c"), lambda view: view.cast("H")])
def test_a_buffer_of_other_items_is_read_byte_by_byte(edges: ModuleType, of_items: Callable[[memoryview], memoryview]) -> None:
    data = edges.Raw(x=1, bytes_=b"acd").encode()
    view = of_items(memoryview(data + bytes(len(data) % 2)))
    assert edges.Raw.decode(view) == edges.Raw.decode(data)
    assert edges.RawDecoder().wrap_and_apply_header(view).to_dict() == edges.Raw.decode(data).to_dict()


def test_a_buffer_of_rows_is_read_byte_by_byte(edges: ModuleType) -> None:
    data = edges.Raw(x=1, bytes_=b"acd").encode()
    rows = memoryview(data + bytes(len(data) % 2)).cast("B", (2, (len(data) + 1) // 2))
    assert edges.Raw.decode(rows) == edges.Raw.decode(data)


def test_a_buffer_with_gaps_is_refused_and_data_with_gaps_is_joined(edges: ModuleType, edge_schema: MessageSchema) -> None:
    data = edges.Raw(x=1, bytes_=b"ac").encode()
    gaps = memoryview(bytes(byte for one in data for byte in (one, 0)))[::2]
    told = "a contiguous buffer, found strides of"
    for action in (edges.decode, edges.Raw.decode, edges.RawDecoder().wrap, edges.RawDecoder().wrap_and_apply_header):
        with pytest.raises(edges.SbeError, match=told):
            action(gaps)
    with pytest.raises(edges.SbeError, match=told):
        edges.RawEncoder().wrap_and_apply_header(memoryview(bytearray(80))[::2])
    with pytest.raises(MessageError, match="expected a contiguous buffer"):
        MessageCodec(edge_schema).decode(gaps)
    part = memoryview(b"abcd")[::2]
    assert edges.Raw(x=1, bytes_=part).encode() == data
    buffer = bytearray(len(data))
    out = edges.RawEncoder().wrap_and_apply_header(buffer)
    out.x = 1
    out.rows(0)
    out.bytes_ = part
    assert buffer == data


def test_the_interpreter_names_what_is_wrong_with_its_arguments(edges: ModuleType, edge_schema: MessageSchema) -> None:
    codec = MessageCodec(edge_schema)
    data = edges.Raw(x=1).encode()
    with pytest.raises(MessageError, match="expected an offset of at least 0, actual -4"):
        codec.decode(data, -4)
    values = {"x": 1, "rows": [], "bytes": b""}
    for wrong in ("x", None, 1.5):
        with pytest.raises(MessageError, match=r"^_header\.version: is of the wrong kind \(expected a number, actual "):
            codec.encode("Raw", values, header={"version": wrong})
    assert codec.encode("Raw", values, header={"version": 1}) == data


def test_a_negative_version_is_newer_than_the_schema(tmp_path: Path) -> None:
    later = f"""<sbe:message name="Grown" id="1">{ONE}<field name="y" id="2" type="uint16" sinceVersion="1"/>
<group name="rows" id="3"><field name="z" id="4" type="uint8"/></group></sbe:message>"""
    text = schema("", later, 'version="1"').replace('name="version" primitiveType="uint16"', 'name="version" primitiveType="int16"')
    (tmp_path / "signed.xml").write_text(text)
    signed = load_message_schema(tmp_path / "signed.xml")
    codecs = import_package(signed, tmp_path)
    body = struct.pack("<HHHHB", 5, 6, 1, 1, 7)
    for version in (1, -1, -32768):
        data = struct.pack("<HHHh", 4, 1, 1, version) + body
        found = MessageCodec(signed).decode(data).values
        assert found == {"x": 5, "y": 6, "rows": [{"z": 7}]}
        assert codecs.Grown.decode(data).to_dict() == codecs.GrownDecoder().wrap_and_apply_header(data).to_dict() == found
        assert codecs.GrownDecoder().wrap(data, 8, 4, version).to_dict() == found
