"""A DataFrame's rows as messages: `df.write.format("aeron").option("channel", ...).option("stream", ...).mode("append").save()`.

The same with `writeStream`.  Options, of any case:
    channel, stream     where to.  Each task publishes with a session of its own, at the driver of its own machine.
    column              of bytes or text, a message a row (default: `payload`, or `value`, whichever there is).
    reservedValueColumn of integers, for the frames' headers (default: `reserved_value` where there is one).
    connectTimeout      how long a task waits for a subscriber, such as 5s, 500ms or 2m (default: 5s).
    offerTimeout        how long it waits for room while subscribers do not keep up (default: 5s).
    speed               1x, 0.5x ...: keep the time between a part's rows, divided by this (default: max, as fast as there is room).
    timestampColumn     of nanoseconds, which says that time (default: ts_ns).
    aeron.dir and other aeron.* properties of a client.

A task that succeeds has sent all its rows in order, and every position that follows the stream at its driver has reached their end.  A row
is sent at least once: Spark runs a task that failed again, from its first row, and a stream's batch of which not all tasks were done.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, ByteType, IntegerType, LongType, ShortType, StringType, StructType

from aerowire.pcap.publishing import TIMEOUT_S, Publisher, PublishError, Target, open_publisher
from aerowire.pcap.replay.pacing import MAX, due_batches, parse_speed
from aerowire.pcap.replay.replaying import Message

FORMAT = "aeron"
COLUMNS = ("payload", "value")  # that are taken where no option names one
RESERVED_COLUMN = "reserved_value"
TIME_COLUMN = "ts_ns"
OPTIONS = ("channel", "stream", "column", "reservedValueColumn", "connectTimeout", "offerTimeout", "speed", "timestampColumn")
INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "": 1.0}
SPARKS_OWN = {"path", "checkpointlocation", "querycheckpointlocation"}  # that it hands to every sink


@dataclass(frozen=True)
class Settings:
    """The options of one write, checked."""

    target: Target
    column: str
    reserved_column: str | None
    speed: float = MAX
    time_column: str | None = None  # of a write that is paced

    @classmethod
    def parse(cls, options: Mapping[str, str], schema: StructType) -> Settings:
        """Check options against the columns that there are.  Raises PublishError."""
        given = {name.lower(): value for name, value in options.items()}
        properties = {name: value for name, value in given.items() if name.startswith("aeron.")}
        unknown = sorted(set(given) - {name.lower() for name in OPTIONS} - set(properties) - SPARKS_OWN)
        if unknown:
            raise PublishError(f"unknown option {', '.join(unknown)}: expected some of {', '.join(OPTIONS)}, or aeron.* properties")
        for name in ("channel", "stream"):
            if not given.get(name):
                raise PublishError(f"no {name} given: use option({name!r}, ...)")
        target = Target(
            given["channel"],
            _stream_id(given["stream"]),
            properties,
            _duration_s("connectTimeout", given.get("connecttimeout")),
            _duration_s("offerTimeout", given.get("offertimeout")),
        )
        try:
            speed = parse_speed(given.get("speed", "max"))
        except ValueError as error:
            raise PublishError(f"option {error}") from error
        return cls(
            target,
            _payload_column(given.get("column"), schema),
            _reserved_column(given.get("reservedvaluecolumn"), schema),
            speed,
            _integers(given.get("timestampcolumn", TIME_COLUMN), "timestampColumn", schema) if speed != MAX else None,
        )


@dataclass
class Published(WriterCommitMessage):
    """What one task sent."""

    partition: int
    session_id: int | None
    messages: int
    bytes: int
    blocked_ns: int


class PublishingSource(DataSource):
    """The data sink `aeron`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            raise PublishError('a stream cannot be overwritten: use mode("append")')
        return PublishingWriter(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802 - Spark's name
        if overwrite:
            raise PublishError('a stream cannot be overwritten: use outputMode("append") or "update"')
        return PublishingStreamWriter(self.options, schema)


class PublishingWriter(DataSourceArrowWriter):
    """Publishes the parts of a DataFrame in the executors."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self.settings = Settings.parse(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        """Publish one part's rows."""
        return publish_part(self.settings, iterator)


class PublishingStreamWriter(DataSourceStreamArrowWriter):
    """Publishes the parts of a stream's batches in the executors.  What was sent stays sent, whether a batch is committed or not."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self.settings = Settings.parse(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        """Publish one part's rows."""
        return publish_part(self.settings, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: what was sent is sent."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Say what subscribers got of a batch that will be sent again."""
        sent = sum(message.messages for message in messages if isinstance(message, Published))
        print(f"aerowire: batch {batchId} failed after {sent} messages of whole parts; they are sent again with it", file=sys.stderr)


def publish_part(settings: Settings, batches: Iterable[pa.RecordBatch]) -> Published:
    """Publish the rows of one part, in order, with a session of its own.

    Nothing is connected for a part without rows.  Raises PublishError that names the part and row; what was before that row has been sent.
    """
    context = TaskContext.get()
    partition = context.partitionId() if context is not None else 0
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return Published(partition, None, 0, 0, 0)
    with open_publisher(settings.target, f"aerowire spark partition {partition}") as publisher:
        length = 0
        try:
            publisher.await_subscriber()
            for batch in _paced(settings, publisher, _with_first(first, filled)):
                length += _publish_batch(settings, publisher, batch)
            publisher.drain()
        except publisher.failures as error:
            raise PublishError(
                f"{settings.target}: partition {partition}, after {publisher.sent} of its rows were sent: {error}; "
                "Spark runs the part again from its first row"
            ) from error
        return Published(partition, publisher.session_id, publisher.sent, length, publisher.blocked_ns)


def publish(frame: Any, channel: str, stream_id: int, **options: str) -> list[Published]:
    """Publish a DataFrame's rows as the sink does, and return what each part sent.

    options: those of the sink, with `_` for the dots of properties' names: aeron_dir="...".  Raises what Spark raises for a failed job.
    """
    given = {name.replace("_", "."): value for name, value in options.items()}
    settings = Settings.parse({"channel": channel, "stream": str(stream_id), **given}, frame.schema)
    schema = pa.schema([("partition", pa.int32()), ("session_id", pa.int32())])
    schema = pa.unify_schemas([schema, pa.schema([(name, pa.int64()) for name in ("messages", "bytes", "blocked_ns")])])

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([vars(publish_part(settings, batches))], schema=schema)

    ddl = "partition INT, session_id INT, messages BIGINT, bytes BIGINT, blocked_ns BIGINT"
    return [Published(**row.asDict()) for row in frame.mapInArrow(send, ddl).collect()]


def _with_first(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _paced(settings: Settings, publisher: Publisher, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows as they fall due: those of a batch that are due together as one."""
    if settings.time_column is None:
        yield from batches
        return
    for rows in due_batches(_stamped(settings, batches), settings.speed, idle=publisher.check):
        columns = {settings.column: pa.array([row.payload for row in rows], pa.binary())}
        if settings.reserved_column is not None:
            columns[settings.reserved_column] = pa.array([row.reserved_value for row in rows], pa.int64())
        yield pa.RecordBatch.from_pydict(columns)


def _stamped(settings: Settings, batches: Iterator[pa.RecordBatch]) -> Iterator[Message]:
    for batch in batches:
        reserved = batch.column(settings.reserved_column).to_pylist() if settings.reserved_column is not None else [0] * batch.num_rows
        payloads = batch.column(settings.column).cast(pa.binary()).to_pylist()
        for ts_ns, payload, value in zip(batch.column(settings.time_column).to_pylist(), payloads, reserved, strict=True):
            if ts_ns is None or payload is None:
                missing = settings.time_column if ts_ns is None else settings.column
                raise PublishError(f"{settings.target}: column {missing}: expected a value in every row of a paced write, found null")
            yield Message(ts_ns, payload, value)


def _publish_batch(settings: Settings, publisher: Publisher, batch: pa.RecordBatch) -> int:
    """Send the rows of a batch; return their length in bytes.  Raises PublishError for a row that is no message."""
    messages = batch.column(settings.column).cast(pa.binary()).to_pylist()
    for row, message in enumerate(messages):
        if message is None or len(message) > publisher.max_message_length:
            _publish_rows(settings, publisher, batch.slice(0, row), messages[:row])
            found = "null" if message is None else f"{len(message)} bytes"
            raise PublishError(
                f"{settings.target}: column {settings.column}, row {publisher.sent} of the part: expected at most "
                f"{publisher.max_message_length} bytes (an eighth of the term), found {found}; filter such rows or use a longer term-length"
            )
    _publish_rows(settings, publisher, batch, messages)
    return sum(map(len, messages))


def _publish_rows(settings: Settings, publisher: Publisher, batch: pa.RecordBatch, messages: Sequence[bytes]) -> None:
    reserved = None
    if settings.reserved_column is not None:
        reserved = cast(list[int], batch.column(settings.reserved_column).fill_null(0).to_pylist())
    publisher.publish(messages, reserved)


def _payload_column(named: str | None, schema: StructType) -> str:
    candidates = [named] if named else [name for name in COLUMNS if name in schema.fieldNames()]
    if not candidates or candidates[0] not in schema.fieldNames():
        raise PublishError(f"option column: expected a column of bytes, such as payload or value, found {', '.join(schema.fieldNames())}")
    kind = schema[candidates[0]].dataType
    if not isinstance(kind, BinaryType | StringType):
        raise PublishError(f"column {candidates[0]}: expected binary or string, found {kind.simpleString()}")
    return candidates[0]


def _reserved_column(named: str | None, schema: StructType) -> str | None:
    if not named and RESERVED_COLUMN not in schema.fieldNames():
        return None
    return _integers(named or RESERVED_COLUMN, "reservedValueColumn", schema)


def _integers(name: str, option: str, schema: StructType) -> str:
    if name not in schema.fieldNames():
        raise PublishError(f"option {option}: no column is called {name}; there are {', '.join(schema.fieldNames())}")
    kind = schema[name].dataType
    if not isinstance(kind, ByteType | ShortType | IntegerType | LongType):
        raise PublishError(f"column {name}: expected integers of 64 bits, found {kind.simpleString()}")
    return name


def _stream_id(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = INT32_MAX + 1
    if not INT32_MIN <= value <= INT32_MAX:
        raise PublishError(f"option stream: expected a number from {INT32_MIN} to {INT32_MAX}, found {text!r}")
    return value


def _duration_s(name: str, text: str | None) -> float:
    if text is None:
        return TIMEOUT_S
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|)\s*", text)
    if match is None:
        raise PublishError(f"option {name}: expected a time such as 5s, 500ms or 2m, found {text!r}")
    return float(match[1]) * UNITS_S[match[2]]
