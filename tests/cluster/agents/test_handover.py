"""Elections by consensus machines, terms by native agents: members elect, commit, lose their leader, and go on from what was committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from aerowire.client import Aeron
from aerowire.cluster.agents.session_table import OpenSession
from aerowire.codecs.flyweights.cnc import ElectionState
from aerowire.driver import MediaDriver
from aerowire.system.clock import ManualClock
from tests.cluster.agents.log_host import session_message
from tests.cluster.agents.voting_member import INGRESS_STREAM, IPC, MEMBER_IDS, MILLISECOND_NS, VotingMember
from tests.support.waiting import wait_until

SESSION_ID = 7


class Cluster:
    """Three members on one driver; time goes on by a millisecond a cycle."""

    def __init__(self, driver: MediaDriver, aeron: Aeron) -> None:
        self.driver, self.aeron = driver, aeron
        self.clock = ManualClock(now_ns=1_000 * MILLISECOND_NS, epoch_ms=1_700_000_000_000)
        self.members = [VotingMember(aeron, self.clock, member_id) for member_id in MEMBER_IDS]
        self.committed = [0] * len(MEMBER_IDS)
        for member in self.members:
            member.connect()
            member.start()

    def cycle(self, *, step_ns: int = MILLISECOND_NS, is_stalled: bool = False) -> None:
        """Go on by a step; the Python of the members may stand still. What was committed stays so."""
        self.clock.advance(step_ns)
        self.driver.invoker.invoke()
        client = self.aeron.conductor_agent_invoker
        assert client is not None
        client.invoke()
        for member in self.members:
            if member.is_alive:
                member.work_natively() if is_stalled else member.work()
                assert member.commit_counter.value >= self.committed[member.member_id]
                self.committed[member.member_id] = member.commit_counter.value

    def until(self, condition: Callable[[], object], what: object) -> None:
        """Go on until something is so."""
        wait_until(condition, what, work=self.cycle)

    def leader(self) -> VotingMember:
        """Go on until there is a leader, which all others that live follow; return it."""
        living = [member for member in self.members if member.is_alive]
        self.until(
            lambda: any(member.is_leader for member in living) and all(member.term is not None for member in living),
            lambda: [(member.machine.state, member.reasons) for member in living],
        )
        [leader] = [member for member in living if member.is_leader]
        assert {member.machine.leadership_term_id for member in living} == {leader.machine.leadership_term_id}
        return leader

    def send(self, leader: VotingMember, count: int) -> None:
        """Send messages by a session, and go on until all members that live have committed and consumed them."""
        publication: Any = self.aeron.add_exclusive_publication(IPC, INGRESS_STREAM + leader.member_id)
        self.until(lambda: publication.is_connected, "ingress")
        leader.proxy.add_session(OpenSession(SESSION_ID, 0))
        message = session_message(SESSION_ID, bytes(200), leadership_term_id=leader.machine.leadership_term_id)
        for _ in range(count):
            self.until(lambda: publication.offer(message) > 0, "room for a message")
        begin = leader.publication.position
        self.until(lambda: leader.agent.ingress_drops.total or publication.position == leader.ingress.images[-1].position, "the ingress")
        assert leader.agent.ingress_drops.total == 0
        self.until(lambda: leader.agent.published_position > begin, "the log")
        end = leader.agent.published_position
        living = [member for member in self.members if member.is_alive]
        self.until(lambda: all(member.commit_counter.value == end for member in living), lambda: (end, self.committed))
        for member in living:
            assert member is leader or (member.followed is not None and member.followed.position == end)


@pytest.fixture
def voting() -> Iterator[Cluster]:
    with ExitStack() as stack:
        driver = stack.enter_context(MediaDriver.launch_embedded(threading_mode="INVOKER", timer_interval_ns="10ms", environ={}))
        aeron = Aeron.connect(driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=driver.invoker)
        made = Cluster(driver, stack.enter_context(aeron))
        yield made
        for member in made.members:
            member.invoker.close()


def test_members_elect_a_leader_and_commit_what_clients_send(voting: Cluster) -> None:
    leader = voting.leader()
    voting.send(leader, 100)
    elected = [list(member.reasons) for member in voting.members]
    for _ in range(1_000):
        voting.cycle()
    assert [member.reasons for member in voting.members] == elected, "heartbeats keep the term for a second"
    assert all(member.machine.state is ElectionState.CLOSED for member in voting.members)


def test_members_whose_python_stands_still_for_twenty_seconds_go_on(voting: Cluster) -> None:
    leader = voting.leader()
    voting.send(leader, 10)
    reasons, committed = [list(member.reasons) for member in voting.members], leader.commit_counter.value
    publication: Any = voting.aeron.add_exclusive_publication(IPC, INGRESS_STREAM + leader.member_id)
    for _ in range(50):
        voting.cycle()
    message = session_message(SESSION_ID, bytes(200), leadership_term_id=leader.machine.leadership_term_id)
    for number in range(2_000):
        if number % 100 == 0:
            assert publication.offer(message) > 0
        voting.cycle(step_ns=10 * MILLISECOND_NS, is_stalled=True)
    expected = committed + 20 * 288
    assert voting.committed == [expected] * 3, "what clients sent meanwhile is committed"
    for _ in range(100):
        voting.cycle()
    assert [member.reasons for member in voting.members] == reasons
    assert leader.is_leader


def test_members_that_lose_their_leader_go_on_from_what_was_committed(voting: Cluster) -> None:
    first = voting.leader()
    voting.send(first, 50)
    term_id, committed = first.machine.leadership_term_id, first.commit_counter.value
    first.die()
    died_ns = voting.clock.now_ns()
    voting.until(lambda: all("SILENT_LEADER" in member.reasons for member in voting.members if member.is_alive), "the faults")
    assert voting.clock.now_ns() - died_ns <= 250 * MILLISECOND_NS
    second = voting.leader()
    assert second.machine.leadership_term_id > term_id
    assert second.commit_counter.value >= committed
    voting.send(second, 50)
    assert second.commit_counter.value > committed
    third = next(member for member in voting.members if member.is_alive and member is not second)
    assert third.timers, "it has read the event that begins the term"


def test_a_leader_without_a_majority_gives_up(voting: Cluster) -> None:
    leader = voting.leader()
    voting.send(leader, 10)
    committed = leader.commit_counter.value
    for member in voting.members:
        if member is not leader:
            member.die()
    voting.until(lambda: "INACTIVE_QUORUM" in leader.reasons, "the end of the leadership")
    voting.until(lambda: leader.machine.state is ElectionState.CANVASS, "the canvass")
    assert (leader.term, leader.publication) == (None, None)
    assert leader.machine.log_position == leader.commit_counter.value == committed
