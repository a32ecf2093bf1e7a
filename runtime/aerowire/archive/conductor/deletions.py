"""Deletions of segment files that are going on: one for a recording at a time, one file in each cycle. Aeron: DeleteSegmentsSession."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import NULL_VALUE
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingSignal
from aerowire.recordings.segment_names import parse_segment_name, segment_name

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.control.control_session import ControlSession


class DeleteSegmentsSession:
    """The files of one recording that are deleted. It waits until the recording is not replayed, where it is to."""

    def __init__(
        self,
        core: ArchiveCore,
        recording_id: int,
        correlation_id: int,
        files: Iterable[str],
        session: ControlSession,
        *,
        is_replayed: Callable[[], bool],
        on_done: Callable[[], object],
    ) -> None:
        self._core = core
        self._recording_id = recording_id
        self._correlation_id = correlation_id
        self._files = deque(files)
        self._session = session
        self._is_replayed = is_replayed
        self._on_done = on_done
        names = [parse_segment_name(name) for name in self._files]
        self.max_position = max((name.position for name in names if name is not None), default=NULL_VALUE)

    @property
    def is_done(self) -> bool:
        """Whether all files are gone."""
        return not self._files

    def is_to_delete(self, name: str) -> bool:
        """Return whether a file is still to be deleted."""
        return name in self._files

    def do_work(self) -> int:
        """Delete one file."""
        if not self._files or self._is_replayed():
            return 0
        self._delete_next()
        return 1

    def abort(self, reason: str) -> None:
        """Go on: the catalog has given the files up."""

    def close(self) -> None:
        """Delete what is left when the archive closes, and tell the client that the files are gone."""
        while self._files:
            self._delete_next()
        self._on_done()
        send_delete_signal(self._session, self._correlation_id, self._recording_id)

    def _delete_next(self) -> None:
        name = self._files.popleft()
        try:
            self._core.ports.files.delete(self._core.directory / name)
        except FileError as error:
            text = f"unable to delete segment file: {self._core.directory / name}: {error.actual}"
            self._core.errors.record(text, key=("unable to delete segment file", error.errno))
            self._session.send_error(self._correlation_id, text)


class Deletions:
    """The deletions that are going on, by recording. The conductor's thread."""

    def __init__(self, core: ArchiveCore) -> None:
        self._core = core
        self._sessions: dict[int, DeleteSegmentsSession] = {}

    def check_none(self, recording_id: int) -> None:
        """Raise RequestRefusedError while files of a recording are being deleted."""
        if recording_id in self._sessions:
            raise RequestRefusedError(f"another delete operation in progress for recording id: {recording_id}")

    def reaches(self, recording_id: int, position: int) -> bool:
        """Return whether a segment at or behind a position of a recording is being deleted."""
        found = self._sessions.get(recording_id)
        return found is not None and found.max_position >= position

    def includes(self, recording_id: int, position: int) -> bool:
        """Return whether a segment of a recording is to be deleted, whether it is there or not."""
        found = self._sessions.get(recording_id)
        return found is not None and found.is_to_delete(segment_name(recording_id, position))

    def start(
        self,
        session: ControlSession,
        correlation_id: int,
        recording_id: int,
        files: list[str],
        *,
        is_replayed: Callable[[], bool] = lambda: False,
    ) -> int:
        """Begin to delete files of a recording once it is not replayed; return how many. The signal follows when they are gone."""
        if files:
            deletion = DeleteSegmentsSession(
                self._core,
                recording_id,
                correlation_id,
                files,
                session,
                is_replayed=is_replayed,
                on_done=lambda: self._sessions.pop(recording_id, None),
            )
            self._sessions[recording_id] = deletion
            self._core.sessions.add(deletion)
        return len(files)

    def answer(
        self,
        session: ControlSession,
        correlation_id: int,
        recording_id: int,
        files: list[str],
        *,
        is_replayed: Callable[[], bool] = lambda: False,
    ) -> None:
        """Begin to delete files, and respond with their number; where there are none, the signal follows at once."""
        count = self.start(session, correlation_id, recording_id, files, is_replayed=is_replayed)
        session.send_ok(correlation_id, count)
        if not count:
            send_delete_signal(session, correlation_id, recording_id)


def send_delete_signal(session: ControlSession, correlation_id: int, recording_id: int) -> None:
    """Tell the client that the files of its request are gone."""
    session.send_signal(correlation_id, recording_id, NULL_VALUE, NULL_VALUE, RecordingSignal.DELETE)
