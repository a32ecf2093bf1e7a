"""A part of a stream made small: frames that came as they should become runs and sums, all others stay.

A run stands for frames that followed each other on their path without a hole, fitted into the windows that were known, and hold whole
messages.  It is kept as one long frame, at the place of its last, with the receiver's fields of the status message that its first frame
obeyed, and that frame's length.  It knows nothing of the stream outside its part: what depends on that, `reconciling` checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, DataHeaderDecoder
from aerowire.pcap.analysis.columns import Columns
from aerowire.pcap.analysis.measures import BIN_NS, leading_of, window_updates
from aerowire.pcap.analysis.partial import NO_RUN, Partial, Sums, pack, place_keys
from aerowire.pcap.arrays.blocks import Integers, Mask

try:
    from aerowire.pcap.analysis.messages import whole_messages
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.analysis.messages_fallback import whole_messages

MARGIN = 128 << 10  # bytes at both ends of a part that stay as they are: frames of its neighbours may lie among them
TERM_BITS = 32  # a part may not know the length of its terms: they are laid out this far from each other
DENSE_MAX = 1 << 16  # values below are counted without sorting them
ROUNDS_MAX = 8  # of leaving frames out until those that are left agree; then none become runs
NEVER, ALWAYS = -(1 << 62), 1 << 62
HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH


@dataclass(slots=True)
class _Part:
    """The DATA and PAD frames of a part, path after path, each path's in capture order."""

    frames: Columns
    rows: Integers
    starts: Integers
    ends: Integers
    paths: Integers
    by: Integers  # row of the status message with the furthest limit before the frame, -1 before the first one
    limits: Integers  # that limit

    def of(self, name: str) -> Integers:
        return self.frames[name][self.rows]

    def paths_apart(self) -> Iterator[tuple[int, int]]:
        """Yield where each path's frames begin and end."""
        borders = [0, *(np.flatnonzero(np.diff(self.paths)) + 1).tolist(), self.paths.size] if self.paths.size else []
        yield from pairwise(borders)


def summarise_part(frames: Columns, margin: int = MARGIN) -> Partial:
    """Return a summary of the frames of one stream in one part of a capture, in order. margin: see MARGIN."""
    out = Partial.whole(frames)
    part = _lay_out(frames)
    if not part.rows.size or int(part.ends.max()) - int(part.starts.min()) <= 2 * margin:
        return out
    inner, flags = _plain(part, margin), part.of("flags")
    for _ in range(ROUNDS_MAX):
        chosen = whole_messages(inner.view(np.uint8), part.paths, flags, DataFlags.BEGIN, DataFlags.END).view(np.bool_)
        chosen = _undisturbed(part, chosen)
        if (chosen == inner).all():
            return _summarised(out, part, inner) if inner.any() else out
        inner = chosen
    return out


def _lay_out(frames: Columns) -> _Part:
    rows = np.flatnonzero(frames.of_type("DATA", "PAD"))
    paths = frames.paths[rows]
    if paths.size and (paths != paths[0]).any():
        order = np.argsort(paths, kind="stable")
        rows, paths = rows[order], paths[order]
    base = int(frames["term_id"][rows[0]]) if rows.size else 0
    starts = _place(frames["term_id"][rows] - base, frames["term_offset"][rows])
    ends = starts + ((frames["frame_length"][rows] + (FRAME_ALIGNMENT - 1)) & -FRAME_ALIGNMENT)
    by, limits = np.full(rows.size, -1, dtype=np.int64), np.full(rows.size, ALWAYS, dtype=np.int64)
    status = window_updates(frames)
    if status.size:
        consumed = _place(frames["consumption_term_id"][status] - base, frames["consumption_term_offset"][status])
        furthest = consumed + frames["receiver_window"][status]
        leading = leading_of(furthest)
        known = np.cumsum(np.bincount(status, minlength=len(frames)))[rows]
        by, limits = np.concatenate([[-1], status[leading]])[known], furthest[leading][np.maximum(known - 1, 0)]
    return _Part(frames, rows, starts, ends, paths, by, limits)


def _place(terms: Integers, offsets: Integers) -> Integers:
    return terms.astype(np.int32).astype(np.int64) * (1 << TERM_BITS) + offsets


def _plain(part: _Part, margin: int) -> Mask:
    """Return the frames that came as they should, away from the ends of the part."""
    frames, rows, dropped = part.frames, part.rows, part.frames.dropped[part.rows]
    expected, arrived, limits = (np.full(rows.size, NEVER, dtype=np.int64) for _ in range(3))  # arrived: of what was not dropped
    opening = np.zeros(rows.size, dtype=bool)
    low, high = NEVER, ALWAYS
    for first, last in part.paths_apart():
        mine, later = slice(first, last), slice(first + 1, last)
        starts, ends = part.starts[mine], part.ends[mine]
        # The first frame that has a length stays, whatever heartbeats came before it: a stream's beginning is told from it.
        opening[first + int((ends > starts).argmax())] = True
        expected[later] = np.maximum.accumulate(ends)[:-1]
        arrived[later] = np.maximum.accumulate(np.where(dropped[mine], NEVER, ends))[:-1]
        is_new = (starts >= expected[mine]) & (ends > starts)
        newest = np.maximum.accumulate(np.where(is_new, np.arange(starts.size), 0))
        limits[later] = part.limits[mine][newest][:-1]
        low, high = max(low, int(starts[0]) + margin), min(high, int(ends.max()) - margin)
    good = frames.of_type("DATA")[rows] & ~dropped & ~opening & (part.of("frame_length") >= HEADER_LENGTH) & (part.of("term_offset") >= 0)
    good &= (part.starts == expected) & (part.starts == arrived) & (part.starts >= low) & (part.ends <= high)
    if (part.by >= 0).any():  # elsewhere windows were never known, or are unknown to this part
        good &= (part.by >= 0) & (part.ends <= limits) & (frames["consumption_term_id"][part.by] == part.of("term_id"))
    return good


