"""Each loss of a stream on its own: what was missing, when that showed, who asked for it again, and when it was whole.

Pure functions over a stream's frames in capture order (see `stream`).  A loss shows when a frame comes that begins behind the highest
position seen on its path; what induced loss dropped never came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aerowire.pcap.analysis.naks import Naks
from aerowire.pcap.analysis.stream import Stream, rows_by_path
from aerowire.pcap.arrays.blocks import Integers

BLOCK_LENGTH = 4096  # NAKs that are counted at once, by order of where they begin and end


@dataclass(frozen=True, slots=True)
class Loss:
    """The bytes [start, end) of a stream that were missing on one path.

    Times are nanoseconds since the epoch; packets are indexes in the capture.  first_nak_ts_ns: of the first NAK for any of it, None
    without; recovered_ts_ns: when the last missing byte came, None where it never did.
    """

    session_id: int
    stream_id: int
    source: str
    destination: str
    interface: str | None
    start: int
    end: int
    packet_index: int
    shown_ts_ns: int
    naks: int
    first_nak_ts_ns: int | None
    recovered_ts_ns: int | None
    recovered_packet_index: int | None

    @property
    def length(self) -> int:
        return self.end - self.start


def losses(stream: Stream) -> Iterator[Loss]:
    """Yield the losses of a stream, path by path, each path's as they showed."""
    frames = stream.frames
    for number, rows in rows_by_path(frames, stream.is_data & ~frames.dropped):
        yield from _on_path(stream, number, rows)


def _on_path(stream: Stream, number: int, rows: Integers) -> Iterator[Loss]:
    frames = stream.frames
    starts, ends = stream.positions[rows], stream.positions[rows] + stream.aligned[rows]
    before = np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]])
    opened = np.flatnonzero(starts > before)
    filled = _filled(starts, ends, before, opened)
    lasts = rows[np.where(filled >= 0, filled, rows.size - 1)]
    counts, firsts = _asking(stream.naks, before[opened], starts[opened], rows[opened], lasts)
    for index, whole, last, naks, first in zip(*(one.tolist() for one in (opened, filled, lasts, counts, firsts)), strict=True):
        row = int(rows[index])
        yield Loss(
            int(frames["session_id"][row]),
            int(frames["stream_id"][row]),
            *frames.path_names[number],
            int(before[index]),
            int(starts[index]),
            int(frames["packet_index"][row]),
            int(frames["ts_ns"][row]),
            naks,
            int(frames["ts_ns"][first]) if naks else None,
            int(frames["ts_ns"][last]) if whole >= 0 else None,
            int(frames["packet_index"][last]) if whole >= 0 else None,
        )


def _filled(starts: Integers, ends: Integers, before: Integers, opened: Integers) -> Integers:
    """Return for each hole, [before[n], starts[n]) for n in `opened`, the index of the frame that made it whole; -1 where none did.

    The holes are cut where late frames begin and end; a frame takes those of its pieces that are left, so that each costs one step.
    """
    lows, highs = before[opened], starts[opened]
    late = np.flatnonzero((starts < before) & (ends > starts))
    borders = np.unique(np.concatenate([lows, highs, starts[late], ends[late]]))
    holes = lows.searchsorted(borders, side="right") - 1
    missing = (holes >= 0) & (borders < highs[holes]) if opened.size else np.zeros(borders.size, dtype=bool)
    left = np.bincount(holes[missing], minlength=opened.size).tolist()
    # leads[n]: a missing piece leads to itself, any other one towards the next that is missing.
    leads = [*np.where(missing, np.arange(borders.size), np.arange(borders.size) + 1).tolist(), borders.size]
    owners = holes.tolist()
    whole = np.full(opened.size, -1, dtype=np.int64)
    spans = borders.searchsorted(starts[late]), borders.searchsorted(ends[late])
    for index, first, end in zip(late.tolist(), *(one.tolist() for one in spans), strict=True):
        piece = first
        while True:
            while leads[piece] != piece:
                leads[piece] = piece = leads[leads[piece]]
            if piece >= end:
                break
            leads[piece] = piece + 1
            left[owners[piece]] -= 1
            if not left[owners[piece]]:
                whole[owners[piece]] = index
    return whole


def _asking(naks: Naks, starts: Integers, ends: Integers, rows: Integers, lasts: Integers) -> tuple[Integers, Integers]:
    """Return for each loss how many NAKs ask for any of [starts, ends) in (rows, lasts] of the capture, and the row of the first, or 0.

    Blocks of NAKs that lie within that time are counted as a whole: a capture may have a million NAKs for each of a million losses.
    """
    counts, firsts = np.zeros(starts.size, dtype=np.int64), np.zeros(starts.size, dtype=np.int64)
    asks = naks.ends > naks.starts
    naks = Naks(naks.rows[asks], naks.starts[asks], naks.ends[asks])
    low, high = naks.rows.searchsorted(rows, side="right"), naks.rows.searchsorted(lasts, side="right")

    def among(first: int, last: int, loss: int) -> Integers:
        part = slice(first, last)
        asking: Integers = naks.rows[part][(naks.starts[part] < ends[loss]) & (naks.ends[part] > starts[loss])]
        return asking

    for at in range(0, naks.rows.size, BLOCK_LENGTH):
        end = min(at + BLOCK_LENGTH, naks.rows.size)
        begun, ended = np.sort(naks.starts[at:end]), np.sort(naks.ends[at:end])
        is_whole = (low <= at) & (high >= end)
        whole = np.flatnonzero(is_whole)
        found = begun.searchsorted(ends[whole]) - ended.searchsorted(starts[whole], side="right")
        counts[whole] += found
        for loss in whole[(found > 0) & (firsts[whole] == 0)].tolist():
            firsts[loss] = among(at, end, loss)[0]
        for loss in np.flatnonzero((low < end) & (high > at) & ~is_whole).tolist():
            asking = among(max(at, int(low[loss])), min(end, int(high[loss])), loss)
            counts[loss] += asking.size
            if asking.size and not firsts[loss]:
                firsts[loss] = asking[0]
    return counts, firsts
