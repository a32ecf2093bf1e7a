"""A page about captures that needs nothing but itself: each stream's numbers, and drawings of what happened to it over time."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from aerowire.pcap.analysis.captures import CaptureStreams
from aerowire.pcap.analysis.loss import Loss, losses
from aerowire.pcap.analysis.measures import Track
from aerowire.pcap.analysis.plots import Axis, Numbers, Plot, octets, seconds
from aerowire.pcap.analysis.stream import Stream, analyse
from aerowire.pcap.arrays.blocks import Integers
from aerowire.pcap.capture import Capture
from aerowire.pcap.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS_MAX = 24  # with drawings, those with most frames; of more than that, nobody looks at each
MARKS_MAX = 2000  # rectangles in a drawing
RATE_BINS = 240
LATENCY_BINS = 40
NS = 1e-9


def report(paths: Sequence[str], ports: Iterable[int] | None = None, spark: SparkSession | None = None) -> tuple[str, Statistics]:
    """Return a page about some captures, and what was left out of them.  Raises CaptureError for what is no capture.

    spark: let its executors read and draw.
    """
    chosen = None if ports is None else frozenset(ports)
    sections, total = [], Statistics()
    for path in paths:
        found, statistics = _drawn(path, chosen) if spark is None else _drawn_with_spark(spark, path, chosen)
        total.add([statistics])
        sections.append(_file_section(path, statistics, len(found)))
        sections += [section for _, section in found[:STREAMS_MAX]]
        if len(found) > STREAMS_MAX:
            sections.append(
                f"<p>{len(found) - STREAMS_MAX:,} smaller streams are not drawn; <code>aerowire pcap summary</code> lists them.</p>"
            )
    template = (files("aerowire.pcap.analysis") / "report.html").read_text(encoding="utf-8")
    return template.replace("<!--SECTIONS-->", "\n".join(sections)), total


def _drawn(path: str, ports: frozenset[int] | None) -> tuple[list[tuple[int, str]], Statistics]:
    """Return of each stream, those with most frames first, the frames and the section, empty for those that are not drawn."""
    capture = Capture(path, ports=ports, columns=())
    found = CaptureStreams(capture, packet_index=True)
    ranked = sorted(enumerate(found.frame_counts), key=lambda item: -item[1])
    drawn = [(count, _stream_section(found.whole(number))) for number, count in ranked[:STREAMS_MAX]]
    return drawn + [(count, "") for _, count in ranked[STREAMS_MAX:]], capture.statistics


def _drawn_with_spark(spark: SparkSession, path: str, ports: frozenset[int] | None) -> tuple[list[tuple[int, str]], Statistics]:
    from aerowire.pcap.analysis.spark import collect

    found, totals = collect(spark, path, ports, _counted_section, packet_index=True, whole=True)
    return sorted(found, key=lambda item: -item[0]), totals.statistics


def _counted_section(stream: Stream) -> tuple[int, str]:
    return len(stream.frames), _stream_section(stream)


def _file_section(path: str, statistics: Statistics, streams_count: int) -> str:
    left_out = "".join(f"<li>{count:,} skipped: {html.escape(reason)}</li>" for reason, count in sorted(statistics.skipped.items()))
    damage = ""
    if statistics.is_damaged:
        damage = (
            f'<p class="bad">Damaged: corrupt in {statistics.corrupt_records:,} places, {statistics.corrupt_bytes:,} bytes passed over, '
            f"{statistics.truncated_bytes:,} bytes of an incomplete record at the end.</p>"
        )
    return (
        f"<h1>{html.escape(path)}</h1><p>{statistics.packets:,} packets, {statistics.datagrams:,} Aeron datagrams, "
        f"{statistics.frames:,} frames, {streams_count:,} {'stream' if streams_count == 1 else 'streams'}</p>{damage}"
        f"<ul class='soft'>{left_out}</ul>"
    )


def _stream_section(stream: Stream) -> str:
    told = analyse(stream)
    found = list(losses(stream))
    plots = [*_plots(stream, found)]
    facts = "".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd></div>" for name, text in _facts(told, found))
    title = f"session {told['session_id']}, stream {told['stream_id']}"
    return f"<section><h2>{title}</h2><dl>{facts}</dl>{''.join(plot.svg() for plot in plots)}</section>"


def _facts(told: dict[str, Any], found: list[Loss]) -> Iterator[tuple[str, str]]:
    for path in told["paths"]:
        seen = f" ({path['interface']})" if path["interface"] else ""
        yield "path", f"{path['source']} → {path['destination']}{seen}"
    yield "messages", f"{told['messages']:,}, {told['payload_bytes']:,} bytes"
    if rate := told["throughput"]:
        peak = rate["peaks"]["1ms"]["bytes"]
        yield (
            "throughput",
            f"{octets(rate['bytes_per_s'])}/s, at most {octets(peak)} in 1 ms" if rate["bytes_per_s"] else octets(rate["bytes"]),
        )
    lost = sum(loss.length for loss in found)
    never = sum(loss.recovered_ts_ns is None for loss in found)
    yield "losses", f"{len(found):,} of {lost:,} bytes, {never:,} never recovered" if found else "none"
    yield "NAKs", f"{told['naks']:,}"
    again = f"{told['retransmissions']:,} retransmissions, {told['duplicates']:,} duplicates, {told['reordered']:,} overtaken"
    yield "sent again", again
    if latency := told["nak_to_retransmission_ns"]:
        yield "NAK to answer", f"median {seconds(latency['p50'] * NS)}, worst {seconds(latency['max'] * NS)}"
    if window := told["window"]:
        yield "window", f"median {window['used_percent']['p50']} % used, most {window['used_percent']['max']} %"
        yield "stalls", f"{window['stalls']:,}, {seconds(window['stalled_ns'] * NS)} in all" if window["stalls"] else "none"
    if rtt := told["rtt_ns"]:
        yield "round trip", f"median {seconds(rtt['p50'] * NS)}, worst {seconds(rtt['max'] * NS)}"
    yield "end", "revoked" if told["revoked"] else "end of stream" if told["end_of_stream"] else "not seen"


def _plots(stream: Stream, found: list[Loss]) -> Iterator[Plot]:
    frames = stream.frames
    track = Track.of(stream)
    if not track.rows.size:
        return
    begin = int(frames["ts_ns"].min())
    span = Axis.around([_seconds(frames["ts_ns"] - begin)], "time", seconds, from_zero=True)
    yield _position_plot(stream, track, found, begin, span)
    yield _rate_plot(track, begin, span)
    used = _window_use(stream, track)
    if used is not None:
        times, percent = used
        plot = Plot("Window used", span, Axis.around([percent, np.array([100.0])], "part of the window", "{:g} %".format, from_zero=True))
        plot.line((times - begin) * NS, percent, "window", "used when sent")
        yield plot
    waits = np.array([(loss.recovered_ts_ns - loss.shown_ts_ns) * NS for loss in found if loss.recovered_ts_ns is not None])
    if waits.size:
        yield _latency_plot(waits)


def _position_plot(stream: Stream, track: Track, found: list[Loss], begin: int, span: Axis) -> Plot:
    """Where the stream was over time, where its receivers were and let it go, what was missing for how long, what was asked for again."""
    frames, at = stream.frames, _seconds(stream.frames["ts_ns"] - begin)
    reached = np.maximum.accumulate(track.ends).astype(np.float64)
    status = np.flatnonzero(frames.of_type("SM") & ~frames.dropped)
    consumed = np.maximum.accumulate(stream.positions[status]).astype(np.float64) if status.size else np.zeros(0)
    limits = (
        np.maximum.accumulate(stream.positions[status] + frames["receiver_window"][status]).astype(np.float64) if status.size else consumed
    )
    low = np.array([float(track.starts.min())])
    plot = Plot("Position", span, Axis.around([low, reached, np.minimum(limits, reached.max() * 1.2 + 1)], "position", octets))
    if status.size:
        plot.steps(at[status], np.minimum(limits, plot.y.high), "limit", "window's end")
        plot.steps(at[status], np.clip(consumed, plot.y.low, plot.y.high), "consumed", "consumed")
    plot.line(at[track.rows], reached, "sent", "sent")
    plot.ranges([_loss_mark(loss, begin, span.high) for loss in found[:MARKS_MAX]], "lost", "missing")
    naks = stream.naks
    asked = zip(naks.rows[:MARKS_MAX].tolist(), naks.starts.tolist(), naks.ends.tolist(), strict=False)
    plot.ranges([(at[row], at[row], start, end, f"NAK for {start:,} to {end:,}") for row, start, end in asked], "nak", "NAK")
    return plot


def _seconds(ns: Integers) -> Numbers:
    return np.asarray(ns * NS, dtype=np.float64)


def _loss_mark(loss: Loss, begin: int, last: float) -> tuple[float, float, float, float, str]:
    shown = (loss.shown_ts_ns - begin) * NS
    whole = (loss.recovered_ts_ns - begin) * NS if loss.recovered_ts_ns is not None else last
    state = "never recovered" if loss.recovered_ts_ns is None else f"whole after {seconds(whole - shown)}"
    return (
        shown,
        whole,
        float(loss.start),
        float(loss.end),
        f"{loss.length:,} bytes from {loss.start:,} missing, {loss.naks:,} NAKs, {state}",
    )


def _rate_plot(track: Track, begin: int, span: Axis) -> Plot:
    frames, rows = track.frames, track.rows[track.has_length]
    edges = np.linspace(span.low, span.high, RATE_BINS + 1)
    sums, _ = np.histogram(_seconds(frames["ts_ns"][rows] - begin), edges, weights=frames["frame_length"][rows].astype(np.float64))
    rates = sums / (edges[1] - edges[0])
    plot = Plot("Throughput", span, Axis.around([rates], "bytes a second", lambda value: f"{octets(value)}/s", from_zero=True))
    plot.bars(edges, rates, "sent", f"in {seconds(float(f'{edges[1] - edges[0]:.3g}'))}")
    return plot


def _window_use(stream: Stream, track: Track) -> tuple[Numbers, Numbers] | None:
    """Return the times at which frames were sent, and how much of the window each used in percent."""
    frames = stream.frames
    status = np.flatnonzero(frames.of_type("SM") & ~frames.dropped)
    rows = track.rows[track.is_new]
    known = np.searchsorted(status, rows) - 1
    told = known >= 0
    if not told.any():
        return None
    by = status[known[told]]
    used = (track.ends[track.is_new][told] - stream.positions[by]) * 100 / np.maximum(frames["receiver_window"][by], 1)
    return frames["ts_ns"][rows[told]].astype(np.float64), np.clip(used, 0, None)


def _latency_plot(waits: Numbers) -> Plot:
    """How long losses lasted, on a logarithmic axis: it is the rare long ones that hurt."""
    shown = np.log10(np.maximum(waits, NS))
    low, high = float(np.floor(shown.min())), float(np.ceil(shown.max()))
    axis = Axis(low, max(high, low + 1), "time until whole", lambda value: seconds(10.0**value), is_logarithm=True)
    edges = np.linspace(axis.low, axis.high, LATENCY_BINS + 1)
    counts, _ = np.histogram(shown, edges)
    plot = Plot("Time until losses were whole", axis, Axis.around([counts.astype(np.float64)], "losses", "{:g}".format, from_zero=True))
    plot.bars(edges, counts.astype(np.float64), "lost", "losses")
    return plot
