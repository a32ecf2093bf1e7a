"""The lock file in a driver's directory: held as long as its driver lives, and let go by the system however that ends.

So a driver that starts knows at once whether the last one is dead, though it be killed, in another PID namespace, or without the
processor for seconds. Drivers of other implementations have no such file, and delete it with the rest of a directory that they take over.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from aerowire.base import fork
from aerowire.base.directory import LOCK_FILE_NAME
from aerowire.driver.directory.directory_lock import storage_error

_ATTEMPTS = 100
_RETRY_S = 1e-3


class DriverLock:
    """Makes the file, which must not be there, and holds it until `release`. Raises StorageError."""

    __slots__ = ("__weakref__", "_descriptor")

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK_FILE_NAME
        self._descriptor: int | None = None
        fork.poison(self)
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            self._lock(self._descriptor)
        except OSError as error:
            if self._descriptor is not None:
                path.unlink(missing_ok=True)
            self._close()
            raise storage_error(directory, error) from None

    def release(self) -> None:
        """Let go. Only when the driver has said that it has ended. Harmless when done twice."""
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._close()

    @staticmethod
    def _lock(descriptor: int) -> None:
        # A process that asks whether the file is locked holds it for a moment.
        for remaining in range(_ATTEMPTS - 1, -1, -1):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if remaining == 0:
                    raise
                time.sleep(_RETRY_S)

    def _on_fork(self) -> None:
        # The parent's lock is not touched by this, but would outlive the parent with the child's descriptor.
        self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
