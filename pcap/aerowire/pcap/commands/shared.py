"""What the subcommands of `aerowire pcap` have in common: exit codes, arguments, and what tells people that work is going on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

DONE, FINDING, UNUSABLE = 0, 1, 2
EXIT_CODES = """
Exit codes: 0 done; 1 the capture is damaged (cut short or corrupt): what could be read is shown, the damage is counted; or interrupted;
2 usage, or a file that cannot be read or is no capture.
"""


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the argument that chooses datagrams."""
    parser.add_argument(
        "--ports",
        metavar="N,...",
        type=parse_ports,
        help="take UDP datagrams from or to these ports, with commas between (default: Aeron flows are detected)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the argument for programs."""
    parser.add_argument("--json", action="store_true", help="JSON, for programs")


def complain(error: Exception) -> int:
    """Say what was wrong and return the exit code for it."""
    print(f"aerowire pcap: {error}", file=sys.stderr)
    return UNUSABLE


def parse_count(text: str) -> int:
    """Return a number from 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, found {text}")
    return value


def parse_ports(text: str) -> frozenset[int]:
    """Return the ports of a list with commas between."""
    from aerowire.pcap import capture
    from aerowire.pcap.errors import CaptureError

    try:
        return capture.parse_ports(text)
    except CaptureError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


@contextmanager
def working(text: str) -> Iterator[None]:
    """Turn a spinner on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield
