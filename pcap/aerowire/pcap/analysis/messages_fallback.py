"""Which frames of runs belong to whole messages, with NumPy alone, for installations that come as a plain zip.

Same function and results as the native `messages` module; the tests compare the two.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aerowire.pcap.arrays.blocks import Integers


def whole_messages(inner: npt.NDArray[np.uint8], paths: Integers, flags: Integers, begin: int, end: int) -> npt.NDArray[np.uint8]:
    """Return, as bytes of 0 and 1, which frames lie between the first beginning and the last end of a message in their run.

    inner: frames that are in runs, each run being neighbours of one path.  Raises ValueError where the lengths differ.
    """
    count = inner.size
    if paths.size != count or flags.size != count:
        raise ValueError(f"{count} frames, {paths.size} paths, {flags.size} flags")
    chosen, places = inner != 0, np.arange(count)
    goes_on = np.concatenate([np.zeros(min(1, count), dtype=bool), chosen[1:] & chosen[:-1] & (paths[1:] == paths[:-1])])
    runs = np.cumsum(~goes_on)
    first, last = np.full(count + 1, count), np.full(count + 1, -1)
    begins, ends = chosen & (flags & begin != 0), chosen & (flags & end != 0)
    np.minimum.at(first, runs[begins], places[begins])
    np.maximum.at(last, runs[ends], places[ends])
    out: npt.NDArray[np.uint8] = (chosen & (places >= first[runs]) & (places <= last[runs])).view(np.uint8)
    return out
