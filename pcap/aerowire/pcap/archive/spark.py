"""Recordings as a Spark data source: `spark.read.format("aeron_archive").load(directory)`, and `readStream` for a live one.

Options (see docs/spark-archive.md): recordingId, channel, streamId, startingOffsets, endingOffsets, maxBytesPerTrigger (or
maxOffsetsPerTrigger), minPartitions, failOnDataLoss, content, columns.  The driver plans by the catalog; executors read the segments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from aerowire.pcap.archive.catalog import as_table, read_catalog
from aerowire.pcap.archive.damage import ArchiveError, Damage, Report
from aerowire.pcap.archive.options import DAMAGE_SCHEMA, SCHEMAS, Settings
from aerowire.pcap.archive.planning import Planner
from aerowire.pcap.archive.reading import Part, read_part
from aerowire.pcap.archive.table import FRAME_SCHEMA
from aerowire.pcap.arrays.spark_schema import schema_ddl
from aerowire.pcap.workers import keep_what_is_loaded

FORMAT = "aeron_archive"
CHUNK_LENGTH = 2 << 20  # larger batches cost more on their way to the JVM than they save here


@dataclass
class RecordedPart(InputPartition):
    """What one task reads: a part of a recording, or (None) what planning found."""

    part: Part | None
    damages: tuple[Damage, ...] = ()


class ArchiveSource(DataSource):
    """The data source `aeron_archive`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        keep_what_is_loaded()
        return schema_ddl(Settings.parse(self.options).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        keep_what_is_loaded()
        return ArchiveReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return ArchiveStreamReader(self.options, schema)


class PartReader:
    """Reads parts in the executors, with the columns of the schema that Spark asks for."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self.settings = Settings.parse(options)
        self._schema = schema
        known = SCHEMAS[self.settings.content].names
        unknown = [name for name in schema.fieldNames() if name not in known]
        if unknown:
            raise ArchiveError(f"the schema names columns that {self.settings.content} do not have: {', '.join(unknown)}")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a part's rows."""
        keep_what_is_loaded()
        assert isinstance(partition, RecordedPart)
        settings = self.settings
        if settings.content == "recordings":
            yield from self._as_asked(as_table(read_catalog(settings.path, Report())).to_batches())
            return
        report = Report(fail_fast=settings.fail_on_data_loss and settings.content != "damage")
        if settings.content == "damage":
            if partition.part is not None:
                schema = pa.schema([FRAME_SCHEMA.field("position")])
                deque(read_part(partition.part, schema, report, messages=False, chunk_length=CHUNK_LENGTH), maxlen=0)
            yield from self._as_asked([damage_batch([*partition.damages, *report.damages])])
        elif partition.part is not None:
            schema = pa.schema([SCHEMAS[settings.content].field(name) for name in self._schema.fieldNames()])
            messages = settings.content == "messages"
            yield from self._as_asked(read_part(partition.part, schema, report, messages=messages, chunk_length=CHUNK_LENGTH))

    def _as_asked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with exactly the columns and types that Spark expects."""
        target = to_arrow_schema(self._schema, timezone="UTC")
        for batch in batches:
            yield pa.RecordBatch.from_arrays([batch.column(field.name).cast(field.type) for field in target], schema=target)


class ArchiveReader(DataSourceReader):
    """Plans on the driver and reads in the executors."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self._parts = PartReader(options, schema)

    def partitions(self) -> list[RecordedPart]:
        """Return parts of recordings, cut where segments begin, or at terms where minPartitions asks for more."""
        settings = self._parts.settings
        if settings.content == "recordings":
            return [RecordedPart(None)]
        planner = Planner(settings)
        parts = [RecordedPart(part) for part in planner.batch()]
        if settings.content == "damage":
            parts.append(RecordedPart(None, tuple(planner.report.damages)))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a part's rows."""
        return self._parts.read(partition)


class ArchiveStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows recordings that grow. An offset is {recording id: position}: all of a recording before it was read."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self._parts = PartReader(options, schema)
        self._settings = self._parts.settings
        self._planner = Planner(self._settings)
        self._ends: dict[int, int] | None = None  # positions that a query does not read beyond
        if self._settings.content not in ("frames", "messages"):
            raise ArchiveError(f"a stream has content frames or messages, found {self._settings.content}: use spark.read for it")
        if self._settings.ending != "latest":
            raise ArchiveError("option endingOffsets: a stream has no end; use spark.read, or leave it out")

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return _offset(self._planner.initial())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._settings.bytes_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._ends = self._planner.ends({})

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return up to where there are whole frames, as far as a limit lets."""
        length_max = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        return _offset(self._planner.latest(_positions(start), length_max, self._ends))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[RecordedPart]:
        """Return what lies between two offsets, in parts."""
        return [RecordedPart(part) for part in self._planner.between(_positions(start), _positions(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield a part's rows."""
        return self._parts.read(partition)


def damage_batch(damages: Iterable[Damage]) -> pa.RecordBatch:
    """Return damaged places as rows of DAMAGE_SCHEMA."""
    rows = list(damages)
    columns = [pa.array([getattr(row, field.name) for row in rows], type=field.type) for field in DAMAGE_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=DAMAGE_SCHEMA)


def _offset(positions: Mapping[int, int]) -> dict[str, int]:
    return {str(key): position for key, position in positions.items()}


def _positions(offset: Mapping[str, Any]) -> dict[int, int]:
    return {int(key): int(position) for key, position in offset.items()}
