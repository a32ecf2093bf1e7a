"""One replay that is going on: its publication, its native session, and the report of its end. Aeron: ReplaySession."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING

from aerowire.archive.agents.agent_events import FrameFault, ReplayEnd
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.segment_names import segment_name

if TYPE_CHECKING:
    from aerowire.archive.agents.events import ReplayEnded
    from aerowire.archive.agents.replay_session import ReplaySession
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.recordings.catalog_entry import RecordingEntry

# Ends of which the client is told by the replay's stream alone.
_GOOD_ENDS = {ReplayEnd.COMPLETE, ReplayEnd.ABORTED, ReplayEnd.PUBLICATION_CLOSED, ReplayEnd.DISCONNECTED}


class ReplayState(enum.Enum):
    """How far a replay has come."""

    INIT = "INIT"
    REPLAY = "REPLAY"
    INACTIVE = "INACTIVE"
    DONE = "DONE"


class ActiveReplay:
    """A replay that the replayer has. The conductor's thread. Invariant: the request has exactly one response, OK or an error."""

    def __init__(
        self,
        core: ArchiveCore,
        replay_session_id: int,
        entry: RecordingEntry,
        correlation_id: int,
        session: ControlSession,
        publication: ExclusivePublication,
        native: ReplaySession,
    ) -> None:
        self.replay_session_id = replay_session_id
        self.recording_id = entry.recording_id
        self.native = native
        self.state = ReplayState.INIT
        self.publication = publication
        self._core = core
        self._entry = entry
        self._correlation_id = correlation_id
        self._session = session
        self._is_aborted = False

    @property
    def segment_position(self) -> int:
        """Where the segment begins that is being replayed."""
        return self._entry.segment_of(max(self.publication.position, self._entry.start_position))

    def abort(self) -> None:
        """Let the replay end where it is; its event tells when it has."""
        if not self._is_aborted:
            self._is_aborted = True
            self._core.replayer.abort(self.native)

    def on_started(self) -> None:
        """The recording can be read where the replay begins."""
        self._session.send_ok(self._correlation_id, self.replay_session_id)
        self._go_to(ReplayState.REPLAY, "")

    def on_ended(self, ended: ReplayEnded) -> None:
        """The replayer has given the publication back. It lingers after all was sent, and is revoked after anything else."""
        is_started = self.state is ReplayState.REPLAY
        reason = self._reason(ended)
        self._go_to(ReplayState.INACTIVE, reason)
        # What an aborted replay finds in files that are about to be deleted is no failure.
        if not is_started or (ended.reason not in _GOOD_ENDS and not self._is_aborted):
            self._fail(
                reason, ArchiveErrorCode.INVALID_POSITION if ended.reason is ReplayEnd.INVALID_POSITION else ArchiveErrorCode.GENERIC
            )
        publication = self.publication
        publication.take_back()
        if not publication.is_closed:
            publication.revoke_on_close = ended.reason is not ReplayEnd.COMPLETE
            publication.close()
        self._go_to(ReplayState.DONE, "")

    def _fail(self, reason: str, code: ArchiveErrorCode) -> None:
        self._core.errors.record(reason, key=("replay failed", code))
        self._core.events.note(
            ArchiveEventCode.REPLAY_SESSION_ERROR,
            session_id=self.replay_session_id,
            recording_id=self.recording_id,
            error_message=reason,
        )
        self._session.send_error(self._correlation_id, reason, code)

    def _reason(self, ended: ReplayEnded) -> str:
        """Return what ended a replay: the file, the offset, and what was expected and found there."""
        if ended.reason in _GOOD_ENDS and self.state is ReplayState.REPLAY:
            return f"replay {ended.reason.name.lower().replace('_', ' ')} at position={ended.position}"
        if ended.reason is ReplayEnd.INVALID_POSITION:
            what = f"replayPosition={ended.position} does not point to a valid frame"
        elif ended.reason is ReplayEnd.NOT_CONNECTED:
            what = f"no connection established for replayChannel={self.publication.channel}, replayStreamId={self.publication.stream_id}"
        else:
            what = f"replay failed: {ended.reason.name.lower().replace('_', ' ')} at position={ended.position}"
        parts = [
            what,
            f"recordingId={self.recording_id}",
            f"replaySessionId={self.replay_session_id}",
            f"segmentFile={segment_name(self.recording_id, ended.segment_position)}",
        ]
        if ended.error:
            parts.append(os.strerror(ended.error))
        if ended.fault is not FrameFault.NONE:
            parts.append(f"{ended.fault.name.lower().replace('_', ' ')} of the frame at segmentOffset={ended.offset}")
        if ended.expected or ended.found:
            parts.append(f"expected={ended.expected}, found={ended.found}")
        return ", ".join(parts)

    def _go_to(self, state: ReplayState, reason: str) -> None:
        old, self.state = self.state, state
        self._core.events.state_change(
            ArchiveEventCode.REPLAY_SESSION_STATE_CHANGE,
            old,
            state,
            session_id=self.replay_session_id,
            recording_id=self.recording_id,
            position=self.publication.position,
            reason=reason,
        )
