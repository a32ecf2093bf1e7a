"""NumPy columns of streams of messages: every value is the one that was written, whatever the version, and damage is told."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerowire.codegen.sbe.ir import Message, MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.conftest import Generate
from tests.codegen.sbe.plain_messages import Plain, Writer
from tests.codegen.sbe.writing import schema as written
from tests.support.sbe.drawing import draw_schema


def assert_same(columns: Any, plains: list[Plain]) -> None:
    """Columns hold what was written, in their values, their nulls, their groups and their data."""
    assert columns.count == len(plains)
    for name, column in columns.items():
        nulls = columns.nulls(name)
        assert column.flags.c_contiguous, name
        assert column.dtype.isnative, name
        for row, plain in enumerate(plains):
            expected, actual = plain.values[name], column[row].tolist()
            is_null = nulls is not None and bool(np.all(nulls[row]))
            assert is_null == (expected is None), (name, row, expected, actual)
            if isinstance(expected, bytes):
                expected = expected.rstrip(b"\0")
            if expected is not None:
                np.testing.assert_equal(actual, expected, f"{name} of {row}")
    for name, group in columns.groups.items():
        assert np.diff(group.offsets).tolist() == [len(plain.groups[name]) for plain in plains], name
        assert_same(group.entries, [entry for plain in plains for entry in plain.groups[name]])
    for name, data in columns.data.items():
        assert [bytes(data[row]) for row in range(len(data))] == [plain.data[name] for plain in plains], name


def stream(parts: list[tuple[bytes, Plain]]) -> tuple[bytes, list[int]]:
    """The messages one behind the other, and where each starts."""
    lengths = [len(raw) for raw, _ in parts]
    return b"".join(raw for raw, _ in parts), [sum(lengths[:index]) for index in range(len(lengths))]


@pytest.fixture(scope="module")
def dtypes(trading: MessageSchema, generate: Generate) -> ModuleType:
    return generate(trading, "dtypes")


def message(schema: MessageSchema, name: str) -> Message:
    return next(one for one in schema.messages if one.name == name)


@pytest.mark.parametrize("versions", [(2,), (0,), (1,), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", ["Order", "Tick", "Empty"])
def test_columns_hold_what_was_written(trading: MessageSchema, dtypes: ModuleType, name: str, versions: tuple[int, ...]) -> None:
    random = Random(1)
    writer = Writer(trading, random)
    for count in (0, 1, 2, 15, 60):
        parts = [writer.message(message(trading, name), random.choice(versions)) for _ in range(count)]
        data, offsets = stream(parts)
        assert dtypes.SCHEMA.find(data).tolist() == offsets
        assert_same(dtypes.MESSAGES[name].decode(data, offsets), [plain for _, plain in parts])
        backwards = dtypes.MESSAGES[name].decode(memoryview(data), np.array(offsets[::-1], np.int64))
        assert_same(backwards, [plain for _, plain in parts[::-1]])


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_columns_of_random_schemas_hold_what_was_written(generate: Generate, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    file = tmp_path / "drawn.xml"
    file.write_text(draw_schema(random).xml())
    schema = load_message_schema(file)
    module, writer = generate(schema, "dtypes"), Writer(schema, random)
    for one in schema.messages:
        parts = [writer.message(one, random.randint(0, schema.version)) for _ in range(8)]
        data, offsets = stream(parts)
        assert module.SCHEMA.find(data).tolist() == offsets
        assert_same(module.MESSAGES[one.name].decode(data, offsets), [plain for _, plain in parts])


def test_mixed_stream_is_split_by_template(trading: MessageSchema, dtypes: ModuleType) -> None:
    random = Random(2)
    writer = Writer(trading, random)
    names = [random.choice(("Order", "Tick", "Tick", "Empty")) for _ in range(120)] + ["Tick"] * 200
    parts = [writer.message(message(trading, name)) for name in names]
    data, offsets = stream(parts)
    found = dtypes.SCHEMA.decode(data)
    split = dtypes.SCHEMA.split(data, offsets)
    for name in ("Order", "Tick", "Empty"):
        assert_same(found[name], [plain for of, (_, plain) in zip(names, parts, strict=True) if of == name])
        assert split[message(trading, name).id].tolist() == [index for index, of in enumerate(names) if of == name]


def test_runs_of_one_length_are_found_where_headers_end_alike(trading: MessageSchema, dtypes: ModuleType) -> None:
    writer = Writer(trading, Random(3), longer_by=0)
    tick, longer = writer.message(message(trading, "Tick"))[0], Writer(trading, Random(4), longer_by=9)
    lengths = [len(tick)] * 500
    other = next(raw for raw, _ in (longer.message(message(trading, "Tick")) for _ in range(99)) if len(raw) == len(tick) + 9)
    data = tick * 500 + other + tick * 3
    expected = np.cumsum([0, *lengths, len(other), *lengths[:2]])
    assert dtypes.SCHEMA.find(data).tolist() == expected.tolist()


def test_view_of_equal_messages_copies_nothing(trading: MessageSchema, dtypes: ModuleType) -> None:
    writer = Writer(trading, Random(5), longer_by=0)
    parts = [writer.message(message(trading, "Tick")) for _ in range(10)]
    data = bytearray(stream(parts)[0])
    view = dtypes.MESSAGES["Tick"].view(data, 0, 10, len(parts[0][0]))
    np.testing.assert_equal(view["bid"].tolist(), [plain.values["bid"] for _, plain in parts])
    assert view.dtype == dtypes.TICK
    assert view.dtype.itemsize == 40
    assert np.shares_memory(view, np.frombuffer(data, np.uint8))
    with pytest.raises(ValueError, match="expected within"):
        dtypes.MESSAGES["Tick"].view(data, 0, 11, len(parts[0][0]))


def test_dtypes_have_the_offsets_of_the_schema(trading: MessageSchema, dtypes: ModuleType) -> None:
    order = message(trading, "Order")
    for one in order.fields:
        if one.size:
            assert dtypes.ORDER.fields[one.name][1] == one.offset, one.name
            assert dtypes.ORDER.fields[one.name][0].itemsize == one.size, one.name
    assert dtypes.ORDER.itemsize == order.block_length
    assert dtypes.ORDER["account"].names == ("number", "owner", "preferred", "limit")
    assert dtypes.ORDER["symbol"] == np.dtype("S6")
    assert dtypes.ORDER["triple"].shape == (3,)
    assert dtypes.HEADER.itemsize == trading.header.size
    assert dtypes.HEADER.fields["schemaId"][1] == 10
    assert dtypes.ORDER_OWNERS_ADDRESSES.itemsize == 1


def test_absent_values_are_null_and_floats_nan(trading: MessageSchema, dtypes: ModuleType) -> None:
    writer = Writer(trading, Random(6))
    parts = [writer.message(message(trading, "Order"), version) for version in (0, 2, 1)]
    columns = dtypes.MESSAGES["Order"].decode(*stream(parts))
    assert columns.nulls("orderId") is None
    assert columns.nulls("lastState").tolist() == [True, False, True]
    assert columns["lastState"][0] == 65535
    assert columns.masked("added.owner.shares").mask.tolist() == [[True] * 2, [False] * 2, [True] * 2]
    share = columns["share"]
    assert np.isnan(share).tolist() == [plain.values["share"] is None for _, plain in parts]


def test_damage_names_message_and_place(trading: MessageSchema, dtypes: ModuleType) -> None:
    writer = Writer(trading, Random(7))
    prefix = trading.byte_order.struct_prefix
    ticks = [bytearray(writer.message(message(trading, "Tick"))[0]) for _ in range(5)]
    struct.pack_into(f"{prefix}H", ticks[3], 2, 20)
    data, offsets = stream([(bytes(raw), Plain()) for raw in ticks])
    with pytest.raises(
        dtypes.ColumnsError, match=r"message 3 at offset \d+: Tick: block length of version 2: expected at least 36, found 20"
    ):
        dtypes.MESSAGES["Tick"].decode(data, offsets)
    struct.pack_into(f"{prefix}H", ticks[3], 2, 40)
    struct.pack_into(f"{prefix}H", ticks[1], 8, 1)
    with pytest.raises(dtypes.ColumnsError, match=r"message 1 .*template id: expected 2, found 1"):
        dtypes.MESSAGES["Tick"].decode(b"".join(ticks), offsets)
    with pytest.raises(dtypes.ColumnsError, match=r"message 2 .*header beyond the end"):
        dtypes.MESSAGES["Tick"].decode(data[: offsets[2] + 3], offsets[:3])
    with pytest.raises(dtypes.ColumnsError, match=r"message 0 .*header beyond the end"):
        dtypes.MESSAGES["Tick"].decode(data, [-1])
    with pytest.raises(dtypes.ColumnsError, match=r"message 1 .*header beyond the end"):
        dtypes.MESSAGES["Tick"].decode(data, [0, (1 << 63) - 1])
    with pytest.raises(dtypes.ColumnsError, match=r"message 1 .*block beyond the end"):
        dtypes.MESSAGES["Tick"].decode(data, offsets[:2], ends=[len(data), offsets[1] + 20])


def test_damage_within_groups_names_the_entry(trading: MessageSchema, dtypes: ModuleType) -> None:
    writer = Writer(trading, Random(8), longer_by=0)
    order = message(trading, "Order")
    whole = next(
        (raw, plain)
        for raw, plain in (writer.message(order) for _ in range(999))
        if len(plain.groups["owners"]) == 2 and len(plain.groups["owners"][1].groups["addresses"]) == 1 and not plain.groups["legs"]
    )
    data = whole[0] * 40
    offsets = np.arange(40) * len(whole[0])
    owners = whole[1].groups["owners"]
    before = trading.header.size + order.block_length + 3 + 8
    first = 2 + 3 + sum(1 + 2 + len(one.data["line"]) for one in owners[0].groups["addresses"]) + 4 + len(owners[0].data["signature"])
    for index in (0, 39, 17):
        damaged = bytearray(data)
        struct.pack_into(f"{trading.byte_order.struct_prefix}H", damaged, int(offsets[index]) + before + first + 2 + 3 + 1, 65000)
        where = rf"message {index} at offset {offsets[index]}: Order\.owners\[1\]\.addresses\[0\]\.line: data beyond the end"
        with pytest.raises(dtypes.ColumnsError, match=where):
            dtypes.MESSAGES["Order"].decode(damaged, offsets)


def test_absurd_counts_cost_nothing(trading: MessageSchema, dtypes: ModuleType) -> None:
    writer = Writer(trading, Random(9), longer_by=0)
    order = message(trading, "Order")
    raw = bytearray(next(raw for raw, plain in (writer.message(order) for _ in range(999)) if not plain.groups["legs"]))
    at = trading.header.size + order.block_length + 3
    struct.pack_into(f"{trading.byte_order.struct_prefix}I", raw, at, 0xFFFFFFFF)
    with pytest.raises(dtypes.ColumnsError, match=r"Order.owners: number of entries"):
        dtypes.MESSAGES["Order"].decode(raw, [0])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_mutated_messages_fail_cleanly_or_decode(trading: MessageSchema, dtypes: ModuleType, data: st.DataObject) -> None:
    random = Random(data.draw(st.integers(0, 1 << 32)))
    writer = Writer(trading, random)
    raw, offsets = stream([writer.message(message(trading, "Order"), random.choice((1, 2, 2))) for _ in range(random.choice((2, 30)))])
    damaged = bytearray(raw)
    for _ in range(random.randint(1, 4)):
        damaged[random.randrange(len(damaged))] = random.choice((0, 255, random.randrange(256)))
    cut = bytes(damaged[: random.randrange(len(damaged) + 1)])
    for part in (bytes(damaged), cut):
        inside = [offset for offset in offsets if offset < len(part)]
        try:
            columns = dtypes.MESSAGES["Order"].decode(part, inside)
        except dtypes.ColumnsError as error:
            index, where = error.message, error.where
        else:
            index, where = 0, "nowhere"
            comment = columns.data["lateComment"]
            assert all(0 <= start <= start + length <= len(part) for start, length in zip(comment.starts, comment.lengths, strict=True))
        assert where
        assert 0 <= index < max(len(inside), 1)


def test_constants_of_a_header_take_no_bytes(generate: Generate, tmp_path: Path) -> None:
    file = tmp_path / "constant.xml"
    constant = '<type name="{}" primitiveType="uint16" presence="constant">{}</type>'
    text = written("", '<sbe:message name="m" id="9"><field name="a" id="1" type="uint16"/></sbe:message>', 'version="3"')
    for name, value in (("schemaId", 44), ("version", 3)):
        text = text.replace(f'<type name="{name}" primitiveType="uint16"/>', constant.format(name, value))
    file.write_text(text)
    module = generate(load_message_schema(file), "dtypes")
    data = b"".join(struct.pack("<HHH", 2, 9, number) for number in range(300))
    columns = module.SCHEMA.decode(data)["m"]
    assert columns["a"].tolist() == list(range(300))
    assert columns.versions == 3


def test_messages_without_a_byte_have_no_next_one(generate: Generate, tmp_path: Path) -> None:
    file = tmp_path / "empty.xml"
    text = written("", '<sbe:message name="m" id="9"/>')
    for name, value in (("blockLength", 0), ("templateId", 9), ("schemaId", 1), ("version", 0)):
        constant = f'<type name="{name}" primitiveType="uint16" presence="constant">{value}</type>'
        text = text.replace(f'<type name="{name}" primitiveType="uint16"/>', constant, 1)
    file.write_text(text)
    module = generate(load_message_schema(file), "dtypes")
    with pytest.raises(module.ColumnsError, match="a message without a byte"):
        module.SCHEMA.find(b"xyz")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("length", [(1 << 63) - 1, (1 << 63) - 20, 1 << 63, (1 << 64) - 1])
def test_block_lengths_of_64_bits_are_beyond_the_end(generate: Generate, tmp_path: Path, length: int, version: int) -> None:
    file = tmp_path / "long.xml"
    long = '<type name="blockLength" primitiveType="uint{}"/>'
    message = '<sbe:message name="m" id="9"><field name="a" id="1" type="uint8"/></sbe:message>'
    file.write_text(written("", message, 'version="1"').replace(long.format(16), long.format(64), 1))
    (layout,) = generate(load_message_schema(file), "dtypes").SCHEMA.messages
    good, bad = struct.pack("<QHHHB", 1, 9, 1, 1, 7), struct.pack("<QHHHB", length, 9, 1, version, 8)
    assert layout.decode(good + good, [0, len(good)])["a"].tolist() == [7, 7]
    with pytest.raises(ValueError, match=f"block beyond the end.*expected {length} bytes, found 1") as caught:
        layout.decode(good + bad, [0, len(good)])
    assert vars(caught.value)["message"] == 1


def test_entries_without_bytes_are_limited_by_what_they_take_in_columns(generate: Generate, tmp_path: Path) -> None:
    """1,024 bytes each, as a message of version 0 lacks the array: 64 Ki of them are 64 MiB."""
    wide = """<message name="M" id="1"><group name="g" id="1" dimensionType="many">
        <field name="a" id="2" type="wide" sinceVersion="1"/></group></message>"""
    types = """<type name="wide" primitiveType="int64" length="128"/><composite name="many">
        <type name="blockLength" primitiveType="uint16"/><type name="numInGroup" primitiveType="uint32" maxValue="1000000"/></composite>"""
    (tmp_path / "own.xml").write_text(written(types, wide, 'version="1"'))
    module = generate(load_message_schema(tmp_path / "own.xml"), "dtypes")
    (layout,) = module.SCHEMA.messages
    head = struct.pack("<HHHHH", 0, 1, 1, 0, 0)
    assert layout.decode(head + struct.pack("<I", 65_536)).groups["g"].entries.count == 65_536
    with pytest.raises(module.ColumnsError, match=r"M\.g: number of entries without bytes: expected at most 65536, found 65537"):
        layout.decode(head + struct.pack("<I", 65_537))
    half = head + struct.pack("<I", 40_000)
    with pytest.raises(
        module.ColumnsError, match=r"message 1 at offset 14: M: number of entries without bytes: expected at most 67108864 b"
    ):
        layout.decode(half * 2, [0, len(half)])


def test_nulls_of_a_column_are_looked_up_by_its_name(trading: MessageSchema, dtypes: ModuleType) -> None:
    """Going over the fields for each column would take time with their square."""

    class Counted(tuple[Any, ...]):
        passes = 0

        def __iter__(self) -> Any:
            Counted.passes += 1
            return super().__iter__()

    layout = dtypes.MESSAGES["Order"]
    block = replace(layout.block, fields=Counted(layout.block.fields))
    raw, _ = Writer(trading, Random(7)).message(message(trading, "Order"))
    columns = replace(layout, block=block).decode(raw, [0])
    Counted.passes = 0
    for name in columns:
        columns.nulls(name)
    assert Counted.passes <= 1


def test_versions_may_be_dates(generate: Generate, tmp_path: Path) -> None:
    """What is kept of versions is as much as there are changes, however large their numbers."""
    file = tmp_path / "dated.xml"
    short = '<type name="version" primitiveType="uint16"/>'
    fields = '<field name="a" id="1" type="uint8"/><field name="b" id="2" type="uint8" sinceVersion="20240101"/>'
    data = '<data name="d" id="3" type="varString" sinceVersion="2024010100"/>'
    text = written("", f'<sbe:message name="m" id="9">{fields}{data}</sbe:message>', 'version="2024010100"')
    file.write_text(text.replace(short, short.replace("16", "32")))
    module = generate(load_message_schema(file), "dtypes")
    parts = [
        struct.pack("<HHHIB", 1, 9, 1, 20240100, 1),
        struct.pack("<HHHIBB", 2, 9, 1, 20240101, 2, 12),
        struct.pack("<HHHIBBH", 2, 9, 1, 2024010100, 3, 13, 0),
    ]
    columns = module.SCHEMA.decode(b"".join(parts))["m"]
    assert columns["a"].tolist() == [1, 2, 3]
    assert columns.masked("b").tolist() == [None, 12, 13]
    with pytest.raises(module.ColumnsError, match=r"block length of version 20240101: expected at least 2, found 1"):
        module.SCHEMA.find(struct.pack("<HHHIB", 1, 9, 1, 20240101, 1))


def test_module_needs_numpy_alone(trading: MessageSchema, generate: Generate) -> None:
    before = set(sys.modules)
    generate(trading, "dtypes")
    assert not {name.partition(".")[0] for name in set(sys.modules) - before} & {"pyarrow", "pyspark", "aerowire", "lxml", "jinja2"}
