"""The client's table of resources: what it asked the driver for, and what it got. Aeron: ClientConductor.

Sends commands, takes the driver's answers, makes and ends the handles that users hold, and calls their event handlers. Everything here is
behind one lock and off the message path: publications and images work without it. What ends a client (the driver died or dropped it) is
noticed by the native keepalive and carried out here.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from aerowire.base.errors import (
    AerowireError,
    BroadcastLappedError,
    ClosedError,
    DriverTimeoutError,
    RingBufferFullError,
)
from aerowire.client import endings, state
from aerowire.client.counter import Counter
from aerowire.client.driver_events import DriverEvents, PublicationErrorFrame
from aerowire.client.driver_proxy import DriverProxy
from aerowire.client.image import Image
from aerowire.client.publication import ExclusivePublication, Publication
from aerowire.client.refusals import refusal
from aerowire.client.subscription import Subscription
from aerowire.client.waiting import Pending, wait_for
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.logbuffer import PARTITION_COUNT
from aerowire.codecs.flyweights.transport import PAGE_SIZE_MIN
from aerowire.logbuffer.log import LogBuffers

if TYPE_CHECKING:
    from aerowire.client.connecting import DriverFile
    from aerowire.client.context import ConcludedContext
    from aerowire.client.keepalive import KeepaliveAgent
    from aerowire.ipc.counters import CountersReader

T = TypeVar("T")
Handler = Callable[..., object]
Resource: TypeAlias = "Publication | ExclusivePublication | Subscription | Counter"

# Answers come within a driver's idle sleep, about a millisecond; a longer sleep only makes set-up slow.
ANSWER_SLEEP_MAX_S = 1e-3
# A log that an explicit close frees stays mapped this long: another thread may be in the middle of it. Aeron: EXPLICIT_CLOSE_LINGER_NS.
CLOSE_LINGER_NS = 1_000_000_000

# A look at the file's name costs a microsecond; more often than this nobody waits for a driver to start.
REPLACEMENT_CHECK_NS = 50_000_000

LOGGER_NAME = "aerowire.client"


@dataclass(frozen=True)
class _Request:
    """A command without an answer. `undo` takes back what the driver makes although nobody wants it any more; None: still wanted."""

    pending: Pending[object]
    channel: str = ""
    undo: Callable[[int], object] | None = None


class ClientConductor:
    """One client's resources. Any thread; invariant: `_failure` is set exactly when the state is TERMINATED."""

    def __init__(self, context: ConcludedContext, driver: DriverFile, watch: KeepaliveAgent, proxy: DriverProxy) -> None:
        self._context = context
        self._driver = driver
        self._replacement_check_ns = 0
        self._cnc = cnc = driver.cnc
        self._watch = watch
        self._proxy = proxy
        self._lock = threading.RLock()
        self._state = state.OPEN
        self._failure: AerowireError | None = None
        self._events = DriverEvents(cnc.to_clients_receiver(), self)
        self.counters: CountersReader = cnc.counters_reader()
        self._resources: dict[int, Resource] = {}
        self._requests: dict[int, _Request] = {}
        self._logs: weakref.WeakValueDictionary[int, LogBuffers] = weakref.WeakValueDictionary()
        self._lingering: list[tuple[int, object]] = []
        self._is_servicing = False
        self._is_named = False
        self._handlers: dict[str, dict[int, Handler]] = {"available_counter": {}, "unavailable_counter": {}, "close": {}}
        self._handler_id = 0
        for kind, handler in (
            ("available_counter", context.available_counter_handler),
            ("unavailable_counter", context.unavailable_counter_handler),
            ("close", context.close_handler),
        ):
            if handler is not None:
                self.add_handler(kind, handler)

    # ---- the client's life

    @property
    def client_id(self) -> int:
        """Number by which the driver knows this client."""
        return self._proxy.client_id

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed, or has ended."""
        return self._state != state.OPEN

    def service(self) -> int:
        """Do what is due: answers, liveness, lingering logs. Returns how much was done; raises what ended the client."""
        with self._lock:
            self._ensure_open()
            if self._is_servicing:
                return 0  # a handler asks for more while its message is being handled
            self._is_servicing = True
            try:
                work = self._events.receive()
                self._check_liveness()
                work += self._release_lingering()
            except BroadcastLappedError as error:
                self._terminate(error)
                raise
            finally:
                self._is_servicing = False
            self._ensure_open()
            return work

    def service_quietly(self) -> None:
        """As `service`, for the conductor's own thread: what ends the client goes to the error handler instead."""
        with self._lock:
            if self._state == state.OPEN:
                try:
                    self.service()
                except AerowireError as error:
                    if self._failure is None:
                        self.report(error)

    def linger_deadline_ns(self) -> int | None:
        """Return when (monotonic ns) the next lingering log is due to be let go; None when there is none."""
        with self._lock:
            return min((deadline for deadline, _ in self._lingering), default=None)

    def close(self) -> None:
        """End everything and take leave of the driver. A second call, and one in a forked child, does nothing."""
        with self._lock:
            if self._state == state.FORKED:
                return
            was_open = self._state == state.OPEN
            self._watch.retire()
            self._end_resources(state.CLOSED, None)
            self._state = state.CLOSED if was_open else self._state
            for handler in list(self._handlers["close"].values()):
                self._call(handler)
            self._handlers["close"].clear()
            self._lingering.clear()
            if was_open:
                with contextlib.suppress(RingBufferFullError):  # the driver is not reading: it will find out by the heartbeat
                    self._proxy.client_close()
            self._cnc.close()

    def mark_forked(self) -> None:
        """In the child of a fork: nothing here is this process's own. The parent's lock may be held by a thread that is not here."""
        self._lock = threading.RLock()
        self._state = state.FORKED
        self._watch.retire()
        for resource in self._resources.values():
            if isinstance(resource, Subscription):
                for image in resource.images:
                    image._end(state.FORKED)
            resource._end(state.FORKED)

    def report(self, error: BaseException) -> None:
        """Hand an error that no caller can be given to the error handler, or to the log."""
        import logging

        logger = logging.getLogger(LOGGER_NAME)
        if self._context.error_handler is None:
            logger.error("%s: %s", type(error).__name__, error, exc_info=None if isinstance(error, AerowireError) else error)
            return
        try:
            self._context.error_handler(error)
        except Exception:
            logger.exception("the error handler failed")

    def ensure_open(self) -> None:
        """Raise what a call deserves once the client is closed or has ended."""
        with self._lock:
            self._ensure_open()

    # ---- asking

    def start_publication(self, channel: str, stream_id: int, *, exclusive: bool) -> Pending[Publication] | Pending[ExclusivePublication]:
        """Ask for a publication."""
        with self._lock:
            self._ensure_open()
            add = self._proxy.add_exclusive_publication if exclusive else self._proxy.add_publication
            correlation_id = add(channel, stream_id)
            kind = "exclusive publication" if exclusive else "publication"
            return self._ask(  # type: ignore[return-value]
                correlation_id,
                f"add {kind} {channel} stream {stream_id}",
                channel,
                lambda registration_id: self._proxy.remove_publication(registration_id, revoke=False),
            )

    def start_subscription(
        self, channel: str, stream_id: int, available: Handler | None, unavailable: Handler | None
    ) -> Pending[Subscription]:
        """Ask for a subscription; the handlers are called with each image that comes and goes."""
        with self._lock:
            self._ensure_open()
            correlation_id = self._proxy.add_subscription(channel, stream_id)
            self._resources[correlation_id] = Subscription(
                self,
                channel=channel,
                stream_id=stream_id,
                registration_id=correlation_id,
                available_image_handler=available,
                unavailable_image_handler=unavailable,
            )
            return self._ask(  # type: ignore[return-value]
                correlation_id, f"add subscription {channel} stream {stream_id}", channel, self._proxy.remove_subscription
            )

    def start_counter(self, type_id: int, key: bytes, label: str) -> Pending[Counter]:
        """Ask for a counter."""
        with self._lock:
            self._ensure_open()
            correlation_id = self._proxy.add_counter(type_id, key, label)
            return self._ask(correlation_id, f"add counter {label!r}", "", self._proxy.remove_counter)  # type: ignore[return-value]

    def start_static_counter(self, type_id: int, registration_id: int, key: bytes, label: str) -> Pending[Counter]:
        """Ask for a counter that outlives its clients."""
        with self._lock:
            self._ensure_open()
            correlation_id = self._proxy.add_static_counter(type_id, registration_id, key, label)
            return self._ask(correlation_id, f"add static counter {label!r}", "", None)  # type: ignore[return-value]

    def start_destination(self, command: CommandType, registration_id: int, channel: str) -> Pending[None]:
        """Ask to add or remove a destination, as `command` says."""
        with self._lock:
            self._ensure_open()
            correlation_id = self._proxy.destination(command, registration_id, channel)
            what = command.name.lower().replace("_", " ")
            return self._ask(correlation_id, f"{what} {channel}", channel, None)  # type: ignore[return-value]

    def start_next_session_id(self, stream_id: int) -> Pending[int]:
        """Ask for a session id that nobody uses on the stream."""
        with self._lock:
            self._ensure_open()
            correlation_id = self._proxy.next_available_session_id(stream_id)
            return self._ask(correlation_id, f"get a session id for stream {stream_id}", "", None)  # type: ignore[return-value]

    def wait(self, pending: Pending[T], timeout_ns: int | None = None) -> T:
        """Wait for an answer and return it. Raises DriverTimeoutError when there is none in time; a signal gives the command up."""
        if self._is_servicing and self._lock_is_ours():
            pending.cancel()
            raise AerowireError(
                f"{pending.what}: waiting for the driver inside a handler of its messages",
                expected="a call from outside the handler, or the async_ form",
            )
        limit_ns = self._context.driver_timeout_ns if timeout_ns is None else timeout_ns
        invoker = self._context.driver_agent_invoker

        def poll() -> bool:
            if invoker is not None:
                invoker.invoke()
            return pending.poll()

        try:
            if not wait_for(poll, limit_ns, sleep_max_s=ANSWER_SLEEP_MAX_S):
                raise DriverTimeoutError(
                    f"no answer to: {pending.what}",
                    where=self._context.aeron_dir,
                    expected=f"an answer within {limit_ns / 1e9:g} s",
                    hint="the driver is alive but busy or stuck" if self._state == state.OPEN else None,
                )
        except BaseException:
            pending.cancel()
            raise
        return pending.result()

    def add_destination(self, registration_id: int, channel: str) -> None:
        """Add a destination to a publication, and wait."""
        self.wait(self.start_destination(CommandType.ADD_DESTINATION, registration_id, channel))

    def remove_destination(self, registration_id: int, channel: str) -> None:
        """Remove a destination from a publication, and wait."""
        self.wait(self.start_destination(CommandType.REMOVE_DESTINATION, registration_id, channel))

    def add_receive_destination(self, registration_id: int, channel: str) -> None:
        """Add a source to a subscription, and wait."""
        self.wait(self.start_destination(CommandType.ADD_RCV_DESTINATION, registration_id, channel))

    def remove_receive_destination(self, registration_id: int, channel: str) -> None:
        """Remove a source from a subscription, and wait."""
        self.wait(self.start_destination(CommandType.REMOVE_RCV_DESTINATION, registration_id, channel))

    # ---- giving back

    def close_publication(self, publication: Publication | ExclusivePublication) -> None:
        """End a publication and tell the driver."""
        with self._lock:
            if self._forget(publication):
                self._linger(publication, CLOSE_LINGER_NS)
                revoke = isinstance(publication, ExclusivePublication) and publication.revoke_on_close
                self._tell(lambda: self._proxy.remove_publication(publication.registration_id, revoke=revoke))

    def close_subscription(self, subscription: Subscription) -> None:
        """End a subscription and its images, and tell the driver."""
        with self._lock:
            if self._forget(subscription):
                self._end_images(subscription, state.CLOSED, None)
                self._tell(lambda: self._proxy.remove_subscription(subscription.registration_id))

    def close_counter(self, counter: Counter) -> None:
        """End a counter and tell the driver; a static one only ends here."""
        with self._lock:
            if self._forget(counter) and not counter.is_static:
                self._tell(lambda: self._proxy.remove_counter(counter.registration_id))

    # ---- looking

    def channel_status(self, handle: Publication | ExclusivePublication | Subscription) -> int:
        """Return the status of a handle's channel."""
        from aerowire.client import channel_status

        with self._lock:
            return channel_status.status(None if handle.is_closed or self.is_closed else self.counters, handle.channel_status_id)

    def local_socket_addresses(self, handle: Publication | ExclusivePublication | Subscription) -> list[str]:
        """Return the addresses that a handle's channel is bound to."""
        from aerowire.client import channel_status

        with self._lock:
            if handle.is_closed or self.is_closed:
                return []
            return channel_status.local_addresses(self.counters, handle.channel_status_id)

    def resolve_endpoint_port(self, subscription: Subscription) -> str | None:
        """Return a subscription's channel with the port that the system chose, or None while it is not bound."""
        from aerowire.client import channel_status

        return channel_status.resolve_port(subscription.channel, self.local_socket_addresses(subscription))

    def add_handler(self, kind: str, handler: Handler) -> int:
        """Add a handler for `available_counter`, `unavailable_counter` or `close`; return the number to remove it by."""
        with self._lock:
            self._handler_id += 1
            self._handlers[kind][self._handler_id] = handler
            return self._handler_id

    def remove_handler(self, kind: str, handler_id: int) -> bool:
        """Remove a handler; return whether it was there."""
        with self._lock:
            return self._handlers[kind].pop(handler_id, None) is not None

    # ---- what the driver says (DriverListener); under the lock

    def on_error(self, correlation_id: int, error_code: int, text: str) -> None:
        request = self._requests.pop(correlation_id, None)
        if request is None:
            return
        subscription = self._resources.pop(correlation_id, None)
        if subscription is not None:
            subscription._end(state.CLOSED)
        request.pending.fail(refusal(error_code, text, request.pending.what))

    def on_publication_ready(
        self,
        correlation_id: int,
        registration_id: int,
        session_id: int,
        stream_id: int,
        position_limit_id: int,
        channel_status_id: int,
        log_file: str,
        *,
        exclusive: bool,
    ) -> None:
        request = self._wanted(correlation_id)
        if request is None:
            return
        kind = ExclusivePublication if exclusive else Publication
        try:
            publication = kind(
                self,
                self._log(registration_id, log_file),
                self.counters,
                channel=request.channel,
                stream_id=stream_id,
                session_id=session_id,
                registration_id=correlation_id,
                original_registration_id=registration_id,
                position_limit_id=position_limit_id,
                channel_status_id=channel_status_id,
            )
        except Exception as error:
            request.pending.fail(error)
            self._tell(lambda: self._proxy.remove_publication(correlation_id, revoke=False))
            return
        self._resources[correlation_id] = publication
        request.pending.complete(publication)

    def on_subscription_ready(self, correlation_id: int, channel_status_id: int) -> None:
        request = self._wanted(correlation_id)
        subscription = self._resources.get(correlation_id)
        if request is not None and isinstance(subscription, Subscription):
            subscription._set_channel_status_id(channel_status_id)
            request.pending.complete(subscription)

    def on_available_image(
        self,
        correlation_id: int,
        session_id: int,
        stream_id: int,
        subscription_id: int,
        position_id: int,
        log_file: str,
        source_identity: str,
    ) -> None:
        subscription = self._resources.get(subscription_id)
        if not isinstance(subscription, Subscription):
            return
        try:
            image = Image(
                subscription,
                self._log(correlation_id, log_file),
                self.counters,
                correlation_id=correlation_id,
                session_id=session_id,
                stream_id=stream_id,
                subscriber_position_id=position_id,
                source_identity=source_identity,
            )
        except Exception as error:
            self.report(error)
            return
        subscription._add_image(image)
        self._call(subscription.available_image_handler, image)

    def on_unavailable_image(self, correlation_id: int, subscription_id: int) -> None:
        subscription = self._resources.get(subscription_id)
        image = subscription._remove_image(correlation_id) if isinstance(subscription, Subscription) else None
        if image is not None and isinstance(subscription, Subscription):
            image._end(state.UNAVAILABLE)
            self._linger(image, self._context.resource_linger_duration_ns)
            self._call(subscription.unavailable_image_handler, image)

    def on_operation_success(self, correlation_id: int) -> None:
        request = self._requests.pop(correlation_id, None)
        if request is not None:
            request.pending.complete(None)

    def on_counter_ready(self, correlation_id: int, counter_id: int) -> None:
        request = self._wanted(correlation_id)
        if request is not None:
            counter = Counter(self, self.counters, counter_id=counter_id, registration_id=correlation_id)
            self._resources[correlation_id] = counter
            request.pending.complete(counter)
        for handler in list(self._handlers["available_counter"].values()):
            self._call(handler, self.counters, correlation_id, counter_id)

    def on_static_counter(self, correlation_id: int, counter_id: int) -> None:
        request = self._wanted(correlation_id)
        if request is not None:
            registration_id = self.counters.registration_id(counter_id)
            counter = Counter(self, self.counters, counter_id=counter_id, registration_id=registration_id, is_static=True)
            self._resources[correlation_id] = counter
            request.pending.complete(counter)

    def on_unavailable_counter(self, registration_id: int, counter_id: int) -> None:
        for handler in list(self._handlers["unavailable_counter"].values()):
            self._call(handler, self.counters, registration_id, counter_id)

    def on_client_timeout(self, client_id: int) -> None:
        if client_id == self.client_id:
            self._terminate(endings.dropped_by_driver(self._context))

    def on_publication_error(self, frame: PublicationErrorFrame) -> None:
        handler = self._context.publication_error_frame_handler
        if handler is not None and any(
            isinstance(resource, Publication | ExclusivePublication) and resource.original_registration_id == frame.registration_id
            for resource in self._resources.values()
        ):
            self._call(handler, frame)

    def on_next_available_session_id(self, correlation_id: int, session_id: int) -> None:
        request = self._requests.pop(correlation_id, None)
        if request is not None:
            request.pending.complete(session_id)

    # ---- below: helpers, all under the lock

    def _ask(self, correlation_id: int, what: str, channel: str, undo: Callable[[int], object] | None) -> Pending[object]:
        pending: Pending[object] = Pending(correlation_id, what, self.service, lambda pending: self._cancel(pending, undo))
        self._requests[correlation_id] = _Request(pending, channel)
        return pending

    def _cancel(self, pending: Pending[object], undo: Callable[[int], object] | None) -> None:
        with self._lock:
            request = self._requests.pop(pending.correlation_id, None)
            if request is None:
                return
            pending.fail(ClosedError(f"given up: {pending.what}"))
            subscription = self._resources.pop(pending.correlation_id, None)
            if isinstance(subscription, Subscription):
                subscription._end(state.CLOSED)
                self._end_images(subscription, state.CLOSED, None)
                self._tell(lambda: self._proxy.remove_subscription(pending.correlation_id))
            elif undo is not None and self._state == state.OPEN:
                self._requests[pending.correlation_id] = _Request(pending, request.channel, undo)

    def _wanted(self, correlation_id: int) -> _Request | None:
        request = self._requests.pop(correlation_id, None)
        if request is not None and request.undo is not None:
            undo = request.undo
            self._tell(lambda: undo(correlation_id))
            return None
        return request

    def _tell(self, send: Callable[[], object]) -> None:
        if self._state != state.OPEN:
            return
        try:
            send()
        except RingBufferFullError as error:
            self.report(error)

    def _call(self, handler: Handler | None, *arguments: object) -> None:
        if handler is None:
            return
        try:
            handler(*arguments)
        except Exception as error:
            self.report(error)

    def _log(self, registration_id: int, log_file: str) -> LogBuffers:
        logs = self._logs.get(registration_id)
        if logs is None:
            logs = LogBuffers.map(log_file)
            if self._context.pre_touch_mapped_memory:
                _touch(logs)
            self._logs[registration_id] = logs
        return logs

    def _linger(self, holder: object, duration_ns: int) -> None:
        self._lingering.append((time.monotonic_ns() + duration_ns, holder))

    def _release_lingering(self) -> int:
        if not self._lingering:
            return 0
        now_ns = time.monotonic_ns()
        kept = [entry for entry in self._lingering if entry[0] > now_ns]
        released = len(self._lingering) - len(kept)
        self._lingering = kept
        return released

    def _forget(self, resource: Resource) -> bool:
        """Take an open resource out of the table and end it; False when there is nothing to do."""
        if self._state != state.OPEN or resource.is_closed:
            return False
        self._resources = {key: other for key, other in self._resources.items() if other is not resource}
        resource._end(state.CLOSED)
        return True

    def _end_images(self, subscription: Subscription, final: int, failure: AerowireError | None) -> None:
        images = subscription._remove_images()
        for image in images:
            image._end(final, failure)
            self._linger(image, CLOSE_LINGER_NS)
        for image in images:
            self._call(subscription.unavailable_image_handler, image)

    def _end_resources(self, final: int, failure: AerowireError | None) -> None:
        resources, self._resources = list(self._resources.values()), {}
        requests, self._requests = list(self._requests.values()), {}
        for resource in resources:
            resource._end(final, failure)
        for request in requests:
            if not request.pending.is_done:
                request.pending.fail(state.failure_copy(failure) if failure else ClosedError("the client is closed"))
        for resource in resources:
            if isinstance(resource, Subscription):
                self._end_images(resource, final, failure)

    def _terminate(self, error: AerowireError) -> None:
        """The client has ended by itself: end everything, tell the error handler; nothing is sent to the driver."""
        if self._state != state.OPEN:
            return
        self._state = state.TERMINATED
        self._failure = error
        self._watch.retire()
        self._end_resources(state.TERMINATED, error)
        self.report(error)

    def _ensure_open(self) -> None:
        if self._state == state.OPEN:
            return
        if self._state == state.FORKED:
            raise state.forked_error(self._context.aeron_dir)
        if self._failure is not None:
            raise state.failure_copy(self._failure)
        raise ClosedError("the client is closed", where=self._context.aeron_dir, expected="an open client")

    def _lock_is_ours(self) -> bool:
        return self._lock._is_owned()  # type: ignore[attr-defined,no-any-return]

    def _is_replaced(self) -> bool:
        """Look, once in a while, whether a new driver has the directory: its heartbeat is not the one that is being watched."""
        now_ns = time.monotonic_ns()
        if now_ns - self._replacement_check_ns < REPLACEMENT_CHECK_NS:
            return False
        self._replacement_check_ns = now_ns
        return self._driver.is_replaced()

    def _check_liveness(self) -> None:
        end = endings.end_of_client(self._watch, self._context, self.client_id)
        if end is not None:
            self._terminate(end)
        elif self._is_replaced():
            self._terminate(endings.driver_replaced(self._context))
        elif not self._is_named and self._watch.heartbeat_counter_id >= 0:
            self._is_named = True
            self._context.name_heartbeat(self._cnc, self._watch.heartbeat_counter_id)


def _touch(logs: LogBuffers) -> None:
    """Bring every page of a log into memory, so that no message waits for one."""
    for index in range(PARTITION_COUNT):
        bytes(logs.term_view(index)[::PAGE_SIZE_MIN])
