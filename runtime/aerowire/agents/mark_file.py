"""The mark file of a running component: its activity, that it is ready or has ended, and its error log.

    mark = SomeMarkFile.create(...)      # refused while another component lives there
    mark.signal_ready(now_ms)            # last, when it serves
    mark.update_activity(now_ms)         # each second
    mark.close()                         # says that the component has ended

Fields that others read while they change are stored whole, and the version LAST. Aeron: MarkFile.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self

from aerowire.agents.directory_lock import directory_lock
from aerowire.agents.mark_kind import HeaderT, MarkKind
from aerowire.agents.mark_life import NULL_TIMESTAMP_MS, check_ended, leave_lock, name_owner, take_lock
from aerowire.base import fork
from aerowire.base.errors import StorageError
from aerowire.codecs.flyweights.base import align
from aerowire.ipc.error_log import scan_errors
from aerowire.ipc.error_report import save_error_report

if TYPE_CHECKING:
    from aerowire.base.file_port import OpenFile
    from aerowire.system.ports import Ports

_START_TIMEOUT_NS = 5_000_000_000  # for another component's start in the same directory
_INT64, _INT32 = 8, 4


class MarkFile(Generic[HeaderT]):
    """The mark file of one component and the lock that goes with it. Any thread may update the activity timestamp.

    `saved_errors` is the file to which the errors of the component before were saved, and `save_error` says why they could not be.
    """

    def __init__(self, kind: MarkKind[HeaderT], path: Path, region: Any, lock: OpenFile, ports: Ports, error_buffer_length: int) -> None:
        """Use `create` of a subclass, which uses `take`."""
        self.path = path
        self.saved_errors: Path | None = None
        self.save_error: StorageError | None = None
        self._kind = kind
        self._region = region
        self._lock = lock
        self._ports = ports
        self._error_buffer_length = error_buffer_length
        view = memoryview(region)[: kind.header_length]
        self._fields_64, self._fields_32 = view.cast("q"), view.cast("i")
        start, encoder = kind.message_header_length, kind.encoder
        self._activity_index = (start + encoder.ACTIVITY_TIMESTAMP_ENCODING_OFFSET) // _INT64
        self._pid_index = (start + encoder.PID_ENCODING_OFFSET) // _INT64
        self._version_index = (start + encoder.VERSION_ENCODING_OFFSET) // _INT32
        self._is_closed = False
        fork.poison(self)

    @classmethod
    def take(
        cls,
        kind: MarkKind[HeaderT],
        component_directory: Path,
        directory: Path,
        ports: Ports,
        *,
        error_buffer_length: int,
        page_size: int | None,
        fill: Callable[[Any, HeaderT | None], None],
        accept: Callable[[HeaderT, Path], None] | None = None,
    ) -> Self:
        """Take the mark file of a directory over, or make it, with all fields and without a version.

        Both directories must exist; `page_size` is the driver's, of which the file's length is a multiple. `accept` may refuse the file of
        a component that has ended, before anything is written; `fill` encodes the kind's own fields. The errors of the component before
        are saved beside the file. Raises the owner's error where one lives, the kind's for a damaged file, StorageError.
        """
        path, files = directory / kind.file_name, ports.files
        length = align(kind.header_length + error_buffer_length, page_size or ports.regions.page_size)
        with directory_lock(Path(files.real_path(directory)), ports, owner=kind.owner, timeout_ns=_START_TIMEOUT_NS):
            lock = take_lock(kind, directory, ports)
            try:
                former = check_ended(kind, path, lock, ports)
                if former is not None and accept is not None:
                    accept(former, path)
                with files.open(path, writable=True, create=True) as file:
                    file.preallocate(max(length, file.length()))
                mark = cls(kind, path, ports.regions.map(path, minimum_length=length), lock, ports, error_buffer_length)
                if former is not None:
                    mark._save_errors(former)
                start_timestamp_ms = ports.clock.now_ms()
                name_owner(lock, files, ports.processes.own_id(), start_timestamp_ms)
                mark._begin(former, start_timestamp_ms, fill)
                kind.write_link(files, component_directory, directory)
            except BaseException:
                lock.close()
                raise
        return mark

    @property
    def error_log_buffer(self) -> memoryview:
        """The bytes of the error log, all zeros at first."""
        self._ensure_open()
        start = self._kind.header_length
        return memoryview(self._region)[start : start + self._error_buffer_length]

    @property
    def activity_timestamp_ms(self) -> int:
        self._ensure_open()
        return int(self._fields_64[self._activity_index])

    def signal_ready(self, now_ms: int) -> None:
        """Tell that the component serves. Raises FileError."""
        self.signal(self._kind.version, now_ms)

    def update_activity(self, now_ms: int) -> None:
        """Tell that the component lives; each second."""
        self._ensure_open()
        self._fields_64[self._activity_index] = now_ms

    def signal(self, version: int, activity_timestamp_ms: int) -> None:
        """Write the activity timestamp, then a version, and sync both. Raises FileError."""
        self.update_activity(activity_timestamp_ms)
        self._fields_32[self._version_index] = version
        self._ports.regions.sync(self._region)

    def field_32(self, offset: int) -> int:
        """Return the 32-bit field at an offset of the header's block."""
        self._ensure_open()
        return int(self._fields_32[(self._kind.message_header_length + offset) // _INT32])

    def set_field_32(self, offset: int, value: int) -> None:
        """Write the 32-bit field at an offset of the header's block."""
        self._ensure_open()
        self._fields_32[(self._kind.message_header_length + offset) // _INT32] = value

    def field_64(self, offset: int) -> int:
        """Return the 64-bit field at an offset of the header's block."""
        self._ensure_open()
        return int(self._fields_64[(self._kind.message_header_length + offset) // _INT64])

    def close(self) -> None:
        """Tell that the component has ended, and let the next one start. Idempotent. Raises FileError."""
        if self._is_closed:
            return
        try:
            version, failed_version = self._kind.version, self._kind.failed_version
            if failed_version is not None and not self._fields_32[self._version_index]:
                version = failed_version
            self.signal(version, NULL_TIMESTAMP_MS)
            leave_lock(self._lock, self._ports.files)
        finally:
            self._is_closed = True
            self._lock.close()
            self._fields_64.release()
            self._fields_32.release()
            self._region.close()

    def _begin(self, former: HeaderT | None, start_timestamp_ms: int, fill: Callable[[Any, HeaderT | None], None]) -> None:
        # A reader takes the file for one that is being made from here on. The process id first: by it a component that dies is found out.
        self._fields_32[self._version_index] = 0
        self._fields_64[self._activity_index] = 0
        view, header_length = memoryview(self._region), self._kind.header_length
        pid = self._ports.processes.own_id()
        encoder = self._kind.encoder().wrap_and_apply_header(view)
        self._fields_64[self._pid_index] = pid
        view[header_length:] = bytes(len(view) - header_length)
        start = self._kind.message_header_length + encoder.SBE_BLOCK_LENGTH
        view[start:header_length] = bytes(header_length - start)
        encoder.start_timestamp = start_timestamp_ms
        encoder.header_length, encoder.error_buffer_length = header_length, self._error_buffer_length
        fill(encoder, former)

    def _save_errors(self, former: HeaderT) -> None:
        """Save the errors of a component that has ended; a failure is kept in `save_error`, and does not stop the start."""
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
                self._kind.error_log_name,
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
