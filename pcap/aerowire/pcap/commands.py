"""`aerowire pcap`: what is in a capture, for people and, with --json, for programs.

Exit codes: 0 done; 1 the capture is damaged (cut short or corrupt): what could be read is shown, the damage is counted; 2 usage or
unreadable.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from aerowire.pcap.statistics import Statistics

DONE, FINDING, UNUSABLE = 0, 1, 2
FRAMES_LIMIT = 100
SUMMARY_EXAMPLES = """\
  aerowire pcap summary traffic.pcapng
  tcpdump -w - udp | aerowire pcap summary - --json
"""
FRAMES_EXAMPLES = """\
  aerowire pcap frames traffic.pcapng --limit 20
  aerowire pcap frames traffic.pcap.gz --ports 40123 --limit 0 --json | jq 'select(.type == "NAK")'
"""
INDEX_EXAMPLES = """\
  aerowire pcap index traffic.pcap
  aerowire pcap index captures/*.pcap --json
"""
EXIT_CODES = """
Exit codes: 0 done; 1 the capture is damaged (cut short or corrupt): what could be read is shown, the damage is counted; or interrupted;
2 usage, or a file that cannot be read or is no capture.
"""
# One job and then the end: half of a default session's processor time goes into compiling and collecting for longer lives.
SHORT_SESSION = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pcap` and its own subcommands to the `aerowire` command."""
    form = argparse.RawDescriptionHelpFormatter
    parser = subparsers.add_parser(
        "pcap",
        help="look into packet captures",
        description="Say what Aeron traffic is in a packet capture.",
        epilog="Examples:\n" + SUMMARY_EXAMPLES + FRAMES_EXAMPLES + INDEX_EXAMPLES + EXIT_CODES,
        formatter_class=form,
    )
    inner = parser.add_subparsers(title="commands", dest="pcap_command", required=True, metavar="COMMAND")
    summary = inner.add_parser(
        "summary",
        help="streams, frames by type, gaps, NAKs, retransmissions",
        description="Summarise a capture: frames by type; for each stream positions, gaps, NAKs, retransmissions and their delays.",
        epilog="Examples:\n" + SUMMARY_EXAMPLES + EXIT_CODES,
        formatter_class=form,
    )
    summary.add_argument("--engine", choices=("arrow", "spark"), default="arrow", help="where the work is done (default: %(default)s)")
    summary.set_defaults(run=run_summary)
    frames = inner.add_parser(
        "frames",
        help="one line a frame",
        description="Print the frames of a capture, one a line, with the fields of their type.",
        epilog="Examples:\n" + FRAMES_EXAMPLES + EXIT_CODES,
        formatter_class=form,
    )
    frames.add_argument("--limit", metavar="N", type=_count, default=FRAMES_LIMIT, help="frames to show, 0 for all (default: %(default)s)")
    frames.set_defaults(run=run_frames)
    index = inner.add_parser(
        "index",
        help="note what lets a large capture be read in parts",
        description="Read each capture once and write FILE.index.json beside it: places to begin at, the flows that are Aeron, the terms\n"
        "of their streams. Spark's executors then read parts of the file without looking at the whole of it first.",
        epilog="Examples:\n" + INDEX_EXAMPLES + EXIT_CODES,
        formatter_class=form,
    )
    index.add_argument("files", metavar="FILE", nargs="+", help="pcap or pcapng file, plain, gzip or zstd")
    index.add_argument("--json", action="store_true", help="JSON, for programs")
    index.set_defaults(run=run_index)
    for one in (summary, frames):
        one.add_argument("file", metavar="FILE", help="pcap or pcapng file, plain, gzip or zstd; - for standard input")
        one.add_argument(
            "--ports",
            metavar="N,...",
            type=_ports,
            help="take UDP datagrams from or to these ports, with commas between (default: Aeron flows are detected)",
        )
        one.add_argument("--json", action="store_true", help="JSON, for programs")


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, found {text}")
    return value


def _ports(text: str) -> frozenset[int]:
    from aerowire.pcap.capture import parse_ports
    from aerowire.pcap.errors import CaptureError

    try:
        return parse_ports(text)
    except CaptureError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run_summary(arguments: argparse.Namespace) -> int:
    """Print the summary of a capture."""
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.summary import summarise

    try:
        with _working(f"reading {arguments.file}"):
            report = _with_spark(arguments) if arguments.engine == "spark" else summarise(arguments.file, arguments.ports)
    except CaptureError as error:
        print(f"aerowire pcap: {error}", file=sys.stderr)
        return UNUSABLE
    if arguments.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        _print_summary(report)
    return FINDING if report["corrupt_records"] or report["truncated_bytes"] else DONE


@contextmanager
def _working(text: str) -> Iterator[None]:
    """Turn a spinner on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def _with_spark(arguments: argparse.Namespace) -> dict[str, Any]:
    from aerowire.pcap.errors import CaptureError

    try:
        from aerowire.pcap.spark import session
    except ImportError as error:
        raise CaptureError(f"engine spark needs the package pyspark ({error}): install aerowire[spark]") from error
    from aerowire.pcap.children import children_ended_on_interruption
    from aerowire.pcap.source import check_readable
    from aerowire.pcap.summary import summarise_with_spark

    check_readable(arguments.file)
    # The bridge to Java tells of an interruption with its whole stack, on the root logger.
    logging.getLogger().addHandler(logging.NullHandler())
    on_interrupt = signal.getsignal(signal.SIGINT)
    with children_ended_on_interruption():
        spark = session(config=SHORT_SESSION)
        signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would first ask Java to cancel its jobs
        report = summarise_with_spark(spark, arguments.file, arguments.ports)
        spark.stop()
    return report


def _print_summary(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(f"[bold]{report['file']}[/bold]")
    console.print(f"  {report['packets']:,} packets, {report['datagrams']:,} Aeron datagrams, {report['frames']:,} frames")
    for line in _notes(report):
        console.print(line)
    types = Table(title="frames by type", title_justify="left", show_edge=False)
    for heading, justify in (("type", "left"), ("frames", "right"), ("dropped", "right")):
        types.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for kind, count in report["frames_by_type"].items():
        types.add_row(kind, f"{count:,}", f"{report['dropped_by_type'].get(kind, 0):,}")
    console.print(types)
    for stream in report["streams"]:
        console.print(_stream_table(stream))


def _notes(report: dict[str, Any]) -> Iterator[str]:
    for reason, count in report["skipped"].items():
        yield f"  skipped {count:,}: {reason}"
    if report["corrupt_records"]:
        yield f"  [red]corrupt in {report['corrupt_records']:,} places, {report['corrupt_bytes']:,} bytes passed over[/red]"
    if report["truncated_bytes"]:
        yield f"  [red]cut short: {report['truncated_bytes']:,} bytes of an incomplete record at the end[/red]"
    if report["truncated_datagrams"]:
        yield f"  {report['truncated_datagrams']:,} datagrams captured in part"


def _stream_table(stream: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(
        title=f"\nsession {stream['session_id']}, stream {stream['stream_id']}", title_justify="left", show_header=False, show_edge=False
    )
    for path in stream["paths"]:
        seen = f" ({path['interface']})" if path["interface"] else ""
        lost = f", {path['unrecovered_bytes']:,} bytes never recovered" if path["unrecovered_bytes"] else ""
        table.add_row(
            "path", f"{path['source']} -> {path['destination']}{seen}: {path['data_frames']:,} frames, {path['gaps']:,} gaps{lost}"
        )
    table.add_row(
        "terms", f"length {_known(stream['term_length'])}, initial id {_known(stream['initial_term_id'])}, mtu {_known(stream['mtu'])}"
    )
    table.add_row("positions", f"{_known(stream['first_position'])} to {_known(stream['last_position'])}")
    table.add_row("messages", f"{stream['messages']:,} with {stream['payload_bytes']:,} bytes")
    table.add_row("frames", ", ".join(f"{kind} {count:,}" for kind, count in stream["frames_by_type"].items()))
    table.add_row("heartbeats", f"{stream['heartbeats']:,}" + _end(stream))
    table.add_row("gaps", f"{stream['gaps']:,} ({stream['gap_bytes']:,} bytes), never recovered {stream['unrecovered_bytes']:,} bytes")
    ranges = ", ".join(f"{start}-{end}" for start, end in stream["nak_ranges"][:4]) + (", ..." if stream["nak_range_count"] > 4 else "")
    table.add_row("NAKs", f"{stream['naks']:,} for {stream['nak_range_count']:,} ranges {ranges}")
    latency = stream["nak_to_retransmission_ns"]
    after = f", after the NAK: median {latency['p50'] / 1e6:.3f} ms, worst {latency['max'] / 1e6:.3f} ms" if latency else ""
    table.add_row("retransmissions", f"{stream['retransmissions']:,} ({stream['retransmitted_bytes']:,} bytes){after}")
    table.add_row("duplicates", f"{stream['duplicates']:,}, reordered {stream['reordered']:,}")
    return table


def _end(stream: dict[str, Any]) -> str:
    if not stream["end_of_stream"]:
        return ""
    return f", {'revoked' if stream['revoked'] else 'end of stream'} at {stream['end_of_stream_position']}"


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def run_frames(arguments: argparse.Namespace) -> int:
    """Print frames, each on a line."""
    from aerowire.pcap.capture import Capture
    from aerowire.pcap.errors import CaptureError

    capture = Capture(arguments.file, ports=arguments.ports)
    try:
        with _working(f"reading {arguments.file}"):
            table = capture.read()
    except CaptureError as error:
        print(f"aerowire pcap: {error}", file=sys.stderr)
        return UNUSABLE
    shown = table.slice(0, arguments.limit) if arguments.limit else table
    if not arguments.json:
        print(LINE.format("packet", "ts_ns", "source", "destination", "type", "flags", "length", "session", "stream", "more"))
    for batch in shown.to_batches(max_chunksize=1000):
        for frame in batch.to_pylist():
            print(json.dumps(_json_frame(frame), default=_plain) if arguments.json else _line(frame))
    if shown.num_rows < table.num_rows and not arguments.json:
        print(f"... {table.num_rows - shown.num_rows:,} more (--limit 0 shows all)")
    _warn(capture.statistics)
    return FINDING if capture.statistics.is_damaged else DONE


def run_index(arguments: argparse.Namespace) -> int:
    """Write the index of each capture."""
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.index import build, save

    is_damaged = False
    for path in arguments.files:
        try:
            with _working(f"reading {path}"):
                index = build(path)
            target = save(path, index)
        except CaptureError as error:
            print(f"aerowire pcap: {error}", file=sys.stderr)
            return UNUSABLE
        is_damaged = is_damaged or index.is_damaged
        told = {"file": path, "index": str(target), "places": len(index.cuts), "links": len(index.facts.keys)}
        told |= {"streams": len(index.facts.terms.changes), "damaged": index.is_damaged}
        if arguments.json:
            print(json.dumps(told))
        else:
            note = "; the capture is damaged" if index.is_damaged else ""
            print(f"{target}: {told['places']:,} places, {told['links']:,} links, {told['streams']:,} streams{note}")
    return FINDING if is_damaged else DONE


LINE = "{:>8} {:>20} {:>22} {:>22} {:9} {:>5} {:>7} {:>11} {:>10} {}"
COMMON = frozenset(
    ("type", "frame_length", "version", "flags", "session_id", "stream_id", "packet_index", "frame_index", "ts_ns", "interface", "dropped")
) | {"src_address", "src_port", "dst_address", "dst_port"}


def _json_frame(frame: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in frame.items() if value is not None}


def _plain(value: object) -> str:
    """Bytes, such as those of an address, in hexadecimal."""
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)


def _line(frame: dict[str, Any]) -> str:
    more = " ".join(f"{name}={value}" for name, value in frame.items() if name not in COMMON and value is not None)
    return LINE.format(
        frame["packet_index"],
        frame["ts_ns"],
        f"{frame['src_address']}:{frame['src_port']}",
        f"{frame['dst_address']}:{frame['dst_port']}",
        frame["type"],
        f"0x{frame['flags']:02x}",
        frame["frame_length"],
        "" if frame["session_id"] is None else frame["session_id"],
        "" if frame["stream_id"] is None else frame["stream_id"],
        more + (" DROPPED" if frame["dropped"] else ""),
    )


def _warn(statistics: Statistics) -> None:
    if statistics.is_damaged:
        print(
            f"aerowire pcap: the capture is damaged: corrupt in {statistics.corrupt_records} places, "
            f"{statistics.truncated_bytes} bytes of an incomplete record at its end",
            file=sys.stderr,
        )
