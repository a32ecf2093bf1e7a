"""`aerowire throughput`: how many messages a second go from one process to another. Aeron: EmbeddedThroughput, StreamingPublisher."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from aerowire.tools.measure import measuring
from aerowire.tools.measure.measure import Plan, measure_publishing, measure_receiving, measure_throughput

EXAMPLES = """\
Examples:
  aerowire throughput
  aerowire throughput --mode batch --messages 50000000
  aerowire throughput --channel 'aeron:udp?endpoint=127.0.0.1:20121' --length 1024 --messages 1000000
  aerowire throughput --peer pyzmq --json
  aerowire throughput --role receive --dir /dev/shm/aeron-me &
  aerowire throughput --role publish --dir /dev/shm/aeron-me

Uses the driver that --dir, aeron.dir or AERON_DIR names, and starts one of its own where none does. The receiver runs in a
second process and counts; with --role this process is one of the two ends, and the other one runs elsewhere, with as many messages. The
figure is the receiver's, from the first message it takes to the last; a publisher's own, which it prints with --role publish, begins when
it connects.

Exit codes: 0 measured; 1 interrupted; 2 usage, or no driver, or the other end failed, or most messages arrived at once: a rate needs more.
"""
BOTH, PUBLISH, RECEIVE = "both", "publish", "receive"
_ROLES: dict[str, Callable[[Plan], dict[str, float]]] = {
    BOTH: measure_throughput,
    PUBLISH: measure_publishing,
    RECEIVE: measure_receiving,
}


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--role", choices=_ROLES, default=BOTH, help="which end this is; one alone needs a named driver (default: both)")


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    if arguments.role != BOTH:
        measuring.require_directory(arguments, f"--role {arguments.role}")
    return measuring.measure_and_report(arguments, measuring.plan_of(arguments), _ROLES[arguments.role])


THROUGHPUT = measuring.Measurement(
    name="throughput",
    help="measure messages a second",
    description="Measure how many messages a second go from one process to another.",
    examples=EXAMPLES,
    messages=10_000_000,
    warmup=0,
    add=_add,
    run=run,
)
command, add_arguments = THROUGHPUT.command, THROUGHPUT.add_arguments
