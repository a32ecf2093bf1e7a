"""A summary of a part of a stream: what of it stays as frames, what is only sums, and how two of them join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aerowire.pcap.analysis.columns import ORDER, Columns, PathName, Place, in_order
from aerowire.pcap.analysis.packing import Packed
from aerowire.pcap.arrays.blocks import Integers, Mask

# What is packed of a DATA frame in a run; it has nothing else but its stream and its path.
PACKED = ("record_position", "packet_index", "frame_index", "term_id", "term_offset", "frame_length", "flags", "ts_ns")


NO_RUN = -1
FRAME_BITS = 16  # a datagram has fewer frames


@dataclass(slots=True)
class Sums:
    """What the frames in the runs of one path add up to."""

    frames: int = 0
    octets: int = 0
    first_ts_ns: int = 0
    last_ts_ns: int = 0
    octets_in_bins: Counter[int] = field(default_factory=Counter)  # by number of the millisecond
    message_lengths: Counter[int] = field(default_factory=Counter)
    incomplete: int = 0  # messages of which a fragment is missing
    used_percent: Counter[int] = field(default_factory=Counter)  # of the window, where one was known

    def add(self, other: Sums) -> None:
        """Add another's sums to these."""
        if not other.frames:
            return
        self.first_ts_ns = min(self.first_ts_ns, other.first_ts_ns) if self.frames else other.first_ts_ns
        self.last_ts_ns = max(self.last_ts_ns, other.last_ts_ns) if self.frames else other.last_ts_ns
        self.frames += other.frames
        self.octets += other.octets
        self.incomplete += other.incomplete
        self.octets_in_bins.update(other.octets_in_bins)
        self.message_lengths.update(other.message_lengths)
        self.used_percent.update(other.used_percent)


@dataclass(slots=True)
class Partial:
    """A summary of one or more parts of a stream.

    frames: those that stayed, and runs.  begins: of runs the `place_keys` of their first frames, NO_RUN of others.  sums: of the frames in
    runs, by path.  messages, payload_bytes: of these, each position once.  packed: the frames in runs.  spans: first and last place in the
    capture of each part.
    """

    frames: Columns
    begins: Integers
    sums: dict[PathName, Sums] = field(default_factory=dict)
    messages: int = 0
    payload_bytes: int = 0
    packed: list[tuple[Packed, list[PathName]]] = field(default_factory=list)
    spans: list[tuple[Place, Place]] = field(default_factory=list)

    @property
    def is_run(self) -> Mask:
        found: Mask = self.begins != NO_RUN
        return found

    @property
    def frame_count(self) -> int:
        """Of all frames, those in runs among them."""
        return len(self.frames) - int(self.is_run.sum()) + sum(one.frames for one in self.sums.values())

    @classmethod
    def whole(cls, frames: Columns) -> Partial:
        """Return a summary that keeps all frames of a part, in capture order."""
        first, last = (tuple(int(frames[name][row]) for name in ORDER) for row in (0, -1))
        return cls(frames, np.full(len(frames), NO_RUN, dtype=np.int64), spans=[((first[0], first[1]), (last[0], last[1]))])

    @staticmethod
    def joined(parts: Sequence[Partial]) -> Partial:
        """Return the summary of all parts, in the order of their first frames. Associative."""
        ordered = sorted(parts, key=lambda part: part.spans[0])
        if len(ordered) == 1:
            return ordered[0]
        sums: dict[PathName, Sums] = {}
        for part in ordered:
            for name, some in part.sums.items():
                sums.setdefault(name, Sums()).add(some)
        return Partial(
            Columns.joined([part.frames for part in ordered]),
            np.concatenate([part.begins for part in ordered]),
            sums,
            sum(part.messages for part in ordered),
            sum(part.payload_bytes for part in ordered),
            [one for part in ordered for one in part.packed],
            [span for part in ordered for span in part.spans],
        )

    def expanded(self) -> Columns:
        """Return all frames, as they were, in capture order."""
        kept = self.frames.take(~self.is_run) if self.packed else self.frames
        return in_order(Columns.joined([kept, *(_unpacked(kept, *one) for one in self.packed)]))


def place_keys(frames: Columns, rows: Integers) -> Integers:
    """Return the places of some frames, in numbers that ascend with them."""
    keys: Integers = frames["record_position"][rows] << FRAME_BITS | frames["frame_index"][rows]
    return keys


def pack(frames: Columns, rows: Integers) -> tuple[Packed, list[PathName]]:
    """Return what there is to know of some DATA frames."""
    return Packed.of([*(frames[name][rows] for name in PACKED), frames.paths[rows]]), frames.path_names


def _unpacked(like: Columns, packed: Packed, path_names: list[PathName]) -> Columns:
    *columns, paths = packed.columns()
    known = dict(zip(PACKED, columns, strict=True))
    none = np.zeros(packed.count, dtype=np.int64)
    values = {name: known.get(name, none) for name in like.values}
    for name in ("session_id", "stream_id"):
        values[name] = np.full(packed.count, like[name][0])
    return Columns(["DATA"], none, values, none.astype(bool), paths, path_names)
