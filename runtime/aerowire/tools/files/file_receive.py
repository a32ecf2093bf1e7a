"""`aerowire file receive`: take the files that `aerowire file send`, or Aeron's, sends into a folder. Aeron: FileReceiver."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

from aerowire.process.interruption import deferred
from aerowire.tools.files.file_arguments import add_stream_arguments
from aerowire.tools.terminal.figures import printable_error

if TYPE_CHECKING:
    from aerowire.client import Subscription
    from aerowire.tools.files.file_intake import Ending, FileIntake
    from aerowire.tools.files.transfer_display import TransferDisplay

EXAMPLES = """\
Examples:
  aerowire file receive inbox
  aerowire file receive inbox --once --wait 30
  aerowire file receive inbox --channel 'aeron:udp?endpoint=10.0.0.2:40123' --stream 7 --existing number
  aerowire file receive inbox --dir /dev/shm/aeron-me --json | jq -r 'select(.outcome == "received") | .path'

Takes files from 'aerowire file send' and from Aeron's FileSender, any number and from several senders at once, until Ctrl-C or SIGTERM.
A file that is not whole is called NAME.partial, and goes when its sender goes. A name that leads out of the folder is refused.
Messages that are none of files are dropped, counted and told.

Exit codes: 0 ended by a signal, or by --once, and whatever came was received whole; 1 a file was refused or is not whole, no sender within
--wait, or interrupted before --once had its file; 2 usage, or no such folder, or the driver cannot be reached.
"""
# As in aerowire.tools.files.file_store, which is not loaded for a look at the help.
EXISTING = ("refuse", "replace", "number")
_FRAGMENT_LIMIT = 256
_SLEEP_MIN_S = 20e-6
_SLEEP_MAX_S = 1e-3


def command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `file receive` subcommand."""
    parser = subparsers.add_parser(
        "file receive",
        help="receive files into a folder, from our sender of files or Aeron's",
        description="Receive files over a stream into a folder, from 'aerowire file send', or from Aeron's FileSender.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", help="where the files go; it has to be there")
    parser.add_argument("--once", action="store_true", help="end after one file")
    parser.add_argument(
        "--existing",
        choices=EXISTING,
        default=EXISTING[0],
        help="where the name is taken: refuse the file, replace the one that has it, or number it NAME.1 (default: refuse)",
    )
    parser.add_argument("--keep-partial", action="store_true", help="leave what there is of a file whose sender has gone")
    add_stream_arguments(parser, peer="sender")
    parser.set_defaults(run=run, is_endless=lambda arguments: not arguments.once)


def run(arguments: argparse.Namespace) -> int:
    """Carry the subcommand out."""
    from aerowire.tools.arguments import properties_of
    from aerowire.tools.connection import connect
    from aerowire.tools.files.file_intake import FileIntake
    from aerowire.tools.files.file_store import Folder
    from aerowire.tools.files.transfer_display import TransferDisplay

    gone: deque[int] = deque()  # the client's thread tells of sessions, ours frees what they have left
    with (
        Folder(arguments.folder, arguments.existing) as folder,
        connect("aerowire file receive", properties=properties_of(arguments)) as aeron,
        aeron.add_subscription(
            arguments.channel, arguments.stream, unavailable_image_handler=lambda image: gone.append(image.session_id)
        ) as subscription,
        TransferDisplay(is_quiet=arguments.json) as display,
    ):
        receiver = _Receiver(FileIntake(folder, arguments.keep_partial), subscription, gone, display, arguments, aeron.context.aeron_dir)
        try:
            receiver.run()
        except KeyboardInterrupt:
            receiver.close("interrupted")
            if arguments.once:
                raise
        finally:
            receiver.close("the receiver ends")
        return receiver.exit_code  # with what was not whole when it was closed


