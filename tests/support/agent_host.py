"""A host of the simulated world with a driver's native agents and no conductor: a test gives the commands and sees every event.

Every command to an agent goes through AgentHost; whatever changes about agents and their queues changes here.
"""

from __future__ import annotations

import itertools
from typing import Any

from aerowire.base.address import AddressTuple
from aerowire.base.ports import ClockPort, DatagramPort
from aerowire.base.runner import AgentInvoker
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.agents.conductor_agent import ConductorAgent
from aerowire.driver.agents.receiver import Receiver
from aerowire.driver.agents.sender import Sender
from aerowire.driver.conductor.agent_events import HANDLERS
from aerowire.driver.conductor.agent_proxies import ConductorAgentProxy, ReceiverProxy, SenderProxy
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.receive_transport import ReceiveTransport
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.queues.events import Event, EventQueue, EventType
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.driver.streams.publication_image import PublicationImage
from aerowire.driver.streams.untethered_subscriptions import Tether
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.append import Appender
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.descriptor import position_of
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.memory.region import Region
from aerowire.protocol.congestion_control import CongestionControl, StaticWindowCongestionControl
from aerowire.protocol.flow_control import FlowControl, UnicastFlowControl
from aerowire.simulation.world import SimulatedWorld
from tests.support.anonymous_regions import AnonymousRegions
from tests.support.archives.log_reader import HEADER, LogReader

MS = 1_000_000
SECOND = 1_000_000_000
TERM = 64 * 1024
WINDOW = TERM // 2
MTU = 1408
SESSION, STREAM, INITIAL_TERM = 77, 1001, 2**31 - 2  # the term id wraps on the way
RECEIVER_ID = 0x0102030405060708
SUBSCRIPTION = 5  # the registration of an image's first subscriber
TIMER_INTERVAL_NS = 10 * MS
CHANNEL = "aeron:udp?endpoint=test"
_RESERVED_COUNTERS = 64

Stream = IpcPublication | NetworkPublication | PublicationImage


class ImageReader(LogReader):
    """A subscriber of an image."""

    def __init__(self, image: PublicationImage, counters: CountersManager, position_id: int) -> None:
        super().__init__(image.log, counters, position_id)
        self.image = image


class SeenEvent:
    """An event with its values as attributes, by the names that the conductor's handler gives them."""

    def __init__(self, event: Event) -> None:
        self.type, self.subject, self.message = event.type, event.subject, event.message
        self.control_address, self.source_address = event.control_address, event.source_address
        self._values = dict(zip(HANDLERS[event.type].fields, event.values, strict=False))

    def __getattr__(self, name: str) -> int:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"{self.type.name} has no {name}") from None


