"""SBE messages on Spark: the rows of `decode` and the bytes of `encode`, whatever the batches."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap.sbe import SbeSchemaError, decode, encode
from tests.codegen.sbe.plain_messages import Writer
from tests.codegen.sbe.random_messages import own_schema

MARKET = Path(__file__).parents[3] / "examples" / "schemas" / "market.xml"
TRADE = bytes.fromhex("260001002a00010041434d450000000000002a36fe9c971744d61200000000000a0000004201ffffffffffffffff")
BOOK = bytes.fromhex("100002002a00010041434d450000000005000000000000000d000100420a000000000000006400000007006f70656e696e67")
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def spark(spark: Any) -> Iterator[Any]:
    """The session of all, with batches so short that a column has several."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "64")
    yield spark
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def frame_of(spark: Any, messages: list[bytes | None]) -> Any:
    return spark.createDataFrame(pa.table({"number": range(len(messages)), "payload": pa.array(messages, pa.binary())})).repartition(3)


def column_of(frame: Any, column: Any) -> list[Any]:
    table = frame.select("number", column.alias("value")).toArrow().sort_by("number")
    return list(table["value"].to_pylist())


def test_groups_and_data_of_a_message_go_round(spark: Any) -> None:
    from aerowire.pcap.sbe import sbe_decode, sbe_encode

    schema = own_schema("orders")
    for message in schema.messages:
        writer = Writer(schema, Random(8))
        messages = [*(writer.message(message)[0] for _ in range(300)), None, b"", b"no message at all"]
        frame = frame_of(spark, messages)
        structs = sbe_decode("payload", schema, message.name)
        expected = decode(pa.array(messages), schema, message=message.name, for_spark=True)
        assert repr(column_of(frame, structs)) == repr(expected.to_pylist()), f"seed 8, {message.name}"
        assert column_of(frame, sbe_encode(structs, schema, message.name)) == encode(expected, schema, message=message.name).to_pylist()


def test_a_mixed_column_has_a_struct_for_each_message_that_sql_can_name(spark: Any) -> None:
    from aerowire.pcap.sbe import sbe_decode, sbe_encode

    frame = frame_of(spark, [TRADE, BOOK, None, TRADE[:20]] * 50)
    found = frame.select("number", sbe_decode(frame["payload"], MARKET).alias("m"))
    assert dict(found.groupBy("m.template_id").count().collect()) == {1: 100, 2: 50, None: 50}
    levels = found.selectExpr("explode(m.Book.levels) AS level").selectExpr("level.side", "level.price.mantissa", "level.quantity")
    assert set(levels.collect()) == {("Buy", 10, 100)}
    times = found.selectExpr("m.Trade.time", "m.Trade.conditions.Auction").where("time IS NOT NULL").distinct().collect()
    assert times == [(Decimal(1_700_000_000_000_000_000), True)]
    reasons = found.where("m._corrupt_record IS NOT NULL").select("m._corrupt_record").distinct().collect()
    assert reasons == [("Trade: block beyond the end: expected 38 bytes, found 12",)]
    again = column_of(found, sbe_encode("m", MARKET))
    assert again == [TRADE, BOOK, None, None] * 50


def test_executors_do_not_read_the_schemas_file(spark: Any, tmp_path: Path) -> None:
    from aerowire.pcap.sbe import sbe_decode

    path = tmp_path / "market.xml"
    path.write_text(MARKET.read_text().replace('name="quantity"', 'name="amount"'))
    column = sbe_decode("payload", path, "Trade")
    path.unlink()
    assert [row["amount"] for row in column_of(frame_of(spark, [TRADE] * 3), column)] == [10, 10, 10]


def test_expressions_include_files_of_the_folders_that_include_roots_name(spark: Any, tmp_path: Path) -> None:
    from aerowire.pcap.sbe import sbe_columns, sbe_decode, sbe_encode

    start, end = '<enum name="Side"', "</enum>"
    text = MARKET.read_text()
    first = text.index(start)
    last = text.index(end, first) + len(end)
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "side.xml").write_text(f"<types>{text[first:last]}</types>")
    (tmp_path / "trading").mkdir()
    schema = tmp_path / "trading" / "market.xml"
    namespace = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
    include = f'</types><xi:include {namespace} href="../common/side.xml"/><types>'
    schema.write_text(text[:first] + include + text[last:])
    frame = frame_of(spark, [TRADE])
    for call in (
        lambda **more: sbe_decode("payload", schema, "Trade", **more),
        lambda **more: sbe_columns(frame, "payload", schema, "Trade", **more),
        lambda **more: sbe_encode("payload", schema, "Trade", **more),
    ):
        with pytest.raises(SbeSchemaError, match="outside of the schema's folder"):
            call()
        assert call(include_roots=[tmp_path / "common"]) is not None
    column = sbe_decode("payload", schema, "Trade", include_roots=[tmp_path / "common"])
    assert [row["quantity"] for row in column_of(frame, column)] == [10]


