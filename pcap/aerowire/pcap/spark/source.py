"""Captures as a Spark data source: `spark.read.format("aeron_pcap").load(path)`, with the columns of `read_frames`.

    from aerowire.pcap.spark import session
    frames = session().read.format("aeron_pcap").option("ports", "40101").load("captures/*.pcap")

Options:
    ports      comma-separated; datagrams from or to these.  Without it the flows count that are proven to be Aeron in their file.
    columns    comma-separated; only these are built (a schema given to the reader does the same).
    payload    true: column `payload` holds the bytes of DATA frames; else it is null, unless `columns` names it.
    mode       PERMISSIVE (default) or DROPMALFORMED: damage is left out and counted; FAILFAST: it fails the query.
    splitSize  bytes of a part (k, m, g understood; default 128 MiB, but two parts at least of a file over 64 MB).
    pathGlobFilter  only files whose names match.
    content    frames (default) or statistics: per part of a file, what was read and what was left out and why; or partials: what the
               analysis makes of each part (see `analysis.spark`).
    packetIndex  true, with content partials: their frames tell the numbers of their packets, for which each file needs its index.
    maxFilesPerTrigger, maxBytesPerTrigger  of a stream.

Where the work is done.  Files that are not compressed are cut into parts of splitSize, by their length alone; the executors find the
records at the cuts and parse (see `reading.parts`).  Flows, positions, retransmissions and packet numbers are known of a whole file only:
rows that tell them need its index, which is made once on each machine, unless one stands beside the file (`aerowire pcap index FILE`).  A
query with `ports`, of columns without position, is_retransmission and packet_index, needs none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from aerowire.pcap.analysis import parts
from aerowire.pcap.analysis.gathering import Gathering
from aerowire.pcap.analysis.numbers import numbered
from aerowire.pcap.arrays.spark_schema import schema_ddl
from aerowire.pcap.capture import Capture
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.reading.parts import Part, cut, resolve
from aerowire.pcap.spark.filters import conditions
from aerowire.pcap.spark.java import ensure_java_home
from aerowire.pcap.spark.options import Settings
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.table import PACKET_INDEX, PAYLOAD, SCHEMA
from aerowire.pcap.where import Condition
from aerowire.pcap.workers import keep_what_is_loaded

FORMAT = "aeron_pcap"
ROWS_SENT = 1 << 13  # at a time: larger batches cost more on their way to the JVM
UNIX_SOCKETS = "spark.python.unix.domain.socket.enabled"  # between the JVM and its Python workers: a fifth faster than TCP
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
STATISTICS_COLUMNS = {"path": "STRING", "name": "STRING", "count": "BIGINT"}


@dataclass
class FilePart(InputPartition):
    """What one task reads."""

    part: Part


class CaptureSource(DataSource):
    """The data source `aeron_pcap`, for sessions in which Spark keeps its filters to itself."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        keep_what_is_loaded()
        settings = Settings.parse(self.options)
        if settings.statistics:
            return ", ".join(f"{name} {kind}" for name, kind in STATISTICS_COLUMNS.items())
        if settings.partials:
            return schema_ddl(parts.SCHEMA)
        return schema_ddl(pa.schema([SCHEMA.field(name) for name in settings.columns]))

    def reader(self, schema: StructType) -> DataSourceReader:
        keep_what_is_loaded()
        return CaptureReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from aerowire.pcap.spark.stream import CaptureStreamReader

        return CaptureStreamReader(self.options, schema)


class FilteringCaptureSource(CaptureSource):
    """The same, for sessions in which Spark hands filters to data sources."""

    def reader(self, schema: StructType) -> DataSourceReader:
        keep_what_is_loaded()
        return FilteringCaptureReader(self.options, schema)


