"""Segments taken out of a recording, put back, deleted, and moved to another. Aeron: ArchiveConductor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.conductor.deletions import send_delete_signal
from aerowire.archive.conductor.segment_files import segment_names_between, segment_names_of, start_of_segment
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.files.segment_move import SegmentMove, move_segments, recover_move
from aerowire.recordings.segment_names import parse_segment_name, segment_name

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.deletions import Deletions
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.conductor.replays import Replays
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.codecs.flyweights import archive
    from aerowire.recordings.catalog_entry import RecordingEntry

_STREAM_PARAMETERS = (
    ("SegmentFileLength", "segment_file_length"),
    ("TermBufferLength", "term_buffer_length"),
    ("InitialTermId", "initial_term_id"),
    ("StreamId", "stream_id"),
    ("MtuLength", "mtu_length"),
)


class Segments:
    """Operations on the first segments of recordings. The conductor's thread."""

    def __init__(self, core: ArchiveCore, recordings: Recordings, replays: Replays, deletions: Deletions) -> None:
        self._core = core
        self._recordings = recordings
        self._replays = replays
        self._deletions = deletions

    def detach(self, session: ControlSession, request: archive.DetachSegmentsRequest) -> None:
        """Let a recording begin at a later segment; the files stay."""
        entry = self._core.entry_of(request.recording_id)
        self._check_detach(entry, request.new_start_position)
        self._core.catalog.set_start_position(entry.recording_id, request.new_start_position)
        session.send_ok(request.correlation_id)

    def purge(self, session: ControlSession, request: archive.PurgeSegmentsRequest) -> None:
        """Let a recording begin at a later segment, and delete the files before it."""
        entry = self._core.entry_of(request.recording_id)
        self._check_detach(entry, request.new_start_position)
        self._deletions.check_none(entry.recording_id)
        self._core.catalog.set_start_position(entry.recording_id, request.new_start_position)
        begin, end = entry.segment_of(entry.start_position), request.new_start_position
        files = segment_names_between(self._core.ports.files, self._core.directory, entry, begin, end)
        self._deletions.answer(session, request.correlation_id, entry.recording_id, files)

    def delete_detached(self, session: ControlSession, request: archive.DeleteDetachedSegmentsRequest) -> None:
        """Delete the files before the first segment of a recording."""
        entry = self._core.entry_of(request.recording_id)
        self._deletions.check_none(entry.recording_id)
        start = entry.segment_of(entry.start_position)
        names = segment_names_of(self._core.ports.files, self._core.directory, entry.recording_id)
        files = [name for name in names if (found := parse_segment_name(name)) is not None and found.position < start]
        self._deletions.answer(session, request.correlation_id, entry.recording_id, files)

    def attach(self, session: ControlSession, request: archive.AttachSegmentsRequest) -> None:
        """Let a recording begin with the files before its first segment again, as far as there are any; respond with their number."""
        entry = self._core.entry_of(request.recording_id)
        start, count = entry.start_position, 0
        base = entry.start_position - entry.segment_length
        while base >= 0 and (found := self._start_in(entry, base)) is not None:
            start, count = found, count + 1
            if found != base:
                break
            base -= entry.segment_length
        if count:
            self._core.catalog.set_start_position(entry.recording_id, start)
        session.send_ok(request.correlation_id, count)

    def migrate(self, session: ControlSession, request: archive.MigrateSegmentsRequest) -> None:
        """Move the segments of a recording to another that it continues, or that continues it; respond with their number."""
        recover_move(self._core.catalog)  # of a move that has failed
        src = self._core.entry_of(request.src_recording_id)
        dst = self._core.entry_of(request.dst_recording_id)
        _check_migration(src, dst)
        moved, empty = self._files_to_move(src, dst)
        self._deletions.check_none(src.recording_id)
        if moved:
            move = SegmentMove(src.recording_id, dst.recording_id, moved[0], src.segment_length, src.start_position, src.stop_position)
            move_segments(self._core.catalog, move)
        deleted = self._deletions.start(session, request.correlation_id, src.recording_id, empty)
        session.send_ok(request.correlation_id, len(moved))
        if moved and not deleted:
            send_delete_signal(session, request.correlation_id, src.recording_id)

    # ---- checks

    def _check_detach(self, entry: RecordingEntry, position: int) -> None:
        if position != entry.segment_of(position):
            raise RequestRefusedError(f"invalid segment start: newStartPosition={position}")
        lower_bound = entry.segment_of(entry.start_position) + entry.segment_length
        if position < lower_bound:
            raise RequestRefusedError(f"invalid detach: newStartPosition={position} lowerBound={lower_bound}")
        recording = self._recordings.active(entry.recording_id)
        end = max(entry.stop_position if recording is None else recording.position, entry.start_position)
        upper_bound = entry.segment_of(end)
        if position > upper_bound:
            raise RequestRefusedError(f"invalid detach: in use, newStartPosition={position} upperBound={upper_bound}")
        if self._replays.is_creating(entry.recording_id):
            raise RequestRefusedError(f"invalid detach: a replay of recording {entry.recording_id} is about to begin")
        replays = self._replays.of_recording(entry.recording_id)
        lowest = min(replays, key=lambda replay: replay.segment_position, default=None)
        if lowest is not None and position > lowest.segment_position:
            raise RequestRefusedError(
                f"invalid detach: replay in progress - state={lowest.state.value} newStartPosition={position} "
                f"upperBound={lowest.segment_position} sessionId={lowest.publication.session_id} "
                f"streamId={lowest.publication.stream_id} channel={lowest.publication.channel}"
            )

    def _start_in(self, entry: RecordingEntry, base: int) -> int | None:
        """Return where the recording begins in a segment file before it, or None where there is none that stays.

        Raises RequestRefusedError.
        """
        path = self._path(entry.recording_id, base)
        facts = self._core.ports.files.facts(path)
        if facts is None or self._deletions.includes(entry.recording_id, base):
            return None
        if facts.length != entry.segment_length:
            raise RequestRefusedError(f"fileLength={facts.length} not equal to segmentLength={entry.segment_length} of {path}")
        with self._core.ports.files.open(path) as file:
            return start_of_segment(file, entry, base)

    def _files_to_move(self, src: RecordingEntry, dst: RecordingEntry) -> tuple[range, list[str]]:
        """Return the positions of the segments to move, and the name of an empty file behind them, which is to be deleted."""
        files, moved, end = self._core.ports.files, src.needed_segments(), src.stop_position
        for position in moved:
            if not files.exists(self._path(src.recording_id, position)):
                raise RequestRefusedError(f"missing src segment file {self._path(src.recording_id, position)}")
            if files.exists(self._path(dst.recording_id, position)) or self._deletions.includes(dst.recording_id, position):
                raise RequestRefusedError(f"preexisting dst segment file {self._path(dst.recording_id, position)}")
        return moved, [segment_name(src.recording_id, end)] if src.segment_of(end) == end else []

    def _path(self, recording_id: int, position: int) -> str:
        return str(self._core.directory / segment_name(recording_id, position))


