"""The differences between neighbours with NumPy alone, for installations that come as a plain zip.

Same functions and results as the native `varints` module; the tests compare the two.
"""

from __future__ import annotations

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers

LENGTH_MAX = 10  # bytes of 64 bits, seven in each


def pack(values: Integers) -> bytes:
    """Return the differences of all values but the first from those before them; nothing where there is no difference."""
    differences = np.diff(values)
    if not differences.any():
        return b""
    folded = (differences << 1 ^ differences >> 63).view(np.uint64)
    lengths = np.ones(folded.size, dtype=np.int64)
    for more in range(1, LENGTH_MAX):
        lengths += folded >> np.uint64(7 * more) != 0
    starts = np.cumsum(lengths) - lengths
    out = np.empty(int(lengths.sum()), dtype=np.uint8)
    for place in range(int(lengths.max())):
        rows = np.flatnonzero(lengths > place)
        low = (folded[rows] >> np.uint64(7 * place)).astype(np.uint8) & 0x7F
        out[starts[rows] + place] = low | np.where(lengths[rows] > place + 1, 0x80, 0).astype(np.uint8)
    return out.tobytes()


def unpack(data: Bytes, first: int, count: int) -> Integers:
    """Return `count` values, of which the first is given.  Raises ValueError where `data` is not what `pack` gives for as many."""
    lasts = np.flatnonzero(data < 0x80)
    starts = np.concatenate([[0], lasts[:-1] + 1]) if lasts.size else lasts
    lengths = lasts + 1 - starts
    is_whole = lasts.size == count - 1 > 0 and lasts[-1] == data.size - 1 and lengths.max() <= LENGTH_MAX
    if data.size and not is_whole:
        raise ValueError(f"{data.size} bytes of differences for {count} values: they are of {lasts.size + 1}")
    values = np.full(count, first, dtype=np.int64)
    if data.size:
        folded = np.zeros(count - 1, dtype=np.uint64)
        for place in range(int(lengths.max())):
            rows = np.flatnonzero(lengths > place)
            folded[rows] |= (data[starts[rows] + place] & 0x7F).astype(np.uint64) << np.uint64(7 * place)
        differences = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
        values[1:] += np.cumsum(differences)
    return values
