"""`aerowire publish`: send the lines of a file, or of standard input, as messages."""

from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, MaxPositionExceededError, NotConnectedError
from aerowire.tools.streams.delivery import SLEEP_MAX_S, SLEEP_MIN_S, await_subscriber, drain
from aerowire.tools.terminal.figures import printable_error
from aerowire.tools.terminal.lines import LineReader

if TYPE_CHECKING:
    from aerowire.client import Aeron, ExclusivePublication

EXAMPLES = """\
Examples:
  aerowire publish aeron:ipc 10 lines.txt
  printf 'one\\ntwo\\n' | aerowire publish 'aeron:udp?endpoint=127.0.0.1:40123' 10
  aerowire publish 'aeron:ipc?term-length=64k' 10 big.txt --wait 5
  tail -f log.txt | aerowire publish 'aeron:udp?endpoint=host:40123' 10 --linger 2

Each line is one message, without its line end; an empty line is an empty message. Ctrl-C and SIGTERM end it in order.

Exit codes: 0 all was sent and, as far as the driver knows, received, or a signal came while more input was waited for; 1 nobody subscribed
in time, the subscriber left before it had everything, or interrupted with something left to send; 2 usage, or something cannot be read.
"""


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `publish` subcommand."""
    from aerowire.tools.arguments import add_directory_arguments, seconds, stream_id

    parser = subparsers.add_parser(
        "publish",
        help="send each line of a file or of standard input as a message",
        description="Send each line of a file, or of standard input, as a message to a stream. Waits for a subscriber, tries again under "
        "back pressure, and drains before it exits.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("channel", metavar="CHANNEL", help="channel URI, such as aeron:ipc or aeron:udp?endpoint=127.0.0.1:40123")
    parser.add_argument("stream", metavar="STREAM", type=stream_id, help="stream id, a number of 32 bits")
    parser.add_argument("file", metavar="FILE", nargs="?", help="file of messages, one a line (default: standard input)")
    parser.add_argument("--wait", metavar="SECONDS", type=seconds, help="how long to wait for a subscriber (default: for ever)")
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=seconds,
        default=0.0,
        help="keep the publication open this long after the last message (default: 0)",
    )
    add_directory_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.connection import connect

    descriptor = _open(arguments.file)
    if descriptor is None:
        return 2
    try:
        with (
            connect("aerowire publish", properties=properties_of(arguments)) as aeron,
            aeron.add_exclusive_publication(arguments.channel, arguments.stream) as publication,
        ):
            return _publish(aeron, publication, descriptor, arguments)
    finally:
        if descriptor != 0:
            os.close(descriptor)


def _open(path: str | None) -> int | None:
    if path is None or path == "-":
        return 0
    try:
        descriptor = os.open(path, os.O_RDONLY)
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        problem = os.strerror(errno.EISDIR)
    except OSError as error:
        problem = error.strerror or str(error)
    print(f"aerowire publish: cannot read {printable_error(path)}: {problem}", file=sys.stderr)
    return None


def _publish(aeron: Aeron, publication: ExclusivePublication, descriptor: int, arguments: argparse.Namespace) -> int:
    began_ms = time.time_ns() // 1_000_000
    if not await_subscriber(publication, arguments.wait):
        from aerowire.tools.driver.driver_problems import with_recent_errors

        text = f"no subscriber for {arguments.channel} stream {arguments.stream} within {arguments.wait:g} s"
        print(f"aerowire publish: {printable_error(with_recent_errors(text, aeron.context.aeron_dir, began_ms))}", file=sys.stderr)
        return 1
    if code := _send_lines(publication, descriptor, arguments.wait):
        return code
    if not drain(aeron, publication):
        print("aerowire publish: the subscriber left before it had read everything", file=sys.stderr)
        return 1
    time.sleep(arguments.linger)
    return 0


def _send_lines(publication: ExclusivePublication, descriptor: int, wait_s: float | None) -> int:
    """Send every line; return 0, or the exit code of what kept some from being sent."""
    sent = 0
    # An offer of nothing raises once the driver is gone.
    lines = LineReader(descriptor, length_max=publication.max_message_length, look=lambda: publication.offer_many(()))
    try:
        for batch in lines:
            for count in _send(publication, batch, wait_s):
                sent += count
    except KeyboardInterrupt:
        if lines.is_idle:
            return 0  # what comes from a pipe may have no other end
        print(f"aerowire publish: interrupted after line {sent}", file=sys.stderr)
        return 1
    except NotConnectedError:
        print(f"aerowire publish: the subscriber left after line {sent}", file=sys.stderr)
        return 1
    except AerowireError as error:
        print(f"aerowire publish: line {sent + 1}: {printable_error(error)}", file=sys.stderr)
        return 2
    return 0


def _send(publication: ExclusivePublication, batch: list[bytes], wait_s: float | None) -> Iterator[int]:
    """Send all of `batch`, waiting under back pressure; yield how many were sent, each time that some were.

    Raises NotConnectedError when there has been no subscriber for `wait_s`.
    """
    from aerowire.client import MAX_POSITION_EXCEEDED, NOT_CONNECTED

    sent = 0
    sleep_s = SLEEP_MIN_S
    while sent < len(batch):
        result = publication.offer_many(batch[sent:])
        if result > 0:
            sent += result
            sleep_s = SLEEP_MIN_S
            yield result
        elif result == NOT_CONNECTED:
            if not await_subscriber(publication, 0.0 if wait_s is None else wait_s):
                raise NotConnectedError("the subscriber has left", where=publication)
        elif result == MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError("the stream is at its end", where=publication, hint="publish again: a new session starts at 0")
        else:
            time.sleep(sleep_s)
            sleep_s = min(sleep_s * 2, SLEEP_MAX_S)
