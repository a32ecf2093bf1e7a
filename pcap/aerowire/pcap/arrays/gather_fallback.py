"""Copying many short records out of a buffer with NumPy alone, for installations that come as a plain zip.

Same function and results as the native `gather` module; the tests compare the two.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def gather(buffer: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint8]:
    """Return the `width` bytes at each offset, one after the other.  Raises IndexError for a record that leaves the buffer."""
    outside = np.flatnonzero((offsets < 0) | (offsets > buffer.size - width))
    if outside.size:
        raise IndexError(f"record of {width} bytes at {offsets[outside[0]]} leaves a buffer of {buffer.size} bytes")
    if not offsets.size:
        return np.empty(0, dtype=np.uint8)
    # A view that starts a record at every byte: indexing it is one gather of whole records.  Its items are opaque bytes, for gathering
    # records with fields costs eight times as much (NumPy copies field by field).
    view: npt.NDArray[np.void] = np.ndarray((buffer.size - width + 1,), np.dtype((np.void, width)), buffer.data, 0, (1,))
    return view[offsets].view(np.uint8)
