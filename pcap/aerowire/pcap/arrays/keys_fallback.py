"""Numbers for short byte strings in pure Python, for installations that come as a plain zip.

Same class and results as the native `keys` module; the tests compare the two.
"""

from __future__ import annotations

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers


class KeyTable:
    """Keys of one width and their numbers, in the order in which they are first met."""

    def __init__(self, width: int) -> None:
        if width <= 0:
            raise ValueError(f"keys of {width} bytes; expected at least 1")
        self._width = width
        self._numbers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def keys_from(self, first: int) -> list[bytes]:
        """Return the keys with the numbers `first` and up."""
        return list(self._numbers)[max(0, first) :]

    def number(self, keys: Bytes) -> Integers:
        """Return each key's number.  Raises ValueError for keys of another width."""
        if keys.shape[1] != self._width:
            raise ValueError(f"keys of {keys.shape[1]} bytes; expected {self._width}")
        data, numbers = keys.tobytes(), self._numbers
        return np.array(
            [numbers.setdefault(data[at : at + self._width], len(numbers)) for at in range(0, keys.shape[0] * self._width, self._width)],
            dtype=np.int64,
        )
