"""What happened to one stream in a capture: gaps, NAKs, retransmissions, messages, its end.

Pure functions over columns of frames in capture order, some of which may stand for runs of others (see `analysis.summarising`); it knows
neither files nor Spark, and both engines of the summary use it.

A frame is late when it starts below the highest position seen before it on its path (source, destination, interface).  A late frame in a
range that a NAK named before, and that nothing has answered, is a retransmission; another one is a duplicate when its position was seen
on the path, else it was overtaken (reordered).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, TERM_LENGTH_MIN, DataFlags, DataHeaderDecoder
from aerowire.pcap.analysis.columns import Columns
from aerowire.pcap.analysis.measures import measure
from aerowire.pcap.analysis.naks import Late, Naks, answered
from aerowire.pcap.analysis.partial import Partial, Sums
from aerowire.pcap.arrays.blocks import Integers, Mask

# Counts of a PathReport that a stream's report adds up.
SUMMED_OF_PATHS = (
    "retransmissions",
    "retransmitted_bytes",
    "retransmissions_dropped",
    "retransmitted_bytes_dropped",
    "duplicates",
    "reordered",
    "gaps",
    "gap_bytes",
    "unrecovered_bytes",
)
RANGES_MAX = 1000  # of each list of ranges in a report; the counts beside it are always whole


@dataclass(slots=True)
class PathReport:
    """What one destination of a stream was sent, and in what order it came."""

    source: str
    destination: str
    interface: str | None = None  # where it was seen, in captures that tell: a driver with both ends sees each datagram sent and received
    data_frames: int = 0
    retransmissions: int = 0
    retransmitted_bytes: int = 0
    retransmissions_dropped: int = 0
    retransmitted_bytes_dropped: int = 0
    duplicates: int = 0
    reordered: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    unrecovered_bytes: int = 0
    unrecovered: list[tuple[int, int]] = field(default_factory=list)
    latencies_ns: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream's frames laid out: where in the stream each begins or points at, and how much of it each takes up.

    is_run: what stands for many frames, of which `sums` tells, by number of the path, what they add up to; `messages` and `payload_bytes`
    tell it of all paths together, each position once.
    """

    frames: Columns
    is_data: Mask
    positions: Integers
    aligned: Integers
    naks: Naks
    setup: tuple[int | None, int | None, int | None]  # initial term id, term length, MTU
    unit: int  # the same term length, or what it must be at least
    is_run: Mask
    sums: list[Sums]
    messages: int
    payload_bytes: int


def lay_out(partial: Partial) -> Stream:
    """Return a stream's frames with their positions: by its SETUP frames, else as if the first term seen were the first."""
    frames = partial.frames
    is_data = frames.of_type("DATA", "PAD")
    setup = _setup(frames)
    base = setup[0] if setup[0] is not None else _first(frames["term_id"][is_data])
    unit = setup[1] or _term_length(frames, is_data)
    is_status = frames.of_type("SM")
    term_ids = np.where(is_status, frames["consumption_term_id"], frames["term_id"])
    positions = _wrapped(term_ids - base) * unit + np.where(is_status, frames["consumption_term_offset"], frames["term_offset"])
    aligned = (frames["frame_length"] + (FRAME_ALIGNMENT - 1)) & -FRAME_ALIGNMENT
    nak_rows = np.flatnonzero(frames.of_type("NAK") & ~frames.dropped)
    naks = Naks(nak_rows, positions[nak_rows], positions[nak_rows] + frames["length"][nak_rows])
    sums = [partial.sums.get(name, Sums()) for name in frames.path_names]
    return Stream(frames, is_data, positions, aligned, naks, setup, unit, partial.is_run, sums, partial.messages, partial.payload_bytes)


