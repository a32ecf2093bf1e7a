"""Packet captures of Aeron traffic: readers, analysis, and a data source for Spark.

`read_frames("capture.pcap")` returns an Arrow table, one row a frame; `scan(paths)` gives the same in batches, of many files.
Names are loaded when they are first used, so that the `aerowire` command can list its subcommands without NumPy and Arrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from aerowire.pcap.extras import EXTRAS, missing_package

if TYPE_CHECKING:
    from aerowire.pcap.capture import Capture, read_frames
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.scanning import Scan, scan
    from aerowire.pcap.statistics import Statistics

__all__ = ["Capture", "CaptureError", "Scan", "Statistics", "read_frames", "scan"]

HOMES = {
    "Capture": "capture",
    "CaptureError": "errors",
    "Scan": "scanning",
    "Statistics": "statistics",
    "read_frames": "capture",
    "scan": "scanning",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise missing_package(error) from None
