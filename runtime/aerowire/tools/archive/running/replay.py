"""`aerowire archive replay`: the messages of a recording to standard output or a file, or the recording to a channel."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from aerowire.tools.archive.archive_command import recording_id, tell
from aerowire.tools.archive.running.connection import add_running_command, connect
from aerowire.tools.arguments import count, count_or_none, stream_id
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive, OpenReplay, ReplayParams
    from aerowire.client import Action, Header

_STREAM_ID = 20_121  # of replays to this command: any will do, the session tells them apart
_FRAGMENT_LIMIT = 256
_SLEEP_MAX_S = 1e-3
_FORMS: Final[dict[str, Callable[[int, bytes], bytes]]] = {
    "lines": lambda _position, message: message + b"\n",
    "raw": lambda _position, message: message,
    "hex": lambda position, message: f"{position:>14,}  {message.hex(' ')}\n".encode(),
    "json": lambda position, message: json.dumps({"position": position, "payload": message.hex()}).encode() + b"\n",
}


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive replay`."""
    parser = add_running_command(
        subparsers,
        "replay",
        run,
        purpose="replay a recording of a running archive: its messages to a file, or the stream to a channel",
        description="Write the messages of a recording to standard output or a file, up to where it has come to, or with --follow for as "
        "long as it goes on. Or, with --to CHANNEL STREAM, have the archive publish it there, print the id of the replay, and end.",
        examples=(
            "aeron-archive 7 > messages.txt",
            "aeron-archive 7 --form hex --from 131072 --until 262144",
            "aeron-archive 7 --form raw --output all.bin",
            "aeron-archive 7 --follow --count 100",
            "aeron-archive 7 --to 'aeron:udp?endpoint=host:40123' 1001",
        ),
        finding="the replay ended before the recording, or interrupted",
    )
    parser.add_argument("recording_id", metavar="ID", type=recording_id, help="the recording")
    parser.add_argument("--from", dest="start", metavar="POSITION", type=count_or_none, help="begin there (default: where it begins)")
    parser.add_argument("--until", metavar="POSITION", type=count_or_none, help="end there (default: where it has come to)")
    parser.add_argument("--follow", action="store_true", help="go on with what is recorded from now on")
    parser.add_argument("--count", metavar="N", type=count, help="end after so many messages")
    parser.add_argument(
        "--form",
        choices=("lines", "raw", "hex"),
        default="lines",
        help="a message a line, bytes alone, or the position behind each message and its octets",
    )
    parser.add_argument("--output", metavar="FILE", help="write to this file, which must not be there yet")
    parser.add_argument("--via", metavar="CHANNEL", help="channel of the replay to this command (default: that of the answers)")
    parser.add_argument("--to", metavar=("CHANNEL", "STREAM"), nargs=2, help="replay to this channel and stream")
    parser.set_defaults(is_endless=lambda arguments: arguments.follow and arguments.count is None and arguments.to is None)


def run(arguments: argparse.Namespace) -> int:
    """Replay; returns 1 if the replay ended too early."""
    from aerowire.tools.exit_codes import DONE

    with connect(arguments) as archive:
        params, end = _params(archive, arguments)
        if arguments.to is not None:
            return _replay_elsewhere(archive, arguments, params)
        if end is not None and end == params.position:
            with _output(arguments.output):
                return DONE  # there is nothing, which an archive would refuse to replay
        channel = arguments.via or archive.context.control_response_channel
        replay = archive.open_replay(arguments.recording_id, channel, _STREAM_ID, params)
        try:
            with _output(arguments.output) as output:
                return _Reading(archive, replay, output, arguments, end).run()
        finally:
            if archive.is_connected:
                archive.stop_replay(replay.replay_session_id)
            replay.subscription.close()


def _params(archive: AeronArchive, arguments: argparse.Namespace) -> tuple[ReplayParams, int | None]:
    """Return what to ask for, and where it ends; None for a replay that follows the recording."""
    from aerowire.archive import REPLAY_ALL_AND_FOLLOW, ReplayParams
    from aerowire.base.errors import ConfigurationError

    start = archive.get_start_position(arguments.recording_id) if arguments.start is None else arguments.start
    if arguments.follow and arguments.until is None:
        return ReplayParams(position=start, length=REPLAY_ALL_AND_FOLLOW), None
    recorded = archive.get_max_recorded_position(arguments.recording_id)
    end = recorded if arguments.until is None else arguments.until
    if not arguments.follow:
        end = min(end, recorded)
    if end < start:
        raise ConfigurationError("a replay ends behind its beginning", where="--from, --until", expected=f"from {start} on", actual=end)
    return ReplayParams(position=start, length=end - start), end


def _replay_elsewhere(archive: AeronArchive, arguments: argparse.Namespace, params: ReplayParams) -> int:
    from aerowire.archive.client.replay_commands import session_id_of

    channel, stream = arguments.to
    replay_session_id = archive.start_replay(arguments.recording_id, channel, _stream_id(stream), params)
    session_id = session_id_of(replay_session_id)
    if arguments.json:
        show_json({"replay_session_id": replay_session_id, "session_id": session_id})
    else:
        show(f"replay {replay_session_id}, session {session_id}")
    return 0


def _stream_id(text: str) -> int:
    from aerowire.base.errors import ConfigurationError

    try:
        return stream_id(text)
    except argparse.ArgumentTypeError as error:
        raise ConfigurationError(str(error), where="--to") from None


class _Reading:
    """Reads a replay up to a position, a number of messages, or for as long as it goes on. Invariant: `_written` <= `--count`."""

    def __init__(self, archive: AeronArchive, replay: OpenReplay, output: BinaryIO, arguments: argparse.Namespace, end: int | None) -> None:
        from aerowire.client import ControlledFragmentAssembler

        self._archive = archive
        self._subscription = replay.subscription
        self._output = output
        self._form = _FORMS["json" if arguments.json else arguments.form]
        self._limit = arguments.count
        self._end = end
        self._written = 0
        self._has_image = False
        self._position = 0
        self._assembler = ControlledFragmentAssembler(self._on_message)

    def run(self) -> int:
        """Write the messages; return the exit code."""
        from aerowire.client import wait_for
        from aerowire.tools.exit_codes import DONE, FINDING

        wait_for(self._is_over, None, sleep_max_s=_SLEEP_MAX_S)
        self._output.flush()
        if self._end is not None and self._position < self._end and not self._is_enough:
            tell(f"the replay has ended at position {self._position}, before {self._end}")
            return FINDING
        return DONE

    @property
    def _is_enough(self) -> bool:
        return self._limit is not None and self._written >= self._limit

    def _is_over(self) -> bool:
        if not self._subscription.controlled_poll(self._assembler, _FRAGMENT_LIMIT):
            self._output.flush()
            self._archive.check_for_error_response()
        images = self._subscription.images
        if images:
            self._has_image = True
            self._position = images[0].position
        is_at_end = self._end is not None and self._position >= self._end
        return self._is_enough or is_at_end or (self._has_image and not images)

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        from aerowire.client import Action

        if self._is_enough:
            return Action.ABORT
        self._position = header.position
        self._output.write(self._form(header.position, bytes(buffer[offset : offset + length])))
        self._written += 1
        return Action.BREAK if self._is_enough else Action.CONTINUE


@contextmanager
def _output(path: str | None) -> Iterator[BinaryIO]:
    """Give standard output, or a new file."""
    if path is None:
        yield sys.stdout.buffer
        return
    with open(path, "xb") as file:  # noqa: PTH123
        yield file
