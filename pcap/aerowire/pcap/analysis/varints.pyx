"""Numbers as the differences between neighbours, in as few bytes as each needs.  `varints_fallback` is the same with NumPy.

A difference is folded so that small ones of either sign are small (0, -1, 1, -2, ...), then written seven bits a byte, lowest first, with
the highest bit of all bytes but its last one set.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    LENGTH_MAX = 10             # bytes of 64 bits, seven in each


def pack(const int64_t[::1] values):
    """Return the differences of all values but the first from those before them; nothing where there is no difference."""
    cdef int64_t count = values.shape[0], row, at = 0
    cdef uint64_t difference, seen = 0
    cdef uint8_t[::1] out_
    if count < 2:
        return b""
    out = np.empty((count - 1) * LENGTH_MAX, dtype=np.uint8)
    out_ = out
    with nogil:
        for row in range(1, count):
            difference = <uint64_t>values[row] - <uint64_t>values[row - 1]
            seen |= difference
            difference = (difference << 1) ^ (0 - (difference >> 63))
            while difference >= 0x80:
                out_[at] = <uint8_t>(difference | 0x80)
                difference >>= 7
                at += 1
            out_[at] = <uint8_t>difference
            at += 1
    return out[:at].tobytes() if seen else b""


def unpack(const uint8_t[::1] data, int64_t first, int64_t count):
    """Return `count` values, of which the first is given.  Raises ValueError where `data` is not what `pack` gives for as many."""
    cdef int64_t size = data.shape[0], row = 1, at = 0
    cdef uint64_t value = <uint64_t>first, difference
    cdef int shift
    cdef int64_t[::1] out_
    if size == 0 or count < 2:
        if size:
            raise ValueError(f"{size} bytes of differences for {count} values")
        return np.full(count, first, dtype=np.int64)
    out = np.empty(count, dtype=np.int64)
    out_ = out
    with nogil:
        out_[0] = first
        while row < count and at < size:
            difference, shift = 0, 0
            while at < size and data[at] >= 0x80 and shift < 63:
                difference |= <uint64_t>(data[at] & 0x7F) << shift
                shift += 7
                at += 1
            if at == size or data[at] >= 0x80:
                break
            difference |= <uint64_t>data[at] << shift
            at += 1
            value += (difference >> 1) ^ (0 - (difference & 1))
            out_[row] = <int64_t>value
            row += 1
    if row != count or at != size:
        raise ValueError(f"{size} bytes of differences for {count} values: value {row} ends at byte {at}")
    return out
