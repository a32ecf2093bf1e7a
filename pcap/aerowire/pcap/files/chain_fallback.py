"""The walk along a capture's chain of records in pure Python, for installations that come as a plain zip.

Same functions and results as the native `chain` module; the tests compare the two.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from aerowire.pcap.arrays.blocks import Bytes, Integers
from aerowire.pcap.arrays.gather_fallback import gather

Headers = npt.NDArray[np.uint32]


def read_records(buffer: Bytes, start: int, end: int, little_endian: bool, length_max: int) -> tuple[Integers, Headers, int, bool]:
    """Follow classic records from `start`.

    Return (offsets of whole records, their headers (n, 4), where the walk stopped, whether a length above `length_max` stopped it).
    A header is the record's seconds, fraction, captured length and original length.
    """
    unpack = struct.Struct("<I" if little_endian else ">I").unpack_from
    data = buffer.data
    found: list[int] = []
    append = found.append
    position, limit = start, end - 16
    is_broken = False
    while position <= limit:
        length = unpack(data, position + 8)[0]
        is_broken = length > length_max
        following = position + 16 + length
        if is_broken or following > end:
            break
        append(position)
        position = following
    offsets = np.array(found, dtype=np.int64)
    headers = gather(buffer, offsets, 16).view("<u4" if little_endian else ">u4").reshape(-1, 4)
    return offsets, headers.astype(np.uint32), position, is_broken


def walk_blocks(buffer: Bytes, start: int, end: int, little_endian: bool, length_max: int) -> tuple[Integers, int, bool]:
    """Follow pcapng blocks from `start` to the next section header; return as `read_records` does, without headers.

    A block whose two lengths differ stops the walk as a length above `length_max` does.
    """
    unpack = struct.Struct("<II" if little_endian else ">II").unpack_from
    data = buffer.data
    found: list[int] = []
    append = found.append
    position, limit = start, end - 12
    while position <= limit:
        kind, length = unpack(data, position)
        if kind == 0x0A0D0D0A:
            break
        if length > length_max or length < 12 or length & 3:
            return np.array(found, dtype=np.int64), position, True
        following = position + length
        if following > end:
            break
        if unpack(data, following - 8)[1] != length:
            return np.array(found, dtype=np.int64), position, True
        append(position)
        position = following
    return np.array(found, dtype=np.int64), position, False
