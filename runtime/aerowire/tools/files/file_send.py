"""`aerowire file send`: send files to whoever receives them, `aerowire file receive` or Aeron's. Aeron: FileSender."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
import time
from collections.abc import Callable
from io import FileIO
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, MaxPositionExceededError, NotConnectedError
from aerowire.tools.exit_codes import DONE, FINDING, USAGE
from aerowire.tools.files.file_arguments import add_stream_arguments
from aerowire.tools.streams.delivery import SLEEP_MAX_S, SLEEP_MIN_S, await_subscriber, drain
from aerowire.tools.terminal.figures import printable_error

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client import Aeron, ExclusivePublication
    from aerowire.tools.files.transfer_display import TransferDisplay

EXAMPLES = """\
Examples:
  aerowire file send report.pdf
  aerowire file send *.csv --channel 'aeron:udp?endpoint=10.0.0.2:40123' --stream 7 --wait 30
  aerowire file send build/out.bin --name nightly.bin --dir /dev/shm/aeron-me
  aerowire file send big.iso --channel aeron:ipc --json

Waits for a receiver, 'aerowire file receive' or Aeron's FileReceiver, and sends one file after the other under its own name without its
folders. The messages are those of Aeron's FileSender. A receiver gives no answer: that it had no room for a file, or had one of that name,
is told where it runs. Aeron's FileReceiver takes files below 2 GiB, and replaces what has the name.

