"""Captures with Spark: the data source `aeron_pcap`, and sessions that know it, the format `aeron_archive` and the sink `aeron`.

    from aerowire.pcap.spark import session
    frames = session().read.format("aeron_pcap").option("ports", "40101").load("captures/*.pcap")

`source` lists the options.  Only what serves Spark belongs here.  Names are loaded when they are first used, so that modules which need no
pyspark, such as `java`, load without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.pcap.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.pcap.spark.source import (
        FORMAT,
        PUSHDOWN,
        ROWS_SENT,
        STATISTICS_COLUMNS,
        UNIX_SOCKETS,
        CaptureReader,
        CaptureSource,
        FilePart,
        FilteringCaptureReader,
        FilteringCaptureSource,
        register,
        session,
        statistics_batch,
    )

__all__ = [
    "FORMAT",
    "PUSHDOWN",
    "ROWS_SENT",
    "STATISTICS_COLUMNS",
    "UNIX_SOCKETS",
    "CaptureReader",
    "CaptureSource",
    "FilePart",
    "FilteringCaptureReader",
    "FilteringCaptureSource",
    "register",
    "session",
    "statistics_batch",
]

__getattr__, __dir__ = lazy_names(__name__, {"source": __all__})
