"""Recordings of an Aeron Archive as Arrow tables and as a data source for Spark.

`recordings(directory)` lists the catalog, one row a recording; `read_recording(directory, recording_id)` gives the recorded frames, or the
messages that they carry, in batches.  Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.pcap.archive.catalog import recordings
    from aerowire.pcap.archive.damage import ArchiveError, Damage, Report
    from aerowire.pcap.archive.reading import RecordingRead, read_recording

__all__ = ["ArchiveError", "Damage", "RecordingRead", "Report", "read_recording", "recordings"]

HOMES = {
    "ArchiveError": "damage",
    "Damage": "damage",
    "RecordingRead": "reading",
    "Report": "damage",
    "read_recording": "reading",
    "recordings": "catalog",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
