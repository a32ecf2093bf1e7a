"""Columns of integers in few bytes: the differences between neighbours, which are small in frames of one stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.arrays.blocks import Integers

try:
    from aerowire.pcap.analysis.varints import pack, unpack
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.analysis.varints_fallback import pack, unpack

CODEC = "zstd"


@dataclass(frozen=True, slots=True)
class Packed:
    """Some columns of one length. Invariant: of each column there is its first value and the length of its differences in `data`."""

    count: int
    firsts: tuple[int, ...]
    lengths: tuple[int, ...]
    data: bytes  # the differences of all columns, compressed

    @classmethod
    def of(cls, columns: Sequence[Integers]) -> Packed:
        """Pack columns of one length, of which there is one at least."""
        count = int(columns[0].size)
        parts = [pack(np.ascontiguousarray(column)) for column in columns]
        firsts = tuple(int(column[0]) if count else 0 for column in columns)
        data = pa.compress(b"".join(parts), codec=CODEC, asbytes=True)
        return cls(count, firsts, tuple(len(part) for part in parts), bytes(data))

    def columns(self) -> list[Integers]:
        """Return the columns as they were."""
        data = np.frombuffer(pa.decompress(self.data, sum(self.lengths), codec=CODEC), dtype=np.uint8)
        ends = np.cumsum(self.lengths).tolist()
        places = zip(self.firsts, self.lengths, ends, strict=True)
        return [unpack(data[end - length : end], first, self.count) for first, length, end in places]