def test_failfast_fails_the_query_and_names_the_reason(spark: Any) -> None:
    from pyspark.errors import PythonException

    from aerowire.pcap.sbe import sbe_decode, sbe_encode

    frame = frame_of(spark, [TRADE, TRADE[:-1], TRADE])
    with pytest.raises(PythonException, match=r"SbeColumnError: row \d: Trade: block beyond the end: expected 38 bytes, found 37"):
        frame.select(sbe_decode("payload", MARKET, "Trade", mode="FAILFAST")).collect()
    wrong = spark.sql("SELECT named_struct('instrument', 'ACME', 'time', -1) AS book")
    with pytest.raises(PythonException, match=r"SbeColumnError: row 0: Book.time: expected uint64, found -1"):
        wrong.select(sbe_encode("book", MARKET, "Book")).collect()


def test_members_as_columns_are_those_of_whole_messages(spark: Any) -> None:
    from aerowire.pcap.sbe import sbe_columns, sbe_decode

    frame = frame_of(spark, [TRADE, TRADE[:20], None] * 70)
    members = ["price.mantissa", "quantity", "time"]
    found = sbe_columns(frame, "payload", MARKET, "Trade", keep=["number", "payload"], members=members)
    assert found.columns == ["number", "payload", "time", "price", "quantity", "_corrupt_record"]
    inside = frame.select("number", "payload", sbe_decode("payload", MARKET, "Trade", members=members).alias("m"))
    assert found.schema == inside.select("number", "payload", "m.*").schema
    assert found.toArrow().sort_by("number") == inside.select("number", "payload", "m.*").toArrow().sort_by("number")
    assert found.selectExpr("sum(quantity)", "count(_corrupt_record)", "max(price.mantissa)").collect() == [(700, 70, 1234500)]
    mixed = sbe_columns(frame, "payload", MARKET, members=["Trade.time"], mode="PERMISSIVE", corrupt_record="why")
    assert mixed.columns == ["template_id", "Trade", "why"]
    assert mixed.where("why IS NULL").selectExpr("count(template_id)", "max(Trade.time)").collect() == [(70, 1_700_000_000_000_000_000)]


def test_columns_of_one_name_are_refused(spark: Any) -> None:
    from aerowire.pcap.sbe import sbe_columns

    frame = frame_of(spark, [TRADE]).withColumnRenamed("number", "quantity")
    with pytest.raises(SbeSchemaError, match="keep: 'quantity' is also a member of Trade: rename it, or choose members without it"):
        sbe_columns(frame, "payload", MARKET, "Trade", keep=["quantity"])
    assert sbe_columns(frame, "payload", MARKET, "Trade", keep=["quantity"], members=["time"]).count() == 1


def test_wrong_schemas_are_refused_before_any_job_starts(spark: Any, tmp_path: Path) -> None:
    from aerowire.pcap.sbe import sbe_decode, sbe_encode

    assert spark.version
    with pytest.raises(SbeSchemaError, match="has no message 'Trades'; expected one of Trade, Book"):
        sbe_decode("payload", MARKET, "Trades")
    with pytest.raises(SbeSchemaError, match="has no message 'Trades'; expected one of Trade, Book"):
        sbe_encode("payload", MARKET, "Trades")
    with pytest.raises(SbeSchemaError, match=r"none.xml: expected a file with an SBE schema"):
        sbe_decode("payload", tmp_path / "none.xml")


def test_payloads_of_a_capture_are_decoded_where_they_are_read(spark: Any, build: SimpleNamespace, tmp_path: Path) -> None:
    from pyspark.sql import functions

    from aerowire.pcap.sbe import sbe_decode

    packets, offset = [], 0
    for number in range(200):
        frame = build.data_frame(offset, BOOK if number % 4 == 0 else TRADE)
        offset += len(frame)
        packets.append(build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER)))
    path = tmp_path / "trades.pcap"
    path.write_bytes(build.classic(packets))
    frames = spark.read.format("aeron_pcap").option("payload", "true").load(str(path)).where("type = 'DATA'")
    found = frames.select("stream_id", sbe_decode("payload", MARKET, mode="FAILFAST").alias("m"))
    counted = found.groupBy("stream_id").agg(functions.sum("m.Trade.quantity"), functions.count("m.Book.note")).collect()
    assert counted == [(1001, 1500, 50)]
