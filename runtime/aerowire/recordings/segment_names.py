"""Names of segment files: `<recording id>-<position>.rec`, with `.del` behind it once the file is to be deleted."""

from __future__ import annotations

import re
from typing import NamedTuple

from aerowire.codecs.flyweights.archive_files import DELETED_SEGMENT_SUFFIX, SEGMENT_FILE_NAME

_NAME = re.compile(
    SEGMENT_FILE_NAME.replace(".", r"\.").format(recording_id=r"(\d{1,19})", position=r"(\d{1,19})")
    + f"({re.escape(DELETED_SEGMENT_SUFFIX)})?",
    re.ASCII,
)


class SegmentName(NamedTuple):
    """What the name of a segment file tells; `is_deleted` of one that is to be deleted."""

    recording_id: int
    position: int
    is_deleted: bool = False


def segment_name(recording_id: int, position: int) -> str:
    """Return the name of the segment file that begins at a position."""
    return SEGMENT_FILE_NAME.format(recording_id=recording_id, position=position)


def deleted_segment_name(recording_id: int, position: int) -> str:
    """Return the name that a segment file has from when it is given up until it is deleted."""
    return segment_name(recording_id, position) + DELETED_SEGMENT_SUFFIX


def parse_segment_name(name: str) -> SegmentName | None:
    """Return what the name of a file tells, or None if it is not a segment file's."""
    match = _NAME.fullmatch(name)
    return None if match is None else SegmentName(int(match[1]), int(match[2]), match[3] is not None)
