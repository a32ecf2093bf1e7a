"""The header of a mark file as values, of every version, and where the mark file of an Archive is. Files are read, never mapped, here.

    archive-mark.dat:  message header (8 bytes) | fields (128 bytes) | 4 x (u32 length, text) | zeros | error log, from headerLength on

Mark files before archive version 3.1 have no message header. Aeron: ArchiveMarkFile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerowire.agents.directory_lock import DirectoryOwner
from aerowire.agents.mark_kind import MarkKind, has_message_header
from aerowire.base.errors import ActiveArchiveError, ArchiveFileError
from aerowire.codecs.flyweights.archive_files import (
    ARCHIVE_ERROR_LOG_NAME,
    CATALOG_VERSION,
    MARK_FILE_HEADER_LENGTH,
    MARK_FILE_LIVENESS_TIMEOUT_MS,
    MARK_FILE_NAME,
    MARK_LINK_FILE_NAME,
)
from aerowire.codecs.flyweights.archive_mark import MarkFileHeaderDecoder, MarkFileHeaderEncoder, MessageHeaderDecoder
from aerowire.codecs.support.errors import SbeError
from aerowire.codecs.tables.archive_options import OPTIONS

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort

MESSAGE_HEADER_LENGTH: Final = MessageHeaderDecoder.ENCODED_LENGTH
NULL_ARCHIVE_ID: Final = -1
_BLOCK_LENGTH = MarkFileHeaderDecoder.SBE_BLOCK_LENGTH


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkHeader:
    """What a mark file tells. `offset` is where its fields begin: 0 without a message header. Timestamps are epoch milliseconds."""

    offset: int
    schema_version: int
    version: int
    activity_timestamp_ms: int
    start_timestamp_ms: int
    pid: int
    control_stream_id: int
    local_control_stream_id: int
    events_stream_id: int
    header_length: int
    error_buffer_length: int
    archive_id: int
    control_channel: str
    local_control_channel: str
    events_channel: str
    aeron_directory: str


def decode_mark_header(data: bytes, path: Path) -> MarkHeader:
    """Return the header that stands at the start of a mark file. Raises ArchiveFileError."""
    decoder = MarkFileHeaderDecoder()
    offset = MESSAGE_HEADER_LENGTH if has_message_header(data, MessageHeaderDecoder, MarkFileHeaderDecoder) else 0
    try:
        if offset:
            decoder.wrap_and_apply_header(data)
        else:
            schema_version = 1 if MarkFileHeaderDecoder().wrap(data, 0, _BLOCK_LENGTH, 1).header_length else 0
            decoder.wrap(data, 0, _BLOCK_LENGTH, schema_version)
        return MarkHeader(
            offset=offset,
            schema_version=decoder.acting_version,
            version=decoder.version,
            activity_timestamp_ms=decoder.activity_timestamp,
            start_timestamp_ms=decoder.start_timestamp,
            pid=decoder.pid,
            control_stream_id=decoder.control_stream_id,
            local_control_stream_id=decoder.local_control_stream_id,
            events_stream_id=decoder.events_stream_id,
            header_length=decoder.header_length or 0,
            error_buffer_length=decoder.error_buffer_length or 0,
            archive_id=NULL_ARCHIVE_ID if decoder.archive_id is None else decoder.archive_id,
            control_channel=decoder.control_channel,
            local_control_channel=decoder.local_control_channel,
            events_channel=decoder.events_channel,
            aeron_directory=decoder.aeron_directory,
        )
    except (SbeError, UnicodeDecodeError) as error:
        raise ArchiveFileError(
            "the mark file is damaged", where=f"{path}, offset {offset}", expected="fields and texts", actual=str(error)
        ) from None


ARCHIVE_MARK: Final = MarkKind(
    owner=DirectoryOwner(name="archive", option=OPTIONS["archive_dir"].property, active_error=ActiveArchiveError),
    file_error=ArchiveFileError,
    file_name=MARK_FILE_NAME,
    link_file_name=MARK_LINK_FILE_NAME,
    lock_file_name="archive.lock",
    error_log_name=ARCHIVE_ERROR_LOG_NAME,
    version=CATALOG_VERSION,
    header_length=MARK_FILE_HEADER_LENGTH,
    message_header_length=MESSAGE_HEADER_LENGTH,
    liveness_timeout_ms=MARK_FILE_LIVENESS_TIMEOUT_MS,
    encoder=MarkFileHeaderEncoder,
    decode=decode_mark_header,
    other_version_hint="migrate older files by: aerowire archive migrate DIR",
)


def read_mark_file(files: FilePort, path: Path) -> tuple[MarkHeader, bytes]:
    """Return the header of a mark file and its error log. Raises ArchiveFileError, FileError, MissingFileError."""
    return ARCHIVE_MARK.read(files, path)


def mark_directory(files: FilePort, archive_directory: Path) -> Path:
    """Return the directory of an Archive's mark file: its own, or the one that its link file names. Raises FileError."""
    return ARCHIVE_MARK.directory(files, archive_directory)


def mark_path(files: FilePort, archive_directory: Path) -> Path:
    """Return the path of an Archive's mark file. Raises FileError."""
    return ARCHIVE_MARK.path(files, archive_directory)
