"""What a dead Archive leaves that keeps others out: a mark file that shows it alive or half started, and a lock file.

An Archive that lives keeps both: whether it does is found out as another Archive that starts finds it out. Aeron: MarkFile.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.agents.mark_life import NULL_TIMESTAMP_MS, check_ended, leave_lock, take_lock
from aerowire.archive.files.finding import Finding
from aerowire.archive.files.mark_header import ARCHIVE_MARK, mark_path
from aerowire.archive.files.mark_life import LOCK_FILE_NAME, check_unused
from aerowire.codecs.flyweights.archive_files import CATALOG_VERSION
from aerowire.codecs.flyweights.archive_mark import MarkFileHeaderDecoder

if TYPE_CHECKING:
    from aerowire.archive.files.mark_header import MarkHeader
    from aerowire.system.ports import Ports


def unlock(archive_directory: Path, ports: Ports, *, is_dry: bool = False) -> list[Finding]:
    """Let mark file and lock file say that the Archive has ended, if it has; return what was wrong, an empty list if nothing was.

    Raises ActiveArchiveError, which names the process, where it lives; ArchiveFileError for a damaged mark file; FileError. A dry run
    does not wait for a sign of life: of an Archive in another PID namespace it may tell that it has ended.
    """
    path = mark_path(ports.files, archive_directory)
    lock_path = path.with_name(LOCK_FILE_NAME)
    had_lock = ports.files.exists(lock_path)
    check_unused(archive_directory, ports)
    if is_dry:
        return _findings(path, ARCHIVE_MARK.read_header(ports.files, path), had_lock=had_lock)
    if not had_lock and not ports.files.exists(path):
        return []
    lock = take_lock(ARCHIVE_MARK, path.parent, ports)
    try:
        header = check_ended(ARCHIVE_MARK, path, lock, ports)
        found = _findings(path, header, had_lock=had_lock)
        if header is not None and _is_stale(header):
            _mark_ended(path, header, ports)
    finally:
        leave_lock(lock, ports.files)
    return found


def _findings(path: Path, header: MarkHeader | None, *, had_lock: bool) -> list[Finding]:
    found = []
    if header is not None and _is_stale(header):
        state = "shows a running archive" if header.version else "shows an archive that is starting"
        found.append(Finding(str(path), header.offset, f"the mark file {state}, process {header.pid}, which has ended"))
    if had_lock:
        found.append(Finding(str(path.with_name(LOCK_FILE_NAME)), 0, "the lock file of an archive that has ended"))
    return found


def _is_stale(header: MarkHeader) -> bool:
    return header.activity_timestamp_ms != NULL_TIMESTAMP_MS or not header.version


def _mark_ended(path: Path, header: MarkHeader, ports: Ports) -> None:
    # The version LAST, as its owner would write it: a reader waits for it.
    fields = MarkFileHeaderDecoder
    with ports.files.open(path, writable=True) as file:
        file.write_all(header.offset + fields.ACTIVITY_TIMESTAMP_ENCODING_OFFSET, struct.pack("<q", NULL_TIMESTAMP_MS))
        if not header.version:
            file.write_all(header.offset + fields.VERSION_ENCODING_OFFSET, struct.pack("<i", CATALOG_VERSION))
        file.sync()