def _check_migration(src: RecordingEntry, dst: RecordingEntry) -> None:
    if src.is_active:
        raise RequestRefusedError(f"recording {src.recording_id} is still active")
    for name, attribute in _STREAM_PARAMETERS:
        of_src, of_dst = getattr(src, attribute), getattr(dst, attribute)
        if of_src != of_dst:
            raise RequestRefusedError(f"invalid migrate: src{name}={of_src} dst{name}={of_dst}")
    if src.stop_position == dst.start_position:
        seam = src.stop_position
    elif src.start_position == dst.stop_position:
        seam = src.start_position
    else:
        raise RequestRefusedError(
            "invalid migrate: src and dst are not contiguous"
            f" srcStartPosition={src.start_position} srcStopPosition={src.stop_position}"
            f" dstStartPosition={dst.start_position} dstStopPosition={dst.stop_position}"
        )
    for label, entry in (("src", src), ("dst", dst)):
        if entry.segment_of(seam) != seam:
            raise RequestRefusedError(
                f"invalid migrate: join position is not on segment boundary of {label} recording"
                f" seamPosition={seam} startPosition={entry.start_position} stopPosition={entry.stop_position}"
                f" termBufferLength={entry.term_buffer_length} segmentFileLength={entry.segment_file_length}"
            )
