"""`aerowire pcap streams`: the streams of captures, one a line, with what tells most of each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from aerowire.pcap.commands.shared import DONE, EXIT_CODES, FINDING, add_reading, complain, printable, reading

EXAMPLES = """\
  aerowire pcap streams traffic.pcapng
  aerowire pcap streams captures/*.pcap --sort lost --json | jq '[.path, .session_id, .stream_id, .unrecovered_bytes]'
"""
COLUMNS = """
Columns: from, to: ends of the path with most frames, +n where there are more; frames: all that name the stream; MB/s: of its DATA and PAD
frames on that path, over the time that they took; loss %: bytes that were missing when they were due, of those that the stream came to be,
on all paths; never: of these, bytes that never came; NAKs, again, twice, late: NAKs, frames that answered them, duplicates, and frames that
were overtaken; answer: median time from a NAK to its answer; window %: median part of the window that was used; stalls: waits for the
receiver; end: EOS, revoked, or nothing where the capture has no end of it.
"""


def loss_percent(stream: dict[str, Any]) -> float:
    """Return how many of the bytes that came to be were missing when they were due, over all paths."""
    paths = sum(path["data_frames"] > 0 for path in stream["paths"])
    if not paths or stream["first_position"] is None:
        return 0.0
    there = (stream["last_position"] - stream["first_position"]) * paths
    return float(stream["gap_bytes"] * 100 / there) if there else 0.0


def rate(stream: dict[str, Any]) -> int:
    """Return bytes a second on the stream's fullest path; 0 where there is no time to tell."""
    return int(stream["throughput"]["bytes_per_s"] or 0) if stream["throughput"] else 0


SORTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bytes": lambda stream: -stream["payload_bytes"],
    "rate": lambda stream: -rate(stream),
    "lost": lambda stream: (-stream["unrecovered_bytes"], -stream["gap_bytes"]),
    "naks": lambda stream: -stream["naks"],
    "again": lambda stream: -stream["retransmissions"],
    "stalls": lambda stream: -(stream["window"] or {"stalled_ns": 0})["stalled_ns"],
    "time": lambda stream: stream["first_ts_ns"],
    "stream": lambda stream: (stream["stream_id"], stream["session_id"]),
}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "streams",
        help="one line a stream: rate, loss, NAKs, answers, window",
        description="List the streams of captures, one a line, with the measures that tell most; `summary` tells all of them.",
        epilog="Examples:\n" + EXAMPLES + COLUMNS + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="captures: files, patterns, folders; - for standard input")
    parser.add_argument(
        "--sort", choices=tuple(SORTS), default="bytes", help="greatest first; time and stream: least (default: %(default)s)"
    )
    add_reading(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the streams."""
    from aerowire.pcap.analysis.summary import summarise, summarise_with_spark
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.scanning import expand

    try:
        paths = ["-"] if arguments.inputs == ["-"] else list(expand(arguments.inputs))
        with reading(arguments, paths) as spark:
            reports = [
                summarise_with_spark(spark, path, arguments.ports) if spark is not None else summarise(path, arguments.ports)
                for path in paths
            ]
    except CaptureError as error:
        return complain(error)
    found = [{"path": report["file"], **stream} for report in reports for stream in report["streams"]]
    found.sort(key=SORTS[arguments.sort])
    if arguments.json:
        for stream in found:
            print(json.dumps(stream))
    else:
        _print_table(found, shows_path=len(paths) > 1)
    damaged = [report["file"] for report in reports if report["corrupt_records"] or report["truncated_bytes"]]
    for path in damaged:
        print(f"aerowire pcap: {printable(path)}: the capture is damaged; `aerowire pcap summary` counts where", file=sys.stderr)
    return FINDING if damaged else DONE


def _print_table(found: Sequence[dict[str, Any]], *, shows_path: bool) -> None:
    """Print lines whose columns are as wide as what is in them: a terminal that is narrower breaks them, and nothing is cut off."""
    headings = ["file"] * shows_path + [heading for heading, _ in CELLS]
    lines = [[printable(stream["path"])] * shows_path + [cell(stream) for _, cell in CELLS] for stream in found]
    widths = [max(len(line[at]) for line in [headings, *lines]) for at in range(len(headings))]
    for line in [headings, *lines]:
        cells = (
            text.ljust(width) if heading in ("file", "from", "to", "end") else text.rjust(width)
            for text, width, heading in zip(line, widths, headings, strict=True)
        )
        print("  ".join(cells).rstrip())
    print(f"{len(found):,} {'stream' if len(found) == 1 else 'streams'}")


def _fullest(stream: dict[str, Any]) -> dict[str, Any]:
    return max(stream["paths"], key=lambda path: path["data_frames"], default={"source": "", "destination": ""})


def _destination(stream: dict[str, Any]) -> str:
    more = len(stream["paths"]) - 1
    return f"{_fullest(stream)['destination']}{f' +{more}' if more > 0 else ''}"


def _answer(stream: dict[str, Any]) -> str:
    latency = stream["nak_to_retransmission_ns"]
    return f"{latency['p50'] / 1e6:.3f} ms" if latency else "-"


def _window(stream: dict[str, Any], name: str) -> str:
    window = stream["window"]
    return "-" if window is None else str(window["used_percent"]["p50"] if name == "used" else window["stalls"])


CELLS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("session", lambda stream: str(stream["session_id"])),
    ("stream", lambda stream: str(stream["stream_id"])),
    ("from", lambda stream: _fullest(stream)["source"]),
    ("to", _destination),
    ("frames", lambda stream: f"{stream['frames']:,}"),
    ("messages", lambda stream: f"{stream['messages']:,}"),
    ("bytes", lambda stream: f"{stream['payload_bytes']:,}"),
    ("MB/s", lambda stream: f"{rate(stream) / 1e6:,.3f}"),
    ("loss %", lambda stream: f"{loss_percent(stream):.3f}"),
    ("never", lambda stream: f"{stream['unrecovered_bytes']:,}"),
    ("NAKs", lambda stream: f"{stream['naks']:,}"),
    ("again", lambda stream: f"{stream['retransmissions']:,}"),
    ("answer", _answer),
    ("twice", lambda stream: f"{stream['duplicates']:,}"),
    ("late", lambda stream: f"{stream['reordered']:,}"),
    ("window %", lambda stream: _window(stream, "used")),
    ("stalls", lambda stream: _window(stream, "stalls")),
    ("end", lambda stream: "revoked" if stream["revoked"] else "EOS" if stream["end_of_stream"] else ""),
)
