"""Recordings of an Aeron Archive as Arrow tables and as a data source for Spark.

`recordings(directory)` lists the catalog, one row a recording; `read_recording(directory, recording_id)` gives the recorded frames, or the
messages that they carry, in batches.  Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.pcap.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.pcap.archive.catalog import recordings
    from aerowire.pcap.archive.damage import ArchiveError, Damage, Report
    from aerowire.pcap.archive.reading import RecordingRead, read_recording

__all__ = ["ArchiveError", "Damage", "RecordingRead", "Report", "read_recording", "recordings"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "catalog": ("recordings",),
        "damage": ("ArchiveError", "Damage", "Report"),
        "reading": ("RecordingRead", "read_recording"),
    },
)
