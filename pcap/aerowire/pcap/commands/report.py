"""`aerowire pcap report`: a page about captures, to look at."""

from __future__ import annotations

import argparse
import json

from aerowire.pcap.commands.shared import DONE, EXIT_CODES, FINDING, add_reading, complain, printable, reading, report_stream, written_file

EXAMPLES = """\
  aerowire pcap report traffic.pcapng
  aerowire pcap report captures/*.pcap --output night.html
"""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "report",
        help="a page with drawings of each stream",
        description="Write one HTML page, which needs nothing but itself: of each stream its numbers, and drawings of its position over\n"
        "time with what was missing and asked for, its throughput, how much of the window it used, and how long losses lasted.",
        epilog="Examples:\n" + EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("inputs", metavar="FILE", nargs="+", help="captures: files, patterns, folders")
    parser.add_argument(
        "--output", metavar="PAGE", default="report.html", help="file to write, - for standard output (default: %(default)s)"
    )
    add_reading(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page and say where it is."""
    from aerowire.pcap.analysis.report import report
    from aerowire.pcap.errors import CaptureError
    from aerowire.pcap.scanning import expand

    try:
        paths = list(expand(arguments.inputs))
        with reading(arguments, paths) as spark:
            page, statistics = report(paths, arguments.ports, spark)
        with written_file(arguments.output, paths) as file:
            file.write(page.encode())
    except CaptureError as error:
        return complain(error)
    except OSError as error:
        return complain(CaptureError(f"{arguments.output}: cannot be written: {error.strerror or error}"))
    told = report_stream(arguments.output)
    if arguments.json:
        print(json.dumps({"page": arguments.output, **statistics.to_dict()}), file=told)
    else:
        print(f"{printable(arguments.output)}: {statistics.frames:,} frames of {len(paths):,} captures; open it in a browser", file=told)
    return FINDING if statistics.is_damaged else DONE
