"""Columns out of headers: what becomes of a block's frames once they are found.  `columns_fallback` is the same in Python."""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil

cdef enum:
    AHEAD = 12                  # headers on their way from memory
    KINDS_MAX = 256
    BIGGEST = 8                 # bytes of a field

ctypedef fused Field:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def copy_headers(const uint8_t[::1] buffer, const int64_t[::1] offsets, int64_t width):
    """Return the `width` bytes at each offset as rows, with zeros for what is behind the buffer.  Raises IndexError for an offset outside."""
    cdef int64_t count = offsets.shape[0], size = buffer.shape[0], row, at, length
    cdef uint8_t[:, ::1] out_
    for row in range(count):
        if offsets[row] < 0 or offsets[row] > size:
            raise IndexError(f"header at {offsets[row]} is outside of a buffer of {size} bytes")
    out = np.empty((count, width), dtype=np.uint8)
    if count and width:
        out_ = out
        with nogil:
            for row in range(count):
                at = offsets[row]
                if row + AHEAD < count:
                    prefetch_read(&buffer[0] + offsets[row + AHEAD])
                if size - at >= width:
                    memcpy(&out_[row, 0], &buffer[0] + at, width)
                else:
                    length = size - at
                    memcpy(&out_[row, 0], &buffer[0] + at, length)
                    memset(&out_[row, 0] + length, 0, width - length)
    return out


cdef void spread_of(const uint8_t* headers, int64_t count, int64_t width, const int64_t* kinds, const int64_t* places, Field* out) noexcept nogil:
    cdef int64_t row, place
    cdef Field value
    for row in range(count):
        place = places[kinds[row]]
        value = 0
        if place >= 0:
            memcpy(&value, headers + row * width + place, sizeof(Field))
        out[row] = value


def spread_field(const uint8_t[:, ::1] headers, const int64_t[::1] kinds, const int64_t[::1] places, int64_t size, out):
    """Copy one field of `size` bytes from each header into `out`.

    places: of each kind, where in its header the field stands; -1 where it has none, for which `out` gets zero.
    Raises ValueError where a field leaves its header, a kind has no place or `out` has no room.
    """
    cdef int64_t count = headers.shape[0], width = headers.shape[1], row
    cdef uint8_t[::1] out_ = out
    cdef const int64_t* kinds_
    if kinds.shape[0] != count or out_.shape[0] != count * size:
        raise ValueError(f"{count} headers, {kinds.shape[0]} kinds, {out_.shape[0]} bytes for fields of {size}")
    for row in range(places.shape[0]):
        if places[row] >= 0 and places[row] + size > width:
            raise ValueError(f"field of {size} bytes at {places[row]} leaves a header of {width} bytes")
    for row in range(count):
        if kinds[row] < 0 or kinds[row] >= places.shape[0]:
            raise ValueError(f"kind {kinds[row]} has no place among {places.shape[0]}")
    if count == 0:
        return
    with nogil:
        kinds_ = &kinds[0]
        if size == 1:
            spread_of[uint8_t](&headers[0, 0], count, width, kinds_, &places[0], <uint8_t*>&out_[0])
        elif size == 2:
            spread_of[uint16_t](&headers[0, 0], count, width, kinds_, &places[0], <uint16_t*>&out_[0])
        elif size == 4:
            spread_of[uint32_t](&headers[0, 0], count, width, kinds_, &places[0], <uint32_t*>&out_[0])
        elif size == 8:
            spread_of[uint64_t](&headers[0, 0], count, width, kinds_, &places[0], <uint64_t*>&out_[0])


def spread_texts_length(list texts, const int64_t[::1] numbers):
    """Return how many bytes the chosen texts have together.  Raises ValueError for a number that has no text."""
    cdef int64_t row, count = numbers.shape[0], known = len(texts), total = 0
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    cdef const int64_t[::1] lengths_ = lengths
    for row in range(count):
        if numbers[row] < 0 or numbers[row] >= known:
            raise ValueError(f"text {numbers[row]} of {known}")
        total += lengths_[numbers[row]]
    return total


def spread_texts(list texts, const int64_t[::1] numbers, int32_t[::1] offsets, uint8_t[::1] out):
    """Write the chosen texts one behind the other, and where each begins; the numbers have been looked at by `spread_texts_length`."""
    cdef int64_t row, count = numbers.shape[0], at = 0, length
    starts = np.cumsum([0, *(len(text) for text in texts)], dtype=np.int64)
    cdef const int64_t[::1] starts_ = starts
    joined = b"".join(texts)
    cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(joined)
    if offsets.shape[0] != count + 1:
        raise ValueError(f"{offsets.shape[0]} offsets for {count} texts")
    with nogil:
        for row in range(count):
            offsets[row] = at
            length = starts_[numbers[row] + 1] - starts_[numbers[row]]
            if at + length > out.shape[0]:
                break
            memcpy(&out[0] + at, data + starts_[numbers[row]], length)
            at += length
        offsets[count] = at
    if at != out.shape[0]:
        raise ValueError(f"texts of {at} bytes for a room of {out.shape[0]}")
