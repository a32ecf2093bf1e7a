"""`aerowire rate`: a steady stream sent, or the rate of one that arrives. Aeron: RateSubscriber, streaming_publisher."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from aerowire.tools.arguments import add_directory_arguments, count, count_or_none, seconds, stream_id

if TYPE_CHECKING:
    from aerowire.client import ExclusivePublication, Subscription
    from aerowire.tools.measure.rates import Rate

EXAMPLES = """\
Examples:
  aerowire rate subscribe aeron:ipc 1001
  aerowire rate publish aeron:ipc 1001 --rate 100000 --length 288
  aerowire rate publish 'aeron:udp?endpoint=host:40123' 1001 --messages 1000000 --json
  aerowire rate subscribe 'aeron:udp?endpoint=host:40123' 1001 --interval 5 --json | jq .messages_per_s

Prints a line each --interval: messages and bytes of payload a second, and totals. Without --rate a publisher sends as fast as it may. A
publisher waits for subscribers and goes on when they come back; official clients may be the other end.

Exit codes: 0 ended by a signal, or after --messages; 1 interrupted before --messages; 2 usage, or no driver.
"""
PUBLISH, SUBSCRIBE = "publish", "subscribe"
_BATCH = 512
_FRAGMENT_LIMIT = 512
_PAUSE_MAX_S = 1e-3


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "rate",
        help="send at a rate, or tell the rate of what arrives",
        description="Send messages at a rate, or take messages in, and tell how many there are a second.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("role", choices=(PUBLISH, SUBSCRIBE), help="which end this is")
    parser.add_argument("channel", metavar="CHANNEL", help="channel URI, such as aeron:ipc or aeron:udp?endpoint=127.0.0.1:40123")
    parser.add_argument("stream", metavar="STREAM", type=stream_id, help="stream id, a number of 32 bits")
    parser.add_argument("--rate", metavar="N", type=_rate, help="messages a second to publish (default: as many as are taken)")
    parser.add_argument("--length", metavar="BYTES", type=count_or_none, default=32, help="payload of a published message (default: 32)")
    parser.add_argument("--messages", metavar="N", type=count, help="end after N messages (default: never)")
    parser.add_argument("--interval", metavar="SECONDS", type=seconds, default=1.0, help="how often to tell (default: 1)")
    parser.add_argument("--json", action="store_true", help="each line is a JSON object")
    add_directory_arguments(parser)
    parser.set_defaults(run=run, is_endless=lambda arguments: arguments.messages is None)


def run(arguments: argparse.Namespace) -> int:
    """Send or take in until a signal, or all of --messages; returns 0."""
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.connection import connect

    with connect(f"aerowire rate {arguments.role}", properties=properties_of(arguments)) as aeron:
        if arguments.role == PUBLISH:
            with aeron.add_exclusive_publication(arguments.channel, arguments.stream) as publication:
                _publish(publication, arguments)
        else:
            with aeron.add_subscription(arguments.channel, arguments.stream) as subscription:
                _subscribe(subscription, arguments)
    return 0


def _publish(publication: ExclusivePublication, arguments: argparse.Namespace) -> None:
    import numpy

    from aerowire.base.errors import MessageTooLongError
    from aerowire.tools.measure.rates import Pace, RateReporter

    if arguments.length > publication.max_message_length:
        expected = f"0 to {publication.max_message_length} bytes"
        raise MessageTooLongError("message is too long", where="--length", expected=expected, actual=arguments.length)
    rows = numpy.zeros((_BATCH, max(arguments.length, 1)), dtype=numpy.uint8)[:, : arguments.length]
    batch = rows if arguments.length else [b""] * _BATCH
    begin_ns = time.monotonic_ns()
    reporter = RateReporter(begin_ns, _interval_ns(arguments))
    pace = None if arguments.rate is None else Pace(begin_ns, arguments.rate)
    pause = _Pause()
    while arguments.messages is None or reporter.messages < arguments.messages:
        now_ns = time.monotonic_ns()
        wanted = _BATCH if pace is None else min(pace.due(now_ns), _BATCH)
        if arguments.messages is not None:
            wanted = min(wanted, arguments.messages - reporter.messages)
        sent = publication.offer_many(batch[:wanted]) if wanted > 0 else 0
        if sent > 0:
            reporter.messages += sent
            reporter.length += sent * arguments.length
            if pace is not None:
                pace.sent(sent)
            pause.reset()
        else:
            pause()
        _tell(reporter.poll(now_ns), arguments)
    _tell(reporter.take(time.monotonic_ns()), arguments)


def _subscribe(subscription: Subscription, arguments: argparse.Namespace) -> None:
    from aerowire.client import FragmentAssembler, Header
    from aerowire.tools.measure.rates import RateReporter

    reporter = RateReporter(time.monotonic_ns(), _interval_ns(arguments))

    def on_message(_buffer: memoryview, _offset: int, length: int, _header: Header) -> None:
        reporter.messages += 1
        reporter.length += length

    handler, pause = FragmentAssembler(on_message), _Pause()
    while arguments.messages is None or reporter.messages < arguments.messages:
        if subscription.poll(handler, _FRAGMENT_LIMIT):
            pause.reset()
        else:
            pause()
        _tell(reporter.poll(time.monotonic_ns()), arguments)
    _tell(reporter.take(time.monotonic_ns()), arguments)


class _Pause:
    """Waits a little longer each time that nothing is to be done: twenty microseconds at first."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._next_s = 20e-6

    def __call__(self) -> None:
        time.sleep(self._next_s)
        self._next_s = min(self._next_s * 2, _PAUSE_MAX_S)


def _tell(rate: Rate | None, arguments: argparse.Namespace) -> None:
    if rate is not None:
        print(json.dumps(rate.to_dict()) if arguments.json else rate, flush=True)


def _interval_ns(arguments: argparse.Namespace) -> int:
    return max(int(arguments.interval * 1e9), 1_000_000)


def _rate(text: str) -> float:
    value = seconds(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected a number of messages a second above 0, got {text}")
    return value
