"""The walk along a capture's chain of records: the one step of a reader that cannot be done on whole arrays.

It knows record headers only.  `chain_fallback` is the same in Python.
"""

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy


cdef enum:
    RECORD_LENGTH_MIN = 16      # a header alone
    BLOCK_LENGTH_MIN = 12       # type and both lengths
    SECTION_BLOCK = 0x0A0D0D0A

ctypedef int64_t (*Follow)(const uint8_t* data, int64_t* position, int64_t end, bint little_endian, int64_t length_max, int64_t* found,
                           bint* implausible) noexcept nogil


cdef inline uint32_t read_u32(const uint8_t* at, bint little_endian) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    if not little_endian:
        value = (value >> 24) | ((value >> 8) & 0xFF00) | ((value << 8) & 0xFF0000) | (value << 24)
    return value


cdef int64_t follow_records(const uint8_t* data, int64_t* position, int64_t end, bint little_endian, int64_t length_max,
                            int64_t* found, bint* implausible) noexcept nogil:
    cdef int64_t count = 0
    cdef int64_t at = position[0]
    cdef int64_t length
    while at <= end - RECORD_LENGTH_MIN:
        length = read_u32(data + at + 8, little_endian)
        if length > length_max:
            implausible[0] = True
            break
        if at + RECORD_LENGTH_MIN + length > end:
            break
        found[count] = at
        count += 1
        at += RECORD_LENGTH_MIN + length
    position[0] = at
    return count


cdef int64_t follow_blocks(const uint8_t* data, int64_t* position, int64_t end, bint little_endian, int64_t length_max,
                           int64_t* found, bint* implausible) noexcept nogil:
    cdef int64_t count = 0
    cdef int64_t at = position[0]
    cdef int64_t length
    while at <= end - BLOCK_LENGTH_MIN:
        if read_u32(data + at, little_endian) == SECTION_BLOCK:
            break
        length = read_u32(data + at + 4, little_endian)
        if length > length_max or length < BLOCK_LENGTH_MIN or (length & 3) != 0:
            implausible[0] = True
            break
        if at + length > end:
            break
        if read_u32(data + at + length - 4, little_endian) != length:
            implausible[0] = True
            break
        found[count] = at
        count += 1
        at += length
    position[0] = at
    return count


def walk_records(buffer, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    """Follow classic records from `start`; return (offsets of whole records, where the walk stopped, whether a length above `length_max` stopped it)."""
    return walk(follow_records, RECORD_LENGTH_MIN, buffer, start, end, little_endian, length_max)


def walk_blocks(buffer, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    """Follow pcapng blocks from `start` to the next section header; return as `walk_records` does.

    A block whose two lengths differ stops the walk as a length above `length_max` does.
    """
    return walk(follow_blocks, BLOCK_LENGTH_MIN, buffer, start, end, little_endian, length_max)


cdef tuple walk(Follow follow, int64_t length_min, object buffer, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    cdef bint implausible = False
    cdef int64_t position = start, count = 0
    cdef Py_buffer source, offsets
    found = np.empty(max(0, end - start) // length_min + 1, dtype=np.int64)
    PyObject_GetBuffer(buffer, &source, PyBUF_SIMPLE)
    try:
        if end > source.len or start < 0:
            raise ValueError(f"walk of [{start}, {end}) leaves a buffer of {source.len} bytes")
        PyObject_GetBuffer(found, &offsets, PyBUF_WRITABLE)
        with nogil:
            count = follow(<const uint8_t*>source.buf, &position, end, little_endian, length_max, <int64_t*>offsets.buf, &implausible)
        PyBuffer_Release(&offsets)
    finally:
        PyBuffer_Release(&source)
    return found[:count].copy(), position, bool(implausible)
