"""The walk along a capture's chain of records: the one step of a reader that cannot be done on whole arrays.

It knows record headers only.  `chain_fallback` is the same in Python.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy


cdef enum:
    RECORD_LENGTH_MIN = 16      # a header alone
    BLOCK_LENGTH_MIN = 12       # type and both lengths
    SECTION_BLOCK = 0x0A0D0D0A

    HEADER_FIELDS = 4           # seconds, fraction, captured length, original length
    LINE_LENGTH = 64
    AHEAD_LENGTH = 2048         # bytes on their way from memory while the walk goes on
    SHORT_LENGTH = 512          # packets of which it is worth to ask for every line

cdef extern from *:
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil


cdef inline uint32_t read_u32(const uint8_t* at, bint little_endian) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    if not little_endian:
        value = (value >> 24) | ((value >> 8) & 0xFF00) | ((value << 8) & 0xFF0000) | (value << 24)
    return value


cdef inline int64_t ask_ahead(const uint8_t* data, int64_t at, int64_t end, int64_t length, int64_t asked) noexcept nogil:
    """Ask for the lines behind a short record or block that ends at `at`, from where it has been done already; return up to where now.

    Where the next one is, is known only when this one's length has come from memory.
    """
    if length > SHORT_LENGTH or asked < at:
        asked = at
    while length <= SHORT_LENGTH and asked < at + AHEAD_LENGTH and asked < end:
        prefetch_read(data + asked)
        asked += LINE_LENGTH
    return asked


cdef int64_t follow_records(const uint8_t* data, int64_t* position, int64_t end, bint little_endian, int64_t length_max,
                            int64_t* found, uint32_t* headers, bint* implausible) noexcept nogil:
    cdef int64_t count = 0, at = position[0], asked = at, length
    cdef int field
    while at <= end - RECORD_LENGTH_MIN:
        length = read_u32(data + at + 8, little_endian)
        if length > length_max:
            implausible[0] = True
            break
        if at + RECORD_LENGTH_MIN + length > end:
            break
        found[count] = at
        for field in range(HEADER_FIELDS):
            headers[count * HEADER_FIELDS + field] = read_u32(data + at + 4 * field, little_endian)
        count += 1
        at += RECORD_LENGTH_MIN + length
        asked = ask_ahead(data, at, end, length, asked)
    position[0] = at
    return count


cdef int64_t follow_blocks(const uint8_t* data, int64_t* position, int64_t end, bint little_endian, int64_t length_max,
                           int64_t* found, bint* implausible) noexcept nogil:
    cdef int64_t count = 0
    cdef int64_t at = position[0], asked = position[0]
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
        asked = ask_ahead(data, at, end, length, asked)
    position[0] = at
    return count


def read_records(const uint8_t[::1] buffer, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    """Follow classic records from `start`.

    Return (offsets of whole records, their headers (n, 4), where the walk stopped, whether a length above `length_max` stopped it).
    A header is the record's seconds, fraction, captured length and original length.
    """
    cdef bint implausible = False
    cdef int64_t position = start, count = 0
    cdef int64_t[::1] found_
    cdef uint32_t[:, ::1] headers_
    check(buffer, start, end)
    room = max(0, end - start) // RECORD_LENGTH_MIN + 1
    found, headers = np.empty(room, dtype=np.int64), np.empty((room, HEADER_FIELDS), dtype=np.uint32)
    if start < end:
        found_, headers_ = found, headers
        with nogil:
            count = follow_records(&buffer[0], &position, end, little_endian, length_max, &found_[0], &headers_[0, 0], &implausible)
    return found[:count].copy(), headers[:count].copy(), position, bool(implausible)


def walk_blocks(const uint8_t[::1] buffer, int64_t start, int64_t end, bint little_endian, int64_t length_max):
    """Follow pcapng blocks from `start` to the next section header; return as `read_records` does, without headers.

    A block whose two lengths differ stops the walk as a length above `length_max` does.
    """
    cdef bint implausible = False
    cdef int64_t position = start, count = 0
    cdef int64_t[::1] found_
    check(buffer, start, end)
    found = np.empty(max(0, end - start) // BLOCK_LENGTH_MIN + 1, dtype=np.int64)
    if start < end:
        found_ = found
        with nogil:
            count = follow_blocks(&buffer[0], &position, end, little_endian, length_max, &found_[0], &implausible)
    return found[:count].copy(), position, bool(implausible)


cdef int check(const uint8_t[::1] buffer, int64_t start, int64_t end) except -1:
    if end > buffer.shape[0] or start < 0:
        raise ValueError(f"walk of [{start}, {end}) leaves a buffer of {buffer.shape[0]} bytes")
    return 0
