"""Each loss of a stream on its own: what was missing, when that showed, who asked for it again, and when it was whole.

Pure functions over a stream's frames in capture order (see `streams`).  A loss shows when a frame comes that begins behind the highest
position seen on its path; what induced loss dropped never came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aerowire.pcap.blocks import Integers
from aerowire.pcap.streams import Stream


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
    for number in range(len(frames.path_names)):
        rows = np.flatnonzero(stream.is_data & (frames.paths == number) & ~frames.dropped)
        if rows.size:
            yield from _on_path(stream, number, rows)


def _on_path(stream: Stream, number: int, rows: Integers) -> Iterator[Loss]:
    frames, naks = stream.frames, stream.naks
    starts, ends = stream.positions[rows], stream.positions[rows] + stream.aligned[rows]
    before = np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]])
    fills = _Fills(starts, ends, before)
    for index in np.flatnonzero(starts > before).tolist():
        start, end, row = int(before[index]), int(starts[index]), int(rows[index])
        filled = fills.whole_at(index, start, end)
        last = int(rows[filled]) if filled is not None else int(rows[-1])
        asking = (naks.starts < end) & (naks.ends > start) & (naks.rows > row) & (naks.rows <= last)
        asked = naks.rows[asking]
        yield Loss(
            int(frames["session_id"][row]),
            int(frames["stream_id"][row]),
            *frames.path_names[number],
            start,
            end,
            int(frames["packet_index"][row]),
            int(frames["ts_ns"][row]),
            int(asked.size),
            int(frames["ts_ns"][asked[0]]) if asked.size else None,
            int(frames["ts_ns"][last]) if filled is not None else None,
            int(frames["packet_index"][last]) if filled is not None else None,
        )


class _Fills:
    """The frames that came late on a path, by where they begin."""

    def __init__(self, starts: Integers, ends: Integers, before: Integers) -> None:
        late = np.flatnonzero((starts < before) & (ends > starts))
        order = late[np.argsort(starts[late], kind="stable")]
        self._indexes, self._starts, self._ends = order, starts[order], ends[order]
        self._longest = int((self._ends - self._starts).max()) if order.size else 0

    def whole_at(self, index: int, start: int, end: int) -> int | None:
        """Return the index of the frame with which [start, end) was whole that was missing at `index`; None where it never was."""
        low, high = self._starts.searchsorted([start - self._longest, end])
        mine = np.arange(low, high)
        mine = mine[(self._indexes[mine] > index) & (self._ends[mine] > start)]
        missing = [(start, end)]
        for place in mine[np.argsort(self._indexes[mine], kind="stable")].tolist():
            missing = _without(missing, int(self._starts[place]), int(self._ends[place]))
            if not missing:
                return int(self._indexes[place])
        return None


def _without(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Return ranges without what lies in [start, end)."""
    kept = []
    for low, high in ranges:
        kept += [part for part in ((low, min(high, start)), (max(low, end), high)) if part[0] < part[1]]
    return kept
