"""The lock file in a component's directory: held as long as the component lives, and let go by the system however that ends.

So a component that starts knows at once whether the last one is dead, though it be killed, in another PID namespace, or without the
processor for seconds. Other implementations have no such file, and delete it with the rest of a directory that they take over.
"""

from __future__ import annotations

import time
from pathlib import Path

from aerowire.agents.directory_lock import DirectoryOwner, storage_error
from aerowire.base import fork
from aerowire.system import directories, file_locks, files

_ATTEMPTS = 100
_RETRY_S = 1e-3


class LockFile:
    """Makes the file, which must not be there, and holds it until `release`. Raises StorageError.

    `system.file_locks.is_held` tells other processes whether it is held.
    """

    __slots__ = ("__weakref__", "_descriptor")

    def __init__(self, path: Path, owner: DirectoryOwner) -> None:
        self._descriptor: int | None = None
        fork.poison(self)
        try:
            self._descriptor = files.create_file(path)
            self._lock(self._descriptor)
        except OSError as error:
            if self._descriptor is not None:
                directories.delete_entry(path)
            self._close()
            raise storage_error(path.parent, error, owner) from None

    def release(self) -> None:
        """Let go. Only when the component has said that it has ended. Harmless when done twice."""
        if self._descriptor is not None:
            file_locks.unlock_and_close(self._descriptor)
            self._descriptor = None

    @staticmethod
    def _lock(descriptor: int) -> None:
        # A process that asks whether the file is locked holds it for a moment.
        for remaining in range(_ATTEMPTS - 1, -1, -1):
            try:
                file_locks.lock(descriptor)
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
            files.close(self._descriptor)
            self._descriptor = None