def _runs(part: _Part, inner: Mask) -> Integers:
    """Return a number for each frame that is the same for those of one run."""
    goes_on = inner[1:] & inner[:-1] & (part.paths[1:] == part.paths[:-1])
    return np.concatenate([np.zeros(min(1, inner.size), dtype=np.int64), np.cumsum(~goes_on)])


def _undisturbed(part: _Part, chosen: Mask) -> Mask:
    """Return those of some chosen frames at whose position no other frame begins that is not chosen.

    A position is in runs on all paths, or on none: messages are counted once for all of them.
    """
    disturbed = part.starts[~chosen & (part.ends > part.starts)]
    for first, last in part.paths_apart():
        rows = first + np.flatnonzero(chosen[first:last])
        if rows.size:
            starts = part.starts[rows]  # ascending, each once
            at = np.minimum(np.searchsorted(starts, disturbed), rows.size - 1)
            chosen[rows[at[starts[at] == disturbed]]] = False
    return chosen


def _summarised(out: Partial, part: _Part, inner: Mask) -> Partial:
    frames, chosen = part.frames, np.flatnonzero(inner)
    rows, numbers, by = part.rows[chosen], _runs(part, inner)[chosen], part.by[chosen]
    first = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    last = np.append(first[1:], numbers.size) - 1
    apart = [chosen[slice(*np.searchsorted(chosen, borders))] for borders in part.paths_apart()]
    apart = [mine for mine in apart if mine.size]
    for mine in apart:
        out.sums[frames.path_names[int(part.paths[mine[0]])]] = _sums(part, mine)
    distinct = rows if len(apart) == 1 else rows[np.unique(part.starts[chosen], return_index=True)[1]]
    out.messages = int((frames["flags"][distinct] & DataFlags.END != 0).sum())
    out.payload_bytes = int((frames["frame_length"][distinct] - HEADER_LENGTH).sum())
    keep = np.ones(len(frames), dtype=bool)
    keep[rows] = False
    out.packed = [pack(frames, np.flatnonzero(~keep))]
    keep[rows[last]] = True
    kept, places = np.flatnonzero(keep), (np.cumsum(keep) - 1)[rows[last]]
    out.begins = np.full(kept.size, NO_RUN, dtype=np.int64)
    out.begins[places] = place_keys(frames, rows[first])
    told = by[first] >= 0
    replaced = {
        "term_offset": frames["term_offset"][rows[first]],
        "frame_length": (frames["term_offset"] + frames["frame_length"])[rows[last]] - frames["term_offset"][rows[first]],
        "flags": np.full(first.size, DataFlags.BEGIN | DataFlags.END, dtype=np.int64),
        "length": (part.ends - part.starts)[chosen[first]],
        "receiver_id": told.astype(np.int64),
    } | {name: np.where(told, frames[name][by[first]], 0) for name in ("consumption_term_id", "consumption_term_offset", "receiver_window")}
    values = {name: column[kept] for name, column in frames.values.items()}
    for name, column in replaced.items():
        values[name][places] = column
    out.frames = Columns(frames.type_names, frames.type_codes[kept], values, frames.dropped[kept], frames.paths[kept], frames.path_names)
    return out


def _sums(part: _Part, chosen: Integers) -> Sums:
    """Return the sums of a path's frames in runs: each run holds whole messages, and no frame twice."""
    rows, by = part.rows[chosen], part.by[chosen]
    times, lengths, flags, windows = (part.frames[name] for name in ("ts_ns", "frame_length", "flags", "receiver_window"))
    begins, ends = flags[rows] & DataFlags.BEGIN != 0, flags[rows] & DataFlags.END != 0
    apart = part.starts[chosen][1:] != part.ends[chosen][:-1]
    firsts = np.flatnonzero(begins | np.concatenate([[True], apart | ends[:-1]]))
    whole = begins[firsts] & ends[np.append(firsts[1:], rows.size) - 1]
    used: Counter[int] = Counter()
    if (by >= 0).all():  # the message and the frame are of one term
        reached = part.frames["term_offset"][rows] + (part.ends - part.starts)[chosen]
        used = _counted((reached - part.frames["consumption_term_offset"][by]) * 100 // np.maximum(windows[by], 1))
    times, octets = times[rows], lengths[rows]
    return Sums(
        int(rows.size),
        int(octets.sum()),
        int(times.min()),
        int(times.max()),
        _summed(times // BIN_NS, octets),
        _counted(np.add.reduceat(octets - HEADER_LENGTH, firsts)[whole]),
        int((~whole).sum()),
        used,
    )


def _counted(values: Integers) -> Counter[int]:
    """Return how often each value is there."""
    if values.size and int(values.min()) >= 0 and int(values.max()) < DENSE_MAX:
        counts = np.bincount(values)
        distinct = np.flatnonzero(counts)
        counts = counts[distinct]
    else:
        distinct, counts = np.unique(values, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))


def _summed(bins: Integers, values: Integers) -> Counter[int]:
    """Return the sum of the values of each bin. Fast where neighbours are of the same bin, as they nearly always are."""
    firsts = np.flatnonzero(np.concatenate([[True], bins[1:] != bins[:-1]]))
    out: Counter[int] = Counter()
    for number, value in zip(bins[firsts].tolist(), np.add.reduceat(values, firsts).tolist(), strict=True):
        out[number] += value
    return out
