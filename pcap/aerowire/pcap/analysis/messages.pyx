"""Which frames of runs belong to whole messages.  `messages_fallback` is the same with NumPy."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t


def whole_messages(const uint8_t[::1] inner, const int64_t[::1] paths, const int64_t[::1] flags, int64_t begin, int64_t end):
    """Return, as bytes of 0 and 1, which frames lie between the first beginning and the last end of a message in their run.

    inner: frames that are in runs, each run being neighbours of one path.  Raises ValueError where the lengths differ.
    """
    cdef int64_t count = inner.shape[0], row
    cdef bint is_open = False
    cdef uint8_t[::1] out_
    if paths.shape[0] != count or flags.shape[0] != count:
        raise ValueError(f"{count} frames, {paths.shape[0]} paths, {flags.shape[0]} flags")
    out = np.empty(count, dtype=np.uint8)
    out_ = out
    with nogil:
        for row in range(count):
            is_open = inner[row] and ((is_open and row > 0 and paths[row] == paths[row - 1]) or flags[row] & begin != 0)
            out_[row] = is_open
        is_open = False
        for row in range(count - 1, -1, -1):
            is_open = inner[row] and ((is_open and row < count - 1 and paths[row] == paths[row + 1]) or flags[row] & end != 0)
            out_[row] &= is_open
    return out
