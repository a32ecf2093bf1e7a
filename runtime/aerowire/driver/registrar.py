"""The registrar: what happens once in a stream's life. Commands from clients, events from the agents, resources to free.

It sleeps until somebody wakes its event queue, and no running stream waits for it. Aeron: DriverConductor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.channel_uri import SPY_PREFIX, ChannelUri
from aerowire.base.errors import AerowireError, RegistrationError, StorageSpaceError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver import client_commands
from aerowire.driver.clients import UserCounters
from aerowire.driver.endpoints import Endpoints
from aerowire.driver.error_recorder import describe, is_storage_error
from aerowire.driver.images import Images
from aerowire.driver.links import Subscription
from aerowire.driver.publication_factory import Publication
from aerowire.driver.publications import Publications
from aerowire.driver.registrar_events import EVENT_HANDLERS
from aerowire.driver.sessions import Sessions
from aerowire.driver.socket_address import is_numeric
from aerowire.driver.subscription_checks import is_ipc_channel, refuse_spy
from aerowire.driver.subscriptions import Subscriptions
from aerowire.driver.udp_channel import UdpChannel, names_to_resolve

if TYPE_CHECKING:
    from aerowire.driver.driver_core import DriverCore
    from aerowire.driver.events import Event

# How long the registrar sleeps at most, so that a wake-up lost to a bug in one agent is a hiccup and not a hang.
_SLEEP_NS_MAX = 1_000_000_000
# How soon it looks again while something waits that no event announces: room in an agent's queue, or a log to free.
_SLEEP_NS_BUSY = 10_000_000
# How soon it looks again for a command that was claimed and not yet written whole: the wake-up came with the claim.
_SLEEP_NS_UNFINISHED = 200_000
_CAPTURE_FLUSH_NS = 100_000_000
# Commands and events handled in one cycle before the other kind gets its turn.
_COMMANDS_PER_CYCLE = 16
_EVENTS_PER_CYCLE = 64


@dataclass(slots=True)
class _Resolution:
    """A command that waits for its channel's names."""

    correlation_id: int
    channel: Future[UdpChannel]
    then: Callable[[UdpChannel], object]
    started_ns: int


