"""`aerowire pcap frames`: the frames of a capture, each on a line."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from aerowire.pcap.commands.shared import DONE, EXIT_CODES, FINDING, add_reading, complain, parse_count, printable, reading

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

    from aerowire.pcap.statistics import Statistics

LIMIT = 100
EXAMPLES = """\
  aerowire pcap frames traffic.pcapng --limit 20
  aerowire pcap frames traffic.pcap.gz --ports 40123 --limit 0 --json | jq 'select(.type == "NAK")'
"""
LINE = "{:>8} {:>20} {:>22} {:>22} {:9} {:>5} {:>7} {:>11} {:>10} {}"
COMMON = frozenset(
    ("type", "frame_length", "version", "flags", "session_id", "stream_id", "packet_index", "frame_index", "ts_ns", "interface", "dropped")
) | {"src_address", "src_port", "dst_address", "dst_port"}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "frames",
        help="one line a frame",
        description="Print the frames of a capture, one a line, with the fields of their type.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="pcap or pcapng file, plain, gzip or zstd; - for standard input")
    parser.add_argument("--limit", metavar="N", type=parse_count, default=LIMIT, help="frames to show, 0 for all (default: %(default)s)")
    add_reading(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print frames, each on a line."""
    from aerowire.pcap.errors import CaptureError

    try:
        with reading(arguments, [arguments.file]) as spark:
            table, total, statistics = _read(arguments) if spark is None else _read_with_spark(spark, arguments)
    except CaptureError as error:
        return complain(error)
    if not arguments.json:
        print(LINE.format("packet", "ts_ns", "source", "destination", "type", "flags", "length", "session", "stream", "more"))
    for batch in table.to_batches(max_chunksize=1000):
        for frame in batch.to_pylist():
            print(json.dumps(_json_frame(frame), default=_plain) if arguments.json else _line(frame))
    if table.num_rows < total and not arguments.json:
        print(f"... {total - table.num_rows:,} more (--limit 0 shows all)")
    _warn(statistics)
    return FINDING if statistics.is_damaged else DONE


def _read(arguments: argparse.Namespace) -> tuple[pa.Table, int, Statistics]:
    """Return the frames to show, how many there are, and what was left out."""
    from aerowire.pcap.capture import Capture

    capture = Capture(arguments.file, ports=arguments.ports)
    table = capture.read(arguments.limit or sys.maxsize)
    return table, capture.statistics.frames, capture.statistics


def _read_with_spark(spark: SparkSession, arguments: argparse.Namespace) -> tuple[pa.Table, int, Statistics]:
    """Do the same in executors; only the frames to show come here."""
    import pyarrow as pa

    from aerowire.pcap.spark.frames import SparkScan

    scan = SparkScan(spark, [arguments.file], ports=arguments.ports)
    table = pa.Table.from_batches(scan.head(arguments.limit), scan.schema)
    statistics = scan.count()
    return table, statistics.frames, statistics


def _json_frame(frame: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in frame.items() if value is not None}


def _plain(value: object) -> str:
    """Bytes, such as those of an address, in hexadecimal."""
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)


def _line(frame: dict[str, Any]) -> str:
    more = " ".join(f"{name}={printable(value)}" for name, value in frame.items() if name not in COMMON and value is not None)
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
