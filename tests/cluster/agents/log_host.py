"""What a consensus module does with its native agent, for tests: it lends, commands, and hears the events.

Driver, client and agent run in the test's own thread, one cycle at a call; the agent's clock is the test's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.base.runner import AgentInvoker
from aerowire.client import Aeron, FragmentAssembler, Subscription
from aerowire.client.lending.image_lender import ImageLender
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.cluster.agents.agent_events import ClusterAgentEvents
from aerowire.cluster.agents.agent_proxies import LogAgentProxy
from aerowire.cluster.agents.events import ClusterAgentEvent
from aerowire.cluster.agents.followed_log import FollowedLog
from aerowire.cluster.agents.follower_commit import FollowerCommit
from aerowire.cluster.agents.leader_commit import LeaderCommit
from aerowire.cluster.agents.log_agent import LogAgent
from aerowire.cluster.agents.member_positions import MemberPositions
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.agents.session_table import OpenSession
from aerowire.cluster.agents.terms import FollowerTerm, LeaderTerm
from aerowire.codecs.flyweights.cluster import ClusterTimeUnit, SessionMessageHeader, SessionOpenEvent, decode
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from aerowire.system.clock import ManualClock
from tests.support.waiting import wait_until

IPC = "aeron:ipc?term-length=64k"
LOG_STREAM, INGRESS_STREAM, CONSENSUS_STREAM = 100, 101, 108
EPOCH_MS = 1_700_000_000_000
TERM = 5
INTERVAL_NS = 200
TIMEOUT_NS = 1_000
HEADER = 32
FOREVER = (1 << 63) - 1
OPEN = SessionOpenEvent(
    leadership_term_id=TERM,
    correlation_id=1,
    cluster_session_id=7,
    timestamp=0,
    response_stream_id=102,
    response_channel="aeron:ipc",
    encoded_principal=b"me",
)

E = TypeVar("E")


class Reader:
    """The whole messages of a subscription, as bytes."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.messages: list[bytes] = []
        self._assembler = FragmentAssembler(self._on_message)

    def poll(self) -> list[bytes]:
        """Read what is there; return what was read since the last call."""
        begin = len(self.messages)
        while self.subscription.poll(self._assembler, 1_000):
            pass
        return self.messages[begin:]

    def decoded(self) -> list[Any]:
        """Read what is there, as values."""
        return [decode(message) for message in self.poll()]

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.messages.append(bytes(buffer[offset : offset + length]))


