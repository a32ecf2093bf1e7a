"""`aerowire pong`: sends back what arrives, the other end of a `ping` in another process. Aeron: Pong."""

from __future__ import annotations

import argparse

from aerowire.tools.arguments import IDLE_HELP, add_directory_arguments, idle_strategy_name, stream_id
from aerowire.tools.measure import measuring

EXAMPLES = """\
Examples:
  aerowire pong --dir /dev/shm/aeron-me
  aerowire pong --channel 'aeron:udp?endpoint=127.0.0.1:20121' --idle spin
  aerowire pong --channel 'aeron:udp?endpoint=localhost:20123' --reply-channel 'aeron:udp?endpoint=localhost:20124' --stream 1002

Measure with `aerowire ping --far`, or, with the arguments of the last line, with the official Ping. Answers go to the stream whose id is
one higher. It looks for messages without a pause (--idle): what sleeps answers late. Ctrl-C and SIGTERM end it.

Exit codes: 0 ended by a signal; 2 usage, or no driver.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the subcommand."""
    parser = subparsers.add_parser(
        "pong",
        help="send back what arrives, for ping",
        description="Send back each message of a stream on another one.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--channel", default=measuring.IPC_CHANNEL, help=f"channel of the messages (default: {measuring.IPC_CHANNEL})")
    parser.add_argument("--reply-channel", help="channel of the answers (default: the channel, or port 20122 for UDP)")
    parser.add_argument("--stream", metavar="ID", type=stream_id, default=1001, help="stream of the messages (default: 1001)")
    idle_help = f"what to do while nothing comes: {IDLE_HELP} (default: yield)"
    parser.add_argument("--idle", metavar="NAME", type=idle_strategy_name, default="yield", help=idle_help)
    add_directory_arguments(parser)
    parser.set_defaults(run=run, is_endless=lambda _arguments: True)


def run(arguments: argparse.Namespace) -> int:
    """Answer until a signal comes."""
    from aerowire.base.idle import idle_strategy
    from aerowire.client import ADMIN_ACTION, BACK_PRESSURED, FragmentAssembler, Header
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.connection import connect

    reply_channel = measuring.reply_channel_of(arguments.channel, arguments.reply_channel)
    idle = idle_strategy(arguments.idle)
    with (
        connect("aerowire pong", properties=properties_of(arguments)) as aeron,
        aeron.add_subscription(arguments.channel, arguments.stream) as questions,
        aeron.add_exclusive_publication(reply_channel, arguments.stream + 1) as answers,
    ):
        offer, poll = answers.offer, questions.poll

        def echo(buffer: memoryview, offset: int, length: int, _header: Header) -> None:
            # Whoever does not listen to the answer any more gets none.
            while offer(buffer, offset, length) in {BACK_PRESSURED, ADMIN_ACTION}:
                continue

        handler = FragmentAssembler(echo)
        while True:
            idle(poll(handler, 256))
