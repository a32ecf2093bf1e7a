"""Arrow and Spark: schemas with the schema's own names and descriptions, and record batches that hold what was written."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerowire.codegen.sbe.ir import Block, Composite, EncodedType, Enum, Field, FlagSet, Member, Message, MessageSchema, Presence, has_null
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.conftest import Generate
from tests.codegen.sbe.plain_messages import Plain, Writer
from tests.codegen.sbe.writing import schema as written
from tests.support.sbe.drawing import draw_schema


def expected_row(block: Block, plain: Plain, version: int) -> dict[str, Any]:
    """What a row must be, value by value."""
    row = {field.name: expected(field, field.name, field.constant, plain, version) for field in block.fields}
    for group in block.groups:
        row[group.name] = [expected_row(group, entry, version) for entry in plain.groups[group.name]]
    for data in block.data:
        raw = plain.data[data.name]
        row[data.name] = raw.decode(data.encoding) if data.encoding else raw
    return row


def expected(one: Field | Member, path: str, constant: Any, plain: Plain, version: int) -> Any:
    if one.presence is Presence.CONSTANT:
        return constant
    if not isinstance(one.type, Composite):
        return None if plain.values[path] is None else shown(one.type, plain.values[path])
    is_nullable = has_null(one.type) and (one.presence is Presence.OPTIONAL or one.since_version > 0)
    if one.since_version > version or (is_nullable and all_null(one.type, path, plain)):
        return None
    constants = {member.name: member.type.constant for member in one.type.members if isinstance(member.type, EncodedType)}
    return {
        member.name: expected(member, f"{path}.{member.name}", constants.get(member.name), plain, version) for member in one.type.members
    }


def all_null(composite: Composite, path: str, plain: Plain) -> bool:
    """Return whether all members are null, constants and those newer than the message left aside."""
    return all(
        all_null(member.type, f"{path}.{member.name}", plain)
        if isinstance(member.type, Composite)
        else is_null(member.type, plain.values.get(f"{path}.{member.name}"))
        for member in composite.members
    )


def is_null(type_: EncodedType | Enum | FlagSet, value: Any) -> bool:
    """Return whether a raw value, or every item of an array, is null. Text is null when nothing stands before its first NUL."""
    if value is None:
        return True
    if isinstance(type_, FlagSet):
        return bool(value == 0)
    if isinstance(value, bytes) and isinstance(type_, EncodedType) and type_.is_text:
        return not value.partition(b"\0")[0]
    return all(
        item == type_.null or (isinstance(item, float) and math.isnan(item))
        for item in ([value] if isinstance(value, int | float) else value)
    )


def shown(type_: EncodedType | Enum | FlagSet, value: Any) -> Any:
    if isinstance(type_, FlagSet):
        return {choice.name: bool(value >> choice.bit & 1) for choice in type_.choices}
    if isinstance(type_, Enum):
        names = [known.name for known in type_.values if known.value == value]
        return names[0] if names else "NULL_VALUE" if value == type_.null else f"UNKNOWN_{value}"
    if isinstance(value, bytes):
        return (value.partition(b"\0")[0] if type_.is_text else value).decode("latin-1")
    return value


def without_nan(value: Any) -> Any:
    """NaN as a text, that it equals itself."""
    if isinstance(value, dict):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_nan(one) for one in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.fixture(scope="module")
def arrow(trading: MessageSchema, generate: Generate) -> ModuleType:
    return generate(trading, "arrow")


def message(schema: MessageSchema, name: str) -> Message:
    return next(one for one in schema.messages if one.name == name)


def assert_rows(module: ModuleType, of: Message, messages: list[tuple[bytes, Plain, int]], *, for_spark: bool) -> None:
    table = module.MESSAGES[of.name]
    batch = table.decode_each([raw for raw, _, _ in messages], for_spark=for_spark)
    batch.validate(full=True)
    assert batch.schema.equals(table.spark_schema if for_spark else table.schema, check_metadata=True)
    assert batch.num_rows == len(messages)
    for actual, (_, plain, version) in zip(batch.to_pylist(), messages, strict=True):
        assert without_nan(actual) == without_nan(expected_row(of, plain, version))


@pytest.mark.parametrize("for_spark", [False, True])
@pytest.mark.parametrize("name", ["Order", "Tick"])
def test_batches_hold_what_was_written(trading: MessageSchema, arrow: ModuleType, name: str, for_spark: bool) -> None:
    random = Random(11)
    writer, of = Writer(trading, random), message(trading, name)
    for count in (0, 1, 40):
        versions = [random.choice((0, 1, 2, 3)) for _ in range(count)]
        assert_rows(arrow, of, [(*writer.message(of, version), version) for version in versions], for_spark=for_spark)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_batches_of_random_schemas_hold_what_was_written(generate: Generate, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    file = tmp_path / "drawn.xml"
    file.write_text(draw_schema(random).xml())
    schema = load_message_schema(file)
    module, writer = generate(schema, "arrow"), Writer(schema, random)
    for of in schema.messages:
        if of.fields or of.groups or of.data:
            versions = [random.randint(0, schema.version) for _ in range(6)]
            assert_rows(module, of, [(*writer.message(of, version), version) for version in versions], for_spark=random.random() < 0.5)


def test_messages_of_one_buffer_in_any_order(trading: MessageSchema, arrow: ModuleType) -> None:
    writer = Writer(trading, Random(12))
    parts = [writer.message(message(trading, "Order")) for _ in range(20)]
    starts = [sum(len(raw) for raw, _ in parts[:index]) for index in range(20)]
    data = b"".join(raw for raw, _ in parts)
    forwards = arrow.MESSAGES["Order"].decode(data, starts).to_pylist()
    backwards = arrow.MESSAGES["Order"].decode(data, starts[::-1]).to_pylist()
    assert without_nan(backwards[::-1]) == without_nan(forwards)
    assert [row["comment"].encode() for row in forwards] == [plain.data["comment"] for _, plain in parts]


def test_schema_has_names_and_descriptions(arrow: ModuleType) -> None:
    schema = arrow.ORDER_SCHEMA
    assert schema.field("orderId").type == pa.uint64()
    assert schema.field("cents").metadata[b"description"] == b"""price in 'cents' or "C\""""
    assert schema.field("sentAt").type == pa.uint64()
    assert schema.field("sentAt").metadata[b"time_unit"] == b"nanosecond"
    assert schema.field("sentAt").metadata[b"epoch"] == b"unix"
    assert schema.field("level").metadata[b"since_version"] == b"1"
    assert schema.field("state").type == pa.string()
    assert schema.field("options").type == pa.struct([("postOnly", pa.bool_()), ("iceberg", pa.bool_()), ("hidden", pa.bool_())])
    assert schema.field("price").type == pa.struct([("mantissa", pa.int64()), ("exponent", pa.int8())])
    assert pa.types.is_list(schema.field("owners").type)
    assert schema.metadata[b"description"] == b"An order; it's kept."
    assert arrow.MESSAGES["Order"].spark_schema.field("orderId").type == pa.decimal128(20, 0)


