"""The walk along the frames of a recorded term in pure Python, for installations that come as a plain zip.

Same function and results as the native `term_chain` module; the tests compare the two.
"""

from __future__ import annotations

import struct

import numpy as np

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder
from aerowire.pcap.arrays.blocks import Bytes, Integers

MORE, EMPTY, IMPLAUSIBLE = range(3)
HEADER = struct.Struct("<iBBH")  # length, version, flags, type
HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH


def walk_frames(buffer: Bytes, start: int, end: int, term_end: int, length_max: int) -> tuple[Integers, int, int]:
    """Follow frames from `start` to the end of their term.

    Return (offsets of frames, where the walk stopped, why: MORE, EMPTY, IMPLAUSIBLE).  A frame is found when all of it lies before `end`,
    or the header of a padding frame.  term_end may lie behind `end`.
    """
    if end > buffer.size or start < 0:
        raise ValueError(f"walk of [{start}, {end}) leaves a buffer of {buffer.size} bytes")
    unpack, data = HEADER.unpack_from, buffer.data
    found: list[int] = []
    position, reason = start, MORE
    while position + HEADER_LENGTH <= end and position < term_end:
        length, _, _, kind = unpack(data, position)
        if length == 0:
            reason = EMPTY
            break
        following = position + (length + FRAME_ALIGNMENT - 1 & -FRAME_ALIGNMENT)
        if length < HEADER_LENGTH or following > term_end or (length > length_max and kind):
            reason = IMPLAUSIBLE
            break
        if following > end and kind:
            break
        found.append(position)
        position = following
    return np.array(found, dtype=np.int64), position, reason