def analyse(stream: Stream) -> dict[str, Any]:
    """Return the report on one stream: plain values for JSON."""
    frames, is_data, positions, aligned = stream.frames, stream.is_data, stream.positions, stream.aligned
    naks, summed = stream.naks, [one for one in stream.sums if one.frames]
    initial_term_id, term_length, mtu = stream.setup
    is_heartbeat = frames.of_type("DATA") & (frames["frame_length"] == 0)
    is_nak = frames.of_type("NAK")
    by_path = [(number, rows, _late(stream, rows)) for number, rows in rows_by_path(frames, is_data)]
    causes = answered(naks, [late for _, _, late in by_path])
    paths = []
    for (number, rows, late), mine in zip(by_path, causes, strict=True):
        path = _path(PathReport(*frames.path_names[number]), stream, rows, late, mine)
        path.data_frames += stream.sums[number].frames - int(stream.is_run[rows].sum())
        paths.append(path)
    setups = frames.of_type("SETUP")
    if not paths and setups.any():
        paths = [PathReport(*frames.path_names[number]) for number in np.unique(frames.paths[setups]).tolist()]
    ends = is_heartbeat & (frames["flags"] & (DataFlags.EOS | DataFlags.REVOKED) != 0)
    in_runs = sum(one.frames for one in summed)
    counts = Counter({name: int(frames.of_type(name).sum()) for name in frames.type_names}) + Counter(
        {"DATA": in_runs - int(stream.is_run.sum())}
    )
    merged = merge_ranges(zip(naks.starts.tolist(), naks.ends.tolist(), strict=True))
    latencies = sorted(latency for path in paths for latency in path.latencies_ns)
    of_paths = {name: sum(getattr(path, name) for path in paths) for name in SUMMED_OF_PATHS}
    return {
        "session_id": int(frames["session_id"][0]),
        "stream_id": int(frames["stream_id"][0]),
        "initial_term_id": initial_term_id,
        "term_length": term_length,
        "mtu": mtu,
        "frames": sum(counts.values()),
        "frames_by_type": dict(sorted(counts.items())),
        **_messages(stream, is_data & ~is_heartbeat),
        "first_position": int(positions[is_data].min()) if is_data.any() else None,
        "last_position": int((positions + aligned)[is_data].max()) if is_data.any() else None,
        "heartbeats": int(is_heartbeat.sum()),
        "end_of_stream": bool(ends.any()),
        "end_of_stream_position": int(positions[ends].max()) if ends.any() else None,
        "revoked": bool((is_heartbeat & (frames["flags"] & DataFlags.REVOKED != 0)).any()),
        "naks": int(is_nak.sum()),
        "naks_dropped": int((is_nak & frames.dropped).sum()),
        "nak_bytes": int(frames["length"][is_nak].sum()),
        "nak_range_count": len(merged),
        "nak_ranges": merged[:RANGES_MAX],
        **of_paths,
        "nak_to_retransmission_ns": _quantiles(latencies),
        **measure(stream),
        "dropped": int(frames.dropped.sum()),
        "first_ts_ns": min([int(frames["ts_ns"].min()), *(one.first_ts_ns for one in summed)]),
        "last_ts_ns": max([int(frames["ts_ns"].max()), *(one.last_ts_ns for one in summed)]),
        "paths": [_path_report(path) for path in paths],
    }


def rows_by_path(frames: Columns, chosen: Mask) -> Iterator[tuple[int, Integers]]:
    """Yield the number of each path that has chosen frames, ascending, and their rows."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(frames.paths[rows], kind="stable")]
    borders = np.flatnonzero(np.diff(frames.paths[rows])) + 1
    for mine in np.split(rows, borders) if rows.size else ():
        yield int(frames.paths[mine[0]]), mine


def _path_report(path: PathReport) -> dict[str, Any]:
    names = (name for name in PathReport.__slots__ if name != "latencies_ns")
    return {name: getattr(path, name) for name in names} | {"unrecovered": path.unrecovered[:RANGES_MAX]}


def _setup(frames: Columns) -> tuple[int | None, int | None, int | None]:
    rows = np.flatnonzero(frames.of_type("SETUP"))
    if not rows.size:
        return None, None, None
    return tuple(int(frames[name][rows[0]]) for name in ("initial_term_id", "term_length", "mtu"))  # type: ignore[return-value]


def _first(values: Integers) -> int:
    return int(values[0]) if values.size else 0


def _term_length(frames: Columns, is_data: Mask) -> int:
    """Return the least term length that holds all offsets seen, for captures that begin after the stream's SETUP frames."""
    ends = (frames["term_offset"] + frames["frame_length"])[is_data]
    length = TERM_LENGTH_MIN
    while ends.size and length < int(ends.max()):
        length *= 2
    return length


