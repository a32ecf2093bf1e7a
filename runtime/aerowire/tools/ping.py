"""`aerowire ping`: how long a message takes there and back."""

from __future__ import annotations

import argparse

EXAMPLES = """\
Examples:
  aerowire ping
  aerowire ping --channel 'aeron:udp?endpoint=127.0.0.1:20121' --one-thread
  aerowire ping --length 1024 --messages 100000 --json
  aerowire ping --peer pyzmq

Starts a driver of its own unless --dir says which to use. The other end runs in a second process, or with --one-thread in the same thread.

Exit codes: 0 measured; 1 interrupted; 2 usage, or no driver, or the other end failed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a latency measurement, --dir and -D aside."""
    from aerowire.tools import measuring

    measuring.add_arguments(parser, messages=100_000, warmup=20_000)
    parser.add_argument("--reply-channel", help="channel of the answers (default: the channel, or port 20122 for UDP)")
    parser.add_argument("--one-thread", action="store_true", help="both ends in one thread of this process")


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `ping` subcommand."""
    from aerowire.tools import measuring

    description = "Measure how long a message takes there and back."
    measuring.add_command(
        subparsers, "ping", help="measure round trips", description=description, epilog=EXAMPLES, add=add_arguments, run=run
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools import measuring
    from aerowire.tools.measure import measure_latency

    plan = measuring.plan_of(arguments, reply_channel=arguments.reply_channel, one_thread=arguments.one_thread)
    return measuring.measure_and_report(arguments, plan, measure_latency)
