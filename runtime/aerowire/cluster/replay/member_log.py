"""The log and the snapshots of a member, read from the files of its consensus module and of its archive. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.recorded_frames import FramesBroken, RecordedFrame, recorded_end, recorded_frames
from aerowire.base.errors import ArchiveFileError, ClusterServiceError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.transport import DataFlags, FrameType

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.base.file_port import FilePort
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
    from aerowire.recordings.catalog_entry import RecordingEntry


class LogMessage(NamedTuple):
    """A message of a log, whole: the position behind it, its bytes with the message header, and the frames in which it is recorded.

    Padding is a message without bytes.
    """

    position: int
    data: bytes
    frames: tuple[RecordedFrame, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLog:
    """The log of a member, by its files. From `open_member_log`.

    `recording` has the messages up to `end_position`: the end of the last term, or of the recording when the files were read. The log is
    known to be committed up to `committed_position`. `snapshots` are the valid ones of one service, by ascending position.
    """

    files: FilePort
    archive_dir: Path
    recording: RecordingEntry
    end_position: int
    committed_position: int
    snapshots: tuple[RecordingLogEntry, ...]

    def first_start(self) -> RecordingLogEntry | None:
        """Return the snapshot from which most of the log can be replayed; None for its beginning. Raises ClusterServiceError."""
        start = self.recording.start_position
        if start == 0:
            return None
        found = next((one for one in self.snapshots if one.log_position >= start), None)
        if found is None:
            raise ClusterServiceError(
                "the beginning of the log is no longer recorded, and there is no snapshot behind it",
                where=f"recording {self.recording.recording_id} in {self.archive_dir}",
                expected="a recording from position 0 on, or a snapshot of the service",
                actual=f"a recording from position {start} on",
            )
        return found

    def last_start(self) -> RecordingLogEntry:
        """Return the latest snapshot. Raises ClusterServiceError where there is none."""
        if not self.snapshots:
            raise ClusterServiceError(
                "there is no snapshot of the service",
                where=self.archive_dir,
                expected="a valid one in recording.log",
                hint="use --from-start",
            )
        return self.snapshots[-1]

    def messages(self, start_position: int, end_position: int) -> Iterator[LogMessage]:
        """Yield the messages from a position on, at which one begins, to another. Raises ArchiveFileError."""
        for message in _messages(self.files, self.archive_dir, self.recording, start_position):
            if message.position > end_position:
                return
            yield message

    def snapshot_messages(self, recording_id: int) -> Iterator[LogMessage]:
        """Yield the messages of a recorded snapshot. Raises ArchiveFileError."""
        entry = _entry(self.files, self.archive_dir, recording_id)
        yield from _messages(self.files, self.archive_dir, entry, entry.start_position)

    def recording_of(self, recording_id: int) -> RecordingEntry:
        """Return the catalog's entry of a recording. Raises ArchiveFileError."""
        return _entry(self.files, self.archive_dir, recording_id)


def open_member_log(files: FilePort, cluster_dir: Path, archive_dir: Path, service_id: int) -> MemberLog:
    """Find the recording that is the log of a member, its end and its snapshots.

    Raises ClusterServiceError where there is no log yet, ClusterFileError, ArchiveFileError, MissingFileError, FileError.
    """
    log = RecordingLog.open(cluster_dir, files, writable=False)
    log.close()
    last = log.find_last_term()
    if last is None:
        raise ClusterServiceError("there is no log to replay", where=log.path, expected="an entry of a term", actual="none")
    ends = [one.log_position for one in log.entries if one.is_valid_term and one.log_position != NULL_VALUE]
    snapshots = [one for one in log.entries if one.is_valid_snapshot and one.service_id == service_id]
    recording = _entry(files, archive_dir, last.recording_id)
    return MemberLog(
        files=files,
        archive_dir=archive_dir,
        recording=recording,
        end_position=recorded_end(files, archive_dir, recording) if last.log_position == NULL_VALUE else last.log_position,
        committed_position=max([last.term_base_log_position, *ends, *(one.log_position for one in snapshots)]),
        snapshots=tuple(sorted(snapshots, key=lambda one: one.log_position)),
    )


def _entry(files: FilePort, directory: Path, recording_id: int) -> RecordingEntry:
    with OfflineCatalog(files, directory) as catalog:
        entry = catalog.entry(recording_id)
    if entry.damage is not None:
        raise ArchiveFileError(
            "the entry of a recording is damaged", where=f"{catalog.path}, offset {entry.catalog_offset}", actual=entry.damage
        )
    return entry


def _messages(files: FilePort, directory: Path, entry: RecordingEntry, start_position: int) -> Iterator[LogMessage]:
    frames: list[RecordedFrame] = []
    for frame in recorded_frames(files, directory, entry, start_position):
        if isinstance(frame, FramesBroken):
            raise ArchiveFileError(
                "a recording cannot be read on",
                where=f"recording {entry.recording_id} in {directory}, position {frame.position}",
                expected=f"frames up to position {entry.stop_position}",
                actual=frame.reason,
                hint="check it by: aerowire archive verify DIR --all --dry-run",
            )
        if frame.position < start_position:
            continue
        if frame.header.type == FrameType.PAD:
            yield LogMessage(frame.next_position, b"", (frame,))
            continue
        if frame.header.flags & DataFlags.BEGIN:
            frames = []
        frames.append(frame)
        if frame.header.flags & DataFlags.END:
            yield LogMessage(frame.next_position, b"".join(one.payload for one in frames), tuple(frames))
            frames = []
