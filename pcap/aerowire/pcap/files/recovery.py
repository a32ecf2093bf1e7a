"""Chains of classic records in the middle of bytes: where one begins, and whether one goes on behind a damage.

It looks only at record headers.  What packets hold may itself look like a chain of records, so a chain must lead out of the packet.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask
from aerowire.pcap.files.formats import RECORD_HEADER_LENGTH, ClassicHeader

ORIGINAL_LENGTH_MAX = 16 << 20  # of one packet on any wire, segmentation offload included
TIME_STEP_MAX_S = 7 * 86400  # between neighbours, for a chain to be plausible
# Records in a row that prove a chain behind a break; fewer where captured and original length agree, which is 32 bits of evidence each.
CHAIN_LENGTH, AGREEING_LENGTH = 8, 2
# Bytes looked at at a time: a chain is mostly found in the first of them.
SEARCH_LENGTH_MIN, SEARCH_LENGTH_MAX = 1 << 12, 1 << 16
# What `detour` returns beside a place.
NOTHING, UNKNOWN = -1, -2


def find_chain(buffer: Bytes, start: int, header: ClassicHeader, *, is_whole: bool, near_s: int | None = None) -> tuple[int, bool]:
    """Return the first offset from `start` where a chain of records begins, and whether that is sure.

    Not sure: the buffer ends before the chain has proved itself, or none was found; what lies before the offset has been looked at.
    is_whole: the file ends with the buffer.  near_s: time of the record before.
    """
    for found in _chains(buffer, start, buffer.size, header, is_whole=is_whole, near_s=near_s):
        return found
    return (buffer.size if is_whole else max(start, buffer.size - RECORD_HEADER_LENGTH + 1)), False


def search_windows(start: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of [start, last] to search one after the other, each as its start and length: short ones first, then longer ones."""
    length = SEARCH_LENGTH_MIN
    while start <= last:
        yield start, min(length, last + 1 - start)
        start, length = start + length, min(2 * length, SEARCH_LENGTH_MAX)


def _chains(
    buffer: Bytes, start: int, limit: int, header: ClassicHeader, *, is_whole: bool, near_s: int | None
) -> Iterator[tuple[int, bool]]:
    """Yield the offsets in [start, limit) where a chain of records begins, and whether that is sure."""
    for window, count in search_windows(start, min(buffer.size - RECORD_HEADER_LENGTH, limit - 1)):
        plausible, _ = candidates(buffer, window, window + count - 1 + RECORD_HEADER_LENGTH, header)
        for origin in (window + np.flatnonzero(plausible)).tolist():
            proof = _proof(buffer, origin, header, is_whole=is_whole, near_s=near_s)
            if proof is not False:
                yield origin, proof is True


def _read(buffer: Bytes, at: int, header: ClassicHeader) -> tuple[int, int, bool] | None:
    """Return seconds, captured length and whether both lengths agree of the record at an offset; None for what cannot be one."""
    seconds, fraction, captured, original = struct.unpack_from("<IIII" if header.little_endian else ">IIII", buffer.data, at)
    if not 0 < captured <= min(original, header.record_length_max) or original > ORIGINAL_LENGTH_MAX:
        return None
    if fraction >= 1_000_000_000 // header.tick_ns:
        return None
    return seconds, captured, captured in (original, header.snap_length)


def _proof(buffer: Bytes, origin: int, header: ClassicHeader, *, is_whole: bool, near_s: int | None) -> bool | None:
    """Whether a chain of records begins at `origin`; None where the buffer ends too early to tell."""
    at, agreeing, before = origin, 0, -1
    for count in range(CHAIN_LENGTH):
        if at > buffer.size - RECORD_HEADER_LENGTH:
            # A file may end with a whole record or be cut within one.
            return None if not is_whole else agreeing > 1 or (at == buffer.size and count > 0 and agreeing == count)
        record = _read(buffer, at, header)
        if record is None or (count and abs(record[0] - before) > TIME_STEP_MAX_S):
            return False
        before, captured, agrees = record
        agreeing += agrees and (near_s is None or abs(before - near_s) <= TIME_STEP_MAX_S)
        if agreeing >= AGREEING_LENGTH and agreeing == count + 1:
            return True
        at += RECORD_HEADER_LENGTH + captured
    return True


def detour(
    buffer: Bytes, start: int, header: ClassicHeader, *, goal: int, limit: int, met: Integers, is_whole: bool, near_s: int | None
) -> int:
    """Return the first offset in [start, limit) of a chain with two records from `goal` on, or that ends with the file.

    met: offsets, ascending, that the chain must not meet up to the goal: those of the way that is doubted.  NOTHING where there is none, or
    where the first chain from `goal` on is that way itself; UNKNOWN where the buffer ends before a chain has got so far.
    """
    failed: set[int] = set()
    for origin, is_sure in _chains(buffer, start, limit, header, is_whole=is_whole, near_s=near_s):
        if origin >= goal and _is_among(met, origin):
            break
        at, beyond = origin, 0
        while at not in failed and not _is_among(met, at):
            if at > buffer.size - RECORD_HEADER_LENGTH:
                if not is_whole:
                    return UNKNOWN
                if at == buffer.size and is_sure:
                    return origin
                break
            record = _read(buffer, at, header)
            if record is None:
                break
            beyond += at >= goal
            if beyond >= AGREEING_LENGTH and is_sure:
                return origin
            failed.add(at)
            at += RECORD_HEADER_LENGTH + record[1]
        if at > goal > 0 and is_sure and _is_among(met, at):  # the doubted way came back by chance
            return origin
    return NOTHING


def _is_among(offsets: Integers, at: int) -> bool:
    row = int(offsets.searchsorted(at))
    return row < offsets.size and int(offsets[row]) == at


def candidates(buffer: Bytes, start: int, end: int, header: ClassicHeader) -> tuple[Mask, Integers]:
    """For every byte of [start, end - 16]: may a record header stand here, and where would the next one be (both relative to `start`)."""
    dtype = header.record_dtype
    count = end - start - RECORD_HEADER_LENGTH + 1
    view: np.ndarray[tuple[int], np.dtype[np.void]] = np.ndarray((count,), dtype, buffer.data, start, (1,))
    captured = view["captured"].astype(np.int64)
    original = view["original"].astype(np.int64)
    fraction = view["fraction"].astype(np.int64)
    plausible = (captured <= header.record_length_max) & (captured <= original) & (original <= ORIGINAL_LENGTH_MAX)
    plausible &= (fraction < 1_000_000_000 // header.tick_ns) & (captured > 0)
    following = np.arange(count, dtype=np.int64) + RECORD_HEADER_LENGTH + captured
    # The next header, where it lies within reach, must be of about the same time.
    rows = np.flatnonzero(plausible)
    within = rows[following[rows] < count]
    seconds = view["seconds"].astype(np.int64)
    step = np.abs(seconds[following[within]] - seconds[within])
    plausible[within[step > TIME_STEP_MAX_S]] = False
    return plausible, following
