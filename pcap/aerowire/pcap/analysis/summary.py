"""The summary of a capture, by either of two engines: Arrow in this process, or Spark with the parsing in its executors.

Both give the same report: counts over all frames, and a report on each stream (see `stream`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aerowire.pcap.analysis.captures import CaptureStreams
from aerowire.pcap.analysis.loss import Loss, losses
from aerowire.pcap.analysis.stream import SUMMED_OF_PATHS, Stream, analyse
from aerowire.pcap.capture import Capture
from aerowire.pcap.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMMED = (
    "naks",
    "naks_dropped",
    *SUMMED_OF_PATHS,
    "messages",
    "payload_bytes",
    "heartbeats",
)


def summarise(path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> dict[str, Any]:
    """Return the summary of a capture.  Raises CaptureError for what is no capture."""
    capture = Capture(path, ports=ports, columns=())
    found = CaptureStreams(capture)
    return report(os.fspath(path), capture.statistics, found.counts, [analyse(stream) for stream in found.streams()])


def losses_of(path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> tuple[list[Loss], Statistics]:
    """Return each loss in a capture, in the order in which they showed, and what was left out.

    Raises CaptureError for what is no capture.
    """
    capture = Capture(path, ports=ports, columns=())
    found = [loss for stream in CaptureStreams(capture, packet_index=True).streams() for loss in losses(stream)]
    return sorted(found, key=lambda loss: loss.packet_index), capture.statistics


def summarise_with_spark(spark: SparkSession, path: str | os.PathLike[str], ports: Iterable[int] | None = None) -> dict[str, Any]:
    """Return the same summary; executors parse and summarise, and what comes back are counts and reports."""
    from aerowire.pcap.analysis.spark import collect

    found, totals = collect(spark, os.fspath(path), ports, analyse)
    return report(os.fspath(path), totals.statistics, totals.counts, found)


def losses_with_spark(
    spark: SparkSession, path: str | os.PathLike[str], ports: Iterable[int] | None = None
) -> tuple[list[Loss], Statistics]:
    """Return the same losses, found in executors."""
    from aerowire.pcap.analysis.spark import collect

    found, totals = collect(spark, os.fspath(path), ports, _losses_in, packet_index=True)
    return sorted((loss for some in found for loss in some), key=lambda loss: loss.packet_index), totals.statistics


def _losses_in(stream: Stream) -> list[Loss]:
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
