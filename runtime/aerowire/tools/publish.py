"""`aerowire publish`: send the lines of a file, or of standard input, as messages."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError

if TYPE_CHECKING:
    from aerowire.client import Aeron, ExclusivePublication

EXAMPLES = """\
Examples:
  aerowire publish aeron:ipc 10 lines.txt
  printf 'one\\ntwo\\n' | aerowire publish 'aeron:udp?endpoint=127.0.0.1:40123' 10
  aerowire publish 'aeron:ipc?term-length=64k' 10 big.txt --wait 5
  tail -f log.txt | aerowire publish 'aeron:udp?endpoint=host:40123' 10 --linger 2

Each line is one message, without its line end; an empty line is an empty message. Exit code 0: all was sent and, as far as the driver
knows, received; 1: nobody subscribed in time, or the subscriber left before it had everything; 2: usage, or something could not be read.
"""
READ_LENGTH = 1 << 16
SLEEP_MIN_S = 20e-6
SLEEP_MAX_S = 1e-3


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `publish` subcommand."""
    from aerowire.tools.arguments import add_directory_arguments

    parser = subparsers.add_parser(
        "publish",
        help="send each line of a file or of standard input as a message",
        description="Send each line of a file, or of standard input, as a message to a stream. Waits for a subscriber, tries again under "
        "back pressure, and drains before it exits.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("channel", metavar="CHANNEL", help="channel URI, such as aeron:ipc or aeron:udp?endpoint=127.0.0.1:40123")
    parser.add_argument("stream", metavar="STREAM", type=int, help="stream id")
    parser.add_argument("file", metavar="FILE", nargs="?", help="file of messages, one a line (default: standard input)")
    parser.add_argument("--wait", metavar="SECONDS", type=float, help="how long to wait for a subscriber (default: for ever)")
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=float,
        default=0.0,
        help="keep the publication open this long after the last message (default: 0)",
    )
    add_directory_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools.arguments import properties_of

    descriptor = _open(arguments.file)
    if descriptor is None:
        return 2
    try:
        from aerowire.client import Aeron

        with (
            Aeron.connect(properties=properties_of(arguments)) as aeron,
            aeron.add_exclusive_publication(arguments.channel, arguments.stream) as publication,
        ):
            return _publish(aeron, publication, descriptor, arguments)
    finally:
        if descriptor != 0:
            os.close(descriptor)


def _open(path: str | None) -> int | None:
    try:
        return 0 if path is None or path == "-" else os.open(path, os.O_RDONLY)
    except OSError as error:
        print(f"aerowire publish: cannot read {path}: {error.strerror}", file=sys.stderr)
        return None


def _publish(aeron: Aeron, publication: ExclusivePublication, descriptor: int, arguments: argparse.Namespace) -> int:
    if not _await_subscriber(publication, arguments.wait):
        stream = f"{arguments.channel} stream {arguments.stream}"
        print(f"aerowire publish: no subscriber for {stream} within {arguments.wait:g} s", file=sys.stderr)
        return 1
    for number, batch in _line_batches(descriptor):
        try:
            complete = _send(publication, batch, arguments.wait)
        except AerowireError as error:
            print(f"aerowire publish: lines from {number}: {error}", file=sys.stderr)
            return 2
        if not complete:
            print(f"aerowire publish: the subscriber left after line {number}", file=sys.stderr)
            return 1
    if not _drain(aeron, publication):
        print("aerowire publish: the subscriber left before it had read everything", file=sys.stderr)
        return 1
    time.sleep(arguments.linger)
    return 0


def _await_subscriber(publication: ExclusivePublication, limit_s: float | None) -> bool:
    from aerowire.client import wait_for

    def is_connected() -> bool:
        publication.offer_many(())  # raises once the driver is gone
        return publication.is_connected

    return wait_for(is_connected, None if limit_s is None else int(limit_s * 1e9), sleep_max_s=SLEEP_MAX_S)


def _line_batches(descriptor: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield (number of the first line, lines) as soon as they can be read: a pipe's line is not kept waiting for the next."""
    rest = b""
    number = 1
    while data := os.read(descriptor, READ_LENGTH):
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            yield number, lines
            number += len(lines)
    if rest:
        yield number, [rest]


def _send(publication: ExclusivePublication, batch: list[bytes], wait_s: float | None) -> bool:
    """Send all of `batch`, waiting under back pressure; False when there has been no subscriber for `wait_s`."""
    from aerowire.client import MAX_POSITION_EXCEEDED, NOT_CONNECTED

    sent = 0
    sleep_s = SLEEP_MIN_S
    while sent < len(batch):
        result = publication.offer_many(batch[sent:])
        if result > 0:
            sent += result
            sleep_s = SLEEP_MIN_S
            continue
        if result == NOT_CONNECTED:
            if not _await_subscriber(publication, 0.0 if wait_s is None else wait_s):
                return False
            continue
        if result == MAX_POSITION_EXCEEDED:
            from aerowire.base.errors import MaxPositionExceededError

            raise MaxPositionExceededError("the stream is at its end", where=publication, hint="publish again: a new session starts at 0")
        time.sleep(sleep_s)
        sleep_s = min(sleep_s * 2, SLEEP_MAX_S)
    return True


def _drain(aeron: Aeron, publication: ExclusivePublication) -> bool:
    """Wait until every position that follows the stream has reached its end; False when the subscriber left before."""
    from aerowire.client import wait_for
    from aerowire.codecs.flyweights.cnc import StreamCounterKeyDecoder
    from aerowire.codecs.tables.counters import CounterType

    end = publication.position
    followers = {CounterType.SUB_POS, CounterType.SND_POS}
    is_behind = True

    def is_drained() -> bool:
        nonlocal is_behind
        publication.offer_many(())
        is_behind = False
        for counter in aeron.counters_reader.for_each():
            if counter.type_id in followers:
                key = StreamCounterKeyDecoder(counter.key)
                if key.session_id == publication.session_id and key.stream_id == publication.stream_id and counter.value < end:
                    is_behind = True
        return not is_behind or not publication.is_connected

    wait_for(is_drained, None, sleep_max_s=SLEEP_MAX_S)
    return not is_behind
