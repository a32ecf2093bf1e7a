"""Native drivers without a conductor: the tests' own hands do what it would, in virtual time over a network in memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from aerowire.base.runner import AgentInvoker
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.agents.conductor_agent import ConductorAgent
from aerowire.driver.agents.receiver import Receiver
from aerowire.driver.agents.sender import Sender
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.queues.events import Event, EventQueue, EventType
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.driver.streams.publication_image import PublicationImage
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.descriptor import position_of
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.memory.region import Region
from aerowire.protocol.congestion_control import CongestionControl, StaticWindowCongestionControl
from aerowire.protocol.flow_control import FlowControl, UnicastFlowControl
from aerowire.simulation.network import SimulatedNetwork
from aerowire.simulation.regions import AnonymousRegions
from aerowire.system.clock import ManualClock

if TYPE_CHECKING:
    from aerowire.base.ports import DatagramPort

MS = 1_000_000
SECOND = 1_000_000_000
TERM = 64 * 1024
WINDOW = TERM // 2
HEADER = 32
SESSION, STREAM, INITIAL_TERM = 77, 1001, 2**31 - 2  # the term id wraps on the way
SUBSCRIPTION = 5  # the registration of the one subscriber of an image


@dataclass
class Subscriber:
    """Reads an image or an IPC publication frame by frame, as a client would."""

    node: Node
    source: PublicationImage | IpcPublication
    position_id: int
    fragments: list[bytes] = field(default_factory=list)

    def poll(self, limit: int = 1 << 30) -> int:
        log: LogBuffers = self.source.log
        position = self.node.counters.value(self.position_id)
        handled = 0
        while handled < limit:
            term = log.term_view((position // log.length_of_term) % 3)
            offset = position % log.length_of_term
            header = DataHeaderDecoder(term, offset)
            length = header.frame_length
            if length <= 0:
                break
            if header.type != FrameType.PAD:
                self.fragments.append(bytes(term[offset + HEADER : offset + length]))
                handled += 1
            position += -(-length // HEADER) * HEADER
        self.node.counters.set_value(self.position_id, position)
        return handled


class Node:
    """One driver's native objects, and a conductor's bare minimum."""

    # Of the next image; a fixed window if None.
    congestion_control: CongestionControl | None = None

    def __init__(self, clock: ManualClock, *, receiver_batch: int = 4, **options: int) -> None:
        self.clock = clock
        self.options = options
        self.regions = AnonymousRegions()
        self.counters = CountersManager(Region.anonymous(512 * 1024), Region.anonymous(128 * 1024))
        for counter in SystemCounter:
            assert self.counters.allocate(counter.name) == counter
        while self.counters.allocate("spare") < 63:
            pass
        self.system = SystemCounters(self.counters)
        self.events = EventQueue()
        self.sender = Sender(clock=clock, system=self.system, events=self.events)
        self.receiver = Receiver(clock=clock, system=self.system, events=self.events, batch=receiver_batch)
        self.conductor_agent = ConductorAgent(clock=clock, system=self.system, events=self.events, timer_interval_ns=10 * MS)
        self.invoker = AgentInvoker([self.conductor_agent, self.sender, self.receiver], clock)
        self.invoker.start()
        self.ids = itertools.count(1)
        self.images: list[PublicationImage] = []
        self.subscribers: list[Subscriber] = []
        self.seen: list[Event] = []
        self.rejoins = True

    def get(self, counter: SystemCounter) -> int:
        return self.counters.value(counter)

    def counter(self, label: str) -> int:
        return self.counters.allocate(label)

    def log(self, *, initial_term_id: int, kind: int, term_id: int | None = None, term_offset: int = 0, mtu: int = 1408) -> LogBuffers:
        identity = next(self.ids)
        return LogBuffers.create(
            f"{identity}.logbuffer",
            term_length=TERM,
            mtu_length=mtu,
            initial_term_id=initial_term_id,
            session_id=SESSION,
            stream_id=STREAM,
            correlation_id=identity,
            term_id=term_id,
            term_offset=term_offset,
            regions=self.regions,
            type=kind,
        )

    def send_endpoint(self, port: DatagramPort, **options: object) -> SendEndpoint:
        endpoint = SendEndpoint(port, self.system, channel="aeron:udp?endpoint=test", **options)
        self.sender.add_endpoint(endpoint)
        return endpoint

    def publish(
        self,
        endpoint: SendEndpoint,
        *,
        initial_term_id: int = INITIAL_TERM,
        exclusive: bool = False,
        flow_control: FlowControl | None = None,
        **options: int,
    ) -> tuple[NetworkPublication, ConcurrentAppender]:
        log = self.log(initial_term_id=initial_term_id, kind=int(exclusive))
        limit = self.counter("pub-lmt")
        publication = NetworkPublication(
            log,
            endpoint,
            self.counters,
            self.system,
            registration_id=next(self.ids),
            session_id=SESSION,
            stream_id=STREAM,
            initial_term_id=initial_term_id,
            publisher_position_id=self.counter("pub-pos"),
            publisher_limit_id=limit,
            sender_position_id=self.counter("snd-pos"),
            sender_limit_id=self.counter("snd-lmt"),
            sender_bpe_id=self.counter("snd-bpe"),
            naks_received_id=self.counter("snd-naks-received"),
            mtu=1408,
            publication_window=WINDOW,
            exclusive=exclusive,
            flow_control=flow_control or UnicastFlowControl(16, 128 * 1024),
            now_ns=self.clock.now_ns(),
            **options,
        )
        self.sender.add_publication(publication)
        self.conductor_agent.add_publication(publication)
        appender = (ExclusiveAppender if exclusive else ConcurrentAppender)(
            log, self.counters, limit, SESSION, STREAM, max_payload_length=1408 - HEADER
        )
        return publication, appender

    def receive_endpoint(self, port: DatagramPort, *, receiver_id: int = 0x0102030405060708, **options: object) -> ReceiveEndpoint:
        endpoint = ReceiveEndpoint(port, self.system, receiver_id=receiver_id, channel="aeron:udp?endpoint=test", **options)
        self.receiver.add_endpoint(endpoint)
        return endpoint

    def on_event(self, event: Event) -> None:
        self.seen.append(event)
        if event.type is EventType.CREATE_IMAGE:
            self.create_image(event)
        elif event.type is EventType.IMAGE_LINGER and self.rejoins:
            self.receiver.remove_cool_down(event.subject.endpoint, event.subject.session_id, event.subject.stream_id)
        elif event.type is EventType.IMAGE_REMOVED:
            self.images.remove(event.subject)
        elif event.type is EventType.PUBLICATION_DONE and isinstance(event.subject, NetworkPublication):
            self.sender.remove_publication(event.subject)

    def create_image(self, event: Event) -> None:
        position_id = self.counter("sub-pos")
        self.counters.set_value(position_id, position_of(event.active_term_id, event.term_offset, TERM, event.initial_term_id))
        image = PublicationImage(
            self.log(initial_term_id=event.initial_term_id, kind=2),
            event.subject,
            self.counters,
            self.system,
            correlation_id=next(self.ids),
            session_id=event.session_id,
            stream_id=event.stream_id,
            initial_term_id=event.initial_term_id,
            active_term_id=event.active_term_id,
            term_offset=event.term_offset,
            control_address=event.control_address,
            hwm_position_id=self.counter("rcv-hwm"),
            rebuild_position_id=self.counter("rcv-pos"),
            naks_sent_id=self.counter("rcv-naks-sent"),
            subscriber_position_ids=[(position_id, SUBSCRIPTION)],
            congestion_control=self.congestion_control or StaticWindowCongestionControl(WINDOW),
            source_identity="{}:{}".format(*event.source_address),
            clock=self.clock,
            now_ns=self.clock.now_ns(),
            **self.options,
        )
        self.images.append(image)
        self.subscribers.append(Subscriber(self, image, position_id))
        self.conductor_agent.add_image(image)
        self.receiver.add_image(image)

    def work(self) -> int:
        done = self.invoker.invoke()
        while self.events.is_pending():
            for event in self.events.poll():
                self.on_event(event)
            done += 1
        return done


class World:
    """Nodes, a network and a clock; `run` lets time pass, from deadline to deadline."""

    def __init__(self, seed: int = 1, **faults: float) -> None:
        self.clock = ManualClock(now_ns=SECOND, epoch_ms=1_700_000_000_000)
        self.network = SimulatedNetwork(self.clock, seed=seed, **faults)
        self.nodes: list[Node] = []

    def node(self, **options: int) -> Node:
        self.nodes.append(Node(self.clock, **options))
        return self.nodes[-1]

    def settle(self) -> None:
        for _ in range(100):
            if sum(node.work() for node in self.nodes) == 0:
                return

    def run(self, duration_ns: int, step_ns: int = MS) -> None:
        end = self.clock.now_ns() + duration_ns
        while self.clock.now_ns() < end:
            self.clock.advance(min(step_ns, end - self.clock.now_ns()))
            self.settle()


@pytest.fixture
def make_world() -> type[World]:
    """Worlds with a seed and faults of the test's own."""
    return World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def make_subscriber() -> type[Subscriber]:
    """Readers of an image or an IPC publication."""
    return Subscriber
