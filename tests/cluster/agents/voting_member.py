"""A member whose elections a consensus machine decides, and whose terms its native agent has: who does what, as the package says.

Files are lists, and the archive is a subscription whose position is the counter. All members share a driver, a client and a clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.base.channel_builder import build_channel, initial_position
from aerowire.base.runner import AgentInvoker
from aerowire.client import Aeron
from aerowire.client.lending.image_lender import ImageLender
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.cluster.agents.agent_events import ClusterAgentEvents, LogEnd
from aerowire.cluster.agents.agent_proxies import LogAgentProxy
from aerowire.cluster.agents.events import ConsensusMessage, LogMessage, LogReturned, MessageSent, TermEnded, TermFaulted
from aerowire.cluster.agents.followed_log import FollowedLog
from aerowire.cluster.agents.follower_commit import FollowerCommit
from aerowire.cluster.agents.leader_commit import LeaderCommit
from aerowire.cluster.agents.log_agent import LogAgent
from aerowire.cluster.agents.member_positions import MemberPositions
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.cluster.agents.terms import FollowerTerm, LeaderTerm
from aerowire.cluster.consensus import effects, inputs, messages
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.codecs.tables.counters import CounterType
from aerowire.system.clock import ManualClock
from aerowire.system.random import SeededRandom

LOG_STREAM, CONSENSUS_STREAM, INGRESS_STREAM = 100, 200, 300
TERM_LENGTH = 65_536
IPC = "aeron:ipc?term-length=64k"
MEMBER_IDS = (0, 1, 2)
MILLISECOND_NS = 1_000_000
OPTIONS = ConsensusOptions(
    leader_heartbeat_timeout_ns=200 * MILLISECOND_NS,
    leader_heartbeat_interval_ns=20 * MILLISECOND_NS,
    startup_canvass_timeout_ns=500 * MILLISECOND_NS,
    election_timeout_ns=100 * MILLISECOND_NS,
    election_status_interval_ns=10 * MILLISECOND_NS,
)


def encode(message: messages.Message) -> bytes:
    """Encode a message of the machine: fields have the names that the schema gives them."""
    values = asdict(message)
    for name in ("vote", "is_startup"):
        if name in values:
            values[name] = cluster.BooleanType.TRUE if values[name] else cluster.BooleanType.FALSE
    encoded: bytes = getattr(cluster, type(message).__name__)(**values).encode()
    return encoded


def decode(encoded: bytes) -> messages.Message:
    """Decode a message for the machine."""
    value: Any = cluster.decode(encoded)
    kind: Any = getattr(messages, type(value).__name__)
    given = {field.name: getattr(value, field.name) for field in fields(kind)}
    for name in ("vote", "is_startup"):
        if name in given:
            given[name] = given[name] == cluster.BooleanType.TRUE
    message: messages.Message = kind(**given)
    return message


class VotingMember:
    """One of three members. Changed by `work` and by what it is told to do."""

    def __init__(self, aeron: Aeron, clock: ManualClock, member_id: int) -> None:
        self.aeron, self.clock, self.member_id = aeron, clock, member_id
        self.machine = ConsensusMachine(member_id, MEMBER_IDS, OPTIONS, SeededRandom(member_id + 1), inputs.RecoveryFacts())
        self.commit_counter = aeron.add_counter(CounterType.CLUSTER_COMMIT_POSITION, "commit-pos")
        self.recording_counter = aeron.add_counter(CounterType.ARCHIVE_RECORDING_POSITION, "rec-pos")
        self.events = ClusterAgentEvents()
        self.agent = LogAgent(self.events, clock, LentCounter(self.commit_counter), member_id=member_id, member_ids=MEMBER_IDS)
        self.proxy = LogAgentProxy(self.agent)
        self.invoker = AgentInvoker([self.agent], clock)
        self.archive, self.log_subscription = (aeron.add_subscription(IPC, LOG_STREAM) for _ in range(2))
        self.ingress = aeron.add_subscription(IPC, INGRESS_STREAM + member_id)
        consensus = aeron.add_subscription(IPC, CONSENSUS_STREAM + member_id)
        self.lenders = [
            ImageLender(self.ingress, lambda loan: self.proxy.add_ingress_image(MessageImage(loan))),
            ImageLender(consensus, lambda loan: self.proxy.add_consensus_image(MessageImage(loan))),
        ]
        self.log_session_id: int | None = None
        self.publication: Any = None
        self.followed: FollowedLog | None = None
        self.term: LeaderTerm | FollowerTerm | None = None
        self.results: deque[messages.Message | inputs.Result] = deque()
        self.stopping: effects.StopLog | None = None
        self.joining: effects.JoinLogAsFollower | None = None
        self.sent: dict[OutboundMessage, tuple[int, messages.Message]] = {}
        self.timers: list[int] = []
        self.reasons: list[str] = []
        self.is_alive = True
        self._performers: dict[type, Callable[[Any], None]] = {
            effects.StoreCandidateTerm: lambda effect: self.results.append(inputs.CandidateTermStored(effect.candidate_term_id)),
            effects.StoreTerm: lambda effect: self.results.append(inputs.TermStored(effect.leadership_term_id)),
            effects.StopLog: self._stop_log,
            effects.Send: self._send,
            effects.ElectionStarted: lambda effect: self.reasons.append(effect.reason),
            effects.AddLogPublication: self._add_log_publication,
            effects.JoinLogAsLeader: self._join_log_as_leader,
            effects.AppendTermEvent: self._append_term_event,
            effects.StartReplay: lambda effect: self.results.append(inputs.ReplayDone(effect.to_position)),
            effects.JoinLogAsFollower: self._await_image,
            effects.ElectionComplete: self._hand_over,
        }

    # What a world does with it

    def connect(self) -> None:
        """Begin to send to the other members."""
        for other_id in MEMBER_IDS:
            if other_id != self.member_id:
                publication = self.aeron.add_exclusive_publication(IPC, CONSENSUS_STREAM + other_id)
                self.proxy.set_publication(other_id, LentPublication(publication))

    def start(self) -> None:
        """Begin the first election."""
        self.invoker.start()
        self._carry_out(self.machine.start(self.clock.now_ns()))

    def work_natively(self) -> None:
        """Run a cycle of archive and agent, while Python stands still."""
        self._record()
        self.invoker.invoke()

    def work(self) -> None:
        """Run a cycle of archive, agent and machine."""
        for lender in self.lenders:
            lender.do_work()
        self._record()
        self.proxy.flush()
        self.invoker.invoke()
        for event in self.events.poll():
            self._on_event(event)
        self._join_log_as_follower()
        published = (
            self.agent.published_position if self.term is not None else -1 if self.publication is None else self.publication.position
        )
        self.results.append(inputs.LogRecorded(self.recording_counter.value, published))
        while self.results:
            self._carry_out(self.machine.handle(self.clock.now_ns(), self.results.popleft()))
        if self.machine.state is not ElectionState.CLOSED:
            self._carry_out(self.machine.tick(self.clock.now_ns()))

    def die(self) -> None:
        """Do nothing any more, and hold up no stream."""
        self.is_alive = False
        self.invoker.close()
        self.archive.close()
        self.log_subscription.close()

    @property
    def is_leader(self) -> bool:
        """Whether it leads a term that its agent has."""
        return self.is_alive and isinstance(self.term, LeaderTerm)

    # Events of the agent

    def _on_event(self, event: object) -> None:
        if isinstance(event, ConsensusMessage):
            self.results.append(decode(event.message))
        elif isinstance(event, TermFaulted):
            self.results.append(inputs.EffectFailed(event.fault.name))
        elif isinstance(event, MessageSent):
            member_id, message = self.sent.pop(event.message)
            if event.position < 0:
                self.results.append(inputs.SendFailed(member_id, message))
        elif isinstance(event, LogMessage):
            self.timers.append(event.position)
            if event.is_held:
                self.proxy.resume_log()
        elif isinstance(event, TermEnded):
            if self.publication is not None:
                self.publication.close()
                self.publication = None
            self.term = None
            self._finish_stop()
        elif isinstance(event, LogReturned):
            self.followed = None
            if self.stopping is None:
                self.results.append(inputs.LogImageClosed(event.end is LogEnd.OF_STREAM))
            self._finish_stop()

    # Effects of the machine

    def _carry_out(self, decided: tuple[effects.Effect, ...]) -> None:
        for effect in decided:
            performer = self._performers.get(type(effect))
            if performer is not None:
                performer(effect)

    def _send(self, effect: effects.Send) -> None:
        message = OutboundMessage(encode(effect.message))
        self.sent[message] = (effect.member_id, effect.message)
        self.proxy.send(effect.member_id, message)

    def _stop_log(self, effect: effects.StopLog) -> None:
        self.stopping, self.joining, self.log_session_id = effect, None, None
        self.proxy.open_ingress(is_open=False)
        self.proxy.end_term()
        self.proxy.remove_log()
        self._finish_stop()

    def _finish_stop(self) -> None:
        if self.stopping is not None and self.term is None and self.followed is None:
            committed = max(self.stopping.log_position, self.commit_counter.value)
            self.stopping = None
            self.results.append(inputs.LogStopped(self.recording_counter.value, committed))

    def _add_log_publication(self, effect: effects.AddLogPublication) -> None:
        begin: dict[str, Any] = initial_position(effect.position, 0, TERM_LENGTH)
        channel = build_channel("ipc", **begin)
        self.publication = self.aeron.add_exclusive_publication(channel, LOG_STREAM)
        self.results.append(inputs.LogPublicationAdded(self.publication.session_id))

    def _join_log_as_leader(self, effect: effects.JoinLogAsLeader) -> None:
        self.log_session_id = effect.log_session_id
        self.results.append(inputs.LogJoined(effect.position, 7, TERM_LENGTH))

    def _append_term_event(self, effect: effects.AppendTermEvent) -> None:
        event = cluster.NewLeadershipTermEvent(
            leadership_term_id=effect.leadership_term_id,
            log_position=0,
            timestamp=0,
            term_base_log_position=effect.term_base_log_position,
            leader_member_id=self.member_id,
            log_session_id=effect.log_session_id,
            time_unit=cluster.ClusterTimeUnit.MILLIS,
            app_version=0,
        )
        assert self.publication.offer(event.encode()) > 0
        self.results.append(inputs.TermEventAppended(self.publication.position))

    def _await_image(self, effect: effects.JoinLogAsFollower) -> None:
        self.joining = effect

    def _join_log_as_follower(self) -> None:
        joining = self.joining
        if joining is None or (image := self.log_subscription.image_by_session_id(joining.log_session_id)) is None:
            return
        assert image.join_position == joining.position
        self.joining, self.log_session_id = None, joining.log_session_id
        self.followed = FollowedLog(MessageImage(LentImage(image)), self._recorded())
        self.proxy.add_log(self.followed, joining.position)
        self.results.append(inputs.LogJoined(joining.position, 7, TERM_LENGTH))

    def _hand_over(self, effect: effects.ElectionComplete) -> None:
        now_ns = self.clock.now_ns()
        times = {
            "heartbeat_interval_ns": OPTIONS.leader_heartbeat_interval_ns,
            "heartbeat_timeout_ns": OPTIONS.leader_heartbeat_timeout_ns,
        }
        term_id = effect.leadership_term_id
        if self.machine.role is ClusterRole.LEADER:
            leading = LeaderCommit(
                self.member_id,
                MemberPositions(MEMBER_IDS),
                leadership_term_id=term_id,
                commit_position=self.commit_counter.value,
                **times,
            )
            self.term = LeaderTerm(LentPublication(self.publication), self._recorded(), leading)
            self.proxy.lead(self.term)
            self.proxy.open_ingress(is_open=True)
        else:
            following = FollowerCommit(
                leadership_term_id=term_id,
                leader_id=effect.leader_member_id,
                append_position=self.recording_counter.value,
                notified_commit_position=0,
                now_ns=now_ns,
                **times,
            )
            self.term = FollowerTerm(self._recorded(), following)
            self.proxy.follow(self.term)

    # The archive

    def _record(self) -> None:
        for image in self.archive.images:
            if image.session_id == self.log_session_id:
                image.poll(lambda *_: None, 100)
                self.recording_counter.value = max(self.recording_counter.value, image.position)
        if self.publication is not None:  # the leader's own module does not read its log
            for image in self.log_subscription.images:
                if image.session_id == self.publication.session_id:
                    image.poll(lambda *_: None, 100)

    def _recorded(self) -> PositionBound:
        return PositionBound(self.aeron.counters_reader, self.recording_counter.counter_id)
