"""A stretch of a capture as arrays: the form in which captured packets go from the file readers to the decoders.

It knows neither file formats nor protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from aerowire.pcap.arrays.gather import gather
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.arrays.gather_fallback import gather

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
COLUMNS = ("starts", "ends", "originals", "ts_ns", "link_types", "positions")  # of a block, a number for each packet


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
    described: tuple[tuple[int, ...], ...] = ()  # of pcapng: where in the capture each section and its interfaces are described

    @property
    def count(self) -> int:
        return int(self.starts.size)

    def described_at(self, position: int) -> tuple[int, ...]:
        """Return where the section that a place is in, and its interfaces before that place, are described; nothing in other formats."""
        begun = [section for section in self.described if section[0] < position]
        return tuple(place for place in begun[-1] if place < position) if begun else ()


def joined(parts: Sequence[PacketBlock]) -> PacketBlock:
    """Return packets of formats that have interfaces, in parts over one buffer that follow each other, as one block."""
    if len(parts) == 1:
        return parts[0]
    rows = accumulate((part.count for part in parts), initial=0)
    names = accumulate((len(part.interface_names) for part in parts), initial=0)
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return PacketBlock(
        buffer=parts[0].buffer,
        first_index=parts[0].first_index,
        stop=parts[-1].stop,
        interfaces=np.concatenate(
            [of + first for of, first in zip((part.interfaces for part in parts), names, strict=False) if of is not None]
        ),
        interface_names=[name for part in parts for name in part.interface_names],
        comments={first + row: text for part, first in zip(parts, rows, strict=False) for row, text in part.comments.items()},
        described=tuple(section for part in parts for section in part.described),
        **columns,
    )


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
