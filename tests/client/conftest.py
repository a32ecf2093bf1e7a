"""A driver made of shared memory alone: it answers the client's commands for IPC streams, moves limits and cleans terms.

It does one duty cycle each time it is invoked, so that tests are literal and need no sleeps; `background()` runs it in a thread where the
client's own threads are under test.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aerowire.client import Aeron, ClientContext
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.cnc import (
    BroadcastTrailerDecoder,
    CounterMetadataDecoder,
    CounterValueDecoder,
    RingTrailerDecoder,
    StreamCounterKeyEncoder,
)
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.logbuffer import LogMetadataEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.logbuffer.log import LogBuffers
from tests.support.waiting import epoch_ms

TERM_LENGTH = 65536
PAGE = 4096
COUNTERS = 256


@dataclass
class Subscriber:
    registration_id: int
    position_id: int


@dataclass
class Stream:
    """One log with its publishers and subscribers."""

    registration_id: int
    channel: str
    stream_id: int
    session_id: int
    path: Path
    log: LogBuffers
    limit_id: int
    is_exclusive: bool
    publishers: list[int] = field(default_factory=list)
    subscribers: list[Subscriber] = field(default_factory=list)
    clean_position: int = 0

    @property
    def metadata(self) -> LogMetadataEncoder:
        return LogMetadataEncoder(self.log.metadata_view())


class FakeDriver:
    """Invariant: every stream's limit is its slowest subscriber's position plus half a term; 0 without one."""

    def __init__(self, directory: Path, *, liveness_timeout_ns: int = 10_000_000_000, now_ms: Callable[[], int] = epoch_ms) -> None:
        self.now_ms = now_ms
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        (directory / "publications").mkdir(exist_ok=True)
        self.cnc = CncFile.create(
            directory / "cnc.dat",
            to_driver_length=65536 + RingTrailerDecoder.ENCODED_LENGTH,
            to_clients_length=65536 + BroadcastTrailerDecoder.ENCODED_LENGTH,
            counters_metadata_length=CounterMetadataDecoder.ENCODED_LENGTH * COUNTERS,
            counters_values_length=CounterValueDecoder.ENCODED_LENGTH * COUNTERS,
            error_log_length=65536,
            client_liveness_timeout_ns=liveness_timeout_ns,
            start_timestamp_ms=now_ms(),
            pid=1,
            file_page_size=PAGE,
        )
        self.ring = self.cnc.to_driver
        self.transmitter = self.cnc.to_clients_transmitter()
        self.counters = self.cnc.counters_manager()
        self.counters.allocate("bytes sent")
        self.streams: list[Stream] = []
        self.subscriptions: dict[int, tuple[str, int]] = {}
        self.heartbeats: dict[int, int] = {}
        self.user_counters: dict[int, int] = {}
        self.commands: list[tuple[CommandType, bytes]] = []
        self.is_deaf = False
        self.is_dead = False
        self.term_length = TERM_LENGTH
        self.mtu_length = 1408
        self.initial_term_id = 7
        self.ring.consumer_heartbeat_ms = now_ms()
        self.cnc.publish()

    # ---- duty cycle

    def invoke(self) -> int:
        if self.is_dead:
            return 0
        self.ring.consumer_heartbeat_ms = self.now_ms()
        work = 0
        if not self.is_deaf:
            for type_id, body in self.ring.poll(100):
                command = CommandType(type_id)
                self.commands.append((command, body))
                self._handle(command, body)
                work += 1
        for stream in self.streams:
            self._track(stream)
        return work

    def _track(self, stream: Stream) -> None:
        positions = [self.counters.value(subscriber.position_id) for subscriber in stream.subscribers]
        if not positions:
            return
        slowest = min(positions)
        while stream.clean_position < slowest:
            index = stream.clean_position // self.term_length % 3
            offset = stream.clean_position % self.term_length
            length = min(slowest - stream.clean_position, self.term_length - offset)
            stream.log.term_view(index)[offset : offset + length] = bytes(length)
            stream.clean_position += length
        self.counters.set_value(stream.limit_id, slowest + self.term_length // 2)

    def _handle(self, command: CommandType, body: bytes) -> None:
        client_id = commands.CorrelatedCommandDecoder(body).client_id
        if command != CommandType.CLIENT_CLOSE and client_id not in self.heartbeats:
            self.heartbeats[client_id] = self.counters.allocate(
                f"client-heartbeat: id={client_id}", CounterType.CLIENT_HEARTBEAT, registration_id=client_id
            )
            self.counters.set_value(self.heartbeats[client_id], self.now_ms())
        handler = getattr(self, f"_on_{command.name.lower()}", None)
        if handler is not None:
            handler(body)

    # ---- commands

    def _on_add_publication(self, body: bytes, *, exclusive: bool = False) -> None:
        command = commands.AddPublicationDecoder(body)
        if "refuse" in command.channel:
            self.error(command.correlation_id, ErrorCode.INVALID_CHANNEL, "refused by the fake driver")
            return
        shared = [
            s
            for s in self.streams
            if not exclusive and not s.is_exclusive and (s.channel, s.stream_id) == (command.channel, command.stream_id)
        ]
        stream = shared[0] if shared else self.open_stream(command.correlation_id, command.channel, command.stream_id, exclusive=exclusive)
        stream.publishers.append(command.correlation_id)
        response = commands.PublicationReadyEncoder.encode(
            correlation_id=command.correlation_id,
            registration_id=stream.registration_id,
            session_id=stream.session_id,
            stream_id=stream.stream_id,
            position_limit_counter_id=stream.limit_id,
            channel_status_counter_id=-1,
            log_file=str(stream.path),
        )
        self.transmitter.transmit(CommandType.ON_EXCLUSIVE_PUBLICATION_READY if exclusive else CommandType.ON_PUBLICATION_READY, response)
        if not shared:
            for registration_id, wanted in self.subscriptions.items():
                if wanted == (stream.channel, stream.stream_id):
                    self.join(stream, registration_id)

    def _on_add_exclusive_publication(self, body: bytes) -> None:
        self._on_add_publication(body, exclusive=True)

    def _on_remove_publication(self, body: bytes) -> None:
        command = commands.RemovePublicationDecoder(body)
        for stream in list(self.streams):
            if command.registration_id in stream.publishers:
                stream.publishers.remove(command.registration_id)
                if not stream.publishers:
                    self.end_stream(stream)
        self.success(command.correlation_id)

    def _on_add_subscription(self, body: bytes) -> None:
        command = commands.AddSubscriptionDecoder(body)
        self.subscriptions[command.correlation_id] = (command.channel, command.stream_id)
        self.transmitter.transmit(
            CommandType.ON_SUBSCRIPTION_READY,
            commands.SubscriptionReadyEncoder.encode(correlation_id=command.correlation_id, channel_status_counter_id=-1),
        )
        for stream in self.streams:
            if (stream.channel, stream.stream_id) == (command.channel, command.stream_id):
                self.join(stream, command.correlation_id)

    def _on_remove_subscription(self, body: bytes) -> None:
        command = commands.RemoveSubscriptionDecoder(body)
        self.subscriptions.pop(command.registration_id, None)
        for stream in self.streams:
            for subscriber in [s for s in stream.subscribers if s.registration_id == command.registration_id]:
                stream.subscribers.remove(subscriber)
                self.counters.free(subscriber.position_id)
            stream.metadata.is_connected = int(bool(stream.subscribers))
        self.success(command.correlation_id)

    def _on_add_counter(self, body: bytes) -> None:
        command = commands.AddCounterDecoder(body)
        counter_id = self.counters.allocate(command.label, command.type_id, bytes(command.key), registration_id=command.correlation_id)
        self.user_counters[command.correlation_id] = counter_id
        self.transmitter.transmit(
            CommandType.ON_COUNTER_READY,
            commands.CounterUpdateEncoder.encode(correlation_id=command.correlation_id, counter_id=counter_id),
        )

    def _on_remove_counter(self, body: bytes) -> None:
        command = commands.RemoveCounterDecoder(body)
        counter_id = self.user_counters.pop(command.registration_id)
        self.counters.free(counter_id)
        self.success(command.correlation_id)
        self.transmitter.transmit(
            CommandType.ON_UNAVAILABLE_COUNTER,
            commands.CounterUpdateEncoder.encode(correlation_id=command.registration_id, counter_id=counter_id),
        )

    def _on_add_static_counter(self, body: bytes) -> None:
        command = commands.AddStaticCounterDecoder(body)
        counter_id = self.counters.find_by_type_and_registration(command.type_id, command.registration_id)
        if counter_id < 0:
            counter_id = self.counters.allocate(command.label, command.type_id, registration_id=command.registration_id)
        self.transmitter.transmit(
            CommandType.ON_STATIC_COUNTER,
            commands.StaticCounterEncoder.encode(correlation_id=command.correlation_id, counter_id=counter_id),
        )

    def _on_success(self, body: bytes) -> None:
        self.success(commands.CorrelatedCommandDecoder(body).correlation_id)

    _on_remove_destination = _on_remove_destination_by_id = _on_add_rcv_destination = _on_remove_rcv_destination = _on_success
    _on_reject_image = _on_success

    def _on_add_destination(self, body: bytes) -> None:
        command = commands.AddDestinationDecoder(body)
        if "refuse" in command.channel:
            self.error(command.correlation_id, ErrorCode.INVALID_CHANNEL, "refused by the fake driver")
        else:
            self.success(command.correlation_id)

    def _on_get_next_available_session_id(self, body: bytes) -> None:
        command = commands.GetNextAvailableSessionIdDecoder(body)
        self.transmitter.transmit(
            CommandType.ON_NEXT_AVAILABLE_SESSION_ID,
            commands.NextAvailableSessionIdEncoder.encode(correlation_id=command.correlation_id, session_id=-42),
        )

    # ---- what a test may do to the client

    def open_stream(self, registration_id: int, channel: str, stream_id: int, *, exclusive: bool = False) -> Stream:
        path = self.directory / "publications" / f"{registration_id}.logbuffer"
        session_id = 1000 + registration_id
        log = LogBuffers.create(
            path,
            term_length=self.term_length,
            mtu_length=self.mtu_length,
            initial_term_id=self.initial_term_id,
            session_id=session_id,
            stream_id=stream_id,
            correlation_id=registration_id,
            page_size=PAGE,
            sparse=True,
        )
        key = StreamCounterKeyEncoder.encode(registration_id=registration_id, session_id=session_id, stream_id=stream_id, channel=channel)
        limit_id = self.counters.allocate("pub-lmt", CounterType.PUB_LMT, key, registration_id=registration_id)
        stream = Stream(registration_id, channel, stream_id, session_id, path, log, limit_id, exclusive)
        self.streams.append(stream)
        return stream

    def join(self, stream: Stream, subscription_id: int, *, position: int | None = None) -> None:
        key = StreamCounterKeyEncoder.encode(
            registration_id=subscription_id, session_id=stream.session_id, stream_id=stream.stream_id, channel=stream.channel
        )
        position_id = self.counters.allocate("sub-pos", CounterType.SUB_POS, key, registration_id=subscription_id)
        self.counters.set_value(position_id, stream.clean_position if position is None else position)
        stream.subscribers.append(Subscriber(subscription_id, position_id))
        stream.metadata.is_connected = 1
        self.transmitter.transmit(
            CommandType.ON_AVAILABLE_IMAGE,
            commands.AvailableImageEncoder.encode(
                correlation_id=stream.registration_id,
                session_id=stream.session_id,
                stream_id=stream.stream_id,
                subscription_registration_id=subscription_id,
                subscriber_position_counter_id=position_id,
                log_file=str(stream.path),
                source_identity="aeron:ipc",
            ),
        )
        self._track(stream)

    def end_stream(self, stream: Stream) -> None:
        """Announce the end of the stream where its publisher stands; images go when `drop_images` says so."""
        metadata = stream.metadata
        count = metadata.active_term_count
        tail = int.from_bytes(stream.log.metadata_view()[8 * (count % 3) : 8 * (count % 3) + 8], "little")
        metadata.end_of_stream_position = count * self.term_length + min(tail & 0xFFFFFFFF, self.term_length)

    def drop_images(self, stream: Stream) -> None:
        for subscriber in stream.subscribers:
            self.transmitter.transmit(
                CommandType.ON_UNAVAILABLE_IMAGE,
                commands.UnavailableImageEncoder.encode(
                    correlation_id=stream.registration_id,
                    subscription_registration_id=subscriber.registration_id,
                    stream_id=stream.stream_id,
                    channel=stream.channel,
                ),
            )
            self.counters.free(subscriber.position_id)
        stream.subscribers.clear()
        self.streams.remove(stream)
        stream.path.unlink()

    def error(self, correlation_id: int, code: int, text: str) -> None:
        self.transmitter.transmit(
            CommandType.ON_ERROR,
            commands.ErrorResponseEncoder.encode(offending_correlation_id=correlation_id, error_code=code, error_message=text),
        )

    def success(self, correlation_id: int) -> None:
        self.transmitter.transmit(CommandType.ON_OPERATION_SUCCESS, commands.OperationSuccessEncoder.encode(correlation_id=correlation_id))

    def give_up(self, client_id: int) -> None:
        self.transmitter.transmit(CommandType.ON_CLIENT_TIMEOUT, commands.ClientTimeoutEncoder.encode(client_id=client_id))

    def cycle(self, *clients: Aeron) -> None:
        """Answer what was asked, and let the clients hear it."""
        self.invoke()
        for client in clients:
            client.invoke()

    def last(self, command: CommandType) -> bytes:
        return next(body for type_id, body in reversed(self.commands) if type_id == command)

    @contextlib.contextmanager
    def background(self) -> Iterator[FakeDriver]:
        stop = threading.Event()

        def cycle() -> None:
            while not stop.wait(0.0005):
                self.invoke()

        thread = threading.Thread(target=cycle, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    directory = Path(tempfile.mkdtemp(prefix="aw-client-", dir=base))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def start_driver() -> type[FakeDriver]:
    return FakeDriver


@pytest.fixture
def driver(aeron_dir: Path) -> FakeDriver:
    return FakeDriver(aeron_dir)


@pytest.fixture
def connect(driver: FakeDriver) -> Iterator[Callable[..., Aeron]]:
    """Connect clients that are invoked with the driver by whoever waits; they are closed at the end."""
    with contextlib.ExitStack() as stack:

        def connect_client(**options: object) -> Aeron:
            settings: dict[str, object] = {"use_conductor_agent_invoker": True, "driver_agent_invoker": driver, **options}
            return stack.enter_context(Aeron.connect(driver.directory, context=ClientContext.of(**settings)))

        yield connect_client


@pytest.fixture
def aeron(connect: Callable[..., Aeron]) -> Aeron:
    return connect()


@pytest.fixture(scope="module")
def real_driver() -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(threading_mode="SHARED", term_buffer_length=65536, ipc_term_buffer_length=65536) as driver:
        yield driver
