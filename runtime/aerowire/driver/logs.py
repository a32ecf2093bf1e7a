"""Log buffers of publications and images: made with a check for room, freed a few at a time. Aeron: FileStoreLogFactory."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import StorageSpaceError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.logbuffer.log import LogBuffers, log_file_length

if TYPE_CHECKING:
    from aerowire.base.ports import RegionPort
    from aerowire.driver.context import Context
    from aerowire.driver.error_recorder import ErrorRecorder
    from aerowire.ipc.counters import AtomicCounter

PUBLICATIONS_DIRECTORY = "publications"
IMAGES_DIRECTORY = "images"
_SUFFIX = ".logbuffer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpec:
    """What a log is for. The stream starts at (term_id, term_offset); `metadata` holds further fields of LogMetadata by name."""

    session_id: int
    stream_id: int
    initial_term_id: int
    term_id: int
    term_offset: int
    term_length: int
    mtu_length: int
    is_sparse: bool
    metadata: Mapping[str, int]


@dataclass(slots=True)
class Log:
    """A log buffer and the file it lives in."""

    buffers: LogBuffers
    path: str
    length: int


class LogStore:
    """Creates and frees logs.

    Invariant: `mapped_bytes` counts the bytes of every log that was created and not freed.
    """

    def __init__(
        self, *, context: Context, regions: RegionPort, mapped_bytes: AtomicCounter, free_failures: AtomicCounter, errors: ErrorRecorder
    ) -> None:
        self._context = context
        self._regions = regions
        self._mapped_bytes = mapped_bytes
        self._free_failures = free_failures
        self._errors = errors
        self._to_free: deque[Log] = deque()
        self._is_low = False

    @property
    def pending(self) -> int:
        """How many logs wait to be freed."""
        return len(self._to_free)

    def create_publication(self, registration_id: int, spec: LogSpec) -> Log:
        """Create publications/<registration_id>.logbuffer."""
        return self._create(PUBLICATIONS_DIRECTORY, registration_id, spec)

    def create_image(self, correlation_id: int, spec: LogSpec) -> Log:
        """Create images/<correlation_id>.logbuffer."""
        return self._create(IMAGES_DIRECTORY, correlation_id, spec)

    def free_later(self, log: Log) -> None:
        """Queue a log that no agent uses any more."""
        self._to_free.append(log)

    def free_some(self) -> int:
        """Free at most the driver's limit of logs; returns how many went. A failure is counted and tried again later."""
        freed = 0
        for _ in range(min(self._context.driver_resource_free_limit, len(self._to_free))):
            log = self._to_free.popleft()
            if self._free(log):
                freed += 1
            else:
                self._to_free.append(log)
        return freed

    def free_now(self, log: Log) -> None:
        """Free a log that never came into use."""
        if not self._free(log):
            self._to_free.append(log)

    def close(self) -> None:
        """Free everything that waits; a file that cannot be deleted stays."""
        while self._to_free:
            self._free(self._to_free.popleft())

    def _create(self, directory: str, identity: int, spec: LogSpec) -> Log:
        context = self._context
        length = log_file_length(spec.term_length, context.file_page_size)
        self._check_storage(length)
        # Touching a page takes room for it, so a log that is to be touched gets its room first: a full disk is then an error, not a crash.
        is_sparse = spec.is_sparse and not context.pre_touch_mapped_memory
        path = str(Path(context.aeron_dir) / directory / f"{identity}{_SUFFIX}")
        sockets = {
            "os_default_socket_sndbuf_length": context.os_default_socket_sndbuf_length,
            "os_max_socket_sndbuf_length": context.os_max_socket_sndbuf_length,
            "os_default_socket_rcvbuf_length": context.os_default_socket_rcvbuf_length,
            "os_max_socket_rcvbuf_length": context.os_max_socket_rcvbuf_length,
        }
        buffers = LogBuffers.create(
            path,
            term_length=spec.term_length,
            mtu_length=spec.mtu_length,
            initial_term_id=spec.initial_term_id,
            session_id=spec.session_id,
            stream_id=spec.stream_id,
            correlation_id=identity,
            page_size=context.file_page_size,
            sparse=is_sparse,
            term_id=spec.term_id,
            term_offset=spec.term_offset,
            regions=self._regions,
            **sockets,
            **spec.metadata,
        )
        if not is_sparse and buffers.region is not None:
            buffers.region.pre_touch(self._regions.page_size)
        self._mapped_bytes.add(length)
        return Log(buffers, path, length)

    def _check_storage(self, length: int) -> None:
        if not self._context.perform_storage_checks:
            return
        directory = self._context.aeron_dir
        free = self._regions.free_space(directory)
        if free < length:
            raise StorageSpaceError(
                "no room for a log buffer",
                where=directory,
                expected=f"{length} free bytes",
                actual=free,
                hint="use shorter terms (term-length=), free space, or another aeron.dir",
                error_code=ErrorCode.STORAGE_SPACE,
            )
        is_low = free <= self._context.low_file_store_warning_threshold
        if is_low and not self._is_low:
            self._errors.warn(
                f"space is running low: directory={directory} threshold={self._context.low_file_store_warning_threshold} free={free}"
            )
        self._is_low = is_low

    def _free(self, log: Log) -> bool:
        log.buffers.close()
        try:
            self._regions.delete(log.path)
        except OSError as error:
            self._free_failures.increment()
            self._errors.record(error)
            return False
        self._mapped_bytes.add(-log.length)
        return True