class CaptureReader(DataSourceReader):
    """Cuts files into parts on the driver and reads them in the executors; a user's schema chooses columns."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self.settings = Settings.parse(options)
        self._schema = schema
        self._conditions: list[Condition] = []
        # A schema of the user's own that names the payload asks for it.
        self._fills_payload = self.settings.payload or (PAYLOAD in schema.fieldNames() and len(schema) < len(self.settings.columns))
        known = STATISTICS_COLUMNS if self.settings.statistics else parts.SCHEMA.names if self.settings.partials else SCHEMA.names
        unknown = [name for name in schema.fieldNames() if name not in known]
        if unknown:
            raise CaptureError(f"the schema names columns that captures do not have: {', '.join(unknown)}")

    def capture(self, path: str) -> Capture:
        """Return the reader of one file, with what is asked for."""
        settings = self.settings
        columns = [] if settings.statistics else self._schema.fieldNames()
        if settings.partials:  # which are made of no columns
            columns = [PACKET_INDEX] if settings.packet_index else []
        if not self._fills_payload:
            columns = [name for name in columns if name != PAYLOAD]
        return Capture(
            path,
            ports=settings.ports,
            columns=columns,
            where=self._conditions,
            fail_fast=settings.fail_fast,
        )

    def partitions(self) -> list[FilePart]:
        """Cut the files; one part at least for each."""
        return [FilePart(part) for path in self.settings.files() for part in cut(path, self.settings.split_length)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a part's frames."""
        keep_what_is_loaded()
        assert isinstance(partition, FilePart)
        part = partition.part
        if not Path(part.path).is_absolute() and not Path(part.path).exists():
            raise CaptureError(f"{part.path}: no such file in {Path.cwd()}, where this executor runs: on a cluster, load absolute paths")
        capture = self.capture(part.path)
        with resolve(part, capture.request) as resolved:
            if resolved is None:
                return
            if self.settings.partials:
                gathering, packet_index = Gathering(), self.settings.packet_index
                yield from parts.rows_of(part.path, gathering.frames(numbered(capture.selections(resolved), packet_index=packet_index)))
                yield parts.totals_row(part.path, parts.Totals(gathering.counts(), capture.statistics))
            elif not self.settings.statistics:
                yield from self.as_asked(capture.batches(resolved))
            else:
                yield statistics_batch(part.path, capture.count(resolved), self.target())

    def as_asked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with exactly the columns and types that Spark expects."""
        target = self.target()
        for batch in batches:
            places = {name: place for place, name in enumerate(batch.schema.names)}
            asked = pa.RecordBatch.from_arrays([_column(batch, places.get(field.name), field) for field in target], schema=target)
            yield from (asked.slice(row, ROWS_SENT) for row in range(0, asked.num_rows, ROWS_SENT))

    def target(self) -> pa.Schema:
        """Return the Arrow schema that Spark expects."""
        return to_arrow_schema(self._schema, timezone="UTC")


class FilteringCaptureReader(CaptureReader):
    """A reader that builds the columns only of frames that satisfy the query's filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that are conditions on columns; return those that are left to Spark."""
        left = []
        for one, condition in conditions(filters, SCHEMA):
            if condition is None or self.settings.statistics or self.settings.partials:
                left.append(one)
            else:
                self._conditions.append(condition)
        return left


def statistics_batch(path: str, statistics: Statistics, target: pa.Schema) -> pa.RecordBatch:
    """Return counts as rows of path, name and count."""
    counts = statistics.to_dict()
    skipped = counts.pop("skipped")
    assert isinstance(skipped, dict)
    rows = [*counts.items(), *((f"skipped: {reason}", count) for reason, count in skipped.items())]
    columns: dict[str, Any] = {
        "path": [path] * len(rows),
        "name": [name for name, _ in rows],
        "count": [count for _, count in rows],
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], type=field.type) for field in target], schema=target)


def _column(batch: pa.RecordBatch, place: int | None, field: pa.Field) -> pa.Array:
    if place is None:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(place)
    return column if column.type == field.type else column.cast(field.type)


def register(spark: SparkSession) -> None:
    """Make the formats `aeron_pcap` and `aeron_archive`, and the sink `aeron`, known to a session.

    Call it again after changing whether Spark hands filters to data sources.
    """
    from aerowire.pcap.archive.spark import ArchiveSource
    from aerowire.pcap.sink import PublishingSource

    filtering = str(spark.conf.get(PUSHDOWN, "false")).lower() == "true"
    spark.dataSource.register(FilteringCaptureSource if filtering else CaptureSource)
    spark.dataSource.register(ArchiveSource)
    spark.dataSource.register(PublishingSource)


def session(app_name: str = "aerowire", *, master: str | None = None, config: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session with `aeron_pcap` and `aeron_archive` registered.

    Without a `master` it runs where `spark-submit` says, else in this machine's cores.  Sets JAVA_HOME and the workers' Python where the
    environment does not, and further settings where neither `config` nor `spark-submit` does.

    Raises CaptureError where there is no Java that Spark can use.
    """
    ensure_java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    given = _submitted()
    if master is not None:
        given["spark.master"] = master
    master = given.setdefault("spark.master", "local[*]")
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",  # a container's own name often resolves to nothing
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        PUSHDOWN: "true",
        UNIX_SOCKETS: str(os.name == "posix").lower(),
    }
    if not master.startswith("local") or master.startswith("local-cluster"):
        # Executors elsewhere must find the driver, and know best how many parts suit them.
        for name in ("spark.driver.host", "spark.driver.bindAddress", "spark.sql.shuffle.partitions"):
            del defaults[name]
    builder = SparkSession.builder.appName(app_name)
    for name, value in {**defaults, **given, **(config or {})}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def _submitted() -> dict[str, str]:
    """Return what `spark-submit` was told, if that is what runs this process."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return {name: value for name, value in SparkConf().getAll() if name not in ("spark.app.name", "spark.submit.pyFiles")}