class LogHost:
    """Member 0 of three, with members 1 and 2 and clients played by the test."""

    def __init__(
        self,
        driver: MediaDriver,
        aeron: Aeron,
        *,
        now_ns: int = 10_000,
        time_unit: ClusterTimeUnit = ClusterTimeUnit.MILLIS,
        member_ids: tuple[int, ...] = (0, 1, 2),
        message_bytes_max: int = 1 << 20,
        log_fragment_limit: int = 50,
    ) -> None:
        self.driver, self.aeron, self.member_ids = driver, aeron, member_ids
        self.clock = ManualClock(now_ns=now_ns, epoch_ms=EPOCH_MS)
        self.events = ClusterAgentEvents(message_bytes_max)
        self.commit_counter = aeron.add_counter(CounterType.CLUSTER_COMMIT_POSITION, "commit-pos")
        self.recording_counter = aeron.add_counter(CounterType.ARCHIVE_RECORDING_POSITION, "rec-pos")
        self.agent = LogAgent(
            self.events,
            self.clock,
            LentCounter(self.commit_counter),
            member_id=0,
            member_ids=member_ids,
            time_unit=time_unit,
            log_fragment_limit=log_fragment_limit,
        )
        self.proxy = LogAgentProxy(self.agent)
        self.invoker = AgentInvoker([self.agent], self.clock)
        self.invoker.start()
        self.seen: list[ClusterAgentEvent] = []
        self.subscriptions: dict[int, Subscription] = {}
        self.lenders = [
            self._lend(INGRESS_STREAM, lambda loan: self.proxy.add_ingress_image(MessageImage(loan))),
            self._lend(CONSENSUS_STREAM, lambda loan: self.proxy.add_consensus_image(MessageImage(loan))),
        ]
        self.sent: dict[int, Reader] = {}
        self.loans: list[LentPublication] = []  # to members
        self.log_reader: Reader | None = None

    # Cycles

    def work(self) -> int:
        """Run a cycle of driver, client and agent, and take the events."""
        self.driver.invoker.invoke()
        client = self.aeron.conductor_agent_invoker
        assert client is not None
        client.invoke()
        done = sum(lender.do_work() for lender in self.lenders)
        self.proxy.flush()
        done += self.invoker.invoke()
        self.seen.extend(self.events.poll())
        return done

    def settle(self) -> None:
        """Work until the agent has nothing to do at this time."""
        idle = 0
        while idle < 3:
            idle = 0 if self.work() else idle + 1

    def at(self, now_ns: int) -> None:
        """Go on to a time, and settle."""
        self.clock.advance(now_ns - self.clock.now_ns())
        self.settle()

    def until(self, condition: Callable[[], object], what: object) -> None:
        """Work until something is so."""
        wait_until(condition, what, work=self.work)

    def took(self, kind: type[E]) -> list[E]:
        """Settle, and return the events of a kind since the last call."""
        self.settle()
        found: list[E] = [event for event in self.seen if isinstance(event, kind)]
        self.seen = [event for event in self.seen if not isinstance(event, kind)]
        return found

    # Streams

    def publication(self, stream_id: int, channel: str = IPC) -> Any:
        """Add a publication that the agent reads, and wait until it does."""
        publication = self.aeron.add_exclusive_publication(channel, stream_id)
        self.until(lambda: publication.is_connected, "a subscriber")
        self.settle()
        return publication

    def offer(self, publication: Any, message: bytes) -> int:
        """Publish a message, as soon as there is room."""
        self.until(lambda: (result := publication.offer(message)) > 0 or result < -3, "room for a message")
        return int(publication.position)

    def connect_members(self) -> None:
        """Lend publications to the other members."""
        for member_id in self.member_ids[1:]:
            reader = self.sent[member_id] = Reader(self.aeron.add_subscription(IPC, 1_000 + member_id))
            publication = self.aeron.add_exclusive_publication(IPC, 1_000 + member_id)
            self.until(lambda reader=reader: reader.subscription.images, "an image at a member")  # type: ignore[misc]
            self.loans.append(LentPublication(publication))
            self.proxy.set_publication(member_id, self.loans[-1])
        self.settle()

    # Terms

    def lead(self, *, commit_position: int = 0, channel: str = IPC, reads: bool = True) -> LeaderTerm:
        """Lead a term, with a log that is read as an archive would."""
        subscription = self.aeron.add_subscription(channel, LOG_STREAM)
        self.log = self.aeron.add_exclusive_publication(channel, LOG_STREAM)
        self.until(lambda: self.log.is_connected, "an archive")
        self.log_reader = Reader(subscription) if reads else None
        commit = LeaderCommit(
            0,
            MemberPositions(self.member_ids),
            leadership_term_id=TERM,
            commit_position=commit_position,
            heartbeat_interval_ns=INTERVAL_NS,
            heartbeat_timeout_ns=TIMEOUT_NS,
        )
        term = LeaderTerm(LentPublication(self.log), self.recorded(), commit)
        self.proxy.lead(term)
        self.proxy.open_ingress(is_open=True)
        self.settle()
        return term

    def follow(self, *, leader_id: int = 1, append_position: int = 0) -> FollowerTerm:
        """Follow a term's leader."""
        self.recording_counter.value = append_position
        commit = FollowerCommit(
            leadership_term_id=TERM,
            leader_id=leader_id,
            append_position=append_position,
            notified_commit_position=0,
            heartbeat_interval_ns=INTERVAL_NS,
            heartbeat_timeout_ns=TIMEOUT_NS,
            now_ns=self.clock.now_ns(),
        )
        term = FollowerTerm(self.recorded(), commit)
        self.proxy.follow(term)
        self.settle()
        return term

    def follow_log(self, limit: int = 0, *, is_bounded: bool = True) -> tuple[Any, FollowedLog]:
        """Publish a log as another leader would, and let the agent consume it."""
        subscription = self.aeron.add_subscription(IPC, LOG_STREAM)
        publication = self.aeron.add_exclusive_publication(IPC, LOG_STREAM)
        self.until(lambda: publication.is_connected and subscription.images, "the image of a log")
        log = FollowedLog(MessageImage(LentImage(subscription.images[0])), self.recorded() if is_bounded else None)
        self.proxy.add_log(log, limit)
        self.settle()
        return publication, log

    def recorded(self) -> PositionBound:
        """Return the counter of what is recorded."""
        return PositionBound(self.aeron.counters_reader, self.recording_counter.counter_id)

    def open_session(self, cluster_session_id: int) -> OpenSession:
        """Let a session append."""
        session = OpenSession(cluster_session_id, 0)
        self.proxy.add_session(session)
        self.settle()
        return session

    def logged(self) -> list[bytes]:
        """Settle, and return what was appended to the log since the last call."""
        self.settle()
        assert self.log_reader is not None
        return self.log_reader.poll()

    def close(self) -> None:
        """Stop the agent."""
        self.invoker.close()
        self.events.poll(1 << 20)

    def _lend(self, stream_id: int, on_lent: Callable[[LentImage], None]) -> ImageLender:
        self.subscriptions[stream_id] = self.aeron.add_subscription(IPC, stream_id)
        return ImageLender(self.subscriptions[stream_id], on_lent)


def session_message(cluster_session_id: int, payload: bytes, *, leadership_term_id: int = TERM, timestamp: int = 0) -> bytes:
    """Encode a message of a session."""
    header = SessionMessageHeader(leadership_term_id=leadership_term_id, cluster_session_id=cluster_session_id, timestamp=timestamp)
    return header.encode() + payload