def test_spark_schema_widens_what_spark_has_not(arrow: ModuleType) -> None:
    assert arrow.TICK_DDL == (
        "`instrument` BIGINT, `kind` INT, `level` SMALLINT, `change` TINYINT, `bid` BIGINT, `time` DECIMAL(20,0), `ratio` DOUBLE, "
        "`weight` FLOAT"
    )
    assert "`cents` BIGINT COMMENT 'price in \\'cents\\' or \"C\"'" in arrow.ORDER_DDL
    assert "`options` STRUCT<`postOnly`: BOOLEAN COMMENT 'never takes', `iceberg`: BOOLEAN, `hidden`: BOOLEAN>" in arrow.ORDER_DDL
    assert "`legs` ARRAY<STRUCT<`quantity`: BIGINT, `legSide`: STRING, `note`: INT>> COMMENT 'its parts'" in arrow.ORDER_DDL


def test_text_that_is_none_names_message_and_entry(trading: MessageSchema, arrow: ModuleType) -> None:
    writer = Writer(trading, Random(13), longer_by=0)
    of = message(trading, "Order")
    parts = [writer.message(of) for _ in range(60)]
    marked = next(
        index
        for index, (_, plain) in enumerate(parts)
        if len(plain.groups["owners"]) > 1 and any(len(one.data["line"]) > 4 for one in plain.groups["owners"][1].groups["addresses"])
    )
    raw, plain = parts[marked]
    entry, line = next(
        (index, one.data["line"]) for index, one in enumerate(plain.groups["owners"][1].groups["addresses"]) if len(one.data["line"]) > 4
    )
    assert raw.count(line) == 1
    messages = [one for one, _ in parts]
    messages[marked] = raw.replace(line, b"\xff" * len(line))
    with pytest.raises(ValueError, match=rf"message {marked} .*Order\.owners\[1\]\.addresses\[{entry}\]\.line: is no text.*UTF-8"):
        arrow.MESSAGES["Order"].decode_each(messages)
    replaced = arrow.MESSAGES["Order"].decode_each(messages, errors="replace").to_pylist()
    assert replaced[marked]["owners"][1]["addresses"][entry]["line"] == "\N{REPLACEMENT CHARACTER}" * len(line)


def test_damaged_message_is_named(trading: MessageSchema, arrow: ModuleType) -> None:
    writer = Writer(trading, Random(14))
    messages = [writer.message(message(trading, "Order"))[0] for _ in range(5)]
    # The end of each is its own: what is cut does not read on in its neighbour.
    messages[2] = messages[2][:-1]
    with pytest.raises(ValueError, match=r"message 2 .*Order\.lateComment: data beyond the end"):
        arrow.MESSAGES["Order"].decode_each(messages)


def test_names_and_texts_that_need_care(generate: Generate, tmp_path: Path) -> None:
    file = tmp_path / "odd.xml"
    text = written(
        '<type name="None" primitiveType="char" length="0"/>',
        '<sbe:message name="schema" id="1">'
        '<field name="class" id="1" type="uint8" description="a \\ back`slash&quot;&quot;&quot;"/></sbe:message>'
        '<sbe:message name="SCHEMA_DDL" id="2"><field name="größe" id="1" type="None"/></sbe:message>',
    )
    file.write_text(text, encoding="utf-8")
    module = generate(load_message_schema(file), "arrow")
    assert module.MESSAGES["schema"].ddl == '`class` SMALLINT COMMENT \'a \\\\ back`slash"""\''
    assert module.MESSAGES["SCHEMA_DDL"].schema.names == ["größe"]


@pytest.mark.spark
def test_spark_reads_ddl_and_batches(trading: MessageSchema, arrow: ModuleType, spark: Any) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    for table in arrow.MESSAGES.values():
        if len(table.schema):
            struct: Any = StructType.fromDDL(table.ddl)
            assert to_arrow_schema(struct).equals(table.spark_schema), table.layout.name
    order: Any = StructType.fromDDL(arrow.ORDER_DDL)
    assert order["cents"].metadata == {"comment": """price in 'cents' or "C\""""}
    writer = Writer(trading, Random(15))
    batch = arrow.MESSAGES["Order"].decode_each([writer.message(message(trading, "Order"))[0] for _ in range(7)], for_spark=True)
    frame = spark.createDataFrame(pa.Table.from_batches([batch]), order)
    assert [row.orderId for row in frame.collect()] == batch.column("orderId").to_pylist()
