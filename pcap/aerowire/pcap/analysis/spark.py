"""The analysis of streams as functions of Spark's data frames.

Each task summarises the parts of streams that it reads (see `summarising`); one shuffle brings the summaries of a stream together, and they
are joined, checked and told (see `reconciling`).  A summary is small: a hot stream does not bring its frames to one task.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from aerowire.pcap.analysis import loss as losses_of_stream
from aerowire.pcap.analysis import stream as stream_reports
from aerowire.pcap.analysis.parts import NEEDED, PATH, SCHEMA, Totals, from_bytes, reconciled, summarised
from aerowire.pcap.analysis.tables import LOSSES, STREAMS, loss_row, stream_row
from aerowire.pcap.arrays.spark_schema import schema_ddl
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.table import PACKET_INDEX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from aerowire.pcap.analysis.stream import Stream

KEY = [PATH, "session_id", "stream_id"]
FOUND = pa.schema([("found", pa.binary())])


def streams(frames: DataFrame) -> DataFrame:
    """Return what happened to each stream of each file, one a row, with the columns of `tables.STREAMS`.

    frames: of the source `aeron_pcap`, with `parts.NEEDED` and `path` at least; all that name a stream, in any order.
    """
    return _told(partials(frames), STREAMS, _tell_stream)


def losses(frames: DataFrame) -> DataFrame:
    """Return each loss, one a row, with the columns of `tables.LOSSES`; without `packet_index` in the frames, it is zero in the losses."""
    return _told(partials(frames), LOSSES, _tell_losses)


def partials(frames: DataFrame) -> DataFrame:
    """Return the summaries of streams' parts, with the columns of `parts.SCHEMA`."""
    names = [PATH, *NEEDED, *([PACKET_INDEX] if PACKET_INDEX in frames.columns else [])]
    return frames.select(*names).where("stream_id IS NOT NULL").mapInArrow(_summarised, schema_ddl(SCHEMA))


def _summarised(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return summarised(batches)


def _told(parts: DataFrame, schema: pa.Schema, tell: Callable[[str, Stream], list[dict[str, Any]]]) -> DataFrame:
    def of_stream(rows: pa.Table) -> pa.Table:
        stream = reconciled(rows)
        found = [] if stream is None else tell(rows[PATH][0].as_py(), stream)
        return pa.Table.from_pylist(found, schema=schema)

    return parts.where("stream_id IS NOT NULL").groupBy(*KEY).applyInArrow(of_stream, schema_ddl(schema))


def _tell_stream(path: str, stream: Stream) -> list[dict[str, Any]]:
    return [stream_row(path, stream_reports.analyse(stream))]


def _tell_losses(path: str, stream: Stream) -> list[dict[str, Any]]:
    return [loss_row(path, loss) for loss in losses_of_stream.losses(stream)]


def collect(
    spark: SparkSession,
    path: str,
    ports: Iterable[int] | None,
    tell: Callable[[Stream], Any],
    *,
    packet_index: bool = False,
    whole: bool = False,
) -> tuple[list[Any], Totals]:
    """Read a file once; return what `tell` says of each stream, in executors, and what all frames add up to.

    packet_index: the streams' frames need to tell theirs.  whole: they need all of their frames.  In order of the senders' first frames.
    """
    options = {"content": "partials"} | ({"ports": ",".join(map(str, sorted(ports)))} if ports else {})
    if packet_index:
        options["packetIndex"] = "true"
    parts = spark.read.format("aeron_pcap").options(**options).load(path)

    def of_stream(rows: pa.Table) -> pa.Table:
        if rows["stream_id"].null_count:
            totals = Totals(Counter(), Statistics())
            for value in rows["partial"].to_pylist():
                totals.add(from_bytes(value))
            return pa.Table.from_pylist([{"found": pickle.dumps(totals)}], schema=FOUND)
        stream = reconciled(rows, whole=whole)
        found = [] if stream is None else [{"found": pickle.dumps((stream.frames.appearance, tell(stream)))}]
        return pa.Table.from_pylist(found, schema=FOUND)

    totals, told = Totals(Counter(), Statistics()), []
    for row in parts.groupBy(*KEY).applyInArrow(of_stream, schema_ddl(FOUND)).collect():
        found = pickle.loads(row["found"])
        if isinstance(found, Totals):
            totals.add(found)
        else:
            told.append(found)
    return [one for _, one in sorted(told, key=lambda item: item[0])], totals
