"""Arrow arrays in Arrow's own memory, filled as NumPy arrays.

Memory of NumPy's would do, but whichever thread drops the last reference to it has to take the interpreter lock, and Arrow's own threads
may do that while the interpreter ends: the process then aborts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.arrays.blocks import Integers, Mask

try:
    from aerowire.pcap.arrays.columns import spread_texts, spread_texts_length
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.arrays.columns_fallback import spread_texts, spread_texts_length

# Arrow type -> NumPy type of the values in its buffer.
FILLED: dict[pa.DataType, Any] = {
    pa.int8(): np.int8,
    pa.uint8(): np.uint8,
    pa.int16(): np.int16,
    pa.uint16(): np.uint16,
    pa.int32(): np.int32,
    pa.uint32(): np.uint32,
    pa.int64(): np.int64,
    pa.uint64(): np.uint64,
}
TEXT_LENGTH_MAX = 2**31 - 1  # of all texts in an array


def room(kind: Any, count: int) -> tuple[pa.Buffer, npt.NDArray[Any]]:
    """Return a buffer for `count` values of a NumPy type, and the array that fills it."""
    dtype = np.dtype(kind)
    buffer = pa.allocate_buffer(count * dtype.itemsize)
    return buffer, np.frombuffer(buffer, dtype=dtype)


def copied(values: npt.NDArray[Any], kind: pa.DataType, validity: pa.Buffer | None = None) -> pa.Array:
    """Return the values as an array of an integer type in FILLED.  validity: a bitmap, from `bitmap`."""
    buffer, target = room(FILLED[kind], values.size)
    target[:] = values
    return pa.Array.from_buffers(kind, values.size, [validity, buffer])


def taken(values: npt.NDArray[Any], rows: Integers, kind: pa.DataType, validity: pa.Buffer | None = None) -> pa.Array:
    """Return the values at some rows as `copied` does.  Raises IndexError for a row that has no value."""
    buffer, target = room(FILLED[kind], rows.size)
    np.take(values.astype(target.dtype, copy=False), rows, out=target, mode="raise")
    return pa.Array.from_buffers(kind, rows.size, [validity, buffer])


def bitmap(mask: Mask) -> pa.Buffer:
    """Return a mask as Arrow keeps it: of booleans, or of the rows that are not null."""
    buffer, target = room(np.uint8, (mask.size + 7) // 8)
    target[:] = np.packbits(mask, bitorder="little")
    return buffer


def texts(choice: Sequence[str], numbers: Integers) -> pa.Array:
    """Return the text of each number."""
    encoded = [text.encode() for text in choice]
    length = spread_texts_length(encoded, numbers)
    if length > TEXT_LENGTH_MAX:
        raise ValueError(f"texts of {length} bytes together; an array of texts holds {TEXT_LENGTH_MAX}")
    (offsets, begins), (data, characters) = room(np.int32, numbers.size + 1), room(np.uint8, length)
    spread_texts(encoded, numbers, begins, characters)
    return pa.Array.from_buffers(pa.string(), numbers.size, [None, offsets, data])
