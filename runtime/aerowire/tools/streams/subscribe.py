"""`aerowire subscribe`: print the messages of a stream, one a line."""

from __future__ import annotations

import argparse
import sys
import time

EXAMPLES = """\
Examples:
  aerowire subscribe aeron:ipc 10
  aerowire subscribe 'aeron:udp?endpoint=127.0.0.1:40123' 10 --count 100 > lines.txt
  aerowire subscribe 'aeron:udp?endpoint=127.0.0.1:40123' 10 --wait 5 | head -3

Every message is written with a line end behind it, as soon as it is there. Ctrl-C and SIGTERM end it in order.

Exit codes: 0 ended by a signal, or after --count messages; 1 no publisher within --wait, or interrupted before --count messages;
2 usage, or the driver cannot be reached.
"""
FRAGMENT_LIMIT = 256
SLEEP_MIN_S = 20e-6
SLEEP_MAX_S = 1e-3


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `subscribe` subcommand."""
    from aerowire.tools.arguments import add_directory_arguments, count_or_none, seconds, stream_id

    parser = subparsers.add_parser(
        "subscribe",
        help="print the messages of a stream, one a line",
        description="Print the messages of a stream, each on a line, unbuffered.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("channel", metavar="CHANNEL", help="channel URI, such as aeron:ipc or aeron:udp?endpoint=127.0.0.1:40123")
    parser.add_argument("stream", metavar="STREAM", type=stream_id, help="stream id, a number of 32 bits")
    parser.add_argument("--count", metavar="N", type=count_or_none, help="end after N messages (default: never)")
    parser.add_argument("--wait", metavar="SECONDS", type=seconds, help="give up when no publisher is there in this time (default: never)")
    add_directory_arguments(parser)
    parser.set_defaults(run=run, is_endless=lambda arguments: arguments.count is None)


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.client import FragmentAssembler
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.connection import connect
    from aerowire.tools.driver.driver_problems import with_recent_errors
    from aerowire.tools.terminal.figures import printable_error

    lines: list[bytes] = []
    assembler = FragmentAssembler(lambda _buffer, _offset, _length, header: lines.append(header.payload()))
    began_ms = time.time_ns() // 1_000_000
    deadline = None if arguments.wait is None else time.monotonic() + arguments.wait
    remaining: int | None = arguments.count
    sleep_s = SLEEP_MIN_S
    with (
        connect("aerowire subscribe", properties=properties_of(arguments)) as aeron,
        aeron.add_subscription(
            arguments.channel,
            arguments.stream,
            # The rest of a message does not come any more.
            unavailable_image_handler=lambda image: assembler.free_session_buffer(image.session_id),
        ) as subscription,
    ):
        while remaining is None or remaining > 0:
            # A message is at least one fragment, so that no more messages are read than are wanted.
            if subscription.poll(assembler, FRAGMENT_LIMIT if remaining is None else min(remaining, FRAGMENT_LIMIT)):
                sleep_s = SLEEP_MIN_S
                deadline = None
                if lines:
                    remaining = None if remaining is None else remaining - len(lines)
                    if not _write(lines):
                        return 0
                    lines.clear()
                continue
            if deadline is not None and time.monotonic() > deadline and not subscription.is_connected:
                text = f"no publisher for {arguments.channel} stream {arguments.stream} within {arguments.wait:g} s"
                told = printable_error(with_recent_errors(text, aeron.context.aeron_dir, began_ms))
                print(f"aerowire subscribe: {told}", file=sys.stderr)
                return 1
            time.sleep(sleep_s)
            sleep_s = min(sleep_s * 2, SLEEP_MAX_S)
    return 0


def _write(lines: list[bytes]) -> bool:
    """Write the lines out at once; False when nobody reads them any more."""
    output = sys.stdout.buffer
    try:
        output.write(b"\n".join([*lines, b""]))
        output.flush()
    except BrokenPipeError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains once more at exit
        return False
    return True
