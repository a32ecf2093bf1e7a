"""`aerowire pcap loss`: each loss in a capture, who asked for it again, and when it was whole."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import TYPE_CHECKING

from aerowire.pcap.commands.shared import DONE, EXIT_CODES, FINDING, add_reading, complain, parse_count, reading

if TYPE_CHECKING:
    from aerowire.pcap.analysis.loss import Loss

LIMIT = 100
EXAMPLES = """\
  aerowire pcap loss traffic.pcapng
  aerowire pcap loss traffic.pcap --ports 40123 --limit 0 --json | jq 'select(.recovered_ts_ns == null)'
"""
LINE = "{:>8} {:>20} {:>11} {:>10} {:>43} {:>12} {:>8} {:>5} {:>12} {:>12}"


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "loss",
        help="each loss, when it was asked for again and when it was whole",
        description="Print each loss of each stream, one a line: the position and length of what was missing, the packet that showed it,\n"
        "the NAKs for it and how long after it the first one came, and how long after it the last missing byte.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="pcap or pcapng file, plain, gzip or zstd; - for standard input")
    parser.add_argument("--limit", metavar="N", type=parse_count, default=LIMIT, help="losses to show, 0 for all (default: %(default)s)")
    add_reading(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print losses, and how many there are."""
    from aerowire.pcap.analysis.summary import losses_of, losses_with_spark
    from aerowire.pcap.errors import CaptureError

    path, ports = arguments.file, arguments.ports
    try:
        with reading(arguments, [path]) as spark:
            found, statistics = losses_of(path, ports) if spark is None else losses_with_spark(spark, path, ports)
    except CaptureError as error:
        return complain(error)
    shown = found[: arguments.limit] if arguments.limit else found
    if arguments.json:
        for loss in shown:
            print(json.dumps({**dataclasses.asdict(loss), "length": loss.length}))
    else:
        print(LINE.format("packet", "ts_ns", "session", "stream", "path", "position", "length", "NAKs", "first NAK", "recovered"))
        for loss in shown:
            print(_line(loss))
        _print_sums(found, len(shown))
    if statistics.is_damaged:
        print("aerowire pcap: the capture is damaged; `aerowire pcap summary` counts where", file=sys.stderr)
    return FINDING if statistics.is_damaged else DONE


def _line(loss: Loss) -> str:
    path = f"{loss.source} -> {loss.destination}" + (f" ({loss.interface})" if loss.interface else "")
    return LINE.format(
        loss.packet_index,
        loss.shown_ts_ns,
        loss.session_id,
        loss.stream_id,
        path,
        loss.start,
        loss.length,
        loss.naks,
        _after(loss.shown_ts_ns, loss.first_nak_ts_ns, "-"),
        _after(loss.shown_ts_ns, loss.recovered_ts_ns, "never"),
    )


def _after(shown_ns: int, ts_ns: int | None, without: str) -> str:
    return without if ts_ns is None else f"{(ts_ns - shown_ns) / 1e6:.3f} ms"


def _print_sums(found: list[Loss], shown: int) -> None:
    if shown < len(found):
        print(f"... {len(found) - shown:,} more (--limit 0 shows all)")
    never = [loss for loss in found if loss.recovered_ts_ns is None]
    lost = sum(loss.length for loss in found)
    print(f"{len(found):,} losses of {lost:,} bytes; {len(never):,} never recovered, {sum(loss.length for loss in never):,} bytes at most")
