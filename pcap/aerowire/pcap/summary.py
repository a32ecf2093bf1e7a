"""The summary of a capture, by either of two engines: Arrow in this process, or Spark with the parsing in its executors.

Both give the same report: counts over all frames, and a report on each stream (see `streams`).
"""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from aerowire.pcap import streams
from aerowire.pcap.capture import Capture
from aerowire.pcap.losses import Loss, losses
from aerowire.pcap.statistics import ADDED, Statistics
from aerowire.pcap.table import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM_KEY = ["session_id", "stream_id"]
SUMMED = (
    "naks",
    "naks_dropped",
    *streams.SUMMED_OF_PATHS,
    "messages",
    "payload_bytes",
    "heartbeats",
)


def summarise(path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> dict[str, Any]:
    """Return the summary of a capture.  Raises CaptureError for what is no capture."""
    capture = Capture(path, ports=ports, columns=streams.COLUMNS)
    table = capture.read()
    return _report_on(os.fspath(path), capture.statistics, table)


def losses_of(path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> tuple[list[Loss], Statistics]:
    """Return each loss in a capture, in the order in which they showed, and what was left out.

    Raises CaptureError for what is no capture.
    """
    capture = Capture(path, ports=ports, columns=streams.COLUMNS)
    table = capture.read()
    found = [loss for part in stream_tables(table) for loss in losses(streams.lay_out(streams.columns_of(part)))]
    return sorted(found, key=lambda loss: loss.packet_index), capture.statistics


def _report_on(path: str, statistics: Statistics, table: pa.Table) -> dict[str, Any]:
    return report(path, statistics, _counts(table), [streams.analyse(part) for part in stream_tables(table)])


def _counts(table: pa.Table) -> Counter[tuple[str, bool]]:
    """Return the number of frames of each (type, dropped)."""
    rows = table.group_by(["type", "dropped"], use_threads=False).aggregate([([], "count_all")]).to_pylist()
    return Counter({(row["type"], row["dropped"]): row["count_all"] for row in rows})


def stream_tables(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the frames of each stream that DATA, PAD or SETUP frames name, in order of appearance."""
    for key in _of_senders(table).group_by(STREAM_KEY, use_threads=False).aggregate([]).to_pylist():
        chosen = pc.and_(pc.equal(table["session_id"], key["session_id"]), pc.equal(table["stream_id"], key["stream_id"]))
        yield table.filter(chosen)


def summarise_with_spark(spark: SparkSession, path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> dict[str, Any]:
    """Return the same summary through the data source `aeron_pcap`.

    Executors parse, bring the frames of each stream together and look at them; what comes back are counts and reports.
    """
    from aerowire.pcap.spark import FORMAT
    from aerowire.pcap.spark_schema import schema_ddl

    options = {"ports": ",".join(str(port) for port in sorted(ports))} if ports else {}
    # Spark does not tell a source which columns a query uses; a schema does, and what is not in it is never built.
    wanted = schema_ddl(pa.schema([SCHEMA.field(name) for name in streams.COLUMNS]))
    frames = spark.read.format(FORMAT).options(**options).schema(wanted).load(os.fspath(path))
    found = frames.repartition(*STREAM_KEY).mapInArrow(_look_at_streams, "found BINARY").collect()
    counted = spark.read.format(FORMAT).options(**options, content="statistics").load(os.fspath(path))
    parts = counted.groupBy("name").sum("count").collect()
    counts: Counter[tuple[str, bool]] = Counter()
    reports: list[tuple[tuple[int, int], dict[str, Any]]] = []
    for row in found:
        some_counts, some_reports = pickle.loads(row["found"])  # what our own executors made
        counts.update(some_counts)
        reports.extend(some_reports)
    in_order = [one for _, one in sorted(reports, key=lambda item: item[0])]
    return report(os.fspath(path), _statistics({row["name"]: row["sum(count)"] for row in parts}), counts, in_order)


def _look_at_streams(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In an executor: yield one row, the counts and [(first appearance, report)] of the streams in a partition."""
    parts = list(batches)
    if not parts:
        return
    table = pa.Table.from_batches(parts).sort_by([("packet_index", "ascending"), ("frame_index", "ascending")])
    reports = [(_appearance(part), streams.analyse(part)) for part in stream_tables(table)]
    yield pa.RecordBatch.from_pydict({"found": [pickle.dumps((_counts(table), reports))]})


def _appearance(table: pa.Table) -> tuple[int, int]:
    """Return the place, in the capture, of the first frame that a stream's sender sent."""
    sending = _of_senders(table)
    return sending["packet_index"][0].as_py(), sending["frame_index"][0].as_py()


def _of_senders(table: pa.Table) -> pa.Table:
    return table.filter(pc.is_in(table["type"], pa.array(["DATA", "PAD", "SETUP"])))


def _statistics(counts: Mapping[str, int]) -> Statistics:
    statistics = Statistics()
    for name in ADDED:
        setattr(statistics, name, int(counts.get(name, 0)))
    for name, count in counts.items():
        if name.startswith("skipped: "):
            statistics.skip(name.removeprefix("skipped: "), int(count))
    return statistics


def report(path: str, statistics: Statistics, counts: Mapping[tuple[str, bool], int], reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Put a summary together."""
    frames_by_type: dict[str, int] = {}
    dropped_by_type: dict[str, int] = {}
    for (kind, dropped), count in sorted(counts.items()):
        frames_by_type[kind] = frames_by_type.get(kind, 0) + count
        if dropped:
            dropped_by_type[kind] = dropped_by_type.get(kind, 0) + count
    return {
        "file": path,
        **statistics.to_dict(),
        "frames_by_type": frames_by_type,
        "dropped_by_type": dropped_by_type,
        **{name: sum(one[name] for one in reports) for name in SUMMED},
        "streams": reports,
    }