def _wrapped(difference: Integers) -> Integers:
    """Return differences of term ids, which wrap around as 32-bit integers do."""
    return difference.astype(np.int32).astype(np.int64)


def _late(stream: Stream, rows: Integers) -> Late:
    """Return the late frames of a path, whose rows these are."""
    starts, aligned = stream.positions[rows], stream.aligned[rows]
    highest = np.maximum.accumulate(starts + aligned)
    late = np.flatnonzero((starts < np.concatenate([starts[:1], highest[:-1]])) & (aligned > 0))
    previous = _previous(starts, aligned)[late]
    return Late(rows[late], starts[late], np.where(previous >= 0, rows[previous], -1))


def _path(report: PathReport, stream: Stream, rows: Integers, late: Late, causes: Integers) -> PathReport:
    """Fill in the report on a path.  causes: the rows of the NAKs that its late frames answer, -1 of others."""
    frames = stream.frames
    starts, ends = stream.positions[rows], stream.positions[rows] + stream.aligned[rows]
    report.data_frames = int((stream.aligned[rows] > 0).sum())
    again = causes >= 0
    answers, lengths, dropped = late.rows[again], stream.aligned[late.rows[again]], frames.dropped[late.rows[again]]
    report.retransmissions, report.retransmitted_bytes = answers.size, int(lengths.sum())
    report.retransmissions_dropped, report.retransmitted_bytes_dropped = int(dropped.sum()), int(lengths[dropped].sum())
    report.latencies_ns = (frames["ts_ns"][answers] - frames["ts_ns"][causes[again]]).tolist()
    report.duplicates = int((late.earlier[~again] >= 0).sum())
    report.reordered = int((~again).sum()) - report.duplicates
    # What was dropped before the wire leaves a hole, although the capture has it.
    _gaps(report, starts[~frames.dropped[rows]], ends[~frames.dropped[rows]])
    return report


def _previous(starts: Integers, lengths: Integers) -> Integers:
    """Return, for each frame, the index of the frame before it at the same position, or -1; heartbeats have none and are none."""
    keys = np.where(lengths > 0, starts, -1 - np.arange(starts.size))
    order = np.argsort(keys, kind="stable")
    previous = np.full(starts.size, -1, dtype=np.int64)
    same = keys[order[1:]] == keys[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous


def _gaps(report: PathReport, starts: Integers, ends: Integers) -> None:
    """Count the holes that opened before a frame, and which of them nothing ever filled."""
    if not starts.size:
        return
    before = np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]])
    opened = starts > before
    report.gaps, report.gap_bytes = int(opened.sum()), int((starts - before)[opened].sum())
    order = np.argsort(starts, kind="stable")
    reached = np.concatenate([starts[order[:1]], np.maximum.accumulate(ends[order])[:-1]])
    holes = starts[order] > reached
    report.unrecovered = list(zip(reached[holes].tolist(), starts[order][holes].tolist(), strict=True))
    report.unrecovered_bytes = sum(end - start for start, end in report.unrecovered)


def _messages(stream: Stream, is_payload: Mask) -> dict[str, int]:
    """Count messages (by their last fragment) and payload bytes, each position once."""
    frames = stream.frames
    rows = np.flatnonzero(is_payload & frames.of_type("DATA") & ~stream.is_run)
    _, first = np.unique(stream.positions[rows], return_index=True)
    rows = rows[first]
    return {
        "messages": stream.messages + int((frames["flags"][rows] & DataFlags.END != 0).sum()),
        "payload_bytes": stream.payload_bytes + int((frames["frame_length"][rows] - DataHeaderDecoder.ENCODED_LENGTH).sum()),
    }


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _quantiles(values: list[int]) -> dict[str, int] | None:
    """Return least, median, 99th percentile and greatest of sorted values."""
    if not values:
        return None
    last = len(values) - 1
    return {"min": values[0], "p50": values[last // 2], "p99": values[(last * 99) // 100], "max": values[-1]}
