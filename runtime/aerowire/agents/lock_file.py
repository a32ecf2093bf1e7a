"""The lock file in a component's directory: held as long as the component lives, and let go by the system however that ends.

So a component that starts knows at once whether the last one is dead, though it be killed, in another PID namespace, or without the
processor for seconds. Other implementations have no such file, and delete it with the rest of a directory that they take over.
"""

from __future__ import annotations

from errno import EAGAIN
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.agents.directory_lock import DirectoryOwner, storage_error
from aerowire.base import fork
from aerowire.base.errors import FileError, file_error

if TYPE_CHECKING:
    from aerowire.base.file_port import OpenFile
    from aerowire.system.ports import Ports
    from aerowire.system.waiting import WaitPort

_ATTEMPTS = 100
_RETRY_NS = 1_000_000


class LockFile:
    """Makes the file, which must not be there, and holds it until `release`. Raises StorageError.

    `is_locked` of regions tells other processes whether it is held.
    """

    __slots__ = ("__weakref__", "_file")

    def __init__(self, path: Path, owner: DirectoryOwner, ports: Ports) -> None:
        self._file: OpenFile | None = None
        fork.poison(self)
        try:
            self._file = ports.files.open(path, writable=True, create=True, exclusive=True)
            self._lock(self._file, ports.waiting)
        except FileError as error:
            if self._file is not None:
                ports.files.delete(path)
            self._close()
            raise storage_error(path.parent, error, owner) from None

    def release(self) -> None:
        """Let go. Only when the component has said that it has ended. Harmless when done twice."""
        if self._file is not None:
            self._file.unlock()
            self._close()

    @staticmethod
    def _lock(file: OpenFile, waiting: WaitPort) -> None:
        # A process that asks whether the file is locked holds it for a moment.
        for remaining in range(_ATTEMPTS - 1, -1, -1):
            if file.lock():
                return
            if remaining == 0:
                raise file_error("cannot lock a file", file.path, EAGAIN)
            waiting.sleep(_RETRY_NS)

    def _on_fork(self) -> None:
        # The parent's lock is not touched by this, but would outlive the parent with the child's copy of the file.
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
