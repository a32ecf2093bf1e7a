# A file, pipe or device that native code writes to.

cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.final
cdef class OutputFile:
    """OutputFile(path, overwrites): one writer at a time."""

    cdef int _fd

    cdef int write(self, const uint8_t* octets, int64_t length) noexcept nogil      # all of them; 0, or errno
