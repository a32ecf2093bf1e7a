# Open files, as native code writes and closes them.

from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t
from posix.unistd cimport close as close_descriptor, write as posix_write


cdef inline int write_all(int descriptor, const uint8_t* octets, int64_t length) noexcept nogil:
    """Write all octets; return 0, or the errno of what ended it."""
    cdef int64_t done = 0
    cdef int64_t written
    while done < length:
        written = posix_write(descriptor, octets + done, length - done)
        if written >= 0:
            done += written
        elif errno != EINTR:
            return errno
    return 0