class AgentHost:
    """Conductor agent, sender and receiver; of what a conductor does, images are made, linked and let go.

    Options are those of the images to come, `congestion_control` that of the next ones; without it they have a fixed window.
    """

    def __init__(self, clock: ClockPort, *, receiver_batch: int = 4, counters: CountersManager | None = None, **image_options: Any) -> None:
        self.clock = clock
        self.image_options = image_options
        self.congestion_control: CongestionControl | None = None
        self.regions = AnonymousRegions()
        self.counters = _counters_of_a_driver() if counters is None else counters
        self.system = SystemCounters(self.counters)
        self.events = EventQueue()
        self.sender = Sender(clock=clock, system=self.system, events=self.events)
        self.receiver = Receiver(clock=clock, system=self.system, events=self.events, batch=receiver_batch)
        self.conductor_agent = ConductorAgent(clock=clock, system=self.system, events=self.events, timer_interval_ns=TIMER_INTERVAL_NS)
        self._to_sender, self._to_receiver = SenderProxy(self.sender), ReceiverProxy(self.receiver)
        self._to_conductor_agent = ConductorAgentProxy(self.conductor_agent)
        self.invoker = AgentInvoker([self.conductor_agent, self.sender, self.receiver], clock)
        self.invoker.start()
        self.ids = itertools.count(1)
        self.images: list[PublicationImage] = []
        self.subscribers: list[ImageReader] = []  # the first of each image
        self.seen: list[SeenEvent] = []
        self.rejoins = True
        self._steps: dict[str, AgentInvoker] = {}

    # ---- a host of the world

    def work(self) -> int:
        """Run one cycle of each agent and handle their events."""
        done = self.invoker.invoke()
        while self.events.is_pending():
            for event in self.events.poll():
                self._on_event(event)
            done += 1
        return done

    def step(self, role: str) -> int:
        """Run one cycle of one agent, `conductor`, `sender` or `receiver`; return how much it did."""
        if not self._steps:
            agents = {"conductor": self.conductor_agent, "sender": self.sender, "receiver": self.receiver}
            self._steps.update((name, AgentInvoker([agent], self.clock)) for name, agent in agents.items())
            for invoker in self._steps.values():
                invoker.start()
        return self._steps[role].invoke()

    def next_deadline_ns(self) -> int:
        """Return when an agent is to work again."""
        return self.invoker.next_deadline_ns()

    def close(self) -> None:
        """Stop the agents."""
        self.invoker.close()

    # ---- what a test looks at

    def get(self, counter: SystemCounter) -> int:
        """Return a system counter."""
        return self.counters.value(counter)

    def counter(self, label: str) -> int:
        """Allocate a counter."""
        return self.counters.allocate(label)

    def value(self, label: str) -> int:
        """Return the value of the first counter with a label."""
        return next(self.counters.value(info.counter_id) for info in self.counters.for_each() if info.label == label)

    def events_of(self, *kinds: EventType) -> list[SeenEvent]:
        """Return the events of some types, in their order."""
        return [event for event in self.seen if event.type in kinds]

    def kinds(self) -> list[EventType]:
        """Return the types of all events."""
        return [event.type for event in self.seen]

    # ---- publications

    def log(self, *, initial_term_id: int, kind: int) -> LogBuffers:
        """Make a log; `kind` is 0 for a publication, 1 for an exclusive one and 2 for an image."""
        identity = next(self.ids)
        return LogBuffers.create(
            f"{identity}.logbuffer",
            term_length=TERM,
            mtu_length=MTU,
            initial_term_id=initial_term_id,
            session_id=SESSION,
            stream_id=STREAM,
            correlation_id=identity,
            regions=self.regions,
            type=kind,
        )

    def send_endpoint(self, port: DatagramPort, **options: Any) -> SendEndpoint:
        """Make a send channel endpoint and give it to the sender."""
        endpoint = SendEndpoint(port, self.system, channel=CHANNEL, events=self.events, **options)
        self._to_sender.add_endpoint(endpoint)
        return endpoint

    def publish(
        self,
        endpoint: SendEndpoint,
        *,
        initial_term_id: int = INITIAL_TERM,
        exclusive: bool = False,
        flow_control: FlowControl | None = None,
        **options: Any,
    ) -> tuple[NetworkPublication, Appender]:
        """Make a network publication and its client's appender."""
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
            mtu=MTU,
            publication_window=WINDOW,
            exclusive=exclusive,
            flow_control=flow_control or UnicastFlowControl(16, 128 * 1024),
            now_ns=self.clock.now_ns(),
            **options,
        )
        self._to_sender.add_publication(publication)
        self._to_conductor_agent.add_publication(publication)
        return publication, self._appender(log, limit, exclusive)

    def publish_ipc(
        self, *, initial_term_id: int = INITIAL_TERM, exclusive: bool = False, limit_id: int | None = None, **options: Any
    ) -> tuple[IpcPublication, Appender]:
        """Make an IPC publication and its client's appender; `limit_id` is a counter that is there, for publications in thousands."""
        log = self.log(initial_term_id=initial_term_id, kind=int(exclusive))
        limit = self.counter("pub-lmt") if limit_id is None else limit_id
        publication = IpcPublication(
            log,
            self.counters,
            self.system,
            registration_id=next(self.ids),
            session_id=SESSION,
            stream_id=STREAM,
            initial_term_id=initial_term_id,
            publisher_position_id=self.counter("pub-pos") if limit_id is None else limit_id,
            publisher_limit_id=limit,
            mtu=MTU,
            publication_window=WINDOW,
            exclusive=exclusive,
            now_ns=self.clock.now_ns(),
            **options,
        )
        self._to_conductor_agent.add_publication(publication)
        return publication, self._appender(log, limit, exclusive)

    def close_publication(self, publication: IpcPublication | NetworkPublication, *, abandoned: bool = False) -> None:
        """Close a publication, or say that its client has died."""
        self._to_conductor_agent.close_publication(publication, abandoned=abandoned)

    def add_destination(self, endpoint: SendEndpoint, registration_id: int, address: tuple[str, int]) -> None:
        """Let the endpoint send to one more address."""
        self._to_sender.add_destination(endpoint, registration_id, SocketAddress(*address))

    def update_destination(self, endpoint: SendEndpoint, registration_id: int, address: tuple[str, int]) -> None:
        """Move a destination."""
        self._to_sender.update_destination(endpoint, registration_id, SocketAddress(*address))

    def remove_destination(self, endpoint: SendEndpoint, registration_id: int) -> None:
        """Let the endpoint send to an address no more."""
        self._to_sender.remove_destination(endpoint, registration_id)

    # ---- images and subscribers

    def receive_endpoint(self, port: DatagramPort | None, *, receiver_id: int = RECEIVER_ID, **options: Any) -> ReceiveEndpoint:
        """Make a receive channel endpoint and give it to the receiver."""
        endpoint = ReceiveEndpoint(port, self.system, receiver_id=receiver_id, channel=CHANNEL, events=self.events, **options)
        self._to_receiver.add_endpoint(endpoint)
        return endpoint

    def receive_at(self, port: DatagramPort, *, session_id: int | None = None, **options: Any) -> ReceiveEndpoint:
        """Make a receive channel endpoint and subscribe to the stream there."""
        endpoint = self.receive_endpoint(port, **options)
        self.subscribe(endpoint, session_id=session_id)
        return endpoint

    def subscribe(self, endpoint: ReceiveEndpoint, stream_id: int = STREAM, session_id: int | None = None) -> None:
        """Let the receiver take a stream, or one session of it."""
        self._to_receiver.add_subscription(endpoint, stream_id, session_id)

    def unsubscribe(self, endpoint: ReceiveEndpoint, stream_id: int = STREAM, session_id: int | None = None) -> None:
        """Take a subscription back."""
        self._to_receiver.remove_subscription(endpoint, stream_id, session_id)

    def add_transport(self, endpoint: ReceiveEndpoint, port: DatagramPort, index: int, control: AddressTuple = None) -> ReceiveTransport:
        """Let a multi-destination endpoint receive at one more port."""
        transport = ReceiveTransport(port, index=index, explicit_control=control)
        self._to_receiver.add_destination(endpoint, transport)
        return transport

    def remove_transport(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        """Let the endpoint receive at a port no more."""
        self._to_receiver.remove_destination(endpoint, transport)

    def remove_endpoint(self, endpoint: ReceiveEndpoint | SendEndpoint) -> None:
        """Take an endpoint from its agent."""
        if isinstance(endpoint, ReceiveEndpoint):
            self._to_receiver.remove_endpoint(endpoint)
        else:
            self._to_sender.remove_endpoint(endpoint)

    def reject(self, image: PublicationImage, reason: str) -> None:
        """Reject an image."""
        image.reject(reason)

    def link(
        self,
        stream: Stream,
        *,
        tether: Tether = Tether.TETHERED,
        position_id: int | None = None,
        registration_id: int | None = None,
    ) -> LogReader:
        """Add a subscriber to a stream; it reads when the agent has taken the command."""
        position_id = self.counter("sub-pos") if position_id is None else position_id
        registration_id = next(self.ids) if registration_id is None else registration_id
        self._to_conductor_agent.link_subscriber(stream, position_id, registration_id, tether)
        return LogReader(stream.log, self.counters, position_id)

    def unlink(self, stream: Stream, subscriber: LogReader, registration_id: int = 1) -> None:
        """Take a subscriber from a stream."""
        self._to_conductor_agent.unlink_subscriber(stream, subscriber.position_id, registration_id)

    def add_client(self, client_id: int, heartbeat_counter_id: int) -> None:
        """Let the conductor agent watch a client's heartbeat."""
        self._to_conductor_agent.add_client(client_id, heartbeat_counter_id)

    def join(self, world: SimulatedWorld, stream: Stream, tether: Tether = Tether.TETHERED) -> LogReader:
        """Add a subscriber and let the agent take it at once."""
        subscriber = self.link(stream, tether=tether)
        world.settle()
        event = self.seen[-1]
        assert (event.type, event.accepted, event.position_id) == (EventType.SUBSCRIBER_LINKED, 1, subscriber.position_id)
        assert event.position == subscriber.position
        return subscriber

    # ---- what a conductor would do

    def _on_event(self, posted: Event) -> None:
        event = SeenEvent(posted)
        self.seen.append(event)
        subject = event.subject
        if event.type is EventType.CREATE_IMAGE:
            self._create_image(event)
        elif event.type is EventType.IMAGE_LINGER and self.rejoins:
            assert isinstance(subject, PublicationImage)
            self._to_receiver.remove_cool_down(subject.endpoint, subject.session_id, subject.stream_id)
        elif event.type is EventType.IMAGE_REMOVED:
            assert isinstance(subject, PublicationImage)
            self.images.remove(subject)
        elif event.type is EventType.PUBLICATION_DONE and isinstance(subject, NetworkPublication):
            self._to_sender.remove_publication(subject)

    def _create_image(self, event: SeenEvent) -> None:
        assert isinstance(event.subject, ReceiveEndpoint)
        assert event.source_address is not None
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
            **self.image_options,
        )
        self.images.append(image)
        self.subscribers.append(ImageReader(image, self.counters, position_id))
        self._to_conductor_agent.add_image(image)
        self._to_receiver.add_image(image)

    def _appender(self, log: LogBuffers, limit_id: int, exclusive: bool) -> Appender:
        kind = ExclusiveAppender if exclusive else ConcurrentAppender
        return kind(log, self.counters, limit_id, SESSION, STREAM, max_payload_length=MTU - HEADER)


def _counters_of_a_driver() -> CountersManager:
    counters = CountersManager(Region.anonymous(512 * 1024), Region.anonymous(128 * 1024))
    for counter in SystemCounter:
        assert counters.allocate(counter.name) == counter
    while counters.allocate("spare") < _RESERVED_COUNTERS - 1:
        pass
    return counters
