"""Whether an Archive lives in a directory, as its mark file and its lock file tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerowire.agents import mark_life
from aerowire.archive.files.mark_header import ARCHIVE_MARK

if TYPE_CHECKING:
    from aerowire.system.ports import Ports

LOCK_FILE_NAME: Final = ARCHIVE_MARK.lock_file_name
NULL_TIMESTAMP_MS: Final = mark_life.NULL_TIMESTAMP_MS


def check_unused(archive_directory: Path, ports: Ports) -> None:
    """Raise ActiveArchiveError where an Archive lives in a directory, as far as that can be told at once; it may start at any time.

    Raises FileError, ArchiveFileError where its mark file is damaged.
    """
    mark_life.check_unused(ARCHIVE_MARK, archive_directory, ports)
