"""A member without files and streams: carries the effects of its machine out on lists, and survives with what was stored.

Everything but the disk is gone after a crash, and so is what was on its way to the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from aerowire.base.ports import RandomPort
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.effects import (
    AddCatchupDestination,
    AddLiveDestination,
    AddLogPublication,
    AppendTermEvent,
    Effect,
    JoinLogAsFollower,
    JoinLogAsLeader,
    NotifyCommit,
    RemoveCatchupDestination,
    Send,
    StartCatchup,
    StartLogReplication,
    StartReplay,
    StopCatchupReplay,
    StopLog,
    StoreCandidateTerm,
    StoreTerm,
    TruncateLog,
)
from aerowire.cluster.consensus.inputs import (
    CandidateTermStored,
    CatchupDestinationAdded,
    EffectFailed,
    LogConsumed,
    LogImageClosed,
    LogJoined,
    LogPublicationAdded,
    LogRecorded,
    LogReplicated,
    LogStopped,
    LogTruncated,
    RecoveryFacts,
    ReplayDone,
    Result,
    TermEventAppended,
    TermStored,
)
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import Message
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from tests.cluster.consensus.abstract_log import ENTRY_LENGTH, TERM_BUFFER_LENGTH, Disk, Entry, Publication, Stream, append
from tests.cluster.consensus.surroundings import Surroundings

IMAGE_TIMEOUT_NS = 1_000_000_000


class AbstractMember:
    """A member that runs or is down. Changed by the world that it is in."""

    def __init__(
        self, member_id: int, member_ids: tuple[int, ...], options: ConsensusOptions, random: RandomPort, world: Surroundings
    ) -> None:
        """Start down, with an empty disk."""
        self.member_id = member_id
        self.member_ids = member_ids
        self.options = options
        self.random = random
        self.world = world
        self.disk = Disk()
        self.life = 0
        self.is_up = False
        self.clock_offset_ns = 0
        # The machine's term before the input whose effects are carried out: one input may end what others have waited for.
        self.term_before = NULL_VALUE
        self._down()

    @property
    def now_ns(self) -> int:
        """The time by the member's own clock."""
        return self.world.now_ns + self.clock_offset_ns

    def _down(self) -> None:
        self.publication: Publication | None = None
        self.stream: Stream | None = None
        self.replication: StartLogReplication | None = None
        self.replication_heard_ns = 0
        self.replay: StartReplay | None = None
        self.commit_limit = 0
        self.applied_position = 0
        self._results: deque[Result] = deque()
        self._operations = 0
        self._is_handling = False
        self._told: tuple[int, int] = (-1, -1)

    def start(self) -> None:
        """Start, from what is on the disk."""
        self._down()
        self.life += 1
        self.is_up = True
        disk = self.disk
        disk.forget_orphan()
        self.applied_position = disk.snapshot_position
        facts = RecoveryFacts(disk.terms.entries, disk.candidate_term_id, disk.snapshot_position, disk.append_position, disk.recording_id)
        self.machine = ConsensusMachine(self.member_id, self.member_ids, self.options, self.random, facts)
        self.term_before = self.machine.leadership_term_id
        self._carry_out(self.machine.start(self.now_ns))
        self._give_results()

    def crash(self) -> None:
        """Lose everything but the disk."""
        self.is_up = False
        self.life += 1
        self._down()

    def close(self) -> None:
        """End gracefully: the stream of the log ends for its followers."""
        publication = self.publication
        if publication is not None:
            for member_id in self.member_ids:
                other = self.world.reach(self.member_id, member_id)
                if other is not None and other.stream is not None and other.stream.session_id == publication.session_id:
                    other.end_stream()
        self.crash()

    def end_stream(self) -> None:
        """Take the end of the stream: what the leader had published is recorded by then."""
        self._close_stream(is_end_of_stream=True)
        self._give_results()

    @property
    def is_leader(self) -> bool:
        """Whether this member leads a term without an election."""
        return self.is_up and self.machine.state is ElectionState.CLOSED and self.machine.role is ClusterRole.LEADER

    def offer(self, value: int) -> bool:
        """Append a value to the log, as a leader."""
        if not self.is_leader or self.publication is None:
            return False
        self._publish(value)
        return True

    # Inputs

    def tick(self) -> None:
        """Go on by a step of the streams, then by a tick of the machine."""
        self._step()
        self._give_results()
        self._carry_out(self.machine.tick(self.now_ns))
        self._give_results()

    def receive(self, message: Message) -> None:
        """Take a message."""
        self._carry_out(self.machine.handle(self.now_ns, message))
        self._give_results()

    def give(self, result: Result) -> None:
        """Give a result to the machine, behind those that wait."""
        self._results.append(result)

    def _give_results(self) -> None:
        if self._is_handling:
            return
        self._is_handling = True
        while self._results and self.is_up:
            self._carry_out(self.machine.handle(self.now_ns, self._results.popleft()))
        self._is_handling = False

    def _carry_out(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            self.world.effect(self, effect)
            if isinstance(effect, Send):
                self.world.send(self.member_id, effect.member_id, effect.message)
            elif isinstance(effect, NotifyCommit):
                self.commit_limit = max(self.commit_limit, effect.position)
            elif isinstance(effect, StopLog):
                self._stop(effect)
            elif type(effect) in _PERFORMERS:
                self._later(effect, _PERFORMERS[type(effect)])
        self.term_before = self.machine.leadership_term_id

    def _later(self, effect: Effect, perform: Callable[[AbstractMember, Effect], None]) -> None:
        """Carry an effect out when the world says so, unless the member has crashed or stopped its log by then."""
        life, operations = self.life, self._operations

        def complete() -> None:
            is_stored = isinstance(effect, StoreTerm | StoreCandidateTerm | TruncateLog)
            if self.is_up and self.life == life and (is_stored or self._operations == operations):
                perform(self, effect)
                self._give_results()

        self.world.after(self, effect, complete)

    # Effects

    def _stop(self, effect: StopLog) -> None:
        self._operations += 1
        self._results = deque(result for result in self._results if not isinstance(result, LogJoined | LogReplicated | ReplayDone))
        self.publication = self.stream = self.replication = self.replay = None
        self._apply_to(min(effect.log_position, self.disk.append_position))
        self.commit_limit = 0
        self._told = (-1, -1)
        self.disk.forget_orphan()
        self._later(effect, lambda member, _: member.give(LogStopped(member.disk.append_position)))

    def store_candidate_term(self, effect: Effect) -> None:
        """Write the node state."""
        assert isinstance(effect, StoreCandidateTerm)
        self.disk.candidate_term_id = effect.candidate_term_id
        self.give(CandidateTermStored(effect.candidate_term_id))

    def store_term(self, effect: Effect) -> None:
        """Write recording.log."""
        assert isinstance(effect, StoreTerm)
        assert self.disk.recording_id >= 0, "a term needs a recording"
        self.disk.terms.ensure_coherent(effect.leadership_term_id, effect.term_base_log_position, effect.log_position)
        self.give(TermStored(effect.leadership_term_id))

    def truncate(self, effect: Effect) -> None:
        """Truncate the recording, and recording.log."""
        assert isinstance(effect, TruncateLog)
        del self.disk.log[effect.position // ENTRY_LENGTH :]
        self.disk.terms.truncate(effect.leadership_term_id, effect.position)
        self.give(LogTruncated(effect.position))

    def add_publication(self, effect: Effect) -> None:
        """Open the leader's publication."""
        assert isinstance(effect, AddLogPublication)
        self.publication = Publication(self.world.next_session_id(), effect.position)
        self.give(LogPublicationAdded(self.publication.session_id))

    def join_as_leader(self, effect: Effect) -> None:
        """Record the leader's publication."""
        assert isinstance(effect, JoinLogAsLeader)
        if self.publication is not None and effect.position == self.disk.append_position == self.publication.initial_position:
            self.disk.begin_recording(self.member_id)
            self.publication.is_recorded = True
            self.give(LogJoined(effect.position, self.disk.recording_id, TERM_BUFFER_LENGTH))
        else:
            self.give(EffectFailed(f"log does not extend the recording at position {effect.position}"))

    def append_term_event(self, effect: Effect) -> None:
        """Append the event that begins the term."""
        assert isinstance(effect, AppendTermEvent)
        self._publish(-1 - effect.leadership_term_id)
        assert self.publication is not None
        self.give(TermEventAppended(self.publication.position))

    def start_replication(self, effect: Effect) -> None:
        """Begin to replicate."""
        assert isinstance(effect, StartLogReplication)
        self.replication = effect
        self.replication_heard_ns = self.world.now_ns

    def start_replay(self, effect: Effect) -> None:
        """Begin to replay."""
        assert isinstance(effect, StartReplay)
        self.replay = effect

    def add_catchup_destination(self, effect: Effect) -> None:
        """Subscribe at the catch-up endpoint."""
        assert isinstance(effect, AddCatchupDestination)
        self.stream = Stream(effect.log_session_id, is_catchup=True, heard_ns=self.world.now_ns)
        self.give(CatchupDestinationAdded(f"catchup-{self.member_id}"))

    def add_live_destination(self, effect: Effect) -> None:
        """Subscribe to the live log."""
        assert isinstance(effect, AddLiveDestination)
        if self.stream is None:
            self.stream = Stream(effect.log_session_id, heard_ns=self.world.now_ns)
        self.stream.is_live = True

    def remove_catchup_destination(self, _: Effect) -> None:
        """Leave the catch-up endpoint."""
        if self.stream is not None:
            self.stream.is_catchup = False

    def join_as_follower(self, effect: Effect) -> None:
        """Record the image of the log, once there is one."""
        assert isinstance(effect, JoinLogAsFollower)
        if self.stream is not None:
            self.stream.awaited_position = effect.position

    def start_catchup(self, effect: Effect) -> None:
        """Replay to a follower."""
        assert isinstance(effect, StartCatchup)
        if self.publication is not None:
            self.publication.catchups[effect.member_id] = effect.position

    def stop_catchup(self, effect: Effect) -> None:
        """End the replay to a follower."""
        assert isinstance(effect, StopCatchupReplay)
        if self.publication is not None:
            self.publication.catchups.pop(effect.member_id, None)

    # Streams

    def _step(self) -> None:
        if self.publication is not None and self.publication.is_recorded:
            self._record_publication(self.publication)
        if self.replication is not None:
            self._replicate(self.replication)
        if self.replay is not None:
            self._replay(self.replay)
        if self.stream is not None:
            self._receive_log(self.stream)
        is_recording = (self.publication is not None and self.publication.is_recorded) or (
            self.stream is not None and self.stream.is_joined
        )
        if is_recording:
            published = -1 if self.publication is None else self.publication.position
            if (self.disk.append_position, published) != self._told:
                self._told = (self.disk.append_position, published)
                self.give(LogRecorded(*self._told))
            before = self.applied_position
            self._apply_to(min(self.commit_limit, self.disk.append_position))
            if self.applied_position != before:
                self.give(LogConsumed(self.applied_position))

    def _publish(self, value: int) -> None:
        publication = self.publication
        assert publication is not None
        log = [self.disk.log[-1]] if self.disk.log and not publication.entries else publication.entries[-1:]
        append(log, self.machine.leadership_term_id, value)
        publication.entries.append(log[-1])

    def _record(self, entry: Entry) -> None:
        append(self.disk.log, entry.term_id, entry.value)  # behind what this disk has: the chain shows whether that is the same
        self.world.recorded(self)

    def _record_publication(self, publication: Publication) -> None:
        for _ in range(self.world.chunk()):
            index = (self.disk.append_position - publication.initial_position) // ENTRY_LENGTH
            if index >= len(publication.entries):
                break
            self._record(publication.entries[index])

    def _replicate(self, replication: StartLogReplication) -> None:
        source = self.world.reach(self.member_id, replication.leader_member_id)
        if source is None:
            if self.world.now_ns - self.replication_heard_ns >= IMAGE_TIMEOUT_NS:
                self.replication = None
                self.give(EffectFailed("replication source is silent"))
            return
        self.replication_heard_ns = self.world.now_ns
        self.disk.begin_recording(self.member_id)
        for _ in range(self.world.chunk()):
            index = len(self.disk.log)
            if self.disk.append_position < replication.stop_position and index < len(source.disk.log):
                self._record(source.disk.log[index])
        is_ended = self.disk.append_position >= replication.stop_position
        if is_ended:
            self.replication = None
        self.give(LogReplicated(self.disk.append_position, self.disk.recording_id, is_ended))

    def _replay(self, replay: StartReplay) -> None:
        assert self.applied_position == replay.from_position or self.applied_position > replay.from_position
        self._apply_to(min(replay.to_position, self.applied_position + self.world.chunk() * ENTRY_LENGTH))
        if self.applied_position >= replay.to_position:
            self.replay = None
            self.give(ReplayDone(replay.to_position))

    def _apply_to(self, position: int) -> None:
        while self.applied_position < position:
            self.world.applied(self, self.applied_position // ENTRY_LENGTH)
            self.applied_position += ENTRY_LENGTH

    def _source(self) -> AbstractMember | None:
        """Return the leader whose publication has the stream's session, if it can be reached."""
        for member_id in self.member_ids:
            other = self.world.reach(self.member_id, member_id)
            if (
                other is not None
                and self.stream is not None
                and other.publication is not None
                and other.publication.session_id == self.stream.session_id
            ):
                return other
        return None

    def _receive_log(self, stream: Stream) -> None:
        source = self._source()
        if source is None or source.publication is None:
            if stream.is_joined and self.world.now_ns - stream.heard_ns >= IMAGE_TIMEOUT_NS:
                self._close_stream(is_end_of_stream=False)
            return
        stream.heard_ns = self.world.now_ns
        publication = source.publication
        if stream.is_live and stream.live_position is None:
            stream.live_position = publication.position
        if not stream.is_joined:
            self._try_join(stream, publication)
        if stream.is_joined:
            for _ in range(self.world.chunk()):
                entry = self._next_entry(stream, source, publication)
                if entry is None:
                    break
                self._record(entry)

    def _try_join(self, stream: Stream, publication: Publication) -> None:
        position = stream.awaited_position
        if position is None:
            return
        begin = publication.catchups.get(self.member_id) if stream.is_catchup else stream.live_position
        if begin is None:
            return
        stream.awaited_position = None
        if begin != position or position != self.disk.append_position:
            self.give(EffectFailed(f"joinPosition={begin} expected logPosition={position}"))
            return
        self.disk.begin_recording(self.member_id)
        stream.is_joined = True
        self.give(LogJoined(position, self.disk.recording_id, TERM_BUFFER_LENGTH))

    def _next_entry(self, stream: Stream, source: AbstractMember, publication: Publication) -> Entry | None:
        position = self.disk.append_position
        # What is missing before the live log, but still in the leader's term buffers, is sent again.
        is_live = stream.live_position is not None and position >= stream.live_position - TERM_BUFFER_LENGTH // 2
        if is_live and position < publication.position and position >= publication.initial_position:
            return publication.entries[(position - publication.initial_position) // ENTRY_LENGTH]
        if stream.is_catchup and self.member_id in publication.catchups and position < source.disk.append_position:
            return source.disk.log[position // ENTRY_LENGTH]
        return None

    def _close_stream(self, *, is_end_of_stream: bool) -> None:
        stream, self.stream = self.stream, None
        if stream is not None and stream.is_joined:
            self.give(LogImageClosed(is_end_of_stream))


_PERFORMERS: dict[type, Callable[[AbstractMember, Effect], None]] = {
    StoreCandidateTerm: AbstractMember.store_candidate_term,
    StoreTerm: AbstractMember.store_term,
    TruncateLog: AbstractMember.truncate,
    AddLogPublication: AbstractMember.add_publication,
    JoinLogAsLeader: AbstractMember.join_as_leader,
    AppendTermEvent: AbstractMember.append_term_event,
    StartLogReplication: AbstractMember.start_replication,
    StartReplay: AbstractMember.start_replay,
    AddCatchupDestination: AbstractMember.add_catchup_destination,
    AddLiveDestination: AbstractMember.add_live_destination,
    RemoveCatchupDestination: AbstractMember.remove_catchup_destination,
    JoinLogAsFollower: AbstractMember.join_as_follower,
    StartCatchup: AbstractMember.start_catchup,
    StopCatchupReplay: AbstractMember.stop_catchup,
}
