"""The walk along a capture's chain of records: the one step of a reader that cannot be done on whole arrays.

It knows record headers only.  `chain_fallback` is the same in Python.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy


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
    while at <= end - 16:
        length = read_u32(data + at + 8, little_endian)
        if length > length_max:
            implausible[0] = True
            break
        if at + 16 + length > end:
            break
        found[count] = at
        count += 1
        at += 16 + length
    position[0] = at
    return count


cdef int64_t follow_blocks(const uint8_t* data, int64_t* position, int64_t end, bint little_endian, int64_t length_max,
                           int64_t* found, bint* implausible) noexcept nogil:
    cdef int64_t count = 0
    cdef int64_t at = position[0]
    cdef int64_t length
    while at <= end - 12:
        if read_u32(data + at, little_endian) == 0x0A0D0D0A:
            break
        length = read_u32(data + at + 4, little_endian)
        if length > length_max or length < 12 or (length & 3) != 0:
            implausible[0] = True
            break
        if at + length > end:
            break
        found[count] = at
        count += 1
        at += length
    position[0] = at
    return count


def walk_records(const uint8_t[::1] buffer not None, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    """Follow classic records from `start`; return (offsets of whole records, where the walk stopped, whether a length above `length_max` stopped it)."""
    cdef bint implausible = False
    cdef int64_t position = start, count = 0
    if end > buffer.shape[0] or start < 0:
        raise ValueError(f"walk of [{start}, {end}) leaves a buffer of {buffer.shape[0]} bytes")
    found = np.empty(max(0, end - start) // 16 + 1, dtype=np.int64)
    cdef int64_t[::1] view = found
    if start < end:
        with nogil:
            count = follow_records(&buffer[0], &position, end, little_endian, length_max, &view[0], &implausible)
    return found[:count].copy(), position, bool(implausible)


def walk_blocks(const uint8_t[::1] buffer not None, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    """Follow pcapng blocks from `start` to the next section header; return as `walk_records` does."""
    cdef bint implausible = False
    cdef int64_t position = start, count = 0
    if end > buffer.shape[0] or start < 0:
        raise ValueError(f"walk of [{start}, {end}) leaves a buffer of {buffer.shape[0]} bytes")
    found = np.empty(max(0, end - start) // 12 + 1, dtype=np.int64)
    cdef int64_t[::1] view = found
    if start < end:
        with nogil:
            count = follow_blocks(&buffer[0], &position, end, little_endian, length_max, &view[0], &implausible)
    return found[:count].copy(), position, bool(implausible)
