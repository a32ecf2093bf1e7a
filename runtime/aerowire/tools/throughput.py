"""`aerowire throughput`: how many messages a second go from one process to another."""

from __future__ import annotations

import argparse

EXAMPLES = """\
Examples:
  aerowire throughput
  aerowire throughput --mode batch --messages 50000000
  aerowire throughput --channel 'aeron:udp?endpoint=127.0.0.1:20121' --length 1024 --messages 1000000
  aerowire throughput --peer pyzmq --json

Starts a driver of its own unless --dir says which to use. The receiver runs in a second process and counts.

Exit codes: 0 measured; 1 interrupted; 2 usage, or no driver, or the other end failed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a throughput measurement, --dir and -D aside."""
    from aerowire.tools import measuring

    measuring.add_arguments(parser, messages=10_000_000, warmup=0)


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `throughput` subcommand."""
    from aerowire.tools import measuring

    description = "Measure how many messages a second go from one process to another."
    measuring.add_command(
        subparsers, "throughput", help="measure messages a second", description=description, epilog=EXAMPLES, add=add_arguments, run=run
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools import measuring
    from aerowire.tools.measure import measure_throughput

    plan = measuring.plan_of(arguments)
    return measuring.measure_and_report(arguments, plan, measure_throughput)
