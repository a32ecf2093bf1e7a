"""Whether a joined summary of a stream is true of the whole stream, and what to do where it is not.

What a part made runs of, it judged by what it saw.  Here the whole stream is known: a run stands when nothing from another part lies among
its frames, none of them came late, and the window that they obeyed was the one that counted.  Else all frames are unpacked: the result is
the same as without runs, always.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from aerowire.pcap.analysis.measures import leaders, window_updates
from aerowire.pcap.analysis.partial import FRAME_BITS, Partial, place_keys
from aerowire.pcap.analysis.stream import Stream, lay_out
from aerowire.pcap.arrays.blocks import Integers


def reconcile(partial: Partial) -> Stream:
    """Return a stream, all parts of which are joined, laid out."""
    spans = partial.spans
    if all(before[1] < after[0] for before, after in pairwise(spans)):
        stream = lay_out(partial)
        if not partial.packed or _stands(stream, partial):
            return stream
    return lay_out_whole(partial)


def lay_out_whole(partial: Partial) -> Stream:
    """Return a stream, all parts of which are joined, laid out with all its frames."""
    return lay_out(Partial.whole(partial.expanded()))


def _stands(stream: Stream, partial: Partial) -> bool:
    ends = (stream.frames["term_offset"] + stream.frames["frame_length"])[stream.is_run]
    return bool((ends <= stream.unit).all()) and _are_in_order(stream) and _are_alone(stream, partial) and _obeyed(stream, partial)


def _are_in_order(stream: Stream) -> bool:
    """Whether each run begins where its path had come to."""
    for rows in _paths(stream):
        starts, ends = stream.positions[rows], (stream.positions + stream.aligned)[rows]
        reached = np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]])
        if (stream.is_run[rows] & (starts != reached)).any():
            return False
    return True


def _paths(stream: Stream) -> list[Integers]:
    numbers = stream.frames.paths
    return [np.flatnonzero(stream.is_data & (numbers == number)) for number in np.unique(numbers[stream.is_run]).tolist()]


def _are_alone(stream: Stream, partial: Partial) -> bool:
    """Whether no frame that stayed begins within a run, on any path, and the runs of different parts lie apart."""
    firsts = np.array([place[0] << FRAME_BITS | place[1] for place, _ in partial.spans], dtype=np.int64)
    rows = np.flatnonzero(stream.is_run)
    starts, ends = stream.positions[rows], (stream.positions + stream.aligned)[rows]
    parts = np.searchsorted(firsts, place_keys(stream.frames, rows), "right")
    order = np.argsort(starts, kind="stable")
    starts, ends, parts = starts[order], ends[order], parts[order]
    highest = np.maximum.accumulate(ends)
    raises = np.concatenate([ends[:1] > 0, ends[1:] > highest[:-1]])
    furthest = parts[np.maximum.accumulate(np.where(raises, np.arange(ends.size), 0))]  # the part of the run that reaches there
    if ((starts[1:] < highest[:-1]) & (parts[1:] != furthest[:-1])).any():
        return False
    others = stream.positions[stream.is_data & ~stream.is_run & (stream.aligned > 0)]
    before = np.searchsorted(starts, others, "right") - 1
    return not bool(((before >= 0) & (others < highest[np.maximum(before, 0)])).any())


def _obeyed(stream: Stream, partial: Partial) -> bool:
    """Whether the status message that the first frame of each run obeyed is the one that counted, and the frame did not wait for it.

    Then those that let the sender go further are the same for the rest of the run, wherever one looks from.
    """
    frames, status = stream.frames, window_updates(stream.frames)
    runs = np.flatnonzero(stream.is_run)
    told = frames["receiver_id"][runs] != 0
    if not status.size:
        return not told.any()
    limits, leading = leaders(frames, stream.positions, status)
    known = np.searchsorted(place_keys(frames, status), partial.begins[runs]) - 1
    if (told != (known >= 0)).any():
        return False
    by = status[leading[known[told]]]
    for name in ("consumption_term_id", "consumption_term_offset", "receiver_window"):
        if (frames[name][by] != frames[name][runs[told]]).any():
            return False
    for rows in _paths(stream):
        starts, ends = stream.positions[rows], (stream.positions + stream.aligned)[rows]
        reached = np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]])
        new = rows[(ends > starts) & (starts >= reached)]
        knew = np.searchsorted(status, new[:-1]) - 1
        first = stream.positions[new[1:]] + frames["length"][new[1:]]
        if (stream.is_run[new[1:]] & (knew >= 0) & (first > limits[leading[np.maximum(knew, 0)]])).any():
            return False
    return True
