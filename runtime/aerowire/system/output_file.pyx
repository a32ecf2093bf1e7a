"""A file, pipe or device that native code writes to."""

from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t
from posix.unistd cimport close as posix_close, write as posix_write

cimport cython

import os
import stat


def _open(path, overwrites) -> int:
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    for attempt in range(2):
        try:
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            mode = os.lstat(path).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
                return os.open(path, flags)
            if not overwrites or not stat.S_ISREG(mode) or attempt:
                raise
            os.unlink(path)


@cython.final
cdef class OutputFile:
    """A new file, or a pipe or device that is there; a file is replaced if it may be, and no link is followed. Raises OSError."""

    def __cinit__(self, path, bint overwrites):
        self._fd = -1
        self._fd = _open(path, overwrites)

    def __dealloc__(self):
        if self._fd >= 0:
            posix_close(self._fd)

    def close(self) -> None:
        """Close it. Not while a thread writes; harmless when done twice."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    cdef int write(self, const uint8_t* octets, int64_t length) noexcept nogil:
        cdef int64_t done = 0
        cdef int64_t written
        while done < length:
            written = posix_write(self._fd, octets + done, length - done)
            if written >= 0:
                done += written
            elif errno != EINTR:
                return errno
        return 0
