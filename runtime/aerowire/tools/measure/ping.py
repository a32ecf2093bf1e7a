"""`aerowire ping`: how long a message takes there and back. Aeron: Ping, EmbeddedPingPong."""

from __future__ import annotations

import argparse
from array import array

from aerowire.tools.measure import measuring
from aerowire.tools.measure.measure import Plan, measure_round_trips, percentiles

EXAMPLES = """\
Examples:
  aerowire ping
  aerowire ping --channel 'aeron:udp?endpoint=127.0.0.1:20121' --one-thread
  aerowire ping --rate 10000 --messages 100000
  aerowire ping --length 1024 --messages 100000 --json
  aerowire ping --peer pyzmq
  aerowire ping --far --dir /dev/shm/aeron-me        and, in another process: aerowire pong --dir /dev/shm/aeron-me

Uses the driver that --dir, aeron.dir or AERON_DIR names, and starts one of its own where none does. The other end runs in
a second process, or with --one-thread in the same thread, or with --far is an `aerowire pong`, or any other echo, that runs already.
Answers come on the stream whose id is one higher.

A message waits for the answer to the one before. With --rate each has a time at which it is due, and is measured from then: a stall shows
in all messages that it delays, as it would for their users.

Exit codes: 0 measured; 1 interrupted; 2 usage, or no driver, or the other end failed.
"""


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reply-channel", help="channel of the answers (default: the channel, or port 20122 for UDP)")
    parser.add_argument(
        "--rate", metavar="N", type=float, default=0.0, help="messages that are due a second (default: one after the other)"
    )
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--one-thread", action="store_true", help="both ends in one thread of this process")
    ends.add_argument("--far", action="store_true", help="the other end runs already; needs a named driver")


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools.terminal.histogram import buckets_of

    if arguments.far:
        measuring.require_directory(arguments, "--far")
    plan = measuring.plan_of(
        arguments, reply_channel=arguments.reply_channel, one_thread=arguments.one_thread, rate=arguments.rate, is_far=arguments.far
    )
    samples = array("q")

    def measure(placed: Plan) -> dict[str, float]:
        trips = measure_round_trips(placed)
        samples.extend(trips)
        return percentiles(trips)

    return measuring.measure_and_report(arguments, plan, measure, lambda: buckets_of(samples))


PING = measuring.Measurement(
    name="ping",
    help="measure round trips",
    description="Measure how long a message takes there and back.",
    examples=EXAMPLES,
    messages=100_000,
    warmup=20_000,
    add=_add,
    run=run,
)
command, add_arguments = PING.command, PING.add_arguments