class _Receiver:
    """One run of the command: polls, and tells what comes of it."""

    def __init__(
        self,
        intake: FileIntake,
        subscription: Subscription,
        gone: deque[int],
        display: TransferDisplay,
        arguments: argparse.Namespace,
        aeron_dir: str,
    ) -> None:
        """`gone` holds the session ids of images that have become unavailable; any thread may add to it."""
        from aerowire.client import FragmentAssembler

        self.exit_code = 0
        self._intake = intake
        self._subscription = subscription
        self._display = display
        self._arguments = arguments
        self._aeron_dir = aeron_dir
        self._assembler = FragmentAssembler(intake)
        self._gone = gone
        self._untold: deque[Ending] = deque()
        self._is_closed = False

    def run(self) -> None:
        """Receive until one file has ended, with --once, or nobody has come; else until a signal. Sets the exit code."""
        began_ms = time.time_ns() // 1_000_000
        deadline_s = None if self._arguments.wait is None else time.monotonic() + self._arguments.wait
        sleep_s = _SLEEP_MIN_S
        begun = 0
        while True:
            if self._subscription.poll(self._assembler, _FRAGMENT_LIMIT):
                sleep_s, deadline_s = _SLEEP_MIN_S, None
            else:
                time.sleep(sleep_s)
                sleep_s = min(sleep_s * 2, _SLEEP_MAX_S)
            if self._intake.begun != begun or self._display.is_due():
                begun = self._intake.begun
                self._look()
            if (self._intake.endings or self._intake.news) and self._tell() and self._arguments.once:
                return
            if deadline_s is not None and time.monotonic() > deadline_s and not self._subscription.is_connected:
                from aerowire.tools.driver.driver_problems import with_recent_errors

                text = f"no sender for {self._arguments.channel} stream {self._arguments.stream} within {self._arguments.wait:g} s"
                _complain(with_recent_errors(text, self._aeron_dir, began_ms))
                self.exit_code = 1
                return

    def close(self, reason: str) -> None:
        """End what is not whole, and tell of it."""
        if self._is_closed:
            return
        self._is_closed = True
        self._intake.close(reason)
        self._tell()
        if bad := self._intake.bad:
            kinds = ", ".join(f"{count:,} with {kind}" for kind, count in bad.items())
            _complain(f"{bad.total():,} messages were dropped: {kinds}")

    def _look(self) -> None:
        """Show how far files are, and end those whose sender has gone."""
        for key, file in self._intake.files.items():
            self._display.show(key, file.name, file.received, file.length)
        for session_id in self._intake.sessions():
            if self._subscription.image_by_session_id(session_id) is None:
                self._intake.on_session_end(session_id)
        while self._gone:
            session_id = self._gone.popleft()
            if self._subscription.image_by_session_id(session_id) is None:  # else it has come back
                self._assembler.free_session_buffer(session_id)

    def _tell(self) -> int:
        """Tell what has ended and what was dropped; return how many files have ended."""
        with deferred():  # a signal must not lose what has been taken
            for text in self._intake.take_news():
                _complain(text)
            self._untold.extend(self._intake.take_endings())
        told = 0
        while self._untold:
            self._tell_ending(self._untold.popleft())  # if a signal ends this, close() tells the others
            told += 1
        return told

    def _tell_ending(self, ending: Ending) -> None:
        from aerowire.base.text import printable
        from aerowire.tools.driver.watching import print_text
        from aerowire.tools.files.file_intake import RECEIVED
        from aerowire.tools.files.transfer_display import speed_text
        from aerowire.tools.terminal.figures import grouped

        seconds = self._display.end((ending.session_id, ending.correlation_id))
        if ending.outcome != RECEIVED:
            self.exit_code = 1
        if self._arguments.json:
            path = None if ending.path is None else str(ending.path)
            print_text(json.dumps({**ending._asdict(), "path": path, "seconds": None if seconds is None else round(seconds, 6)}))
        elif ending.outcome == RECEIVED:
            print_text(f"received {printable(str(ending.path))}: {speed_text(ending.length, seconds)}")
        else:
            amount = f" after {grouped(ending.received)} of {grouped(ending.length)} bytes" if ending.received else ""
            left = "" if ending.path is None else f"; what there is lies in {printable(str(ending.path))}"
            _complain(f"{ending.outcome} {printable(ending.name)}{amount}: {ending.reason}{left}")


def _complain(text: str) -> None:
    print(f"aerowire file receive: {printable_error(text)}", file=sys.stderr)
