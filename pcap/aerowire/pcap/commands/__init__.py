"""`aerowire pcap`: what is in a capture, for people and, with --json, for programs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from aerowire.pcap.commands import export, frames, index, loss, replay, report, streams, summary
from aerowire.pcap.commands.shared import EXIT_CODES, complain
from aerowire.pcap.extras import EXTRAS, missing_package

Run = Callable[[argparse.Namespace], int]
# So many threads does NumPy start for products of matrices. Here there are none, and each thread spins for a while before it sleeps.
MATRIX_THREADS = "OPENBLAS_NUM_THREADS"
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
    for added in inner.choices.values():
        added.set_defaults(run=_prepared(added.get_default("run")))


def _prepared(run: Run) -> Run:
    """Wrap a subcommand: NumPy starts without threads, and an error about a package that is not installed names the extra with it."""

    def wrapped(arguments: argparse.Namespace) -> int:
        os.environ.setdefault(MATRIX_THREADS, "1")
        try:
            return run(arguments)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            return complain(missing_package(error))

    return wrapped
