"""Records of what is under way: a CRC-32 stands before the rest of each, and shows whether a crash has left the whole of it."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.base.file_port import FilePort

CRC_LENGTH: Final = 4


def seal(body: bytes) -> bytes:
    """Return a record as it is written."""
    return zlib.crc32(body).to_bytes(CRC_LENGTH, "little") + body


def unseal(record: bytes) -> bytes | None:
    """Return the body of a record, or None if it is not what was written."""
    body = record[CRC_LENGTH:]
    return body if len(record) >= CRC_LENGTH and int.from_bytes(record[:CRC_LENGTH], "little") == zlib.crc32(body) else None


def write_record(files: FilePort, path: Path, body: bytes, *, is_synced: bool) -> None:
    """Write the record of a path, in the place of the one that may be there. Raises FileError."""
    with files.open(path, writable=True, create=True) as file:
        file.write_all(0, seal(body))
        if is_synced:
            file.sync()
    if is_synced:
        files.sync_directory(path.parent)


def read_record(files: FilePort, path: Path, length: int) -> bytes | None:
    """Return the body, of a length, of the record of a path, or None if it is not whole. Raises FileError."""
    with files.open(path) as file:
        data = file.read(0, CRC_LENGTH + length)
    return unseal(data) if len(data) == CRC_LENGTH + length else None
