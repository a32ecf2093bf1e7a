"""`aerowire cluster describe-latest-cm-snapshot`: contents of the latest snapshot of a consensus module. Aeron: ClusterTool."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.units import INT64_MIN
from aerowire.tools.cluster.cluster_command import add_running_command, connect_to_archive, member_of, tell, tool_options
from aerowire.tools.cluster.membership import LOOK_S
from aerowire.tools.cluster.recording_log import open_recording_log
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.archive import AeronArchive
    from aerowire.client import Image
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry

_TIMEOUT_S = 10.0
_ROW_LENGTH = 16


def command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster describe-latest-cm-snapshot`."""
    add_running_command(
        subparsers,
        "describe-latest-cm-snapshot",
        run,
        purpose="show the latest snapshot of a running member's consensus module",
        description="Have the archive of a running member replay the latest valid snapshot of the consensus module, and show what is in "
        "it: sessions, timers, and messages of services that are not in the log.",
        done="shown",
        finding="there is no snapshot",
        timeout_s=_TIMEOUT_S,
    )


def run(arguments: argparse.Namespace) -> int:
    """Show the latest snapshot; returns 1 if there is none."""
    from aerowire.cluster.files.recording_log_entry import CONSENSUS_MODULE_SERVICE_ID

    with open_recording_log(Path(arguments.directory)) as log:
        entry = log.get_latest_snapshot(CONSENSUS_MODULE_SERVICE_ID)
    if entry is None:
        show("Snapshot not found")
        tell("the cluster takes one by: aerowire cluster snapshot DIR")
        return 1
    header = member_of(arguments).component.header
    records: list[dict[str, Any]] = []
    with connect_to_archive(header) as archive:
        length = _replay(archive, entry, arguments.timeout, records.append if arguments.json else _show_record)
    if arguments.json:
        show_json({"recording_id": entry.recording_id, "member_id": header.member_id, "length": length, "records": records})
    else:
        show(f"Consensus Module Snapshot End: memberId={header.member_id} recordingId={entry.recording_id} length={length}")
    return 0


def _replay(archive: AeronArchive, entry: RecordingLogEntry, timeout_s: float, on_record: Callable[[dict[str, Any]], object]) -> int:
    """Call `on_record` with each message of a snapshot, in their order; return how long it is."""
    from aerowire.base.errors import ClusterTimeoutError
    from aerowire.cluster.snapshots.markers import CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, SnapshotRecords
    from aerowire.cluster.snapshots.stream import read_messages

    where = f"recording {entry.recording_id}"
    deadline = time.monotonic() + timeout_s

    def check() -> None:
        archive.check_for_error_response()
        if time.monotonic() > deadline:
            raise ClusterTimeoutError("a snapshot was not replayed in time", where=where, expected=f"its end within {timeout_s} s")
        time.sleep(LOOK_S)

    records = SnapshotRecords(CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, where)
    messages: list[bytes] = []

    def on_message(message: bytes) -> bool:
        records.on_message(message)
        messages.append(message)
        return records.is_done

    options = tool_options()
    channel, stream_id = str(options["tool_replay_channel"]), int(str(options["tool_replay_stream_id"]))
    with archive.replay(entry.recording_id, channel, stream_id) as subscription:
        while subscription.has_no_images:
            check()
        image = subscription.image_at_index(0)
        for _ in read_messages(image, on_message, lambda: None):
            check()
        for message in messages:
            on_record(_record(message, image, is_last=message is messages[-1]))
        return image.position


def _record(message: bytes, image: Image, *, is_last: bool) -> dict[str, Any]:
    """Return a message for programs; `offset` is where the last one is in its term."""
    from dataclasses import asdict
    from enum import Enum

    from aerowire.codecs.flyweights.base import align
    from aerowire.codecs.flyweights.cluster.dispatch import decode
    from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder

    decoded: Any = decode(message)
    values: dict[str, Any] = {
        name: value.name if isinstance(value, Enum) else value
        for name, value in asdict(decoded).items()
        if not isinstance(value, bytes | bytearray | memoryview)
    }
    found: dict[str, Any] = {"type": type(decoded).__name__, **values, "bytes": message.hex()}
    if is_last:
        begin = image.position - align(DataHeaderDecoder.ENCODED_LENGTH + len(message), FRAME_ALIGNMENT)
        found["offset"] = begin % image.term_buffer_length + DataHeaderDecoder.ENCODED_LENGTH
    return found


def _show_record(record: dict[str, Any]) -> None:
    """Show a message as the official tool does."""
    text = _TEXTS.get(record["type"])
    if text is not None:
        from aerowire.base.text import printable

        for line in text(record).split("\n"):
            show(printable(line))


def _marker_text(record: dict[str, Any]) -> str:
    if record["mark"] == "END":
        data = bytes.fromhex(record["bytes"])
        return f"End Snapshot, offset={record['offset']}, length={len(data)}\n{_hex_dump(data)}"
    return f"Snapshot: appVersion={record['app_version'] or 0} timeUnit={_TIME_UNITS.get(record['time_unit'], record['time_unit'])}"


def _numbers_text(record: dict[str, Any]) -> str:
    return (
        f"Consensus Module State: nextSessionId={record['next_session_id']} {_pending(record)}\n{_hex_dump(bytes.fromhex(record['bytes']))}"
    )


def _session_text(record: dict[str, Any]) -> str:
    reason = "NULL_VAL" if record["close_reason"] == "NULL_VALUE" else record["close_reason"]
    return (
        f"Cluster Session: clusterSessionId={record['cluster_session_id']} correlationId={record['correlation_id']} "
        f"openedLogPosition={record['opened_log_position']} timeOfLastActivity={record['time_of_last_activity']} "
        f"closeReason={reason} responseStreamId={record['response_stream_id']} responseChannel={record['response_channel']}"
    )


def _timer_text(record: dict[str, Any]) -> str:
    return f"Timer: correlationId={record['correlation_id']} deadline={record['deadline']}"


def _tracker_text(record: dict[str, Any]) -> str:
    return f"Pending Message Tracker: {_pending(record)} serviceId={record['service_id']}"


def _message_text(record: dict[str, Any]) -> str:
    return f"Pending Message: length={len(record['bytes']) // 2} clusterSessionId={record['cluster_session_id']}"


def _pending(record: dict[str, Any]) -> str:
    following, logged = (
        INT64_MIN if record[name] is None else record[name] for name in ("next_service_session_id", "log_service_session_id")
    )
    capacity = record["pending_message_capacity"] or 0
    return f"nextServiceSessionId={following} logServiceSessionId={logged} pendingMessageCapacity={capacity}"


def _hex_dump(data: bytes) -> str:
    """Return rows of 16 bytes, with the characters that they are, and an empty line."""
    rows = []
    for begin in range(0, len(data), _ROW_LENGTH):
        row = data[begin : begin + _ROW_LENGTH]
        text = "".join(character if character.isprintable() else " " for character in row.decode("utf-8", "replace"))
        rows.append(f"{begin:06d}:  {row.hex(' '):<{3 * _ROW_LENGTH}}  |  {text}")
    return "\n".join([*rows, ""])


_TIME_UNITS = {"MILLIS": "MILLISECONDS", "MICROS": "MICROSECONDS", "NANOS": "NANOSECONDS"}
_TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "SnapshotMarker": _marker_text,
    "ConsensusModule": _numbers_text,
    "ClusterSession": _session_text,
    "Timer": _timer_text,
    "PendingMessageTracker": _tracker_text,
    "SessionMessageHeader": _message_text,
}
