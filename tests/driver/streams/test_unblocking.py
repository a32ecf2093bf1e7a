"""Claims of publishers that die, among those that live: nothing is lost, nothing is torn, nobody waits for ever."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.logbuffer.append import Claim
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import MS, TERM, WINDOW, AgentHost
from tests.support.archives.log_reader import LogReader

PAYLOAD_MAX = 1376
UNBLOCK_NS = 100 * MS
RECEIVER = ("10.0.0.2", 40456)


class Stream:
    """A publication with one subscriber, and the world that they are in."""

    def __init__(self, kind: str) -> None:
        self.world = SimulatedWorld(seed=1)
        self.publisher = self.world.add(AgentHost(self.world.clock))
        self.publication: IpcPublication | NetworkPublication
        self.subscriber: LogReader
        if kind == "ipc":
            self.publication, self.appender = self.publisher.publish_ipc(unblock_timeout_ns=UNBLOCK_NS)
            self.subscriber = self.publisher.join(self.world, self.publication)
            return
        reader = self.world.add(AgentHost(self.world.clock))
        reader.receive_at(self.world.network.open_port(RECEIVER))
        endpoint = self.publisher.send_endpoint(self.world.network.open_port(("10.0.0.1", 0), RECEIVER))
        self.publication, self.appender = self.publisher.publish(endpoint, unblock_timeout_ns=UNBLOCK_NS)
        self.world.run(20 * MS)
        (self.subscriber,) = reader.subscribers


KINDS = ["ipc", "udp"]
ACTIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 6 * PAYLOAD_MAX)),
    st.tuples(st.just("fill"), st.integers(500, PAYLOAD_MAX)),
    st.tuples(st.sampled_from(["claim", "die", "vanish"]), st.integers(1, PAYLOAD_MAX)),
    st.tuples(st.just("commit"), st.integers(0, 3)),
    st.tuples(st.just("poll"), st.integers(1, 100)),
    st.tuples(st.just("run"), st.integers(1, 40)),
)


class Interleaving:
    """Carries out actions and knows what the subscriber must have read in the end."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.written: list[list[bytes] | None] = []  # in order of the log; None: a claim that nobody finished
        self.open: list[tuple[int, Claim, int]] = []  # live claims: index, claim, since when
        self.number = itertools.count(1)

    def payload(self, length: int) -> bytes:
        return (next(self.number).to_bytes(4, "little") * (length // 4 + 1))[:length]

    def act(self, what: str, amount: int) -> None:
        if what in {"append", "fill"}:
            while self.append(self.payload(amount)) and what == "fill":
                pass
        elif what == "commit":
            if self.open:
                self.commit(self.open.pop(amount % len(self.open)))
        elif what == "poll":
            self.stream.subscriber.poll(amount)
        elif what == "run":
            self.run(amount * MS)
        else:
            self.claim(what, amount)
        log_head = self.stream.publication.producer_position - self.stream.publication.consumer_position
        assert log_head <= WINDOW + 8 * PAYLOAD_MAX, "a publisher went on past its window"

    def append(self, message: bytes) -> bool:
        if self.stream.appender.append(message) < 0:
            return False
        self.written.append([message[at : at + PAYLOAD_MAX] for at in range(0, len(message), PAYLOAD_MAX)])
        return True

    def claim(self, fate: str, length: int) -> None:
        position, claim = self.stream.appender.claim(length)
        if claim is None:
            return
        if fate == "claim":
            payload = self.payload(length)
            claim.payload[:] = payload
            self.open.append((len(self.written), claim, self.stream.world.clock.now_ns()))
            self.written.append([payload])
            return
        if fate == "vanish":  # before it could write the length of what it took
            frame = position - (length + 32 + 31) // 32 * 32
            term = self.stream.publication.log.term_view(frame // TERM % 3)
            term[frame % TERM : frame % TERM + 4] = bytes(4)
        self.written.append(None)

    def commit(self, item: tuple[int, Claim, int]) -> None:
        item[1].commit()

    def run(self, duration_ns: int) -> None:
        # Whoever lives commits in time.
        end = self.stream.world.clock.now_ns() + duration_ns
        for item in [item for item in self.open if item[2] + UNBLOCK_NS // 2 < end]:
            self.open.remove(item)
            self.commit(item)
        self.stream.world.run(duration_ns)

    def finish(self) -> int:
        """Let everybody who lives finish and time pass; returns how many claims were left open."""
        while self.open:
            self.commit(self.open.pop())
        dead = self.written.count(None)
        for _ in range(dead + 4):  # a window at a time
            self.stream.world.run(UNBLOCK_NS + 30 * MS)
            self.stream.subscriber.poll()
        return dead


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(actions=st.lists(ACTIONS, min_size=5, max_size=40))
def test_all_that_was_finished_arrives_whole_and_in_order(kind: str, actions: list[tuple[str, int]]) -> None:
    stream = Stream(kind)
    run = Interleaving(stream)
    for what, amount in actions:
        run.act(what, amount)
    run.finish()
    assert stream.subscriber.fragments == [part for message in run.written if message is not None for part in message]
    assert run.append(b"and on it goes") or run.append(b"in the next term")


@pytest.mark.parametrize("fate", ["die", "vanish"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_open_claim_stops_others_until_its_timeout_and_they_go_on_over_three_terms(kind: str, fate: str) -> None:
    stream = Stream(kind)
    run = Interleaving(stream)
    run.act("append", 100)
    run.claim(fate, 640)
    run.act("fill", 1000)
    start = stream.publication.producer_position
    for _ in range(9):  # 0.9 s: back pressure
        stream.subscriber.poll()
        run.act("fill", 1000)
        run.run(10 * MS)
    assert stream.publication.producer_position <= start + WINDOW
    assert len(stream.subscriber.fragments) == 1
    assert stream.publisher.get(SystemCounter.UNBLOCKED_PUBLICATIONS) == 0
    while stream.publication.producer_position < start + 4 * TERM:
        stream.subscriber.poll()
        run.act("fill", 1000)
        run.run(20 * MS)
    run.finish()
    assert stream.publisher.get(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1
    assert stream.subscriber.fragments == [part for message in run.written if message is not None for part in message]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_closed_publication_left_open_does_not_wait_for_the_timeout(kind: str) -> None:
    stream = Stream(kind)
    run = Interleaving(stream)
    run.claim("die", 640)
    run.act("append", 100)
    stream.publisher.close_publication(stream.publication)
    stream.world.run(100 * MS)
    stream.subscriber.poll()
    stream.world.run(100 * MS)
    assert len(stream.subscriber.fragments) == 1
    assert stream.publisher.get(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1
    assert EventType.PUBLICATION_LINGER in stream.publisher.kinds()
