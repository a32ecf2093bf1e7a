"""The summary of a capture, by either of two engines: Arrow in this process, or Spark with the parsing in its executors.

Both give the same report: counts over all frames, and a report on each stream (see `streams`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap import streams
from aerowire.pcap.analysis.columns import COLUMNS, SENT, by_stream
from aerowire.pcap.analysis.partial import Partial
from aerowire.pcap.capture import Capture
from aerowire.pcap.losses import Loss, losses
from aerowire.pcap.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    table, statistics = read(path, [name for name in COLUMNS if name != "packet_index"], ports)
    return report(os.fspath(path), statistics, counts_of(table), [streams.analyse(stream) for stream in streams_of(table)])


def losses_of(path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> tuple[list[Loss], Statistics]:
    """Return each loss in a capture, in the order in which they showed, and what was left out.

    Raises CaptureError for what is no capture.
    """
    table, statistics = read(path, COLUMNS, ports)
    found = [loss for stream in streams_of(table) for loss in losses(stream)]
    return sorted(found, key=lambda loss: loss.packet_index), statistics


def read(path: str | os.PathLike[str], columns: Iterable[str], ports: Iterable[int] | None) -> tuple[pa.Table, Statistics]:
    """Return the frames of a capture, and what was left out."""
    capture = Capture(path, ports=ports, columns=columns)
    return capture.read(), capture.statistics


def streams_of(table: pa.Table) -> Iterator[streams.Stream]:
    """Yield each stream that DATA, PAD or SETUP frames name, in order of the first of these."""
    found = [streams.lay_out(Partial.whole(part)) for part in by_stream(table) if part.of_type(*SENT).any()]
    yield from sorted(found, key=lambda stream: stream.appearance)


def counts_of(table: pa.Table) -> Counter[tuple[str, bool]]:
    """Return the number of frames of each (type, dropped)."""
    rows = table.group_by(["type", "dropped"], use_threads=False).aggregate([([], "count_all")]).to_pylist()
    return Counter({(row["type"], row["dropped"]): row["count_all"] for row in rows})


def summarise_with_spark(spark: SparkSession, path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> dict[str, Any]:
    """Return the same summary; executors parse and summarise, and what comes back are counts and reports."""
    from aerowire.pcap.analysis.spark import collect

    found, totals = collect(spark, os.fspath(path), ports, streams.analyse)
    return report(os.fspath(path), totals.statistics, totals.counts, found)


def losses_with_spark(
    spark: SparkSession, path: str | os.PathLike[str], ports: Iterable[int] | None = None
) -> tuple[list[Loss], Statistics]:
    """Return the same losses, found in executors."""
    from aerowire.pcap.analysis.spark import collect

    found, totals = collect(spark, os.fspath(path), ports, _losses_in, packet_index=True)
    return sorted((loss for some in found for loss in some), key=lambda loss: loss.packet_index), totals.statistics


def _losses_in(stream: streams.Stream) -> list[Loss]:
    return list(losses(stream))


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
