"""`aerowire archive replicate`: a recording of another Archive copied into a running one."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from aerowire.tools.archive.archive_command import recording_id
from aerowire.tools.archive.running.connection import add_running_command, connect, is_channel, mark_of_running
from aerowire.tools.arguments import count_or_none, stream_id
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive, RecordingSignalEvent
    from aerowire.client.handles.waiting import Pending

_CONTROL_STREAM_ID = 10
_SLEEP_MAX_S = 1e-3


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `archive replicate`."""
    parser = add_running_command(
        subparsers,
        "replicate",
        run,
        purpose="copy a recording of another archive into a running one",
        description="Have ARCHIVE copy a recording of the archive at SOURCE, and wait for the end. SOURCE is a control channel, as ARCHIVE "
        "sees it, or the directory of another archive of this machine that has one. With --live the copy merges with the live stream, and "
        "goes on when this command has ended.",
        examples=(
            "aeron-archive 'aeron:udp?endpoint=other:8010' 7",
            "aeron-archive 'aeron:udp?endpoint=other:8010' 7 --into 3",
            "backup/archive main/archive 7 --live 'aeron:udp?endpoint=localhost:40456'",
        ),
        done="copied, or merged with the live stream",
        finding="interrupted: the copy is stopped",
    )
    parser.add_argument("source", metavar="SOURCE", help="control channel, or directory, of the archive that has the recording")
    parser.add_argument("recording_id", metavar="ID", type=recording_id, help="the recording there")
    parser.add_argument("--source-stream", metavar="STREAM", type=stream_id, help="stream of SOURCE (default: 10)")
    parser.add_argument("--into", metavar="ID", type=recording_id, help="go on with this copy (default: a new one)")
    parser.add_argument("--until", metavar="POSITION", type=count_or_none, help="end there (default: where the recording has come to)")
    parser.add_argument("--live", metavar="CHANNEL", help="endpoint of the live stream, to merge with and to follow")
    parser.add_argument("--replication-channel", metavar="CHANNEL", help="channel of the replay from SOURCE (default: the archive's own)")


def run(arguments: argparse.Namespace) -> int:
    """Copy a recording; returns 0."""
    from aerowire.archive import NULL_POSITION, ReplicationParams

    channel, stream = _source(arguments)
    params = ReplicationParams(
        dst_recording_id=-1 if arguments.into is None else arguments.into,
        stop_position=NULL_POSITION if arguments.until is None else arguments.until,
        live_destination=arguments.live or "",
        replication_channel=arguments.replication_channel or "",
    )
    signals: list[RecordingSignalEvent] = []
    with connect(arguments, recording_signal_consumer=signals.append) as archive:
        copying = archive.async_copy_recording(arguments.recording_id, stream, channel, params)
        _await(archive, copying, signals)
        copy_id = copying.result()
        position = archive.get_max_recorded_position(copy_id)
    if arguments.json:
        show_json({"recording_id": copy_id, "position": position})
    else:
        show(f"recording {copy_id}, up to {position}")
    return 0


def _source(arguments: argparse.Namespace) -> tuple[str, int]:
    """Return the control channel of the source that another archive can use, and its stream."""
    from aerowire.base.errors import ConfigurationError

    if is_channel(arguments.source):
        return arguments.source, _CONTROL_STREAM_ID if arguments.source_stream is None else arguments.source_stream
    mark = mark_of_running(arguments.source)
    if not mark.control_channel:
        raise ConfigurationError(
            "the source takes requests within its driver alone",
            where=arguments.source,
            expected="an archive with a control channel",
            hint="start it with --control, or give a channel that the other archive reaches",
        )
    return mark.control_channel, mark.control_stream_id


def _await(archive: AeronArchive, copying: Pending[int], signals: list[RecordingSignalEvent]) -> None:
    """Wait until a copy is complete, and show on a terminal how far it has come."""
    from aerowire.client import wait_for

    try:
        if not sys.stderr.isatty():
            wait_for(copying.poll, None, sleep_max_s=_SLEEP_MAX_S)
            return
        _show(archive, copying, signals)
    except BaseException:
        copying.abandon()
        raise


def _show(archive: AeronArchive, copying: Pending[int], signals: list[RecordingSignalEvent]) -> None:
    from rich.progress import DownloadColumn, TextColumn, TransferSpeedColumn

    from aerowire.client import wait_for
    from aerowire.tools.terminal.progress import Bars

    asked: Pending[int] | None = None
    with Bars(TextColumn("copying"), DownloadColumn(), TransferSpeedColumn()) as bars:
        task = bars.add_task("copying", total=None)

        def is_done() -> bool:
            nonlocal asked
            if asked is not None and asked.poll():
                bars.update(task, completed=asked.result())
                asked = None
            if asked is None and signals:
                asked = archive.async_get_max_recorded_position(signals[-1].recording_id)
            return copying.poll()

        wait_for(is_done, None, sleep_max_s=_SLEEP_MAX_S)
