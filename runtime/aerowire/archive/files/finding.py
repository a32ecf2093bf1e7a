"""What was found wrong with an Archive's files, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One place in one file. `recording_id` is -1 where it is not known; `text` says what was expected, found and done."""

    path: str
    offset: int
    text: str
    recording_id: int = -1

    def __str__(self) -> str:
        recording = f" (recording {self.recording_id})" if self.recording_id >= 0 else ""
        return f"{self.path}: offset {self.offset}{recording}: {self.text}"
