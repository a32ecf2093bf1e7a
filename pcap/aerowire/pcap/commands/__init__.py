"""`aerowire pcap`: what is in a capture, for people and, with --json, for programs."""

from __future__ import annotations

import argparse

from aerowire.pcap.commands import export, frames, index, loss, replay, report, streams, summary
from aerowire.pcap.commands.shared import EXIT_CODES

SUBCOMMANDS = (summary, streams, frames, loss, report, export, index, replay)


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pcap` and its own subcommands to the `aerowire` command."""
    parser = subparsers.add_parser(
        "pcap",
        help="look into packet captures",
        description="Say what Aeron traffic is in a packet capture.",
        epilog="Examples:\n" + "".join(subcommand.EXAMPLES for subcommand in SUBCOMMANDS) + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(title="commands", dest="pcap_command", required=True, metavar="COMMAND")
    for subcommand in SUBCOMMANDS:
        subcommand.add(inner)
