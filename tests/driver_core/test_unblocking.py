"""Claims of publishers that die, among those that live: nothing is lost, nothing is torn, nobody waits for ever."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from tests.driver_core.conftest import SESSION, STREAM, Subscriber, World

MS = 1_000_000
TERM = 64 * 1024
WINDOW = TERM // 2
PAYLOAD_MAX = 1376
UNBLOCK_NS = 100 * MS
registrations = itertools.count(1000)


class IpcStream:
    """A publication and a subscriber of one driver."""

    def __init__(self) -> None:
        self.world = World()
        self.publisher = self.world.node()
        log = self.publisher.log(initial_term_id=2**31 - 2, kind=0)
        limit = self.publisher.counter("pub-lmt")
        self.publication = IpcPublication(
            log,
            self.publisher.counters,
            self.publisher.system,
            registration_id=next(registrations),
            session_id=SESSION,
            stream_id=STREAM,
            initial_term_id=2**31 - 2,
            publisher_position_id=self.publisher.counter("pub-pos"),
            publisher_limit_id=limit,
            mtu=1408,
            publication_window=WINDOW,
            exclusive=False,
            unblock_timeout_ns=UNBLOCK_NS,
            now_ns=self.world.clock.now_ns(),
        )
        self.publisher.conductor_agent.add_publication(self.publication)
        position_id = self.publisher.counter("sub-pos")
        self.publisher.conductor_agent.link_subscriber(self.publication, position_id, 1)
        self.appender = ConcurrentAppender(log, self.publisher.counters, limit, SESSION, STREAM, max_payload_length=PAYLOAD_MAX)
        self.subscriber = Subscriber(self.publisher, self.publication, position_id)
        self.world.settle()


class NetworkStream:
    """A publication of one driver and an image of another."""

    def __init__(self) -> None:
        self.world = World()
        self.publisher, reader = self.world.node(), self.world.node()
        reader.receiver.add_subscription(reader.receive_endpoint(self.world.network.open_port(("10.0.0.2", 40456))), STREAM)
        endpoint = self.publisher.send_endpoint(self.world.network.open_port(("10.0.0.1", 0), ("10.0.0.2", 40456)))
        self.publication, self.appender = self.publisher.publish(endpoint, unblock_timeout_ns=UNBLOCK_NS)
        self.world.run(20 * MS)
        (self.subscriber,) = reader.subscribers


STREAMS = {"ipc": IpcStream, "udp": NetworkStream}
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

    def __init__(self, stream: IpcStream | NetworkStream) -> None:
        self.stream = stream
        self.written: list[list[bytes] | None] = []  # in order of the log; None: a claim that nobody finished
        self.open: list[tuple[int, object, int]] = []  # live claims: index, claim, since when
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

    def commit(self, item: tuple[int, object, int]) -> None:
        item[1].commit()

    def run(self, duration_ns: int) -> None:
        # Whoever lives commits in time.
        end = self.stream.world.clock.now_ns() + duration_ns
        for item in [item for item in self.open if item[2] + UNBLOCK_NS // 2 < end]:
            self.open.remove(item)
            self.commit(item)
        self.stream.world.run(duration_ns, 10 * MS)

    def finish(self) -> int:
        """Let everybody who lives finish and time pass; returns how many claims were left open."""
        while self.open:
            self.commit(self.open.pop())
        dead = self.written.count(None)
        for _ in range(dead + 4):  # a window at a time
            self.stream.world.run(UNBLOCK_NS + 30 * MS, 10 * MS)
            self.stream.subscriber.poll()
        return dead


@pytest.mark.parametrize("kind", STREAMS)
@settings(max_examples=25, deadline=None)
@given(actions=st.lists(ACTIONS, min_size=5, max_size=40))
def test_all_that_was_finished_arrives_whole_and_in_order(kind: str, actions: list[tuple[str, int]]) -> None:
    stream = STREAMS[kind]()
    run = Interleaving(stream)
    for what, amount in actions:
        run.act(what, amount)
    run.finish()
    assert stream.subscriber.fragments == [part for message in run.written if message is not None for part in message]
    assert run.append(b"and on it goes") or run.append(b"in the next term")


@pytest.mark.parametrize("fate", ["die", "vanish"])
@pytest.mark.parametrize("kind", STREAMS)
def test_one_open_claim_stops_others_until_its_timeout_and_they_go_on_over_three_terms(kind: str, fate: str) -> None:
    stream = STREAMS[kind]()
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


@pytest.mark.parametrize("kind", STREAMS)
def test_what_a_closed_publication_left_open_does_not_wait_for_the_timeout(kind: str) -> None:
    stream = STREAMS[kind]()
    run = Interleaving(stream)
    run.claim("die", 640)
    run.act("append", 100)
    stream.publisher.conductor_agent.close_publication(stream.publication)
    stream.world.run(100 * MS, 10 * MS)
    stream.subscriber.poll()
    stream.world.run(100 * MS, 10 * MS)
    assert len(stream.subscriber.fragments) == 1
    assert stream.publisher.get(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1
    assert EventType.PUBLICATION_LINGER in [event.type for event in stream.publisher.seen]
