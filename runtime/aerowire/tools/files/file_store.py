"""A folder that files come into: each under another name until it is whole, and never over another file unasked.

Knows names, lengths and the file system; nothing of messages and streams.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from pathlib import Path
from types import TracebackType
from typing import Self

# What to do when a file of the name is there already.
REFUSE, REPLACE, NUMBER = "refuse", "replace", "number"
EXISTING = (REFUSE, REPLACE, NUMBER)

PARTIAL_SUFFIX = ".partial"
# Chunks come by the thousand bytes; what is written at once should not.
_BUFFER_LENGTH = 1 << 20
# Of Linux's file systems; a partial file's name has to fit too.
_NAME_LENGTH_MAX = 255
# Files of one name that may lie beside each other; so many are a mistake.
_NUMBER_MAX = 1_000
# Of file systems that have no hard links.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class NotStoredError(Exception):
    """A file is not taken, or could not be kept; the text says why."""


class Folder:
    """The folder; it is held open, so that files go to where it was, whatever is renamed meanwhile."""

    def __init__(self, path: str, existing: str = REFUSE) -> None:
        """Open it. Raises OSError when it is no folder that can be written to."""
        self.path = Path(path)
        self.existing = existing
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not os.access(path, os.W_OK | os.X_OK):
            self.close()
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    def begin(self, name: str, length: int) -> PartialFile:
        """Make room for a file of `length` bytes. Raises NotStoredError when it is not to be, or cannot be."""
        _check_name(name)
        try:
            if self.existing == REFUSE and self.has(name):
                raise NotStoredError("a file of that name is there already")
            room = os.fstatvfs(self.descriptor)
            if length > room.f_bavail * room.f_frsize:
                raise NotStoredError(f"it has {length:,} bytes, and there is room for {room.f_bavail * room.f_frsize:,}")
            return PartialFile(self, name, length)
        except OSError as error:
            raise _not_stored(error) from None

    def has(self, name: str) -> bool:
        """Return whether something has that name, be it a link to nowhere. Raises OSError when that cannot be told."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


class PartialFile:
    """A file that is not whole yet, beside its place.

    Invariant: the name it is meant for is taken by `complete()` and by nothing else, at once and with all bytes.
    """

    def __init__(self, folder: Folder, name: str, length: int) -> None:
        self.name = name
        self._length = length
        self._folder = folder
        self._file: io.BufferedWriter | None = None
        for candidate in _numbered(_cut(name, len(PARTIAL_SUFFIX) + len(f".{_NUMBER_MAX}")), PARTIAL_SUFFIX):
            try:
                descriptor = os.open(
                    candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder.descriptor
                )
            except FileExistsError:
                continue
            self.partial_name = candidate
            self._file = io.BufferedWriter(io.FileIO(descriptor, "wb"), _BUFFER_LENGTH)
            return
        raise NotStoredError(f"there are {_NUMBER_MAX} partial files of that name")

    def write(self, data: memoryview) -> None:
        """Append bytes. Raises NotStoredError when the file system takes no more."""
        assert self._file is not None, "a file that is over takes no bytes"
        try:
            self._file.write(data)
        except OSError as error:
            raise _not_stored(error) from None

    def complete(self) -> Path:
        """Give the file its name and return its path. Raises NotStoredError; the partial file is there then."""
        assert self._file is not None, "a file that is over is not completed again"
        try:
            self._file.flush()
            written = os.fstat(self._file.fileno()).st_size
            if written != self._length:
                raise NotStoredError(f"it has {written:,} bytes on disk, expected {self._length:,}")
            # BEFORE it gets its name: what has the name is whole, whenever the machine stops.
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            return self._folder.path / self._take_name()
        except OSError as error:
            raise _not_stored(error) from None

    def discard(self, *, keep: bool = False) -> Path | None:
        """End it unfinished; return the path of what is left of it: with `keep`, or when it cannot be removed."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # what is buffered has nowhere to go
                self._file.close()
            self._file = None
        if not keep:
            try:
                os.unlink(self.partial_name, dir_fd=self._folder.descriptor)
                return None
            except FileNotFoundError:
                return None
            except OSError:
                pass  # then it stays, which is told
        return self._folder.path / self.partial_name

    def _take_name(self) -> str:
        folder = self._folder.descriptor
        if self._folder.existing == REPLACE:
            os.replace(self.partial_name, self.name, src_dir_fd=folder, dst_dir_fd=folder)
            return self.name
        names = _numbered(self.name) if self._folder.existing == NUMBER else [self.name]
        for name in names:
            try:
                self._move(name)
            except FileExistsError:
                continue
            return name
        raise NotStoredError("a file of that name is there already")

    def _move(self, name: str) -> None:
        """Rename to `name` unless something has it: raises FileExistsError."""
        folder = self._folder.descriptor
        try:
            os.link(self.partial_name, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # Taken first, so that nobody else has it.
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder))
            os.replace(self.partial_name, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        os.unlink(self.partial_name, dir_fd=folder)


def _check_name(name: str) -> None:
    """Raise NotStoredError unless `name` is that of a file within the folder."""
    if name in {"", ".", ".."} or "/" in name:
        raise NotStoredError("its name leaves the folder" if name else "it has no name")
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in name):
        raise NotStoredError("its name has control characters")
    if name.endswith(PARTIAL_SUFFIX):
        raise NotStoredError(f"its name ends in {PARTIAL_SUFFIX}, as those of files that are not whole")
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        raise NotStoredError("its name has characters that names have not here") from None
    if length > _NAME_LENGTH_MAX:
        raise NotStoredError(f"its name is longer than {_NAME_LENGTH_MAX} bytes")


def _cut(name: str, more: int) -> str:
    """Return as much of a name as leaves room for `more` bytes."""
    return os.fsencode(name)[: _NAME_LENGTH_MAX - more].decode(errors="ignore")


def _numbered(name: str, suffix: str = "") -> list[str]:
    return [f"{name}{suffix}", *(f"{name}.{number}{suffix}" for number in range(1, _NUMBER_MAX))]


def _not_stored(error: OSError) -> NotStoredError:
    return NotStoredError(error.strerror or str(error))