Exit codes: 0 all was sent and, as far as the driver knows, received; 1 nobody received in time, the receiver left before it had everything,
a file changed its length on the way, or interrupted; 2 usage, or a file cannot be read, or the driver cannot be reached.
"""
# A message of this length is one call, and leaves flow control its say. Shorter where terms are short.
_MESSAGE_LENGTH = 1 << 16
_READ_LENGTH = 1 << 20


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `file send` subcommand."""
    from aerowire.tools.arguments import seconds

    parser = subparsers.add_parser(
        "file send",
        help="send files to a receiver of files, ours or Aeron's",
        description="Send files over a stream to 'aerowire file receive', or to Aeron's FileReceiver.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="file to send")
    parser.add_argument("--name", help="what the file is to be called there, for a single FILE (default: its own name)")
    add_stream_arguments(parser, peer="receiver")
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=seconds,
        default=0.0,
        help="keep the publication open this long after the last file (default: 0)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.connection import connect
    from aerowire.tools.files.transfer_display import TransferDisplay

    if arguments.name is not None and len(arguments.files) > 1:
        return _complain(f"--name is for one file, and there are {len(arguments.files)}", USAGE)
    # BEFORE anything is sent: what cannot be read is told while nobody waits for it.
    for path in arguments.files:
        with _opened(path) as file:
            _length_of(file, path)
    with (
        connect("aerowire file send", properties=properties_of(arguments)) as aeron,
        aeron.add_exclusive_publication(arguments.channel, arguments.stream) as publication,
        TransferDisplay(is_quiet=arguments.json) as display,
    ):
        began_ms = time.time_ns() // 1_000_000
        if not await_subscriber(publication, arguments.wait):
            from aerowire.tools.driver.driver_problems import with_recent_errors

            text = f"no receiver for {arguments.channel} stream {arguments.stream} within {arguments.wait:g} s"
            return _complain(with_recent_errors(text, aeron.context.aeron_dir, began_ms), FINDING)
        for path in arguments.files:
            if code := _send(aeron, publication, path, arguments, display):
                return code
        time.sleep(arguments.linger)
    return DONE


class _FileChangedError(Exception):
    """A file has not the length that it had."""


def _opened(path: str) -> FileIO:
    """Open a file to be read, a pipe too without waiting for somebody who writes to it."""
    return FileIO(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _length_of(file: FileIO, path: str) -> int:
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise AerowireError(
            "only a regular file can be sent", where=path, expected="a file whose length is known", actual="another kind of file"
        )
    return found.st_size


def _send(aeron: Aeron, publication: ExclusivePublication, path: str, arguments: argparse.Namespace, display: TransferDisplay) -> int:
    """Send one file and tell of it; return 0, or the exit code of what kept it from being sent."""
    from aerowire.base.text import printable
    from aerowire.tools.driver.watching import print_text
    from aerowire.tools.files.transfer_display import speed_text

    name = os.path.basename(path) if arguments.name is None else arguments.name  # noqa: PTH119 - of a str
    with _opened(path) as file:
        length = _length_of(file, path)
        correlation_id = aeron.next_correlation_id()
        display.show(correlation_id, name, 0, length)
        try:
            _announce(publication, correlation_id, length, name)
            _send_chunks(publication, correlation_id, file, length, lambda done: display.show(correlation_id, name, done, length))
            is_received = drain(aeron, publication)
        except NotConnectedError:
            is_received = False
        except _FileChangedError as error:
            return _complain(f"{printable(path)}: {error}", FINDING)
    seconds = display.end(correlation_id)
    if not is_received:
        return _complain(f"{printable(path)}: the receiver left before it had everything", FINDING)
    told = {"file": path, "name": name, "length": length, "correlation_id": correlation_id, "seconds": round(seconds or 0.0, 6)}
    renamed = "" if name == path else f" as {printable(name)}"
    print_text(json.dumps(told) if arguments.json else f"sent {printable(path)}{renamed}: {speed_text(length, seconds)}")
    return DONE


def _announce(publication: ExclusivePublication, correlation_id: int, length: int, name: str) -> None:
    from aerowire.codecs.flyweights.files import FileCreateEncoder

    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise AerowireError(
            "the name of a file is no UTF-8", where=repr(name), expected="UTF-8", hint="--name says what it is to be called"
        ) from None
    _offer(publication, FileCreateEncoder.encode(correlation_id=correlation_id, file_length=length, file_name=encoded))


def _send_chunks(publication: ExclusivePublication, correlation_id: int, file: FileIO, length: int, show: Callable[[int], None]) -> None:
    """Send the bytes of a file. Raises _FileChangedError when it has not `length` of them."""
    from aerowire.codecs.flyweights.files import FileChunkEncoder

    header = bytearray(FileChunkEncoder.encode(correlation_id=correlation_id))
    chunk = FileChunkEncoder(header)
    chunk_length_max = _chunk_length(publication) - len(header)
    data = memoryview(bytearray(chunk_length_max * max(_READ_LENGTH // chunk_length_max, 1)))
    done = 0
    while done < length:
        got = file.readinto(data[: length - done])
        if not got:
            raise _FileChangedError(f"it has become shorter: {done:,} bytes, expected {length:,}")
        for begin in range(0, got, chunk_length_max):
            part = data[begin : min(begin + chunk_length_max, got)]
            chunk.chunk_offset, chunk.chunk_length = done + begin, len(part)
            _offer(publication, header, part)
        done += got
        show(done)
    if file.read(1):
        raise _FileChangedError(f"it has become longer than {length:,} bytes while it was sent")


def _chunk_length(publication: ExclusivePublication) -> int:
    """Return the length of a message that fills its frames."""
    frame = publication.max_payload_length
    return max(min(_MESSAGE_LENGTH, publication.max_message_length) // frame, 1) * frame


def _offer(publication: ExclusivePublication, *parts: Buffer) -> None:
    """Send a message, waiting under back pressure. Raises NotConnectedError when nobody receives any more."""
    from aerowire.client import MAX_POSITION_EXCEEDED, NOT_CONNECTED

    sleep_s = SLEEP_MIN_S
    while (result := publication.offer_parts(*parts)) < 0:
        if result == NOT_CONNECTED:
            raise NotConnectedError("the receiver has left", where=publication)
        if result == MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError("the stream is at its end", where=publication, hint="send again: a new session starts at 0")
        time.sleep(sleep_s)
        sleep_s = min(sleep_s * 2, SLEEP_MAX_S)


def _complain(text: str, code: int) -> int:
    print(f"aerowire file send: {printable_error(text)}", file=sys.stderr)
    return code
