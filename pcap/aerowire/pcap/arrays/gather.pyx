"""Copying many short records out of a buffer: what every decoder of this package reads its headers with.

Records stand a packet apart, so each is a cache line that nobody has looked at yet: the loop asks for them ahead.  It knows no layout.
`gather_fallback` is the same in Python.
"""

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from *:
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil

# About as many lines as a core has on their way at a time.
cdef enum:
    AHEAD = 16


cdef Py_ssize_t first_outside(const int64_t* offsets, Py_ssize_t count, int64_t last) noexcept nogil:
    """Return the row of the first offset outside [0, last], or -1."""
    cdef Py_ssize_t row
    for row in range(count):
        if offsets[row] < 0 or offsets[row] > last:
            return row
    return -1


cdef void copy_rows(const uint8_t* data, const int64_t* offsets, Py_ssize_t count, Py_ssize_t width, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(count):
        if row + AHEAD < count:
            prefetch_read(data + offsets[row + AHEAD])
        memcpy(out + row * width, data + offsets[row], width)


def gather(buffer, offsets, Py_ssize_t width):
    """Return the `width` bytes at each offset, one after the other.  Raises IndexError for a record that leaves the buffer."""
    cdef Py_buffer source, where, target
    cdef Py_ssize_t count, outside
    wanted = np.ascontiguousarray(offsets, dtype=np.int64)
    out = np.empty(wanted.size * width, dtype=np.uint8)
    count = wanted.size
    PyObject_GetBuffer(buffer, &source, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(wanted, &where, PyBUF_SIMPLE)
        PyObject_GetBuffer(out, &target, PyBUF_WRITABLE)
        with nogil:
            outside = first_outside(<const int64_t*>where.buf, count, source.len - width)
            if outside < 0:
                copy_rows(<const uint8_t*>source.buf, <const int64_t*>where.buf, count, width, <uint8_t*>target.buf)
        PyBuffer_Release(&target)
        PyBuffer_Release(&where)
        if outside >= 0:
            raise IndexError(f"record of {width} bytes at {wanted[outside]} leaves a buffer of {source.len} bytes")
    finally:
        PyBuffer_Release(&source)
    return out
