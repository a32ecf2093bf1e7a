"""Packet captures of Aeron traffic: readers, analysis, and a data source for Spark.

`read_frames("capture.pcap")` returns an Arrow table, one row a frame; `scan(paths)` gives the same in batches, of many files.
Names are loaded when they are first used, so that the `aerowire` command can list its subcommands without NumPy and Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.pcap.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.pcap.capture import Capture, read_frames
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.scanning import Scan, scan
    from aerowire.pcap.statistics import Statistics

__all__ = ["Capture", "CaptureError", "Scan", "Statistics", "read_frames", "scan"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "capture": ("Capture", "read_frames"),
        "errors": ("CaptureError",),
        "scanning": ("Scan", "scan"),
        "statistics": ("Statistics",),
    },
)
