"""The mark file of a running Archive: how it is found, that it lives, and its error log.

    mark = ArchiveMarkFile.create(archive_dir, mark_dir, details, ports)     # refused while another Archive lives there
    mark.signal_ready(now_ms)                                                # last, when requests are served
    mark.update_activity(now_ms)                                             # each second
    mark.close()                                                             # says that the Archive has ended

Fields that others read while they change are stored whole, and the version LAST. Aeron: ArchiveMarkFile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.agents.directory_lock import directory_lock
from aerowire.archive.files.mark_header import MESSAGE_HEADER_LENGTH, MarkHeader, write_link
from aerowire.archive.files.mark_life import ARCHIVE, NULL_TIMESTAMP_MS, check_ended, leave_lock, name_owner, take_lock
from aerowire.base import fork
from aerowire.base.errors import ConfigurationError, StorageError
from aerowire.codecs.flyweights.archive_files import (
    ARCHIVE_ERROR_LOG_NAME,
    CATALOG_VERSION,
    MARK_FILE_HEADER_LENGTH,
    MARK_FILE_NAME,
)
from aerowire.codecs.flyweights.archive_mark import MarkFileHeaderDecoder, MarkFileHeaderEncoder
from aerowire.codecs.flyweights.base import align
from aerowire.ipc.error_log import scan_errors
from aerowire.ipc.error_report import save_error_report

if TYPE_CHECKING:
    from aerowire.base.file_port import OpenFile
    from aerowire.system.ports import Ports

_START_TIMEOUT_NS = 5_000_000_000  # for another Archive's start in the same directory
_INT64, _INT32 = 8, 4
_ACTIVITY_INDEX = (MESSAGE_HEADER_LENGTH + MarkFileHeaderDecoder.ACTIVITY_TIMESTAMP_ENCODING_OFFSET) // _INT64
_PID_INDEX = (MESSAGE_HEADER_LENGTH + MarkFileHeaderDecoder.PID_ENCODING_OFFSET) // _INT64
_VERSION_INDEX = (MESSAGE_HEADER_LENGTH + MarkFileHeaderDecoder.VERSION_ENCODING_OFFSET) // _INT32
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


class ArchiveMarkFile:
    """The mark file of one Archive and the lock that goes with it; made by `create`. Any thread may update the activity timestamp.

    `saved_errors` is the file to which the errors of the Archive before were saved, and `save_error` says why they could not be.
    """

    def __init__(self, path: Path, region: Any, lock: OpenFile, ports: Ports, error_buffer_length: int) -> None:
        """Use `create`."""
        self.path = path
        self.saved_errors: Path | None = None
        self.save_error: StorageError | None = None
        self._region = region
        self._lock = lock
        self._ports = ports
        self._error_buffer_length = error_buffer_length
        view = memoryview(region)[:MARK_FILE_HEADER_LENGTH]
        self._fields_64, self._fields_32 = view.cast("q"), view.cast("i")
        self._is_closed = False
        fork.poison(self)

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
    ) -> ArchiveMarkFile:
        """Take the mark file of a directory over, or make it, with all fields and without a version.

        Both directories must exist; `page_size` is the driver's, of which the file's length is a multiple. The errors of an Archive that
        has ended are saved beside the file. Raises ActiveArchiveError where an Archive lives, ArchiveFileError, ConfigurationError where
        the texts are too long, StorageError.
        """
        _check_length(details)
        path, files = directory / MARK_FILE_NAME, ports.files
        length = align(MARK_FILE_HEADER_LENGTH + error_buffer_length, page_size or ports.regions.page_size)
        with directory_lock(Path(files.real_path(directory)), ports, owner=ARCHIVE, timeout_ns=_START_TIMEOUT_NS):
            lock = take_lock(directory, ports)
            try:
                former = check_ended(path, lock, ports)
                with files.open(path, writable=True, create=True) as file:
                    file.preallocate(max(length, file.length()))
                mark = cls(path, ports.regions.map(path, minimum_length=length), lock, ports, error_buffer_length)
                if former is not None:
                    mark._save_errors(former)
                start_timestamp_ms = ports.clock.now_ms()
                name_owner(lock, files, ports.processes.own_id(), start_timestamp_ms)
                mark._begin(details, start_timestamp_ms)
                write_link(files, archive_directory, directory)
            except BaseException:
                lock.close()
                raise
        return mark

    @property
    def error_log_buffer(self) -> memoryview:
        """The bytes of the error log, all zeros at first."""
        self._ensure_open()
        return memoryview(self._region)[MARK_FILE_HEADER_LENGTH : MARK_FILE_HEADER_LENGTH + self._error_buffer_length]

    @property
    def activity_timestamp_ms(self) -> int:
        self._ensure_open()
        return int(self._fields_64[_ACTIVITY_INDEX])

    def signal_ready(self, now_ms: int) -> None:
        """Tell that the Archive serves requests. Raises FileError."""
        self.update_activity(now_ms)
        self._fields_32[_VERSION_INDEX] = CATALOG_VERSION
        self._ports.regions.sync(self._region)

    def update_activity(self, now_ms: int) -> None:
        """Tell that the Archive lives; each second."""
        self._ensure_open()
        self._fields_64[_ACTIVITY_INDEX] = now_ms

    def close(self) -> None:
        """Tell that the Archive has ended, and let the next one start. Idempotent. Raises FileError."""
        if self._is_closed:
            return
        try:
            self.signal_ready(NULL_TIMESTAMP_MS)
            leave_lock(self.path.parent, self._lock, self._ports.files)
        finally:
            self._is_closed = True
            self._lock.close()
            self._fields_64.release()
            self._fields_32.release()
            self._region.close()

    def _begin(self, details: ArchiveDetails, start_timestamp_ms: int) -> None:
        # A reader takes the file for one that is being made from here on. The process id first: by it an Archive that dies is found out.
        self._fields_32[_VERSION_INDEX] = 0
        self._fields_64[_ACTIVITY_INDEX] = 0
        view = memoryview(self._region)
        pid = self._ports.processes.own_id()
        encoder = MarkFileHeaderEncoder().wrap_and_apply_header(view)
        self._fields_64[_PID_INDEX] = pid
        view[MARK_FILE_HEADER_LENGTH:] = bytes(len(view) - MARK_FILE_HEADER_LENGTH)
        start = MESSAGE_HEADER_LENGTH + MarkFileHeaderEncoder.SBE_BLOCK_LENGTH
        view[start:MARK_FILE_HEADER_LENGTH] = bytes(MARK_FILE_HEADER_LENGTH - start)
        encoder.start_timestamp = start_timestamp_ms
        encoder.control_stream_id, encoder.local_control_stream_id = details.control_stream_id, details.local_control_stream_id
        encoder.events_stream_id = details.events_stream_id
        encoder.header_length, encoder.error_buffer_length = MARK_FILE_HEADER_LENGTH, self._error_buffer_length
        encoder.archive_id = details.archive_id
        for name in _TEXTS:
            setattr(encoder, name, getattr(details, name).encode("ascii", "replace"))

    def _save_errors(self, former: MarkHeader) -> None:
        """Save the errors of an Archive that has ended; a failure is told, and leaves the file to the Archive that starts."""
        view = memoryview(self._region)
        start, length = former.header_length, former.error_buffer_length
        if not (former.version and 0 < length <= len(view) - start and start >= 0):
            return
        errors, _ = scan_errors(bytes(view[start : start + length]))
        if not errors:
            return
        clock, processes = self._ports.clock, self._ports.processes
        try:
            self.saved_errors = save_error_report(
                errors,
                self._ports.files,
                self.path.parent,
                ARCHIVE_ERROR_LOG_NAME,
                epoch_ms=clock.now_ms(),
                process_id=processes.own_id(),
            )
        except StorageError as error:
            self.save_error = error

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise ValueError(f"{self.path}: the mark file is closed")

    def _on_fork(self) -> None:
        # The parent's lock would outlive the parent with the child's copy of the file.
        self._is_closed = True
        self._lock.close()


def _check_length(details: ArchiveDetails) -> None:
    length = MESSAGE_HEADER_LENGTH + MarkFileHeaderEncoder.SBE_BLOCK_LENGTH
    length += sum(_TEXT_LENGTH + len(getattr(details, name)) for name in _TEXTS)
    if length > MARK_FILE_HEADER_LENGTH:
        raise ConfigurationError(
            "the channels of the archive are too long for its mark file", expected=f"{MARK_FILE_HEADER_LENGTH} bytes at most", actual=length
        )
