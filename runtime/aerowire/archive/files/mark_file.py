"""The mark file of a running Archive. Aeron: ArchiveMarkFile.

mark = ArchiveMarkFile.create(archive_dir, mark_dir, details, ports)     # refused while another Archive lives there
mark.signal_ready(now_ms)                                                # last, when requests are served
mark.update_activity(now_ms)                                             # each second
mark.close()                                                             # says that the Archive has ended
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerowire.agents.mark_file import MarkFile
from aerowire.archive.files.mark_header import ARCHIVE_MARK, MESSAGE_HEADER_LENGTH, MarkHeader
from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.archive_files import MARK_FILE_HEADER_LENGTH
from aerowire.codecs.flyweights.archive_mark import MarkFileHeaderEncoder

if TYPE_CHECKING:
    from aerowire.system.ports import Ports

_TEXTS = ("control_channel", "local_control_channel", "events_channel", "aeron_directory")
_TEXT_LENGTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDetails:
    """How an Archive is reached, as its mark file tells others. Channels that are not in use are empty."""

    archive_id: int
    control_channel: str
    control_stream_id: int
    local_control_channel: str
    local_control_stream_id: int
    events_channel: str
    events_stream_id: int
    aeron_directory: str


class ArchiveMarkFile(MarkFile[MarkHeader]):
    """The mark file of one Archive and the lock that goes with it; made by `create`."""

    @classmethod
    def create(
        cls,
        archive_directory: Path,
        directory: Path,
        details: ArchiveDetails,
        ports: Ports,
        *,
        error_buffer_length: int,
        page_size: int | None = None,
    ) -> Self:
        """Take the mark file of a directory over, or make it, with all fields and without a version.

        Both directories must exist; `page_size` is the driver's, of which the file's length is a multiple. The errors of an Archive that
        has ended are saved beside the file. Raises ActiveArchiveError where an Archive lives, ArchiveFileError, ConfigurationError where
        the texts are too long, StorageError.
        """
        _check_length(details)

        def fill(encoder: MarkFileHeaderEncoder, former: MarkHeader | None) -> None:
            del former  # keeps nothing that the next Archive needs
            encoder.control_stream_id, encoder.local_control_stream_id = details.control_stream_id, details.local_control_stream_id
            encoder.events_stream_id = details.events_stream_id
            encoder.archive_id = details.archive_id
            for name in _TEXTS:
                setattr(encoder, name, getattr(details, name).encode("ascii", "replace"))

        return cls.take(
            ARCHIVE_MARK,
            archive_directory,
            directory,
            ports,
            error_buffer_length=error_buffer_length,
            page_size=page_size,
            fill=fill,
        )


def _check_length(details: ArchiveDetails) -> None:
    length = MESSAGE_HEADER_LENGTH + MarkFileHeaderEncoder.SBE_BLOCK_LENGTH
    length += sum(_TEXT_LENGTH + len(getattr(details, name)) for name in _TEXTS)
    if length > MARK_FILE_HEADER_LENGTH:
        raise ConfigurationError(
            "the channels of the archive are too long for its mark file", expected=f"{MARK_FILE_HEADER_LENGTH} bytes at most", actual=length
        )
