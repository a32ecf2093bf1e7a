"""`aerowire pcap index`: what lets a large capture be read in parts, written beside it."""

from __future__ import annotations

import argparse
import json

from aerowire.pcap.commands.shared import DONE, EXIT_CODES, FINDING, add_json, complain, printable, working

EXAMPLES = """\
  aerowire pcap index traffic.pcap
  aerowire pcap index captures/*.pcap --json
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "index",
        help="note what lets a large capture be read in parts",
        description="Read each capture once and write FILE.index.json beside it: places to begin at, the flows that are Aeron, the terms\n"
        "of their streams. Spark's executors then read parts of the file without looking at the whole of it first.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="pcap or pcapng file, plain, gzip or zstd")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the index of each capture."""
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.reading.index import build, save

    is_damaged = False
    for path in arguments.files:
        try:
            with working(f"reading {path}"):
                index = build(path)
            target = save(path, index)
        except CaptureError as error:
            return complain(error)
        is_damaged = is_damaged or index.is_damaged
        told = {"file": path, "index": str(target), "places": len(index.cuts), "links": len(index.facts.keys)}
        told |= {"streams": len(index.facts.terms.changes), "damaged": index.is_damaged}
        if arguments.json:
            print(json.dumps(told))
        else:
            note = "; the capture is damaged" if index.is_damaged else ""
            print(f"{printable(target)}: {told['places']:,} places, {told['links']:,} links, {told['streams']:,} streams{note}")
    return FINDING if is_damaged else DONE
