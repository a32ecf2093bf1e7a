"""A leader and a follower whose agents run in threads of their own, beside those of a driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.base.idle import BackoffIdleStrategy
from aerowire.base.runner import AgentRunner
from aerowire.client import Aeron, ExclusivePublication
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.cluster.agents.agent_events import ClusterAgentEvents
from aerowire.cluster.agents.agent_proxies import LogAgentProxy
from aerowire.cluster.agents.events import TermEnded
from aerowire.cluster.agents.followed_log import FollowedLog
from aerowire.cluster.agents.follower_commit import FollowerCommit
from aerowire.cluster.agents.leader_commit import LeaderCommit
from aerowire.cluster.agents.log_agent import LogAgent
from aerowire.cluster.agents.member_positions import MemberPositions
from aerowire.cluster.agents.message_image import MessageImage
from aerowire.cluster.agents.session_table import OpenSession
from aerowire.cluster.agents.terms import FollowerTerm, LeaderTerm
from aerowire.codecs.tables.counters import CounterType
from aerowire.system.clock import SystemClock
from tests.cluster.agents.log_host import IPC, LOG_STREAM, TERM
from tests.support.waiting import wait_until

INTERVAL_NS = 20_000_000
TIMEOUT_NS = 200_000_000
INGRESS_STREAM = 101
SESSION_ID = 7
CLOCK = SystemClock()


class Member:
    """A member's agent and its streams; member `number` reads stream 1000 + number."""

    def __init__(self, client: Aeron, number: int) -> None:
        self.client, self.number = client, number
        self.events = ClusterAgentEvents()
        self.commit_counter = client.add_counter(CounterType.CLUSTER_COMMIT_POSITION, "commit-pos")
        self.recording_counter = client.add_counter(CounterType.ARCHIVE_RECORDING_POSITION, "rec-pos")
        self.agent = LogAgent(self.events, CLOCK, LentCounter(self.commit_counter), member_id=number, member_ids=(0, 1))
        self.proxy = LogAgentProxy(self.agent)
        self.runner = AgentRunner([self.agent], CLOCK, BackoffIdleStrategy())
        self.seen: list[object] = []

    def connect(self, other: Member) -> None:
        """Let this member send to another one."""
        publication, image = other.stream(1_000 + other.number, self.client)
        other.proxy.add_consensus_image(image)
        self.proxy.set_publication(other.number, LentPublication(publication))

    def stream(self, stream_id: int, publisher: Aeron) -> tuple[ExclusivePublication, MessageImage]:
        """Return a publication of another client, and its image for this member's agent."""
        subscription = self.client.add_subscription(IPC, stream_id)
        publication = publisher.add_exclusive_publication(IPC, stream_id)
        wait_until(lambda: publication.is_connected and subscription.images, "an image")
        return publication, MessageImage(LentImage(subscription.images[0]))

    def recorded(self) -> PositionBound:
        """Return the counter of what is recorded."""
        return PositionBound(self.client.counters_reader, self.recording_counter.counter_id)

    @property
    def has_ended(self) -> bool:
        """Whether the term has ended, as the events say."""
        return any(isinstance(event, TermEnded) for event in self.poll())

    def poll(self) -> list[object]:
        """Take the events, and return all so far."""
        self.seen += self.events.poll()
        self.proxy.flush()
        return self.seen


class LeaderAndFollower:
    """Two members of which one leads the other, with ingress that is closed, and nothing recorded."""

    def __init__(self, clients: Sequence[Aeron], *, timeout_ns: int = TIMEOUT_NS) -> None:
        """`clients` are those of leader, follower and application.

        A sanitizer sees memory by its address, and not that the driver lets a writer use it again: no client may read what it writes.
        """
        self.leader, self.follower = self.members = [Member(clients[number], number) for number in range(2)]
        self.leader.connect(self.follower)
        self.follower.connect(self.leader)
        log_publication, log_image = self.follower.stream(LOG_STREAM, self.leader.client)
        self.ingress, ingress_image = self.leader.stream(INGRESS_STREAM, clients[2])
        self._ingress_image: Any = ingress_image.loan.handle
        self.session = OpenSession(SESSION_ID, 0)
        self.leader.proxy.add_ingress_image(ingress_image)
        self.leader.proxy.add_session(self.session)
        times = {"heartbeat_interval_ns": INTERVAL_NS, "heartbeat_timeout_ns": timeout_ns}
        leading = LeaderCommit(0, MemberPositions((0, 1)), leadership_term_id=TERM, commit_position=0, **times)
        following = FollowerCommit(
            leadership_term_id=TERM, leader_id=0, append_position=0, notified_commit_position=0, now_ns=CLOCK.now_ns(), **times
        )
        self.leading = LeaderTerm(LentPublication(log_publication), self.leader.recorded(), leading)
        self.following = FollowerTerm(self.follower.recorded(), following)
        self.log = FollowedLog(log_image, self.follower.recorded())
        self.leader.proxy.lead(self.leading)
        self.follower.proxy.follow(self.following)
        self.follower.proxy.add_log(self.log, 0)

    @property
    def is_ingress_read(self) -> bool:
        """Whether the leader has read all that was sent to it."""
        return bool(self._ingress_image.position == self.ingress.position)

    def record(self, position: int) -> None:
        """Tell both agents that their archives have recorded the log up to a position."""
        for member in self.members:
            member.recording_counter.value = position

    def end(self) -> None:
        """End the term of both, and wait for that."""
        for member in self.members:
            member.proxy.end_term()
        wait_until(lambda: all(member.has_ended for member in self.members), "the ends of the term")
