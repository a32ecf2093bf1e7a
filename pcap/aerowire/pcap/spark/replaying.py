"""Replaying with Spark: the executors read the captures, and one task puts their messages together, in order, and publishes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import functions

from aerowire.pcap.publishing import Target
from aerowire.pcap.replay.pacing import MAX
from aerowire.pcap.replay.replaying import CHOICE_COLUMNS, FRAME_COLUMNS, HEADER_LENGTH, Counts, Key, Message, RecordedStream, messages_of
from aerowire.pcap.sink import Published, Settings, publish_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_LENGTH = 1000
ORDER = ("path", "record_position", "frame_index")
MESSAGE_SCHEMA = pa.schema([("ts_ns", pa.int64()), ("payload", pa.binary()), ("reserved_value", pa.int64())])
COUNTED = tuple(field.name for field in fields(Published) if field.name != "session_id")
NAMES = (*COUNTED, *(f"counts_{field.name}" for field in fields(Counts)))
RESULT = pa.schema([("session_id", pa.int32()), *((name, pa.int64()) for name in NAMES)])
RESULT_DDL = ", ".join(["session_id INT", *(f"{name} BIGINT" for name in NAMES)])


def read_frames(spark: SparkSession, paths: Sequence[str], ports: frozenset[int] | None) -> DataFrame:
    """Return the frames of captures that carry a stream's data, with what replaying needs of them."""
    columns = sorted({*FRAME_COLUMNS, *ORDER, "dropped"})
    reader = spark.read.format("aeron_pcap").option("columns", ",".join(columns))
    if ports is not None:
        reader = reader.option("ports", ",".join(map(str, sorted(ports))))
    frames = reader.load(list(paths))
    return frames.where(
        functions.col("type").isin("DATA", "PAD")
        & (functions.col("frame_length") > 0)
        & ~functions.coalesce(functions.col("dropped"), functions.lit(False))
    )


def find_streams(frames: DataFrame, paths: Sequence[str]) -> list[RecordedStream]:
    """Return the streams of captures that carry data, in the order in which they appear; as `replaying.find_streams`."""
    rows = (
        frames.select(*CHOICE_COLUMNS, _rank(paths), "record_position", "frame_index")
        .groupBy("session_id", "stream_id", "term_id")
        .agg(
            functions.count("*").alias("frames"),
            functions.sum("frame_length").alias("length"),
            functions.max(functions.col("term_offset") + functions.col("frame_length")).alias("end"),
            functions.min("term_offset").alias("offset"),
            functions.min(functions.struct("rank", "record_position", "frame_index")).alias("first"),
        )
        .orderBy("first")
        .collect()
    )
    found: dict[Key, RecordedStream] = {}
    for row in rows:
        key = Key(row.session_id, row.stream_id)
        stream = found.setdefault(key, RecordedStream(key, row.term_id))
        stream.frames += row.frames
        stream.bytes += row.length - row.frames * HEADER_LENGTH
        stream.reach = max(stream.reach, row.end)
        stream.offsets[row.term_id] = row.offset
    return list(found.values())


def replay(
    frames: DataFrame, paths: Sequence[str], streams: Sequence[RecordedStream], target: Target, speed: float
) -> tuple[Published, Counts]:
    """Publish the messages of some streams, from one task; return what was sent and what was found.

    Raises what Spark raises for a failed job, with the publisher's reason in its text.
    """
    settings = Settings(target, "payload", "reserved_value", speed, None if speed == MAX else "ts_ns")
    keys = [
        (functions.col("session_id") == stream.key.session_id) & (functions.col("stream_id") == stream.key.stream_id) for stream in streams
    ]
    chosen = keys[0]
    for key in keys[1:]:
        chosen = chosen | key
    ordered = frames.where(chosen).withColumn("rank", _rank(paths)).repartition(1).sortWithinPartitions("rank", *ORDER[1:])
    own = list(streams)

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = Counts()
        messages = messages_of((batch.to_pydict() for batch in batches), own, counts)
        published = publish_part(settings, _as_batches(messages))
        told = {f"counts_{name}": value for name, value in asdict(counts).items()}
        yield pa.RecordBatch.from_pylist([asdict(published) | told], schema=RESULT)

    (row,) = ordered.select(*FRAME_COLUMNS).mapInArrow(send, RESULT_DDL).collect()
    values: dict[str, Any] = row.asDict()
    counts = Counts(**{name.removeprefix("counts_"): values.pop(name) for name in NAMES if name.startswith("counts_")})
    return Published(**values), counts


def _rank(paths: Sequence[str]) -> Any:
    """The place of a frame's file among those that were given."""
    return functions.array_position(functions.array(*map(functions.lit, paths)), functions.col("path")).alias("rank")


def _as_batches(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    source = iter(messages)
    while rows := list(islice(source, BATCH_LENGTH)):
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), MESSAGE_SCHEMA, strict=True)],
            schema=MESSAGE_SCHEMA,
        )
