"""What a running Archive tells of its recordings, as the entries that commands read in the catalog of a directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from aerowire.tools.archive.running.connection import descriptor_of

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive
    from aerowire.recordings.catalog_entry import RecordingEntry

_TIMES = ("start_timestamp", "stop_timestamp")


def described_recordings(archive: AeronArchive, recording_ids: Sequence[int]) -> list[tuple[RecordingEntry, int]]:
    """Return recordings, or all without ids, each with the position where it has come to. Raises ArchiveError for one that is not there.

    `damage` says of an entry what cannot be.
    """
    from aerowire.recordings.catalog_entry import RecordingEntry, implausible_fields

    found = []
    for one in [descriptor_of(archive, recording_id) for recording_id in recording_ids] or archive.list_recordings():
        values = {f"{name}_ms" if name in _TIMES else name: value for name, value in asdict(one).items()}
        end = archive.get_max_recorded_position(one.recording_id) if one.is_active else one.stop_position
        entry = RecordingEntry(**values)
        found.append((replace(entry, damage=implausible_fields(entry)), end))
    return found
