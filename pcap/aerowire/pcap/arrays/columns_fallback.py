"""Columns out of headers with NumPy alone, for installations that come as a plain zip.

Same functions and results as the native `columns` module; the tests compare the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers
from aerowire.pcap.arrays.gather_fallback import gather


def copy_headers(buffer: Bytes, offsets: Integers, width: int) -> Bytes:
    """Return the `width` bytes at each offset as rows, with zeros for what is behind the buffer.

    Raises IndexError for an offset outside.
    """
    outside = np.flatnonzero((offsets < 0) | (offsets > buffer.size))
    if outside.size:
        raise IndexError(f"header at {offsets[outside[0]]} is outside of a buffer of {buffer.size} bytes")
    out = np.zeros((offsets.size, width), dtype=np.uint8)
    whole = offsets <= buffer.size - width
    out[whole] = gather(buffer, offsets[whole], width).reshape(-1, width)
    for row in np.flatnonzero(~whole).tolist():
        rest = buffer[offsets[row] :]
        out[row, : rest.size] = rest
    return out


def spread_field(headers: Bytes, kinds: Integers, places: Integers, size: int, out: Bytes) -> None:
    """Copy one field of `size` bytes from each header into `out`.

    places: of each kind, where in its header the field stands; -1 where it has none, for which `out` gets zero.
    Raises ValueError where a field leaves its header, a kind has no place or `out` has no room.
    """
    count, width = headers.shape
    if kinds.size != count or out.size != count * size:
        raise ValueError(f"{count} headers, {kinds.size} kinds, {out.size} bytes for fields of {size}")
    beyond = places[places + size > width]
    if beyond.size:
        raise ValueError(f"field of {size} bytes at {beyond[0]} leaves a header of {width} bytes")
    unknown = kinds[(kinds < 0) | (kinds >= places.size)]
    if unknown.size:
        raise ValueError(f"kind {unknown[0]} has no place among {places.size}")
    target = out.reshape(count, size)
    target[:] = 0
    where = places[kinds]
    for place in np.unique(where).tolist():
        if place >= 0:
            rows = where == place
            target[rows] = headers[rows, place : place + size]


def spread_texts_length(texts: list[bytes], numbers: Integers) -> int:
    """Return how many bytes the chosen texts have together.  Raises ValueError for a number that has no text."""
    unknown = numbers[(numbers < 0) | (numbers >= len(texts))]
    if unknown.size:
        raise ValueError(f"text {unknown[0]} of {len(texts)}")
    return int(np.array([0, *map(len, texts)], dtype=np.int64)[numbers + 1].sum())


def spread_texts(texts: list[bytes], numbers: Integers, offsets: Any, out: Bytes) -> None:
    """Write the chosen texts one behind the other, and where each begins; the numbers have been looked at by `spread_texts_length`."""
    if offsets.size != numbers.size + 1:
        raise ValueError(f"{offsets.size} offsets for {numbers.size} texts")
    data = b"".join([texts[number] for number in numbers.tolist()])
    if len(data) != out.size:
        raise ValueError(f"texts of {len(data)} bytes for a room of {out.size}")
    offsets[0] = 0
    np.cumsum(np.array([0, *map(len, texts)], dtype=np.int64)[numbers + 1], out=offsets[1:])
    out[:] = np.frombuffer(data, dtype=np.uint8)
