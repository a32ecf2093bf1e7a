"""`aerowire publish`: send the lines of a file, or of standard input, as messages."""

from __future__ import annotations

import argparse
import errno
import os
import select
import stat
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, MaxPositionExceededError, NotConnectedError

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
# How often one that waits for input looks whether the driver is alive.
LOOK_S = 0.1
SLEEP_MIN_S = 20e-6
SLEEP_MAX_S = 1e-3


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `publish` subcommand."""
    from aerowire.tools.arguments import add_directory_arguments, seconds

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
    print(f"aerowire publish: cannot read {path}: {problem}", file=sys.stderr)
    return None


def _publish(aeron: Aeron, publication: ExclusivePublication, descriptor: int, arguments: argparse.Namespace) -> int:
    if not _await_subscriber(publication, arguments.wait):
        stream = f"{arguments.channel} stream {arguments.stream}"
        print(f"aerowire publish: no subscriber for {stream} within {arguments.wait:g} s", file=sys.stderr)
        return 1
    sent = 0
    try:
        for batch in _line_batches(descriptor, publication):
            for count in _send(publication, batch, arguments.wait):
                sent += count
    except NotConnectedError:
        print(f"aerowire publish: the subscriber left after line {sent}", file=sys.stderr)
        return 1
    except AerowireError as error:
        print(f"aerowire publish: line {sent + 1}: {error}", file=sys.stderr)
        return 2
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


def _line_batches(descriptor: int, publication: ExclusivePublication) -> Iterator[list[bytes]]:
    """Yield lines as soon as they can be read: a pipe's line is not kept waiting for the next.

    A line that is too long ends all: what has been read of it is the last. Raises, while it waits for a line, once the driver is gone.
    """
    length_max = publication.max_message_length
    begun: list[bytes] = []  # a line whose end has not been read; no longer than the longest message and READ_LENGTH
    begun_length = 0
    while data := _read(descriptor, publication):
        first, *others = data.split(b"\n")
        begun.append(first)
        begun_length += len(first)
        if others or begun_length > length_max:
            line, *lines = [b"".join(begun), *others]
            rest = lines.pop() if lines else b""
            complete = [line, *lines]
            # What is too long begins a batch, so that the count of sent lines says which it is.
            too_long = next((index for index, line in enumerate(complete) if len(line) > length_max), 0)
            if too_long:
                yield complete[:too_long]
            yield complete[too_long:]
            begun, begun_length = [rest], len(rest)
    if begun_length:
        yield [b"".join(begun)]


def _read(descriptor: int, publication: ExclusivePublication) -> bytes:
    while not select.select([descriptor], [], [], LOOK_S)[0]:
        publication.offer_many(())  # raises once the driver is gone
    return os.read(descriptor, READ_LENGTH)


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
            if not _await_subscriber(publication, 0.0 if wait_s is None else wait_s):
                raise NotConnectedError("the subscriber has left", where=publication)
        elif result == MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError("the stream is at its end", where=publication, hint="publish again: a new session starts at 0")
        else:
            time.sleep(sleep_s)
            sleep_s = min(sleep_s * 2, SLEEP_MAX_S)


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
