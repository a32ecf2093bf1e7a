"""The archive's conductor: an agent that serves control sessions, commands recorder and replayer, and keeps the catalog.

What it does is in the operations that it is made of; here they meet. Aeron: ArchiveConductor.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from aerowire.archive.agents.events import RecordingEnded, ReplayStarted
from aerowire.archive.conductor.control_sessions import ControlSessions
from aerowire.archive.conductor.deletions import Deletions
from aerowire.archive.conductor.listings import Listings
from aerowire.archive.conductor.operations import Operations
from aerowire.archive.conductor.positions import Positions
from aerowire.archive.conductor.recordings import Recordings
from aerowire.archive.conductor.replays import Replays
from aerowire.archive.conductor.replications import Replications
from aerowire.archive.conductor.segments import Segments
from aerowire.archive.conductor.truncation import Truncation
from aerowire.archive.control.replay_tokens import ReplayTokens
from aerowire.base.agent import Agent
from aerowire.base.errors import AerowireError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerowire.agents.client_errors import ClientErrors
    from aerowire.archive.agents.conductor_sleeper import ConductorSleeper
    from aerowire.archive.agents.events import AgentEvent
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.duty_cycle import DutyCycleTracker
    from aerowire.archive.files.mark_file import ArchiveMarkFile
    from aerowire.client.context import Invoker
    from aerowire.client.subscriptions.subscription import Subscription

_EVENTS_PER_CYCLE = 64
# How often the mark file shows that the archive lives.
MARK_FILE_UPDATE_INTERVAL_MS = 1000
# When nothing happens, the conductor looks for what is due by time: pings, timeouts, clients whose response channel has gone.
_LOOK_INTERVAL_NS = 100_000_000
# While an answer is owed, which wakes the conductor, it looks for what is to be asked for again.
_ANSWER_INTERVAL_NS = 1_000_000
# While recordings are copied, it looks whether they have come to their end; more often it would take the processor from the copies.
_COPY_INTERVAL_NS = 5_000_000
# After a cycle that has left nothing undone, cycles without news do nothing for this time: less than the accuracy of any time limit.
_PAUSE_NS = 1_000_000


class ArchiveStage(enum.Enum):
    """What an archive is about."""

    RUNNING = enum.auto()
    CLOSING = enum.auto()  # its recordings and replays end
    CLOSED = enum.auto()


class ArchiveConductor(Agent):
    """Owns the tables of sessions, recordings and replays.

    Invariant: everything here is touched by one thread at a time: the conductor's own, or the caller's of an invoker.
    """

    role_name = "archive-conductor"

    def __init__(
        self,
        core: ArchiveCore,
        subscriptions: Sequence[Subscription],
        mark_file: ArchiveMarkFile,
        duty_cycle: DutyCycleTracker,
        *,
        invokers: Sequence[Invoker],
        client_errors: ClientErrors,
        sleeper: ConductorSleeper,
    ) -> None:
        """`subscriptions` are those of the control channels; `invokers` do the work of driver and client where they have no threads.

        `client_errors` holds the errors that the client reports, which are recorded here.
        """
        self.core = core
        self.stage = ArchiveStage.RUNNING
        self.client_error: BaseException | None = None  # the last one: the reason why an archive ended by itself
        self._mark_file = mark_file
        self._duty_cycle = duty_cycle
        self._invokers = invokers
        self._client_errors = client_errors
        self._sleeper = sleeper
        self._handled = 0  # messages of the driver, in the last cycle that looked for them
        self._mark_file_deadline_ms = 0
        self._pause_end_ns = 0
        self._subscriptions = subscriptions
        tokens = ReplayTokens(core.ports.secrets.u64, core.context.connect_timeout_ns)
        deletions = Deletions(core)
        self.recordings = Recordings(core, deletions)
        self.replays = Replays(core, self.recordings, deletions, tokens)
        self.replications = Replications(core, self.recordings, self._next_id)
        operations = Operations(
            recordings=self.recordings,
            replays=self.replays,
            listings=Listings(core, self.recordings),
            positions=Positions(core, self.recordings),
            truncation=Truncation(core, self.replays, deletions),
            segments=Segments(core, self.recordings, self.replays, deletions),
            replications=self.replications,
        )
        self.control_sessions = ControlSessions(core, subscriptions, operations, tokens, on_images=sleeper.watch)

    def do_work(self, now_ns: int, epoch_ms: int, /) -> int:
        """Do what there is to do, without blocking; return how much that was."""
        if now_ns < self._pause_end_ns and self.stage is ArchiveStage.RUNNING and not self._sleeper.has_news():
            return 0
        self._pause_end_ns = 0
        self.core.time.update(now_ns, epoch_ms)
        is_answered = self._sleeper.has_answers()
        if is_answered or self.core.agent_events.is_pending():  # FIRST what was answered: clients have waited longer for it
            work = self._go_on(is_answered=is_answered) + self._serve_requests()
        else:
            work = self._serve_requests() + self._go_on(is_answered=is_answered)
        self._duty_cycle.measure(now_ns, self._sleeper.take_slept_ns())
        self._show_activity(epoch_ms)
        if work:
            self._sleeper.start_over(awaits_answer=self._awaits_answer)
        if not self._has_more:
            self._pause_end_ns = now_ns + _PAUSE_NS
        return work

    def _serve_requests(self) -> int:
        """Serve the clients, or bring the archive to its end."""
        if self.stage is ArchiveStage.RUNNING:
            return 0 if self.core.aeron.is_closed else self.control_sessions.do_work()
        return self._proceed_closing() if self.stage is ArchiveStage.CLOSING else 0

    def _go_on(self, *, is_answered: bool) -> int:
        """Continue operations, as far as the driver and the agents have answered."""
        core = self.core
        work = self._serve_client(is_answered=is_answered)
        work += core.recorder.flush() + core.replayer.flush()
        work += self._handle_events()
        work += self.recordings.do_work()
        return work + core.sessions.do_work()

    def next_deadline_ns(self) -> int:
        """Return when there is work although none of what wakes the conductor happens: agent events, requests, the driver's answers."""
        core, now_ns = self.core, self.core.ports.clock.now_ns()
        if self._is_under_way or core.context.media_driver_invoker is not None or self._handled > 0:
            return now_ns
        interval_ns = _COPY_INTERVAL_NS if self.replications.copying_count > 0 else _LOOK_INTERVAL_NS
        if self._awaits_answer:
            interval_ns = _ANSWER_INTERVAL_NS
        return min(now_ns + interval_ns, max(now_ns, core.aeron.next_deadline_ns()))

    def has_news(self) -> bool:
        """Return whether something has happened that wakes the conductor. The conductor's thread."""
        return self._sleeper.has_news()

    @property
    def _awaits_answer(self) -> bool:
        """Whether the driver owes an answer, or the replayer its word that a replay has begun."""
        return self.recordings.awaits_driver or self.replays.is_starting or self.control_sessions.is_connecting

    @property
    def _is_busy(self) -> bool:
        """Whether a cycle may have work though nothing new has happened, or does the work of driver and client."""
        return bool(self._invokers) or self._is_under_way

    @property
    def _is_under_way(self) -> bool:
        """Whether something goes on that has to be looked at all the time."""
        core, operations = self.core, len(self.core.sessions)
        return (
            self.stage is not ArchiveStage.RUNNING
            or not (core.recorder.is_open and core.replayer.is_open)
            or (operations > 0 and operations > self.replays.creating_count + self.replications.copying_count)
            or (core.recording_events is not None and self.recordings.has_active)
            or self.control_sessions.has_unsent
        )

    @property
    def _has_more(self) -> bool:
        """Whether the next cycle has work although nothing new has happened."""
        return self._is_busy or self._handled > 0 or self.control_sessions.is_connecting or self.recordings.has_skipped

    def request_close(self) -> None:
        """Let recordings and replays end; the stage tells when all is closed. Any thread."""
        if self.stage is ArchiveStage.RUNNING:
            self.stage = ArchiveStage.CLOSING
            self._sleeper.wake()

    @property
    def is_closed(self) -> bool:
        """Whether recordings, replays and sessions have ended, and the driver has been told."""
        return self.stage is ArchiveStage.CLOSED

    def close(self) -> None:
        """Close what is left, at once: the agents do not run any more. Idempotent."""
        if self.stage is ArchiveStage.CLOSED:
            return
        self.stage = ArchiveStage.CLOSED
        self.core.sessions.close()
        self.control_sessions.close()
        for subscription in self._subscriptions:
            self._attempt(subscription.close)
        if self.core.recording_events is not None:
            self._attempt(self.core.recording_events.close)

    def _proceed_closing(self) -> int:
        self.replications.stop_all()
        self.recordings.stop_all("archive closed")
        self.replays.abort(None, "archive closed")
        if self.recordings.has_active or self.replays.has_active:
            return 0
        self.close()
        return 1

    def _serve_client(self, *, is_answered: bool) -> int:
        """Do the work of driver and client, where it is to be done here; an archive ends when its client has."""
        if self._client_errors:
            self._client_errors.take(self._on_client_error)
        if self.core.aeron.is_closed:
            if self.stage is ArchiveStage.RUNNING:
                self.core.errors.record("the archive's client was closed: the archive ends")
                self.stage = ArchiveStage.CLOSING
            return 0
        try:
            work = 0
            for invoker in self._invokers:
                work += invoker.invoke()
            if is_answered or self._handled:  # what was handled last may not have been all
                self._handled = self.core.aeron.service()
                work += self._handled
            return work
        except AerowireError as error:  # the client has just ended
            self.core.errors.record(error)
            return 1

    def _on_client_error(self, error: BaseException) -> None:
        self.client_error = error
        self.core.errors.record(error)

    def _handle_events(self) -> int:
        events: list[AgentEvent] = self.core.agent_events.poll(_EVENTS_PER_CYCLE)
        for event in events:
            try:
                self._on_event(event)
            except Exception as error:  # the other events are handled all the same
                self.core.errors.record(error)
        return len(events)

    def _on_event(self, event: AgentEvent) -> None:
        if isinstance(event, RecordingEnded):
            self.recordings.on_ended(event)
        elif isinstance(event, ReplayStarted):
            self.replays.on_started(event)
        else:
            self.replays.on_ended(event)

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do something whose failure must end neither the archive nor what comes after it."""
        try:
            action()
        except Exception as error:
            self.core.errors.record(error)

    def _next_id(self) -> int:
        return self.control_sessions.next_id()

    def _show_activity(self, now_ms: int) -> None:
        if now_ms >= self._mark_file_deadline_ms:
            self._mark_file_deadline_ms = now_ms + MARK_FILE_UPDATE_INTERVAL_MS
            self._mark_file.update_activity(now_ms)
