"""`aerowire archive record` and `aerowire archive stop`: recordings of a running Archive begun and ended."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from aerowire.tools.archive.archive_command import recording_id, tell
from aerowire.tools.archive.running.connection import add_running_command, connect
from aerowire.tools.arguments import seconds, stream_id
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive, RecordingSignalEvent

_LOOK_S = 0.01


def record_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive record`."""
    parser = add_running_command(
        subparsers,
        "record",
        run_record,
        purpose="have a running archive record a stream",
        description="Have an archive record each publication of a channel and stream, those to come too. It goes on after this command has "
        "ended, until `archive stop`. With --wait the first recording is waited for, and its id is printed.",
        examples=(
            "aeron-archive aeron:ipc 1001",
            "aeron-archive 'aeron:udp?endpoint=224.20.30.39:40456' 1001 --remote --wait 10",
            "aeron-archive aeron:ipc 1001 --extend 7",
        ),
        finding="no publication within --wait, or interrupted: the archive goes on",
    )
    parser.add_argument("channel", metavar="CHANNEL", help="channel of the publications, as the archive's driver sees it")
    parser.add_argument("stream", metavar="STREAM", type=stream_id, help="their stream id")
    parser.add_argument(
        "--remote", action="store_true", help="receive the stream from the network; without it a local publication is spied on"
    )
    parser.add_argument("--extend", metavar="ID", type=recording_id, help="go on with this recording, which has stopped")
    parser.add_argument("--auto-stop", action="store_true", help="end with the first recording that ends")
    parser.add_argument("--wait", metavar="SECONDS", type=seconds, help="wait so long until the first recording has begun")


def stop_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive stop`."""
    parser = add_running_command(
        subparsers,
        "stop",
        run_stop,
        purpose="end a recording, a replay or a replication of a running archive",
        description="End a recording by its id, all that `archive record` has begun by channel and stream or by subscription, a replay, "
        "all replays of a recording, or a replication.",
        examples=("aeron-archive 7", "aeron-archive --channel aeron:ipc --stream 1001", "aeron-archive --replays-of 7"),
        finding="there was nothing to end, or interrupted",
    )
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("recording_id", metavar="ID", nargs="?", type=recording_id, help="the recording")
    chosen.add_argument(
        "--channel", metavar="CHANNEL", help="all recordings of a channel, with --stream, as `archive record` was given them"
    )
    chosen.add_argument("--subscription", metavar="ID", type=int, help="all recordings of the subscription that `archive record` printed")
    chosen.add_argument("--replay", metavar="ID", type=int, help="a replay, by the id that `archive replay --to` printed")
    chosen.add_argument("--replays-of", metavar="ID", type=recording_id, help="all replays of a recording")
    chosen.add_argument("--replication", metavar="ID", type=int, help="a replication")
    parser.add_argument("--stream", metavar="STREAM", type=stream_id, help="stream id of --channel")


def run_record(arguments: argparse.Namespace) -> int:
    """Begin to record; returns 1 if no recording begins in time."""
    from aerowire.archive import SourceLocation
    from aerowire.tools.exit_codes import DONE, FINDING

    source = SourceLocation.REMOTE if arguments.remote else SourceLocation.LOCAL
    signals: list[RecordingSignalEvent] = []
    with connect(arguments, recording_signal_consumer=signals.append) as archive:
        if arguments.extend is None:
            subscription_id = archive.start_recording(arguments.channel, arguments.stream, source, auto_stop=arguments.auto_stop)
        else:
            subscription_id = archive.extend_recording(
                arguments.extend, arguments.channel, arguments.stream, source, auto_stop=arguments.auto_stop
            )
        begun = None if arguments.wait is None else _await_recording(archive, subscription_id, signals, arguments.wait)
    if arguments.json:
        facts: dict[str, Any] = {} if begun is None else {"recording_id": begun.recording_id, "position": begun.position}
        show_json({"subscription_id": subscription_id} | facts)
    else:
        show(f"subscription {subscription_id}" + ("" if begun is None else f", recording {begun.recording_id} from {begun.position}"))
    if arguments.wait is not None and begun is None:
        tell(f"no publication of {arguments.channel} stream {arguments.stream} within {arguments.wait:g} s; the archive goes on waiting")
        return FINDING
    return DONE


def run_stop(arguments: argparse.Namespace) -> int:
    """End what is named; returns 1 if there was nothing."""
    from aerowire.tools.exit_codes import DONE, FINDING

    if (arguments.channel is None) != (arguments.stream is None):
        from aerowire.base.errors import ConfigurationError

        raise ConfigurationError("a channel is stopped with its stream", where="--channel, --stream", expected="both, or neither")
    with connect(arguments) as archive:
        is_stopped = _stop(archive, arguments)
    if arguments.json:
        show_json({"stopped": is_stopped})
    elif is_stopped:
        show("stopped")
    else:
        tell("there is nothing of that to end")
    return DONE if is_stopped else FINDING


def _stop(archive: AeronArchive, arguments: argparse.Namespace) -> bool:
    if arguments.recording_id is not None:
        return archive.try_stop_recording_by_identity(arguments.recording_id)
    if arguments.channel is not None:
        return archive.try_stop_recording(arguments.channel, arguments.stream)
    if arguments.subscription is not None:
        return archive.try_stop_recording(arguments.subscription)
    if arguments.replication is not None:
        return archive.try_stop_replication(arguments.replication)
    if arguments.replay is not None:
        archive.stop_replay(arguments.replay)
    else:
        archive.stop_all_replays(arguments.replays_of)
    return True  # an archive does not tell whether there was a replay


def _await_recording(
    archive: AeronArchive, subscription_id: int, signals: list[RecordingSignalEvent], limit_s: float
) -> RecordingSignalEvent | None:
    """Return the signal of the first recording of a subscription; None if there is none in time."""
    from aerowire.archive import RecordingSignal

    begins = (RecordingSignal.START, RecordingSignal.EXTEND)
    deadline = time.monotonic() + limit_s
    while True:
        archive.check_for_error_response()
        found = next((one for one in signals if one.subscription_id == subscription_id and one.signal in begins), None)
        if found is not None or time.monotonic() >= deadline:
            return found
        time.sleep(_LOOK_S)
