"""Measures of one stream in a capture: its start, heartbeats, receivers and their windows, stalls, round trips, messages, bursts.

Pure functions over a stream's frames in capture order (see `stream`).  Where a stream was sent to several destinations, or seen at several
interfaces, data is measured on the path with most of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, RttmFlags, SmFlags
from aerowire.pcap.analysis.partial import Sums
from aerowire.pcap.arrays.blocks import Integers, Mask

if TYPE_CHECKING:
    from aerowire.pcap.analysis.columns import Columns
    from aerowire.pcap.analysis.stream import Stream

# Widths of the bins that bursts are looked for in.
BURST_WIDTHS_NS = {"1ms": 1_000_000, "10ms": 10_000_000, "100ms": 100_000_000, "1s": 1_000_000_000}
BIN_NS = min(BURST_WIDTHS_NS.values())  # all others are multiples of it
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Track:
    """The DATA and PAD frames of one path. Invariant: rows ascend; starts <= ends, equal for heartbeats."""

    frames: Columns
    rows: Integers
    starts: Integers
    ends: Integers
    is_run: Mask  # which stand for many frames, of which `sums` tells
    sums: Sums

    @classmethod
    def of(cls, stream: Stream) -> Track:
        """Return the path with most frames; the first of several."""
        rows, number = np.flatnonzero(stream.is_data), -1
        if rows.size:
            counts = np.bincount(stream.frames.paths[rows[~stream.is_run[rows]]], minlength=len(stream.sums))
            number = int((counts + [one.frames for one in stream.sums]).argmax())
            rows = rows[stream.frames.paths[rows] == number]
        starts = stream.positions[rows]
        sums = stream.sums[number] if rows.size else Sums()
        return cls(stream.frames, rows, starts, starts + stream.aligned[rows], stream.is_run[rows], sums)

    @property
    def has_length(self) -> Mask:
        return self.ends > self.starts

    @property
    def is_new(self) -> Mask:
        """Frames that begin where the stream had come to, or behind it."""
        reached = np.concatenate([self.starts[:1], np.maximum.accumulate(self.ends)[:-1]])
        return self.has_length & (self.starts >= reached)


def measure(stream: Stream) -> dict[str, Any]:
    """Return the measures of a stream: plain values for JSON, times in nanoseconds."""
    frames, positions, track = stream.frames, stream.positions, Track.of(stream)
    return {
        "setup_to_first_data_ns": _setup_to_first_data(frames, track),
        "heartbeat_interval_ns": quantiles(np.diff(frames["ts_ns"][track.rows[~track.has_length]])),
        "receivers": _receivers(frames, positions),
        "window": _window(frames, positions, track),
        "rtt_ns": _round_trips(frames),
        "message_length": _messages(track),
        "throughput": _throughput(track),
    }


def quantiles(values: Integers, counted: Mapping[int, int] | None = None) -> dict[str, int] | None:
    """Return count, least, median, 99th percentile and greatest of some values; None of none.

    counted: more values, and how often each is there.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if counted:
        more = Counter(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
        more.update(counted)
        distinct = np.array(sorted(more), dtype=np.int64)
        counts = np.array([more[value] for value in distinct.tolist()], dtype=np.int64)
    if not distinct.size:
        return None
    behind = np.cumsum(counts)
    last = int(behind[-1]) - 1
    places = {"min": 0, "p50": last // 2, "p99": last * 99 // 100, "max": last}
    return {"count": last + 1} | {name: int(distinct[behind.searchsorted(place, "right")]) for name, place in places.items()}


def _setup_to_first_data(frames: Columns, track: Track) -> int | None:
    setups = np.flatnonzero(frames.of_type("SETUP"))
    firsts = track.rows[track.has_length]
    return (
        int(frames["ts_ns"][firsts[0]]) - int(frames["ts_ns"][setups[0]]) if setups.size and firsts.size and setups[0] < firsts[0] else None
    )


def _receivers(frames: Columns, positions: Integers) -> list[dict[str, Any]]:
    """Of each receiver, and each path that its status messages took: how many, how often, how large a window."""
    rows = window_updates(frames)
    found = []
    rows = rows[np.lexsort((frames.paths[rows], frames["receiver_id"][rows]))]  # stable
    apart = (np.diff(frames["receiver_id"][rows]) != 0) | (np.diff(frames.paths[rows]) != 0)
    for mine in np.split(rows, np.flatnonzero(apart) + 1) if rows.size else []:
        receiver_id, path = int(frames["receiver_id"][mine[0]]), int(frames.paths[mine[0]])
        windows = frames["receiver_window"][mine]
        source, destination, interface = frames.path_names[path]
        found.append(
            {
                "receiver_id": receiver_id,
                "source": source,
                "destination": destination,
                "interface": interface,
                "status_messages": int(mine.size),
                "interval_ns": quantiles(np.diff(frames["ts_ns"][mine])),
                "window_min": int(windows.min()),
                "window_max": int(windows.max()),
                "last_position": int(positions[mine].max()),
                "end_of_stream": bool((frames["flags"][mine] & SmFlags.EOS != 0).any()),
            }
        )
    return found


def _window(frames: Columns, positions: Integers, track: Track) -> dict[str, Any] | None:
    """How much of the window the sender used, and how long it waited for more, by the most generous of the receivers.

    A stall is the time between two new frames of which the second did not fit into the window that was known when the first was sent.
    """
    status = window_updates(frames)
    rows = track.rows[track.is_new]
    if not status.size or not rows.size:
        return None
    ends, in_run = track.ends[track.is_new], track.is_run[track.is_new]
    limits, leading = leaders(frames, positions, status)
    known = np.searchsorted(status, rows) - 1  # the last status message before each frame
    told = known >= 0
    if not told.any():
        return None
    by = leading[known[told]]
    windows = np.maximum(frames["receiver_window"][status[by]], 1)
    used = ((ends[told] - positions[status[by]]) * 100 // windows)[~in_run[told]]
    # Of a run, it is the first frame that may have waited; where it did, no run was made.
    firsts = np.where(in_run, positions[rows] + frames["length"][rows], ends)
    waited = np.flatnonzero(told[:-1] & (firsts[1:] > limits[leading[np.maximum(known[:-1], 0)]]))
    stalls = (frames["ts_ns"][rows[1:]] - frames["ts_ns"][rows[:-1]])[waited]
    return {
        "used_percent": quantiles(used, track.sums.used_percent),
        "overruns": int((ends[told] > limits[by]).sum()),
        "stalls": int(stalls.size),
        "stalled_ns": int(stalls.sum()),
        "longest_stall_ns": int(stalls.max()) if stalls.size else 0,
    }


def window_updates(frames: Columns) -> Integers:
    """Return the rows of the status messages that tell a window."""
    return np.flatnonzero(frames.of_type("SM") & (frames["flags"] & SmFlags.SEND_SETUP == 0) & ~frames.dropped)


def leaders(frames: Columns, positions: Integers, status: Integers) -> tuple[Integers, Integers]:
    """Return up to where each of some status messages, of which there is one at least, lets the sender go, and for each the index of that
    among those up to it that lets it go furthest.
    """
    limits = positions[status] + frames["receiver_window"][status]
    return limits, leading_of(limits)


def leading_of(limits: Integers) -> Integers:
    """Return, for each of some limits, of which there is one at least, the index of the first of the greatest among those up to it."""
    raised = np.concatenate([[True], limits[1:] > np.maximum.accumulate(limits)[:-1]])
    out: Integers = np.maximum.accumulate(np.where(raised, np.arange(limits.size), 0))
    return out


def _round_trips(frames: Columns) -> dict[str, int] | None:
    """Times from questions of the round-trip measurement to their answers, which repeat receiver and time stamp."""
    rows = np.flatnonzero(frames.of_type("RTTM") & ~frames.dropped)
    asked: dict[tuple[int, int], int] = {}
    found = []
    columns = (frames[name][rows].tolist() for name in ("receiver_id", "echo_timestamp_ns", "flags", "ts_ns"))
    for receiver_id, echo, flags, at in zip(*columns, strict=True):
        if flags & RttmFlags.REPLY:
            asked.setdefault((receiver_id, echo), at)
        elif (receiver_id, echo) in asked:
            found.append(at - asked.pop((receiver_id, echo)))
    return quantiles(np.array(found, dtype=np.int64))


def _messages(track: Track) -> dict[str, Any] | None:
    """Lengths of messages, put together from their fragments, each position once; those of which a fragment is missing are counted."""
    frames, rows = track.frames, track.rows
    chosen = np.flatnonzero(track.has_length & frames.of_type("DATA")[rows])
    _, first = np.unique(track.starts[chosen], return_index=True)
    chosen = chosen[first]
    if not chosen.size:
        return None
    flags = frames["flags"][rows[chosen]]
    lengths = frames["frame_length"][rows[chosen]] - DataHeaderDecoder.ENCODED_LENGTH
    begins, ends = flags & DataFlags.BEGIN != 0, flags & DataFlags.END != 0
    follows = np.concatenate([[False], track.starts[chosen][1:] == track.ends[chosen][:-1]])
    opens = begins | ~follows | np.concatenate([[True], ends[:-1]])  # no fragment goes on over what is missing
    firsts = np.flatnonzero(opens)
    whole = begins[firsts] & ends[np.append(firsts[1:], chosen.size) - 1]
    whole_lengths = np.add.reduceat(lengths, firsts)[whole & ~track.is_run[chosen[firsts]]]
    told = quantiles(whole_lengths, track.sums.message_lengths) or {"count": 0}
    return {**told, "incomplete": track.sums.incomplete + int((~whole).sum())}


def _throughput(track: Track) -> dict[str, Any] | None:
    """Bytes of frames a second, and the fullest bin of some widths: how many bytes, and when it began."""
    rows, summed = track.rows[track.has_length & ~track.is_run], track.sums
    if not rows.size:  # the first frame of a path is in no run
        return None
    times, lengths = track.frames["ts_ns"][rows], track.frames["frame_length"][rows]
    ends = [int(times.min()), int(times.max()), *((summed.first_ts_ns, summed.last_ts_ns) if summed.frames else ())]
    elapsed = max(ends) - min(ends)
    bins = np.concatenate([times // BIN_NS, np.fromiter(summed.octets_in_bins.keys(), np.int64)])
    lengths = np.concatenate([lengths, np.fromiter(summed.octets_in_bins.values(), np.int64)])
    order = np.argsort(bins, kind="stable")
    bins, lengths = bins[order], lengths[order]
    peaks = {}
    for name, width in BURST_WIDTHS_NS.items():
        wide = bins * BIN_NS // width
        firsts = np.flatnonzero(np.concatenate([[True], wide[1:] != wide[:-1]]))
        sums = np.add.reduceat(lengths, firsts)
        fullest = int(sums.argmax())
        peaks[name] = {"bytes": int(sums[fullest]), "from_ts_ns": int(wide[firsts[fullest]]) * width}
    total = int(lengths.sum())
    return {"bytes": total, "bytes_per_s": total * NS_PER_S // elapsed if elapsed else None, "peaks": peaks}
