"""Replays: which are asked for, which are going on, how they end. Aeron: ArchiveConductor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.archive.conductor import channels
from aerowire.archive.conductor.active_replay import ActiveReplay, ReplayState
from aerowire.archive.conductor.create_replay_publication import CreateReplayPublicationSession
from aerowire.archive.conductor.replay_plan import ReplayPlan, plan_replay
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import NULL_VALUE
from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.base.errors import AerowireError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.agents.events import ReplayEnded, ReplayStarted
    from aerowire.archive.agents.replay_session import ReplaySession
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.deletions import Deletions
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.replay_tokens import ReplayTokens
    from aerowire.archive.control.requests import Replay
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.codecs.flyweights import archive
    from aerowire.recordings.catalog_entry import RecordingEntry

_SESSION_ID_BITS = 32


class Replays:
    """The table of replays. The conductor's thread. Invariant: a replay counts from its request until its end is told."""

    def __init__(self, core: ArchiveCore, recordings: Recordings, deletions: Deletions, tokens: ReplayTokens) -> None:
        self._core = core
        self._recordings = recordings
        self._deletions = deletions
        self._tokens = tokens
        self._next_replay_id = 1
        self._unread = 0  # of those that the replayer has, how many it has neither begun nor given up
        self._creating: list[CreateReplayPublicationSession] = []
        self._active: dict[int, ActiveReplay] = {}
        self._by_native: dict[ReplaySession, ActiveReplay] = {}

    @property
    def creating_count(self) -> int:
        """Replays that are about to begin, and wait for an answer of the driver."""
        return len(self._creating)

    @property
    def is_starting(self) -> bool:
        """Whether a replay waits for its publication, or for its first look at the recording."""
        return bool(self._creating) or self._unread > 0

    @property
    def count(self) -> int:
        """Replays that are going on, or about to."""
        return len(self._creating) + len(self._active)

    @property
    def has_active(self) -> bool:
        """Whether the replayer still has replays."""
        return bool(self._active)

    def is_replayed(self, recording_id: int) -> bool:
        """Return whether a recording is being replayed, or about to be."""
        return self.is_creating(recording_id) or bool(self.of_recording(recording_id))

    def is_creating(self, recording_id: int) -> bool:
        """Return whether a replay of a recording is about to begin."""
        return any(creating.recording_id == recording_id for creating in self._creating)

    def of_recording(self, recording_id: int) -> list[ActiveReplay]:
        """Return the replays of a recording."""
        return [replay for replay in self._active.values() if replay.recording_id == recording_id]

    # ---- requests

    def start(self, session: ControlSession, request: Replay) -> None:
        """Begin a replay; the response follows when the recording can be read where it begins."""
        most = self._core.context.max_concurrent_replays
        if self.count >= most:
            raise RequestRefusedError(f"max concurrent replays reached {most}", ArchiveErrorCode.MAX_REPLAYS)
        entry = self._core.entry_of(request.recording_id)
        bound, limit_position = self._limit(request)
        plan = plan_replay(entry, request, limit_position, self._core.context.file_io_max_length)
        if self._deletions.reaches(entry.recording_id, entry.stop_position + 1) and plan.stop_position > entry.stop_position:
            raise RequestRefusedError(f"cannot start replay of recording {entry.recording_id} due to an outstanding delete operation")
        channel = self._channel(request, entry, plan)
        try:
            adding = RetriedRequest(lambda: self._core.aeron.async_add_exclusive_publication(channel, request.stream_id))
        except (AerowireError, UnicodeError) as error:
            raise RequestRefusedError(f"failed to process replayChannel - {error}") from None
        creating = CreateReplayPublicationSession(
            self._core,
            self._recordings,
            session,
            request,
            entry,
            plan,
            bound=bound,
            adding=adding,
            on_created=self._on_created,
            on_failed=self._creating.remove,
        )
        self._creating.append(creating)
        self._core.sessions.add(creating)

    def stop(self, session: ControlSession, request: archive.StopReplayRequest) -> None:
        """End a replay; one that there is not has ended already."""
        replay = self._active.get(request.replay_session_id)
        if replay is not None:
            replay.abort()
        session.send_ok(request.correlation_id)

    def stop_all(self, session: ControlSession, request: archive.StopAllReplaysRequest) -> None:
        """End the replays of a recording, or of all."""
        self.abort(None if request.recording_id == NULL_VALUE else request.recording_id, "stop all replays")
        session.send_ok(request.correlation_id)

    def generate_token(self, session: ControlSession, request: archive.ReplayTokenRequest) -> None:
        """Respond with a token by which a replay of a recording may be asked for over another connection."""
        session.send_ok(request.correlation_id, self._tokens.generate(session, request.recording_id, self._core.time.now_ns))

    def abort(self, recording_id: int | None, reason: str) -> None:
        """Let the replays of a recording end, or with None those of all; their events tell when they have."""
        for creating in list(self._creating):
            if recording_id in {None, creating.recording_id}:
                creating.abort(reason)
        for replay in self._active.values():
            if recording_id in {None, replay.recording_id}:
                replay.abort()

    # ---- events

    def on_started(self, started: ReplayStarted) -> None:
        """The replayer can read where a replay begins."""
        self._unread -= 1
        self._by_native[started.session].on_started()

    def on_ended(self, ended: ReplayEnded) -> None:
        """The replayer is done with a replay."""
        replay = self._by_native.pop(ended.session)
        self._unread -= replay.state is ReplayState.INIT
        del self._active[replay.replay_session_id]
        self._core.count(self._core.replay_sessions, -1)
        replay.on_ended(ended)

    # ---- beginning

    def _limit(self, request: Replay) -> tuple[PositionBound | None, int | None]:
        """Return what bounds a replay, and the position that it may go to now: the value of a counter, or how far its recording is."""
        counter_id = request.limit_counter_id
        if counter_id is not None:
            try:
                return PositionBound(self._core.aeron.counters_reader, counter_id), self._core.aeron.counters_reader.value(counter_id)
            except (AerowireError, LookupError, ValueError) as error:
                raise RequestRefusedError(f"unable to create replay limit counter id= {counter_id} because of: {error}") from None
        recording = self._recordings.active(request.recording_id)
        return None, None if recording is None else recording.position

    def _channel(self, request: Replay, entry: RecordingEntry, plan: ReplayPlan) -> str:
        try:
            return channels.replay_channel(
                request.channel,
                position=plan.position,
                initial_term_id=entry.initial_term_id,
                term_length=entry.term_buffer_length,
                mtu_length=entry.mtu_length,
                linger_ns=self._core.context.replay_linger_timeout_ns,
            )
        except AerowireError as error:
            raise RequestRefusedError(f"failed to process replayChannel - {error}") from None

    def _on_created(self, creating: CreateReplayPublicationSession, publication: ExclusivePublication, native: ReplaySession) -> None:
        self._creating.remove(creating)
        replay_session_id = (self._next_replay_id << _SESSION_ID_BITS) | (publication.session_id & ((1 << _SESSION_ID_BITS) - 1))
        self._next_replay_id += 1
        replay = ActiveReplay(
            self._core, replay_session_id, creating.entry, creating.request.correlation_id, creating.session, publication, native
        )
        self._active[replay_session_id] = replay
        self._by_native[native] = replay
        self._core.count(self._core.replay_sessions, 1)
        self._core.replayer.add(native)
        self._unread += 1
