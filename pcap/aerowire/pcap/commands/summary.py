"""`aerowire pcap summary`: frames by type, and of each stream what happened to it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aerowire.pcap.commands.shared import DONE, EXIT_CODES, FINDING, add_reading, complain, printable, reading

if TYPE_CHECKING:
    from rich.table import Table

EXAMPLES = """\
  aerowire pcap summary traffic.pcapng
  tcpdump -w - udp | aerowire pcap summary - --json
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "summary",
        help="streams, frames by type, gaps, NAKs, retransmissions",
        description="Summarise a capture: frames by type; for each stream positions, gaps, NAKs, retransmissions and their delays.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="pcap or pcapng file, plain, gzip or zstd; - for standard input")
    parser.add_argument(
        "--engine", choices=("arrow", "spark"), default="arrow", help="spark: the same as --spark local[*] (default: %(default)s)"
    )
    add_reading(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the summary of a capture."""
    from aerowire.pcap.analysis.summary import summarise, summarise_with_spark
    from aerowire.pcap.errors import CaptureError

    if arguments.engine == "spark":
        arguments.spark = arguments.spark or "local[*]"
    path, ports = arguments.file, arguments.ports
    try:
        with reading(arguments, [path]) as spark:
            report = summarise(path, ports) if spark is None else summarise_with_spark(spark, path, ports)
    except CaptureError as error:
        return complain(error)
    if arguments.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        _print_summary(report)
    return FINDING if report["corrupt_records"] or report["truncated_bytes"] else DONE


def _print_summary(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False, markup=False)
    console.print(Text(printable(report["file"]), style="bold"))
    console.print(f"  {report['packets']:,} packets, {report['datagrams']:,} Aeron datagrams, {report['frames']:,} frames")
    for line, style in _notes(report):
        console.print(Text(line, style=style))
    types = Table(title="frames by type", title_justify="left", show_edge=False)
    for heading, justify in (("type", "left"), ("frames", "right"), ("dropped", "right")):
        types.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for kind, count in report["frames_by_type"].items():
        types.add_row(kind, f"{count:,}", f"{report['dropped_by_type'].get(kind, 0):,}")
    console.print(types)
    for stream in report["streams"]:
        console.print(_stream_table(stream))


def _notes(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What was left out or is damaged, each with its style."""
    for reason, count in report["skipped"].items():
        yield f"  skipped {count:,}: {printable(reason)}", ""
    if report["corrupt_records"]:
        yield f"  corrupt in {report['corrupt_records']:,} places, {report['corrupt_bytes']:,} bytes passed over", "red"
    if report["truncated_bytes"]:
        yield f"  cut short: {report['truncated_bytes']:,} bytes of an incomplete record at the end", "red"
    if report["truncated_datagrams"]:
        yield f"  {report['truncated_datagrams']:,} datagrams captured in part", ""


def _stream_table(stream: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(
        title=f"\nsession {stream['session_id']}, stream {stream['stream_id']}", title_justify="left", show_header=False, show_edge=False
    )
    for path in stream["paths"]:
        seen = f" ({printable(path['interface'])})" if path["interface"] else ""
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
    for name, text in _measures(stream):
        table.add_row(name, text)
    return table


def _measures(stream: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say what was measured, as far as the capture has it."""
    if stream["setup_to_first_data_ns"] is not None:
        yield "start", f"first data {_ms(stream['setup_to_first_data_ns'])} after the first SETUP"
    for receiver in stream["receivers"]:
        every = f", every {_ms(receiver['interval_ns']['p50'])} (median)" if receiver["interval_ns"] else ""
        window = f"window {receiver['window_min']:,} to {receiver['window_max']:,}"
        yield "receiver", f"{receiver['source']}: {receiver['status_messages']:,} status messages{every}, {window}"
    if window := stream["window"]:
        used = window["used_percent"]
        stalled = f", {window['stalls']:,} stalls of {_ms(window['stalled_ns'])} in all, longest {_ms(window['longest_stall_ns'])}"
        over = f", overrun {window['overruns']:,} times" if window["overruns"] else ""
        yield "window used", f"median {used['p50']} %, most {used['max']} %{stalled if window['stalls'] else ', no stall'}{over}"
    if rtt := stream["rtt_ns"]:
        yield "round trips", f"{rtt['count']:,}: median {_ms(rtt['p50'])}, worst {_ms(rtt['max'])}"
    if lengths := stream["message_length"]:
        sizes = f"{lengths['min']:,} to {lengths['max']:,} bytes" if lengths["count"] else "none whole"
        yield "message lengths", f"{sizes}, {lengths['incomplete']:,} incomplete"
    if rate := stream["throughput"]:
        mean = f"{rate['bytes_per_s'] / 1e6:,.3f} MB/s" if rate["bytes_per_s"] is not None else "one instant"
        bursts = ", ".join(f"{peak['bytes']:,} bytes in {width}" for width, peak in rate["peaks"].items())
        yield "throughput", f"{mean}; at most {bursts}"


def _ms(ns: int) -> str:
    return f"{ns / 1e6:,.3f} ms"


def _end(stream: dict[str, Any]) -> str:
    if not stream["end_of_stream"]:
        return ""
    return f", {'revoked' if stream['revoked'] else 'end of stream'} at {stream['end_of_stream_position']}"


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)
