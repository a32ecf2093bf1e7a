"""Frames of captures, read and chosen in Spark's executors, one file's after the other's as `scanning.Scan` gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from aerowire.pcap.arrays.spark_schema import schema_ddl
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.table import SCHEMA
from aerowire.pcap.where import Where

PACKED = pa.schema([("batch", pa.binary())])
# Spark's driver holds a part's frames several times on their way here: parts of 128 MiB fill its heap of 1 GiB.
SPLIT_SIZE = "16m"


class SparkScan:
    """The frames of some captures as Arrow batches in order; one part of a file is on its way to this process while another is in it.

    `schema` is that of every batch.  `statistics` has the counts of the files, after an iteration to the end.
    """

    length: int | None = None  # executors do not tell how far they are

    def __init__(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        columns: Iterable[str] | None = None,
        where: Sequence[Any] | None = None,
        payload: bool = False,
        ports: Iterable[int] | None = None,
    ) -> None:
        """Raises ValueError for columns and conditions that have no meaning."""
        self.paths = tuple(paths)
        self.position = 0
        self.statistics = Statistics()
        names = SCHEMA.names if columns is None else list(columns)
        unknown = [name for name in names if name not in SCHEMA.names]
        if unknown:
            raise ValueError(f"no column is called {unknown[0]!r}; there are {', '.join(SCHEMA.names)}")
        self.schema = pa.schema([SCHEMA.field(name) for name in names])
        self._spark = spark
        self._where = list(where or [])
        self._options = {"ports": ",".join(map(str, sorted(ports)))} if ports else {}
        self._chosen = {"payload": "true"} if payload else {}
        if columns is not None:
            conditions = sorted(Where.parse(self._where, SCHEMA).columns) if self._where else []
            self._chosen["columns"] = ",".join(dict.fromkeys([*names, *conditions]))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches()
        self.count()

    def head(self, limit: int) -> Iterator[pa.RecordBatch]:
        """Yield the first frames, 0 for all, without reading all parts of the files."""
        left = limit
        for batch in self._batches():
            yield batch.slice(0, left) if limit else batch
            left -= batch.num_rows
            if limit and left <= 0:
                return

    def count(self) -> Statistics:
        """Read the files once more, for what was left out of them and why, and return it as `statistics`."""
        rows = self._load(content="statistics").groupBy("name").sum("count").collect()
        self.statistics = Statistics.of({row["name"]: int(row["sum(count)"]) for row in rows})
        return self.statistics

    def _batches(self) -> Iterator[pa.RecordBatch]:
        packed = self._load(**self._chosen, splitSize=SPLIT_SIZE).mapInArrow(_packing(self.schema, self._where), schema_ddl(PACKED))
        for row in packed.toLocalIterator(prefetchPartitions=True):
            yield from pa.ipc.open_stream(row["batch"])

    def _load(self, **options: str) -> DataFrame:
        return self._spark.read.format("aeron_pcap").options(**self._options, **options).load(list(self.paths))


def _packing(schema: pa.Schema, where: list[Any]) -> Any:
    """Return what makes one packed batch of those that Spark hands over, with the types of captures and only the frames that are wanted."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        condition = Where.parse(where, SCHEMA) if where else None
        for batch in batches:
            fields = [SCHEMA.field(name) for name in batch.schema.names]
            frames = pa.RecordBatch.from_arrays([batch.column(field.name).cast(field.type) for field in fields], schema=pa.schema(fields))
            if condition is not None:
                frames = frames.filter(condition.mask(frames))
            if frames.num_rows:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, schema) as writer:
                    writer.write_batch(frames.select(schema.names))
                yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], schema=PACKED)

    return pack