class Registrar:
    """Owns the tables of clients, publications, subscriptions and images.

    Invariant: everything here is touched by one thread at a time: the registrar's own, or the caller's of an invoker.
    """

    def __init__(self, core: DriverCore, *, resolver: Executor | None, on_terminate: Callable[[bytes], bool]) -> None:
        """`resolver` runs name look-ups that may block (None: in line); `on_terminate` is asked whether a token ends the driver."""
        self.core = core
        context = core.context
        self.endpoints = Endpoints(core)
        sessions = Sessions(
            context.publication_reserved_session_id_low,
            context.publication_reserved_session_id_high,
            core.ports.random.below(1 << 32) - (1 << 31),
        )
        self.sessions = sessions
        self.publications = Publications(core, self.endpoints, sessions)
        self.subscriptions = Subscriptions(core, self.endpoints)
        self.images = Images(core, self.endpoints, self.subscriptions)
        self.user_counters = UserCounters(counters=core.counters, responses=core.responses, clients=core.clients)
        self._resolver = resolver
        self._on_terminate = on_terminate
        self._pending: _Resolution | None = None
        self._is_stopping = threading.Event()
        self._flush_deadline_ns = 0
        self._is_capture_over = core.capture is None

    def run(self) -> None:
        """Work until `stop()`; the body of the registrar's thread."""
        while not self._is_stopping.is_set():
            try:
                work = self.do_work()
            except Exception as error:  # whatever it is, the other streams go on
                self.core.errors.record(error)
                work = 0
            if work == 0:
                self.core.events.wait(self._sleep_ns())

    def stop(self) -> None:
        """Make `run` return soon. Any thread."""
        self._is_stopping.set()
        self.core.events.wake()

    def do_work(self) -> int:
        """Do what there is to do, without blocking; returns how much that was."""
        core = self.core
        work = core.sender.flush() + core.receiver.flush() + core.tracker.flush()
        work += self._handle_events()
        work += self._handle_commands()
        if core.logs.pending:
            work += core.logs.free_some()
        self._flush_capture()
        return work

    def close(self) -> None:
        """Free files and sockets; the agents must have stopped."""
        self.publications.close()
        self.images.close()
        self.core.logs.close()
        self.endpoints.close()

    # Commands of clients ----------------------------------------------------------------------------------------------

    def on_add_publication(self, channel: str, stream_id: int, correlation_id: int, client_id: int, *, is_exclusive: bool) -> None:
        if is_ipc_channel(channel):
            publication = self.publications.add_ipc(channel, stream_id, correlation_id, client_id, is_exclusive=is_exclusive)
            if publication is not None:
                self._link_publication(publication)
            return
        self._with_channel(
            channel,
            correlation_id,
            lambda udp: self.publications.add_network(udp, stream_id, correlation_id, client_id, is_exclusive=is_exclusive),
        )

    def on_remove_publication(self, correlation_id: int, registration_id: int, *, is_revoked: bool) -> None:
        self.publications.remove(correlation_id, registration_id, is_revoked=is_revoked)

    def on_add_subscription(self, channel: str, stream_id: int, correlation_id: int, client_id: int) -> None:
        if is_ipc_channel(channel):
            subscription = self.subscriptions.add_ipc(channel, stream_id, correlation_id, client_id)
            for publication in self.publications:
                self._link_ipc(publication, subscription)
            return
        if channel.startswith(SPY_PREFIX):
            raise refuse_spy(channel)
        self._with_channel(
            channel,
            correlation_id,
            lambda udp: self.images.link_subscription(self.subscriptions.add_network(udp, stream_id, correlation_id, client_id)),
        )

    def on_remove_subscription(self, correlation_id: int, registration_id: int) -> None:
        self.subscriptions.remove(correlation_id, registration_id)

    def on_send_destination(self, registration_id: int, channel: str | None) -> None:
        if channel is not None:
            ChannelUri.parse(channel)
        if self.publications.find(registration_id) is None:
            raise RegistrationError(
                "unknown publication",
                where="destination",
                expected="the registration of a publication",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_PUBLICATION,
            )
        raise _no_destinations("publication", registration_id)

    def on_receive_destination(self, registration_id: int, channel: str) -> None:
        ChannelUri.parse(channel)
        if all(item.registration_id != registration_id for item in self.subscriptions):
            raise RegistrationError(
                "unknown multi-destination subscription",
                where="destination",
                expected="the registration of a subscription",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_SUBSCRIPTION,
            )
        raise _no_destinations("subscription", registration_id)

    def on_client_keepalive(self, client_id: int) -> None:
        self.core.clients.on_keepalive(client_id)

    def on_client_close(self, client_id: int) -> None:
        self.core.clients.on_close(client_id)

    def on_add_counter(self, correlation_id: int, client_id: int, type_id: int, key: bytes, label: str) -> None:
        self.user_counters.add(correlation_id, client_id, type_id, key, label)

    def on_add_static_counter(
        self, correlation_id: int, client_id: int, registration_id: int, type_id: int, key: bytes, label: str
    ) -> None:
        self.user_counters.add_static(correlation_id, client_id, registration_id, type_id, key, label)

    def on_remove_counter(self, correlation_id: int, registration_id: int) -> None:
        self.user_counters.remove(correlation_id, registration_id)

    def on_terminate_driver(self, token: bytes) -> None:
        # Termination has no answer: a client sees the heartbeat of -1, or nothing when it was denied.
        self._on_terminate(token)

    def on_reject_image(self, correlation_id: int, image_correlation_id: int, position: int, reason: str) -> None:
        if len(reason) > commands.REJECT_REASON_LENGTH_MAX:
            raise RegistrationError(
                "the reason for a rejection is too long",
                where=f"image {image_correlation_id}",
                expected=f"at most {commands.REJECT_REASON_LENGTH_MAX} bytes",
                actual=len(reason),
                error_code=ErrorCode.GENERIC_ERROR,
            )
        image = self.images.find(image_correlation_id)
        if image is None:
            publication = self.publications.find(image_correlation_id)
            if publication is not None and publication.is_ipc:
                raise RegistrationError(
                    "rejection of IPC images: not supported by this driver",
                    where=f"image {image_correlation_id} at position {position}",
                    expected="an image of a UDP channel",
                    actual="aeron:ipc",
                    error_code=ErrorCode.NOT_SUPPORTED,
                )
            raise RegistrationError(
                "unknown image",
                where="reject image",
                expected="the correlation id of an image",
                actual=image_correlation_id,
                error_code=ErrorCode.GENERIC_ERROR,
            )
        self.core.receiver.reject_image(image.native, reason)
        self.core.count(SystemCounter.IMAGES_REJECTED)
        self.core.responses.operation_success(correlation_id)

    def on_next_session_id(self, correlation_id: int, stream_id: int) -> None:
        self.core.responses.next_available_session_id(correlation_id, self.sessions.next_for_stream(stream_id))

    # Links ------------------------------------------------------------------------------------------------------------

    def remove_client(self, client_id: int) -> None:
        """Give back everything a client had."""
        self.publications.remove_client(client_id)
        self.subscriptions.remove_client(client_id)
        self.user_counters.remove_client(client_id)

    def _link_publication(self, publication: Publication) -> None:
        for subscription in self.subscriptions:
            self._link_ipc(publication, subscription)

    def _link_ipc(self, publication: Publication, subscription: Subscription) -> None:
        is_match = publication.is_ipc and subscription.endpoint is None
        if is_match and not publication.is_ending and subscription.wants(publication.session_id, publication.stream_id):
            self.subscriptions.link_later(subscription, publication)

    # Cycle ------------------------------------------------------------------------------------------------------------

    def _handle_events(self) -> int:
        events: list[Event] = self.core.events.poll(_EVENTS_PER_CYCLE)
        for event in events:
            try:
                EVENT_HANDLERS[event.type](self, event)
            except Exception as error:  # one bad event must not end the driver
                self.core.errors.record(error)
        return len(events)

    def _handle_commands(self) -> int:
        count = 0
        while count < _COMMANDS_PER_CYCLE:
            if self._pending is not None:
                if not self._pending.channel.done():
                    break
                pending, self._pending = self._pending, None
                self._finish(pending)
            elif self.core.is_accepting_commands:
                batch = self.core.to_driver.poll(1)
                if not batch:
                    break
                self._execute(*batch[0])
            else:
                break
            count += 1
        return count

    def _execute(self, message_type: int, body: bytes) -> None:
        try:
            client_commands.dispatch(self, message_type, body)
        except Exception as error:  # told to the client; a bad command must not end the driver
            self._answer_error(client_commands.correlation_id_of(body), error)

    def _finish(self, pending: _Resolution) -> None:
        self._note_resolution(pending.started_ns)
        try:
            pending.then(pending.channel.result())
        except Exception as error:
            self._answer_error(pending.correlation_id, error)

    def _with_channel(self, channel: str, correlation_id: int, then: Callable[[UdpChannel], object]) -> None:
        ports = self.core.ports

        def parse() -> UdpChannel:
            return UdpChannel.parse(channel, resolver=ports.resolver, interfaces=ports.interfaces)

        is_quick = all(is_numeric(text) for text in names_to_resolve(ChannelUri.parse(channel)))
        started_ns = ports.clock.now_ns()
        if is_quick or self._resolver is None:
            udp = parse()
            if not is_quick:
                self._note_resolution(started_ns)
            then(udp)
            return
        future = self._resolver.submit(parse)
        self._pending = _Resolution(correlation_id, future, then, started_ns)
        future.add_done_callback(lambda _future: self.core.events.wake())

    def _note_resolution(self, started_ns: int) -> None:
        elapsed_ns = self.core.ports.clock.now_ns() - started_ns
        manager = self.core.counters.manager
        if elapsed_ns > manager.value(SystemCounter.NAME_RESOLVER_MAX_TIME):
            manager.set_value(SystemCounter.NAME_RESOLVER_MAX_TIME, elapsed_ns)
        if elapsed_ns > self.core.context.name_resolver_threshold_ns:
            self.core.count(SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED)

    def _answer_error(self, correlation_id: int, error: Exception) -> None:
        code = error.error_code if isinstance(error, AerowireError) else None
        if is_storage_error(error):
            code = ErrorCode.STORAGE_SPACE
        if code is None:
            code = ErrorCode.GENERIC_ERROR
        if code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
            self.core.errors.record(error)
        text = str(error) if isinstance(error, AerowireError) else describe(error)
        self.core.responses.error(correlation_id, code, text)

    def _flush_capture(self) -> None:
        capture = self.core.capture
        if capture is None or self._is_capture_over:
            return
        now_ns = self.core.ports.clock.now_ns()
        if now_ns >= self._flush_deadline_ns:
            self._flush_deadline_ns = now_ns + _CAPTURE_FLUSH_NS
            try:
                capture.flush()
            except StorageSpaceError as error:
                self._is_capture_over = True
                self.core.errors.record(error)

    def _sleep_ns(self) -> int:
        if self._pending is None and self.core.to_driver.size > 0 and self.core.is_accepting_commands:
            return _SLEEP_NS_UNFINISHED
        if self.core.logs.pending or not self.core.is_accepting_commands:
            return _SLEEP_NS_BUSY
        return _SLEEP_NS_MAX if self._is_capture_over else _CAPTURE_FLUSH_NS


def _no_destinations(kind: str, registration_id: int) -> RegistrationError:
    return RegistrationError(
        f"destinations of a {kind}: not supported by this driver",
        where=f"{kind} {registration_id}",
        expected="a channel of one destination",
        actual="a command about destinations",
        error_code=ErrorCode.NOT_SUPPORTED,
    )
