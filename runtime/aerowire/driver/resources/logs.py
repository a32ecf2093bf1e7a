"""Log buffers of publications and images: made with a check for room, freed a few at a time.

A log whose pages are taken at once may be gigabytes of work: a thread of its own makes it, and frees every log, while the conductor
goes on. Aeron: FileStoreLogFactory, NativeResourceAgent.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.directory import IMAGES_DIRECTORY, LOG_SUFFIX, PUBLICATIONS_DIRECTORY
from aerowire.base.errors import RegistrationError, StorageSpaceError
from aerowire.base.ports import RegionPort
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.logbuffer.log import LogBuffers, log_file_length

if TYPE_CHECKING:
    from aerowire.agents.error_recorder import ErrorRecorder
    from aerowire.driver.context import Context
    from aerowire.ipc.counters import AtomicCounter
    from aerowire.memory.region import Region

# Logs under way at once: each is a file that its maker has promised room for.
_MAKING_MAX = 64
# How long the driver's end waits for a log that is being freed; its directory goes in any case.
_FREE_TIMEOUT_S = 5.0


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

    @property
    def region(self) -> Region | None:
        """The mapped file."""
        return self.buffers.region

    @property
    def has_lost_pages(self) -> bool:
        """Whether the file was cut short, or found no memory for a page."""
        return self.region is not None and self.region.lost_pages > 0


class LogStore:
    """Creates and frees logs.

    Invariant: `mapped_bytes` counts the bytes of every log that was created and not freed.
    """

    def __init__(
        self,
        *,
        context: Context,
        regions: RegionPort,
        mapped_bytes: AtomicCounter,
        free_failures: AtomicCounter,
        refusals: AtomicCounter,
        errors: ErrorRecorder,
        worker: Executor | None = None,
        wake: Callable[[], object] = lambda: None,
    ) -> None:
        """`worker` does what takes long (None: the caller does); `wake` is called from there when something is done."""
        self._context = context
        self._regions = regions if context.perform_storage_checks else regions.unchecked()
        self._mapped_bytes = mapped_bytes
        self._free_failures = free_failures
        self._refusals = refusals
        self._errors = errors
        self._worker = worker
        self._wake = wake
        self._making: dict[int, Future[Any]] = {}
        self._freeing: list[tuple[Log, Future[None]]] = []
        self._to_free: deque[Log] = deque()
        self._is_low = False

    def check_room_for_a_log(self) -> None:
        """Warn in the error log when the directory has no room for a log of the default term length."""
        if not self._context.perform_storage_checks:
            return
        directory, term_length = self._context.aeron_dir, self._context.term_buffer_length
        needed, free = log_file_length(term_length, self._context.file_page_size), self._regions.free_space(directory)
        if free < needed:
            self._errors.warn(
                f"no room for a log of the default term length: directory={directory} term_length={term_length} needed={needed} free={free}"
                "; use shorter terms (aeron.term.buffer.length, or term-length= of a channel), or enlarge that file system"
            )

    @property
    def pending(self) -> int:
        """How many logs wait to be freed, or are being freed."""
        return len(self._to_free) + len(self._freeing)

    @property
    def is_open(self) -> bool:
        """Whether another log may be asked for."""
        return len(self._making) < _MAKING_MAX

    def begin_publication(self, registration_id: int, term_length: int, *, is_sparse: bool) -> Future[Any] | None:
        """Let the worker make the file of a publication's log, and return its end; None when create_publication makes it at once."""
        return self._begin(PUBLICATIONS_DIRECTORY, registration_id, term_length, is_sparse)

    def begin_image(self, correlation_id: int, term_length: int, *, is_sparse: bool) -> Future[Any] | None:
        """Let the worker make the file of an image's log, and return its end; None when create_image makes it at once."""
        return self._begin(IMAGES_DIRECTORY, correlation_id, term_length, is_sparse)

    def discard(self, identity: int) -> None:
        """Free the file of a log that was begun and is not wanted any more; nothing when there is none."""
        made = self._making.pop(identity, None)
        if made is not None and self._worker is not None:
            self._worker.submit(self._drop, made)

    def create_publication(self, registration_id: int, spec: LogSpec) -> Log:
        """Create publications/<registration_id>.logbuffer, in the file that was begun if there is one: its end has come."""
        return self._create(PUBLICATIONS_DIRECTORY, registration_id, spec)

    def create_image(self, correlation_id: int, spec: LogSpec) -> Log:
        """Create images/<correlation_id>.logbuffer, in the file that was begun if there is one: its end has come."""
        return self._create(IMAGES_DIRECTORY, correlation_id, spec)

    def free_later(self, log: Log) -> None:
        """Queue a log that no agent uses any more."""
        self._to_free.append(log)

    def free_some(self) -> int:
        """Free at most the driver's limit of logs; returns how many went. A failure is counted and tried again later."""
        limit = self._context.driver_resource_free_limit
        if self._worker is not None:
            freed = self._take_freed()
            while self._to_free and len(self._freeing) < limit:
                log = self._to_free.popleft()
                future = self._worker.submit(self._unmap_and_delete, log)
                future.add_done_callback(lambda _future: self._wake())
                self._freeing.append((log, future))
            return freed
        freed = 0
        for _ in range(min(limit, len(self._to_free))):
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
        for log, future in self._freeing:
            try:
                future.result(_FREE_TIMEOUT_S)
            except CancelledError:
                self._to_free.append(log)
            except (OSError, TimeoutError) as error:
                self._errors.record(error)
        self._freeing.clear()
        for made in self._making.values():
            made.add_done_callback(self._drop)
        self._making.clear()
        while self._to_free:
            self._free(self._to_free.popleft())

    def _create(self, directory: str, identity: int, spec: LogSpec) -> Log:
        context = self._context
        length = log_file_length(spec.term_length, context.file_page_size)
        path = self._path(directory, identity)
        made = self._making.pop(identity, None)
        # The file decides: who asked for a sparse log may be another one than the file was begun for.
        is_sparse = spec.is_sparse and made is None
        if made is None:
            self._check_storage(length)
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
            regions=self._regions if made is None else _Made(made.result()),
            **sockets,
            **spec.metadata,
        )
        if not is_sparse and made is None and buffers.region is not None:
            buffers.region.pre_touch(self._regions.page_size)
        if buffers.region is not None:
            buffers.region.guard()
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
        # Once until there is room again: officially each log says so, and each with another figure is another error.
        is_low = free <= self._context.low_file_store_warning_threshold
        if is_low and not self._is_low:
            self._errors.warn(
                f"space is running low: directory={directory} threshold={self._context.low_file_store_warning_threshold} free={free}"
            )
        self._is_low = is_low

    def _begin(self, directory: str, identity: int, term_length: int, is_sparse: bool) -> Future[Any] | None:
        if self._worker is None or is_sparse:
            return None
        if not self.is_open:
            self._refusals.increment()
            raise RegistrationError(
                "too many log buffers are being made",
                where=f"{directory}/{identity}",
                expected=f"fewer than {_MAKING_MAX}",
                actual=len(self._making),
                hint="try again",
                error_code=ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
            )
        length = log_file_length(term_length, self._context.file_page_size)
        self._check_storage(length)
        made = self._making[identity] = self._worker.submit(self._make_region, self._path(directory, identity), length)
        made.add_done_callback(lambda _future: self._wake())
        return made

    def _path(self, directory: str, identity: int) -> str:
        return str(Path(self._context.aeron_dir) / directory / f"{identity}{LOG_SUFFIX}")

    # The worker's thread: nothing here touches what the conductor owns.

    def _make_region(self, path: str, length: int) -> Any:
        region = self._regions.create(path, length, sparse=False)
        region.pre_touch(self._regions.page_size)
        return region

    def _drop(self, made: Future[Any]) -> None:
        if not made.cancelled() and made.exception() is None:
            region = made.result()
            region.close()
            self._regions.delete(region.path)

    def _unmap_and_delete(self, log: Log) -> None:
        log.buffers.close()
        self._regions.delete(log.path)

    # The conductor's again.

    def _take_freed(self) -> int:
        done = [item for item in self._freeing if item[1].done()]
        self._freeing = [item for item in self._freeing if not item[1].done()]
        return sum(self._on_freed(log, future.exception()) for log, future in done)

    def _free(self, log: Log) -> bool:
        try:
            self._unmap_and_delete(log)
        except OSError as error:
            return self._on_freed(log, error, is_retried=False)
        return self._on_freed(log, None)

    def _on_freed(self, log: Log, error: BaseException | None, *, is_retried: bool = True) -> bool:
        if error is None:
            self._mapped_bytes.add(-log.length)
            return True
        self._free_failures.increment()
        self._errors.record(error if isinstance(error, Exception) else RuntimeError(str(error)))
        if is_retried:
            self._to_free.append(log)
        return False


class _Made(RegionPort):
    """A region port for one log whose region is there already."""

    def __init__(self, region: Any) -> None:
        self._region = region

    def create(self, path: str | os.PathLike[str], length: int, *, sparse: bool) -> Any:
        assert length == len(self._region), f"{path}: made with {len(self._region)} bytes, wanted with {length}"
        assert not sparse, "only logs that take their pages at once are made before they are created"
        return self._region
