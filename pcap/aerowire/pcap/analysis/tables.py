"""The columns in which streams and losses are told."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.analysis.loss import Loss

INT = pa.int64()
QUANTILES = pa.struct([(name, INT) for name in ("min", "p50", "p99", "max")])
COUNTED = pa.struct([("count", INT), *((field.name, INT) for field in QUANTILES)])
RANGES = pa.list_(pa.struct([("start", INT), ("end", INT)]))
RECEIVER = pa.struct(
    [
        ("receiver_id", INT),
        *((name, pa.string()) for name in ("source", "destination", "interface")),
        ("status_messages", INT),
        ("interval_ns", COUNTED),
        *((name, INT) for name in ("window_min", "window_max", "last_position")),
        ("end_of_stream", pa.bool_()),
    ]
)
OF_PATH = ("retransmissions", "retransmitted_bytes", "retransmissions_dropped", "retransmitted_bytes_dropped")
ORDERED = ("duplicates", "reordered", "gaps", "gap_bytes", "unrecovered_bytes")
PATH = pa.struct(
    [
        *((name, pa.string()) for name in ("source", "destination", "interface")),
        *((name, INT) for name in ("data_frames", *OF_PATH, *ORDERED)),
        ("unrecovered", RANGES),
    ]
)
STREAMS = pa.schema(
    [
        ("path", pa.string()),
        *((name, INT) for name in ("session_id", "stream_id", "initial_term_id", "term_length", "mtu", "frames")),
        ("frames_by_type", pa.list_(pa.struct([("type", pa.string()), ("frames", INT)]))),
        *((name, INT) for name in ("messages", "payload_bytes", "first_position", "last_position", "heartbeats")),
        ("end_of_stream", pa.bool_()),
        ("end_of_stream_position", INT),
        ("revoked", pa.bool_()),
        *((name, INT) for name in ("naks", "naks_dropped", "nak_bytes", "nak_range_count")),
        ("nak_ranges", RANGES),
        *((name, INT) for name in (*OF_PATH, *ORDERED)),
        ("nak_to_retransmission_ns", QUANTILES),
        ("setup_to_first_data_ns", INT),
        ("heartbeat_interval_ns", COUNTED),
        ("receivers", pa.list_(RECEIVER)),
        ("window", pa.struct([("used_percent", COUNTED), *((n, INT) for n in ("overruns", "stalls", "stalled_ns", "longest_stall_ns"))])),
        ("rtt_ns", COUNTED),
        ("message_length", pa.struct([*((field.name, INT) for field in COUNTED), ("incomplete", INT)])),
        (
            "throughput",
            pa.struct(
                [
                    ("bytes", INT),
                    ("bytes_per_s", INT),
                    ("peaks", pa.list_(pa.struct([("width", pa.string()), ("bytes", INT), ("from_ts_ns", INT)]))),
                ]
            ),
        ),
        *((name, INT) for name in ("dropped", "first_ts_ns", "last_ts_ns")),
        ("paths", pa.list_(PATH)),
    ]
)
NAMES = ("source", "destination", "interface")
LOSSES = pa.schema(
    [
        ("path", pa.string()),
        *((field.name, pa.string() if field.name in NAMES else INT) for field in dataclasses.fields(Loss)),
        ("length", INT),
    ]
)


def stream_row(path: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return the report on a stream as a row of STREAMS."""
    row = {**report, "path": path, "nak_ranges": _ranges(report["nak_ranges"])}
    row["frames_by_type"] = [{"type": kind, "frames": count} for kind, count in report["frames_by_type"].items()]
    row["paths"] = [{**one, "unrecovered": _ranges(one["unrecovered"])} for one in report["paths"]]
    if rate := report["throughput"]:
        row["throughput"] = {**rate, "peaks": [{"width": width, **peak} for width, peak in rate["peaks"].items()]}
    return row


def loss_row(path: str, loss: Loss) -> dict[str, Any]:
    """Return a loss as a row of LOSSES."""
    return {"path": path, **dataclasses.asdict(loss), "length": loss.length}


def _ranges(ranges: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in ranges]
