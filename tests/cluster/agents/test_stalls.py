"""A leader and a follower of this process, in threads of their own, while one call keeps the interpreter to itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
from aerowire.driver import Context, MediaDriver
from aerowire.system.clock import SystemClock
from tests.cluster.agents.log_host import IPC, LOG_STREAM, TERM, session_message
from tests.support.waiting import wait_until

INTERVAL_NS = 20_000_000
TIMEOUT_NS = 200_000_000
MESSAGES = 100
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
        publication, image = self.stream(1_000 + other.number)
        other.proxy.add_consensus_image(image)
        self.proxy.set_publication(other.number, LentPublication(publication))

    def stream(self, stream_id: int) -> tuple[ExclusivePublication, MessageImage]:
        """Return a publication, and its image for an agent."""
        subscription = self.client.add_subscription(IPC, stream_id)
        publication = self.client.add_exclusive_publication(IPC, stream_id)
        wait_until(lambda: publication.is_connected and subscription.images, "an image")
        return publication, MessageImage(LentImage(subscription.images[0]))

    def recorded(self) -> PositionBound:
        """Return the counter of what is recorded."""
        return PositionBound(self.client.counters_reader, self.recording_counter.counter_id)

    def poll(self) -> list[object]:
        """Take the events, and return all so far."""
        self.seen += self.events.poll()
        self.proxy.flush()
        return self.seen


@pytest.fixture
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aeron]:
    """A client of a driver that runs in threads."""
    directory = str(tmp_path_factory.mktemp("driver") / "aeron")
    context = Context(aeron_dir=directory, threading_mode="SHARED", publication_linger_timeout_ns="0ms")
    with MediaDriver.launch(context), Aeron.connect(aeron_dir=directory) as connected:
        yield connected


def keep_the_interpreter(least_ns: int) -> int:
    """Make one call that lets no other thread of the interpreter in; return how long it took."""
    length, taken_ns = 2_000_000, 0
    while taken_ns < least_ns:
        begin_ns = CLOCK.now_ns()
        sum(bytes(length))
        taken_ns = CLOCK.now_ns() - begin_ns
        length = max(2 * length, length * least_ns // max(1, taken_ns))
    return taken_ns


@pytest.mark.threads
def test_a_call_that_keeps_the_interpreter_costs_no_leadership_and_no_message(client: Aeron) -> None:
    leader, follower = members = [Member(client, number) for number in range(2)]
    leader.connect(follower)
    follower.connect(leader)
    log_publication, log_image = leader.stream(LOG_STREAM)
    ingress, ingress_image = leader.stream(101)
    leader.proxy.add_ingress_image(ingress_image)
    leader.proxy.add_session(OpenSession(7, 0))
    for number in range(MESSAGES):
        assert ingress.offer(session_message(7, bytes([number]) * 100)) > 0
    log_length = MESSAGES * 192
    for member in members:
        member.recording_counter.value = log_length
    times = {"heartbeat_interval_ns": INTERVAL_NS, "heartbeat_timeout_ns": TIMEOUT_NS}
    positions = MemberPositions((0, 1))
    positions.update(1, TERM, 0, CLOCK.now_ns())
    leading = LeaderTerm(
        LentPublication(log_publication),
        leader.recorded(),
        LeaderCommit(0, positions, leadership_term_id=TERM, commit_position=0, **times),
    )
    following = FollowerTerm(
        follower.recorded(),
        FollowerCommit(
            leadership_term_id=TERM,
            leader_id=0,
            append_position=0,
            notified_commit_position=0,
            now_ns=CLOCK.now_ns(),
            **times,
        ),
    )
    log = FollowedLog(log_image, follower.recorded())
    leader.proxy.lead(leading)
    follower.proxy.follow(following)
    follower.proxy.add_log(log, 0)
    with leader.runner, follower.runner:
        leader.proxy.open_ingress(is_open=True)
        stalled_ns = keep_the_interpreter(3 * TIMEOUT_NS)
        ended_ns = CLOCK.now_ns()
        consumed = log.position
        for member in members:
            assert member.poll() == [], "neither has given up"
        heard_ns = [following.commit.time_of_last_log_update_ns, positions.reported()[1].time_of_last_append_position_ns]
        assert all(ns is not None and ended_ns - ns < TIMEOUT_NS for ns in heard_ns)
        assert stalled_ns >= 3 * TIMEOUT_NS
        assert consumed == leader.commit_counter.value == follower.commit_counter.value == log_length
        for member in members:
            member.proxy.end_term()
        wait_until(lambda: all(member.poll() for member in members), "the ends")
        # What the other one says behind that is the conductor's.
        assert leader.seen[0] == TermEnded(leading)
        assert follower.seen[0] == TermEnded(following)
    assert leading.commit.commit_position == following.commit.notified_commit_position == log_length
    assert leader.agent.consensus_drops.total == follower.agent.consensus_drops.total == 0
