"""Directories of a member whose log holds a session with many messages, as both sides recover from it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from aerowire.archive import AeronArchive
from aerowire.client import ExclusivePublication
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.cluster.enums import CloseReason, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.driver import Context
from aerowire.nodes import ArchivingMediaDriver
from aerowire.system.file_system import FileSystem
from benchmarks.archive.archives import wait

FIRST_TERM, FIRST_SESSION = 0, 1
LOG_CHANNEL, LOG_STREAM_ID = "aeron:ipc?term-length=8m", 100
ANY_PORT = "aeron:udp?endpoint=127.0.0.1:0"
SEGMENT_LENGTH = "64m"
BATCH = 1024
# Written whole by a member that starts, or removed by it.
_MARK_FILES = ("*-mark*.dat", "*.lck", "*.lnk")


def write_member_log(directory: Path, *, messages: int, length: int) -> None:
    """Make the directories `archive` and `cluster` of a member, with a log of messages and behind them an empty one, in one session."""
    (directory / "cluster").mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as memory:
        driver = Context(aeron_dir=f"{memory}/driver", threading_mode="SHARED")
        options: dict[str, Any] = {
            "archive_dir": str(directory / "archive"),
            "segment_file_length": SEGMENT_LENGTH,
            "control_channel": ANY_PORT,
            "replication_channel": ANY_PORT,
        }
        with (
            ArchivingMediaDriver.launch(driver, **options) as node,
            AeronArchive.connect(
                aeron_dir=node.aeron_dir, control_request_channel="aeron:ipc", control_response_channel="aeron:ipc"
            ) as archive,
        ):
            log = archive.add_continued_publication(LOG_CHANNEL, LOG_STREAM_ID)
            timestamp = time.time_ns() // 1_000_000
            with log.publication as publication:
                _append_log(publication, timestamp, messages=messages, length=length)
                position = publication.position
                archive.await_recorded(log.recording_id, position)
            wait(lambda: archive.get_stop_position(log.recording_id) == position, "the recording's stop")
    terms = RecordingLog.open(directory / "cluster", FileSystem(), create=True)
    terms.append_term(log.recording_id, FIRST_TERM, 0, timestamp)
    terms.close()


def copy_member_log(source: Path, target: Path) -> None:
    """Make directories of a member with the same log; segments that nothing writes to any more are shared."""
    for name in ("archive", "cluster"):
        shutil.copytree(source / name, target / name, copy_function=_link_or_copy, ignore=shutil.ignore_patterns(*_MARK_FILES))
    segments = sorted((target / "archive").glob("*.rec"), key=lambda path: int(path.stem.partition("-")[2]))
    last = segments[-1]
    last.unlink()
    shutil.copy2(source / "archive" / last.name, last)


def _link_or_copy(source: str, target: str) -> None:
    if source.endswith(".rec"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _append_log(publication: ExclusivePublication, timestamp: int, *, messages: int, length: int) -> None:
    term = NewLeadershipTermEvent(
        leadership_term_id=FIRST_TERM,
        log_position=0,
        timestamp=timestamp,
        term_base_log_position=0,
        leader_member_id=0,
        log_session_id=publication.session_id,
        time_unit=ClusterTimeUnit.MILLIS,
        app_version=1,
    )
    session = SessionOpenEvent(
        leadership_term_id=FIRST_TERM,
        correlation_id=1,
        cluster_session_id=FIRST_SESSION,
        timestamp=timestamp,
        response_stream_id=102,
        response_channel=ANY_PORT,
        encoded_principal=b"",
    )
    header = SessionMessageHeader(leadership_term_id=FIRST_TERM, cluster_session_id=FIRST_SESSION, timestamp=timestamp).encode()
    closed = SessionCloseEvent(
        leadership_term_id=FIRST_TERM, cluster_session_id=FIRST_SESSION, timestamp=timestamp, close_reason=CloseReason.CLIENT_ACTION
    )
    publication.send_many([term.encode(), session.encode()])
    batch = [header + bytes(length)] * BATCH
    for begin in range(0, messages, BATCH):
        publication.send_many(batch[: messages - begin])
    publication.send_many([header, closed.encode()])
