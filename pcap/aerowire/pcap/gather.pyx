"""Copying many short records out of a buffer: what every decoder of this package reads its headers with.

Records stand a packet apart, so each is a cache line that nobody has looked at yet: the loop asks for them ahead.  It knows no layout.
`gather_fallback` is the same in Python.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from *:
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil

# About as many lines as a core has on their way at a time.
cdef enum:
    AHEAD = 16


cdef Py_ssize_t first_outside(const int64_t[::1] offsets, int64_t last) noexcept nogil:
    """Return the row of the first offset outside [0, last], or -1."""
    cdef Py_ssize_t row
    for row in range(offsets.shape[0]):
        if offsets[row] < 0 or offsets[row] > last:
            return row
    return -1


cdef void copy_rows(const uint8_t* data, const int64_t[::1] offsets, Py_ssize_t width, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t row
    cdef Py_ssize_t count = offsets.shape[0]
    for row in range(count):
        if row + AHEAD < count:
            prefetch_read(data + offsets[row + AHEAD])
        memcpy(out + row * width, data + offsets[row], width)


def gather(const uint8_t[::1] buffer not None, const int64_t[::1] offsets not None, Py_ssize_t width):
    """Return the `width` bytes at each offset, one after the other.  Raises IndexError for a record that leaves the buffer."""
    cdef Py_ssize_t outside = first_outside(offsets, buffer.shape[0] - width)
    if outside >= 0:
        raise IndexError(f"record of {width} bytes at {offsets[outside]} leaves a buffer of {buffer.shape[0]} bytes")
    out = np.empty(offsets.shape[0] * width, dtype=np.uint8)
    cdef uint8_t[::1] view = out
    if offsets.shape[0]:
        with nogil:
            copy_rows(&buffer[0], offsets, width, &view[0])
    return out
