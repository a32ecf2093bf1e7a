"""A client of a simulated host: commands into its driver's ring, responses out of its broadcast, and logs by their names.

Knows how to ask and what was answered; what is sent, and what becomes of images, is for those who build on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Self

from aerowire.codecs.flyweights.commands import (
    AddPublicationEncoder,
    AddSubscriptionEncoder,
    AvailableImageDecoder,
    ClientKeepaliveEncoder,
    CommandType,
    ErrorResponseDecoder,
    PublicationReadyDecoder,
    RemovePublicationEncoder,
    RemoveSubscriptionEncoder,
    UnavailableImageDecoder,
)
from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.log import LogBuffers
from aerowire.simulation.world import SimulatedHost, SimulatedWorld
from tests.support.log_reader import LogReader

STREAM = 1001
_RESPONSES_AT_ONCE = 10
_KEEPALIVE_INTERVAL_NS = 500_000_000
_PAYLOAD_MAX = int(str(OPTIONS["mtu_length"].default)) - DataHeaderDecoder.ENCODED_LENGTH


class SimulatedClient:
    """One client. The publication's `appender` and the latest image's log and position counter are there once the driver has answered."""

    def __init__(self, host: SimulatedHost) -> None:
        self.host = host
        self.ring = host.cnc.to_driver
        self.responses = host.cnc.to_clients_receiver()
        self.client_id = self.ring.next_correlation_id()
        self.counters = host.cnc.counters_manager()
        self.appender: ConcurrentAppender | None = None
        self.image: LogBuffers | None = None
        self.image_id = -1
        self.position_id = -1
        self.errors: list[str] = []

    def publish(self, channel: str) -> int:
        """Add a publication; return its registration."""
        registration_id = self.ring.next_correlation_id()
        body = AddPublicationEncoder.encode(client_id=self.client_id, correlation_id=registration_id, stream_id=STREAM, channel=channel)
        self.ring.write(CommandType.ADD_PUBLICATION, body)
        return registration_id

    def unpublish(self, registration_id: int) -> None:
        """Remove a publication."""
        body = RemovePublicationEncoder.encode(
            client_id=self.client_id, correlation_id=self.ring.next_correlation_id(), registration_id=registration_id
        )
        self.appender = None
        self.ring.write(CommandType.REMOVE_PUBLICATION, body)

    def subscribe(self, channel: str) -> int:
        """Add a subscription; return its registration."""
        registration_id = self.ring.next_correlation_id()
        body = AddSubscriptionEncoder.encode(
            client_id=self.client_id,
            correlation_id=registration_id,
            registration_correlation_id=-1,
            stream_id=STREAM,
            channel=channel,
        )
        self.ring.write(CommandType.ADD_SUBSCRIPTION, body)
        return registration_id

    def unsubscribe(self, registration_id: int) -> None:
        """Remove a subscription, and look at its image no more."""
        body = RemoveSubscriptionEncoder.encode(
            client_id=self.client_id, correlation_id=self.ring.next_correlation_id(), registration_id=registration_id
        )
        self.image = None
        self.ring.write(CommandType.REMOVE_SUBSCRIPTION, body)

    def keep_alive(self) -> None:
        """Say that the client is there."""
        self.ring.write(CommandType.CLIENT_KEEPALIVE, ClientKeepaliveEncoder.encode(client_id=self.client_id))

    def poll_responses(self) -> int:
        """Take what the driver answered; return how much that was."""
        done = 0
        for kind, body in self.responses.poll(_RESPONSES_AT_ONCE):
            self._on_response(kind, body)
            done += 1
        return done

    def on_image(self) -> None:
        """A new image is there."""

    def on_no_image(self) -> None:
        """The image is gone."""

    def _on_response(self, kind: int, body: bytes) -> None:
        if kind == CommandType.ON_ERROR:
            self.errors.append(ErrorResponseDecoder(body).error_message)
        elif kind == CommandType.ON_PUBLICATION_READY:
            ready = PublicationReadyDecoder(body)
            log = LogBuffers.map(ready.log_file, regions=self.host.regions)
            self.appender = ConcurrentAppender(
                log, self.counters, ready.position_limit_counter_id, ready.session_id, STREAM, max_payload_length=_PAYLOAD_MAX
            )
        elif kind == CommandType.ON_AVAILABLE_IMAGE:
            available = AvailableImageDecoder(body)
            self.image = LogBuffers.map(available.log_file, regions=self.host.regions)
            self.image_id = available.correlation_id
            self.position_id = available.subscriber_position_counter_id
            self.on_image()
        elif kind == CommandType.ON_UNAVAILABLE_IMAGE and UnavailableImageDecoder(body).correlation_id == self.image_id:
            self.image = None
            self.on_no_image()


class StreamClient(SimulatedClient):
    """Works on its own: sends what it is given, receives what there is, and keeps itself alive."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost) -> None:
        super().__init__(host)
        self.received: list[bytes] = []
        self._world = world
        self._outbox: deque[bytes] = deque()
        self._reader: LogReader | None = None
        self._keepalive_ns = 0
        world.add_actor(self.work)

    @classmethod
    def launch(cls, world: SimulatedWorld, address: str, **options: Any) -> Self:
        """Start a driver at an address, and a client of it; `options` are the driver's."""
        return cls(world, world.add_host(address, **{"environ": {}, "term_buffer_length": "64k", **options}))

    def send(self, messages: Iterable[bytes]) -> None:
        """Send messages one after the other, as there is room for them."""
        self._outbox.extend(messages)

    def system(self, counter: SystemCounter) -> int:
        """Return a system counter of the driver."""
        return self.counters.value(counter)

    def on_image(self) -> None:
        assert self.image is not None
        self._reader = LogReader(self.image, self.counters, self.position_id)
        self._reader.fragments = self.received

    def on_no_image(self) -> None:
        self._reader = None

    def work(self) -> int:
        """Do what there is to do; return how much that was."""
        if self._world.clock.now_ns() >= self._keepalive_ns:
            self._keepalive_ns = self._world.clock.now_ns() + _KEEPALIVE_INTERVAL_NS
            self.keep_alive()
        done = self.poll_responses()
        while self._outbox and self.appender is not None and self.appender.append(self._outbox[0]) > 0:
            self._outbox.popleft()
            done += 1
        return done + (0 if self._reader is None else self._reader.poll())
