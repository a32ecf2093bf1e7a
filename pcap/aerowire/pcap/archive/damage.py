"""What is wrong with the files of an Archive: counted, and named with file and offset, or an error where the reader was told to fail."""

from __future__ import annotations

from dataclasses import dataclass, field

from aerowire.pcap.errors import CaptureError

DAMAGES_MAX = 1000  # kept with their places; further ones are counted only, so that a file of junk fills no memory


class ArchiveError(CaptureError):
    """An Archive's directory cannot be read as asked: the message says which file, what was expected, what was found and what may help."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place.  offset is in the file; position and lost_length are of the recording, in bytes (None and 0 for a catalog's)."""

    path: str
    offset: int
    reason: str
    recording_id: int | None = None
    position: int | None = None
    lost_length: int = 0

    def __str__(self) -> str:
        where = f"{self.path}: offset {self.offset}"
        if self.recording_id is not None:
            where += f" (recording {self.recording_id}, position {self.position})"
        return f"{where}: {self.reason}"


@dataclass(slots=True)
class Report:
    """What was read and what was not.

    Invariant after a whole read of frames: frame_bytes + lost_bytes is the length of what was asked for.
    """

    fail_fast: bool = False
    frames: int = 0
    frame_bytes: int = 0  # of whole frames, alignment included
    messages: int = 0
    incomplete_messages: int = 0
    lost_bytes: int = 0
    damage_count: int = 0
    damages: list[Damage] = field(default_factory=list)

    def note(self, damage: Damage) -> None:
        """Count a damaged place.  Raises ArchiveError where the reader is to fail."""
        if self.fail_fast:
            raise ArchiveError(f"{damage}; read without failing on data loss to leave out {damage.lost_length} bytes and go on")
        self.damage_count += 1
        self.lost_bytes += damage.lost_length
        if len(self.damages) < DAMAGES_MAX:
            self.damages.append(damage)
