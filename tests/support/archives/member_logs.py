"""Writes the directories of a member whose log is made of literal messages: recording.log, and an archive with the log and snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.cluster.enums import CloseReason, ClusterAction, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent
from aerowire.system.file_system import FileSystem
from tests.support.archives.recordings import RecordingWriter, write_catalog

ACTION_LENGTH = 96  # of a snapshot's action in the log, with its frame


@dataclass
class MemberLogWriter:
    """A log of one term. `time` is the cluster's, which each message moves on by a millisecond."""

    directory: Path
    start: int = 0
    time: int = 1_000_000
    recordings: list[RecordingWriter] = field(default_factory=list)
    snapshots: list[tuple[int, int, int]] = field(default_factory=list)  # recording id, log position, time

    def __post_init__(self) -> None:
        self.archive_dir.mkdir(parents=True)
        self.cluster_dir.mkdir()
        self.recordings.append(RecordingWriter(self.archive_dir, start=self.start, stream_id=100))

    @property
    def archive_dir(self) -> Path:
        return self.directory / "archive"

    @property
    def cluster_dir(self) -> Path:
        return self.directory / "cluster"

    @property
    def log(self) -> RecordingWriter:
        return self.recordings[0]

    def tick(self) -> int:
        self.time += 1
        return self.time

    def term(self, app_version: int = 1) -> None:
        self.log.message(
            NewLeadershipTermEvent(
                leadership_term_id=0,
                log_position=self.log.position,
                timestamp=self.tick(),
                term_base_log_position=0,
                leader_member_id=0,
                log_session_id=7,
                time_unit=ClusterTimeUnit.MILLIS,
                app_version=app_version,
            ).encode()
        )

    def open_session(self, session_id: int) -> None:
        self.log.message(
            SessionOpenEvent(
                leadership_term_id=0,
                correlation_id=70 + session_id,
                cluster_session_id=session_id,
                timestamp=self.tick(),
                response_stream_id=102,
                response_channel="aeron:udp?endpoint=localhost:1",
                encoded_principal=b"",
            ).encode()
        )

    def close_session(self, session_id: int) -> None:
        self.log.message(
            SessionCloseEvent(
                leadership_term_id=0, cluster_session_id=session_id, timestamp=self.tick(), close_reason=CloseReason.CLIENT_ACTION
            ).encode()
        )

    def message(self, session_id: int, payload: bytes) -> None:
        header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=session_id, timestamp=self.tick())
        self.log.message(header.encode() + payload)

    def timer(self, correlation_id: int) -> None:
        self.log.message(TimerEvent(leadership_term_id=0, correlation_id=correlation_id, timestamp=self.tick()).encode())

    def snapshot(self, messages: list[bytes] | None = None) -> int:
        """Have a snapshot taken here, whose recording has these messages, without them none; return its log position."""
        position = self.log.position + ACTION_LENGTH
        self.log.message(
            ClusterActionRequest(
                leadership_term_id=0, log_position=position, timestamp=self.tick(), action=ClusterAction.SNAPSHOT, flags=0
            ).encode()
        )
        assert self.log.position == position
        if messages is not None:
            recording = RecordingWriter(self.archive_dir, len(self.recordings), stream_id=106)
            for message in messages:
                recording.message(message)
            recording.stop = recording.position
            self.recordings.append(recording)
            self.snapshots.append((recording.recording_id, position, self.time))
        return position

    def write(self) -> None:
        """Write catalog and recording.log. The log is left as an archive leaves it that has died: without an end."""
        write_catalog(self.archive_dir, self.recordings)
        log = RecordingLog.open(self.cluster_dir, FileSystem(), create=True)
        log.append_term(self.log.recording_id, 0, 0, 1_000_000)
        for recording_id, position, timestamp in self.snapshots:
            log.append_snapshot(recording_id, 0, 0, position, timestamp, 0)
            log.append_snapshot(recording_id, 0, 0, position, timestamp, -1)
        log.close()
