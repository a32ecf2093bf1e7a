"""A stretch of a capture as arrays: the form in which captured packets go from the file readers to the decoders.

It knows neither file formats nor protocols.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from aerowire.pcap.gather import gather
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.gather_fallback import gather

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class PacketBlock:
    """Some packets of a capture, in file order, as arrays over the one buffer that holds their bytes.

    Invariant: for each packet 0 <= starts <= ends <= buffer.size; ends - starts is the captured length, originals the length on the wire;
    positions ascend.  Behind the captured bytes a decoder may put what it made of them.
    """

    buffer: Bytes
    starts: Integers
    ends: Integers
    originals: Integers
    ts_ns: Integers
    first_index: int | None  # packet index of the first packet in its file; None where a split does not know it
    link_types: Integers
    positions: Integers  # where each packet's record begins in the capture, decompressed
    stop: int  # where what was looked at ends there, behind the last record
    interfaces: Integers | None = None  # index into interface_names, for formats that have interfaces
    interface_names: list[str] = field(default_factory=list)
    comments: dict[int, str] = field(default_factory=dict)  # row -> text
    described: tuple[int, ...] = ()  # of pcapng: where its section and the interfaces so far are described, in the capture

    @property
    def count(self) -> int:
        return int(self.starts.size)


class Gather:
    """Reads fields at arbitrary, unaligned offsets of a buffer, many rows at a time, without a Python loop.

    Offsets must be in range: callers compare them with the packet's end BEFORE they gather.
    """

    def __init__(self, buffer: Bytes) -> None:
        self.buffer = buffer

    def u8(self, offsets: Integers) -> Integers:
        return self.buffer[offsets].astype(np.int64)

    def integers(self, dtype: str, offsets: Integers) -> Integers:
        """Return the integers of the given NumPy type (such as ">u2") at each offset."""
        return self.structs(np.dtype(dtype), offsets).astype(np.int64)

    def structs(self, dtype: np.dtype[Any], offsets: Integers) -> npt.NDArray[Any]:
        """Return a contiguous copy of the records of `dtype` that stand at each offset."""
        return gather(self.buffer, offsets, dtype.itemsize).view(dtype)
