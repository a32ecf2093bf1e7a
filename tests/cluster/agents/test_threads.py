"""The agents of a leader and a follower in threads: beside a call that keeps the interpreter to itself, and beside a busy conductor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from aerowire.client import Aeron
from aerowire.cluster.agents.events import MessageAppended, TermEnded
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.codecs.flyweights.cluster import TimerEvent
from aerowire.driver import Context, MediaDriver
from tests.cluster.agents.log_host import TERM, session_message
from tests.cluster.agents.running_members import CLOCK, SESSION_ID, TIMEOUT_NS, LeaderAndFollower
from tests.support.waiting import wait_until

MESSAGES = 100
FRAME_LENGTH = 192  # of a session message with 100 bytes
SECOND_NS = 1_000_000_000


@pytest.fixture
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Aeron]]:
    """Three clients of a driver that runs in threads."""
    directory = str(tmp_path_factory.mktemp("driver") / "aeron")
    context = Context(aeron_dir=directory, threading_mode="SHARED", publication_linger_timeout_ns="0ms")
    with MediaDriver.launch(context), ExitStack() as stack:
        yield [stack.enter_context(Aeron.connect(aeron_dir=directory)) for _ in range(3)]


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
def test_a_call_that_keeps_the_interpreter_costs_no_leadership_and_no_message(clients: list[Aeron]) -> None:
    pair = LeaderAndFollower(clients)
    for number in range(MESSAGES):
        assert pair.ingress.offer(session_message(SESSION_ID, bytes([number]) * 100)) > 0
    log_length = MESSAGES * FRAME_LENGTH
    pair.record(log_length)
    with pair.leader.runner, pair.follower.runner:
        pair.leader.proxy.open_ingress(is_open=True)
        assert keep_the_interpreter(3 * TIMEOUT_NS) >= 3 * TIMEOUT_NS
        ended_ns = CLOCK.now_ns()
        consumed = pair.log.position
        for member in pair.members:
            assert member.poll() == [], "neither has given up"
        reported = pair.leading.commit.positions.reported()[1].time_of_last_append_position_ns
        for heard_ns in (pair.following.commit.time_of_last_log_update_ns, reported):
            assert heard_ns is not None
            assert ended_ns - heard_ns < TIMEOUT_NS
        assert consumed == pair.leader.commit_counter.value == pair.follower.commit_counter.value == log_length
        pair.end()
        # What the other one says behind that is the conductor's.
        assert [member.seen[0] for member in pair.members] == [TermEnded(pair.leading), TermEnded(pair.following)]
    assert pair.leading.commit.commit_position == pair.following.commit.notified_commit_position == log_length
    assert [member.agent.consensus_drops.total for member in pair.members] == [0, 0]


@pytest.mark.threads
def test_a_conductor_appends_and_looks_while_clients_send(clients: list[Aeron]) -> None:
    pair = LeaderAndFollower(clients, timeout_ns=60 * SECOND_NS)
    unsent, timers = (
        1_000,
        [OutboundMessage(TimerEvent(leadership_term_id=TERM, correlation_id=n, timestamp=0).encode()) for n in range(300)],
    )
    appended: list[MessageAppended] = []
    looks: set[tuple[object, ...]] = set()
    with pair.leader.runner, pair.follower.runner:
        pair.leader.proxy.open_ingress(is_open=True)
        waiting = iter(timers)

        def work() -> None:
            nonlocal unsent
            if unsent and pair.ingress.offer(session_message(SESSION_ID, bytes(100))) > 0:
                unsent -= 1
            if (timer := next(waiting, None)) is not None:
                pair.leader.proxy.append(timer)
            pair.record(max(0, pair.leader.agent.published_position))
            appended[:] = [event for event in pair.leader.poll() if isinstance(event, MessageAppended)]
            looks.add(
                (pair.session.time_of_last_activity_ns, pair.leading.commit.commit_position, pair.log.position, pair.log.cluster_time)
            )
            assert pair.leading.commit.positions.reported()[0].member_id == 0
            pair.follower.poll()

        def is_done() -> bool:
            is_read = unsent == 0 and pair.is_ingress_read
            return is_read and len(appended) == len(timers) and pair.log.position == pair.leader.agent.published_position

        wait_until(is_done, lambda: (unsent, len(appended)), work=work)
        pair.end()
    assert [event.message for event in appended] == timers
    assert sorted(event.position for event in appended) == [event.position for event in appended]
    assert len(looks) > 2
    assert pair.leader.commit_counter.value == pair.follower.commit_counter.value == pair.log.position
    assert pair.log.position >= 1_000 * FRAME_LENGTH + 300 * 64
    drops = [(member.agent.ingress_drops.total, member.agent.log_drops.total) for member in pair.members]
    assert drops == [(0, 0), (0, 0)]
