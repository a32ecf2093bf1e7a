"""The client's conductor: asks the driver for resources and gives them back, and notices what ends the client. Aeron: ClientConductor.

Everything here is behind one lock and off the message path: publications and images work without it. requests.py and destinations.py
hold the commands, driver_listener.py the handling of the driver's messages, resources.py the table of handles. The native keepalive
detects what ends a client (the driver died or dropped it), and the conductor carries the end out.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from aerowire.base.agent import Agent
from aerowire.base.errors import AerowireError, BroadcastLappedError, ClosedError, DamagedBufferError, RingBufferFullError
from aerowire.base.units import INT64_MAX
from aerowire.client.conductor import channel_status, termination
from aerowire.client.conductor.answers import wait_for_answer
from aerowire.client.conductor.destinations import Destinations
from aerowire.client.conductor.driver_events_adapter import MESSAGE_LIMIT, DriverEventsAdapter
from aerowire.client.conductor.driver_listener import DriverListener
from aerowire.client.conductor.handlers import UNAVAILABLE_COUNTER, Handlers
from aerowire.client.conductor.mapped_logs import MappedLogs
from aerowire.client.conductor.requests import Requests
from aerowire.client.conductor.resources import Request, Resource, Resources
from aerowire.client.handles import state
from aerowire.client.handles.waiting import Pending
from aerowire.client.publications.publication import ExclusivePublication, Publication
from aerowire.client.subscriptions.subscription import Subscription
from aerowire.memory.cut_watch import CutWatch
from aerowire.memory.lost_pages import lost_pages

if TYPE_CHECKING:
    from aerowire.base.runner import AgentInvoker
    from aerowire.client.conductor.driver_connection import DriverFile
    from aerowire.client.conductor.driver_proxy import DriverProxy
    from aerowire.client.conductor.keepalive import KeepaliveAgent
    from aerowire.client.context import ConcludedContext
    from aerowire.client.handles.counter import Counter
    from aerowire.client.subscriptions.image import Image
    from aerowire.ipc.counters import CountersReader
    from aerowire.system.waiting import WaitPort

T = TypeVar("T")


class ClientConductor(Agent):
    """One client's resources. Any thread; invariant: `_failure` is set exactly when the state is TERMINATED."""

    role_name = "aeron-client-conductor"

    def __init__(self, context: ConcludedContext, driver: DriverFile, watch: KeepaliveAgent, proxy: DriverProxy) -> None:
        self._context = context
        self._driver = driver
        self._cnc = cnc = driver.cnc
        if cnc.region is not None:
            cnc.region.guard()
        self._watch = watch
        self._proxy = proxy
        self._lock = context.client_lock if context.client_lock is not None else threading.RLock()
        self._state = state.OPEN
        self._failure: AerowireError | None = None
        self.counters: CountersReader = cnc.counters_reader()
        self.handlers = handlers = Handlers(context)
        self._logs = logs = MappedLogs(touches=context.pre_touch_mapped_memory, now_ns=context.clock.now_ns, regions=context.ports.regions)
        self._resources = resources = Resources(logs, handlers)
        self._driver_listener = driver_listener = DriverListener(
            self, context, proxy, self.counters, resources=resources, logs=logs, handlers=handlers
        )
        self.requests = Requests(self, proxy, resources)
        self.destinations = Destinations(self, proxy, validates=context.validate_channels)
        self._events = DriverEventsAdapter(cnc.to_clients_receiver(), driver_listener)
        self._servicing_thread: int | None = None
        self._is_behind = False
        self._is_named = False
        self._lost_pages = 0
        self._cut_watch = CutWatch(context.keepalive_interval_ns, context.clock.now_ns)
        self._was_open = False  # when it was closed: the driver is to be told
        self._invoker: AgentInvoker | None = None
        self._wake: Callable[[], object] | None = None
        self._failed_images: deque[tuple[Subscription, Image]] = deque()

    # ---- the client's life

    @property
    def client_id(self) -> int:
        """Number by which the driver knows this client."""
        return self._proxy.client_id

    @property
    def to_clients_buffer(self) -> memoryview:
        """Where the driver writes its answers: for who waits for one without a thread."""
        return self._cnc.to_clients_buffer

    def next_correlation_id(self) -> int:
        """Return a number that nobody else who talks to this driver has."""
        return self._proxy.next_correlation_id()

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed, or has ended."""
        return self._state != state.OPEN

    def service(self) -> int:
        """Do what is due: answers, liveness, lingering logs. Returns how much was done; raises what ended the client."""
        with self._lock:
            self._ensure_open()
            if self._servicing_thread is not None:
                return 0  # a handler asks for more while its message is being handled
            self._servicing_thread = threading.get_ident()
            try:
                self.check_files()
                self._ensure_open()
                work = self._end_failed_images()
                received = self._events.receive()
                work += received
                self._is_behind = received == MESSAGE_LIMIT
                self.check_files()
                self._check_liveness()
                work += self._logs.release_due()
            except (BroadcastLappedError, DamagedBufferError) as error:
                # Messages of the driver are lost, or cannot be distinguished from bytes that another process wrote.
                self.terminate(error)
                self._ensure_open()  # raises the reason, which a file that was cut short may be
            finally:
                self._servicing_thread = None
            self._ensure_open()
            return work

    def do_work(self, _now_ns: int, _epoch_ms: int, /) -> int:
        """Do what is due, as `service`; nothing once the client has ended."""
        return 0 if self.is_closed else self.service()

    def on_error(self, error: Exception) -> None:
        """Report what a cycle on the conductor's own thread raised: the next message may be the one that matters."""
        with self._lock:
            if self._state == state.OPEN:  # else it is the end, which is reported, or a handler's own doing
                self.handlers.report(error)

    def next_deadline_ns(self) -> int:
        """Return when (ns of the client's clock) there is work without a message: now, or when a lingering log is due to be let go."""
        with self._lock:
            if self._state != state.OPEN:
                return INT64_MAX
            return 0 if self._is_behind or self._failed_images else self._logs.next_deadline_ns()

    @property
    def is_behind(self) -> bool:
        """Whether the driver may have said more than the last `service` has handled: nobody is woken for that."""
        return self._is_behind and self._state == state.OPEN

    @property
    def is_in_handler(self) -> bool:
        """Whether this thread is in one of the application's handlers, and so may hold the lock."""
        return self.handlers.is_calling

    def close(self) -> None:
        """End everything. A second call, and one in a forked child, does nothing; `leave` comes after it."""
        with self._lock:
            if self._state in (state.FORKED, state.KILLED):
                return
            if self._state == state.OPEN:
                self.check_files()  # the last look: what was written to a lost page has gone nowhere
            self._was_open = self._was_open or self._state == state.OPEN
            self._watch.retire()
            self._state = state.CLOSED if self._state == state.OPEN else self._state  # FIRST: a handler may ask for more
            self._end_all(state.CLOSED, None)
            self.handlers.announce_close()

    def leave(self) -> None:
        """Take leave of the driver, and let go of the logs that linger: nobody can be in the middle of one any more."""
        with self._lock:
            if self._state in (state.FORKED, state.KILLED):
                return
            self._logs.release_all()
            if self._was_open:
                self._was_open = False
                with contextlib.suppress(RingBufferFullError):  # the driver is not reading: it will find out by the heartbeat
                    self._proxy.client_close()
            self._cnc.close()

    def mark_forked(self) -> None:
        """In the child of a fork: nothing here is this process's own. The parent's lock may be held by a thread that is not here."""
        self._lock = threading.RLock()
        self._disown(state.FORKED)

    def mark_killed(self) -> None:
        """In a simulated process that is killed: nothing here changes what it shared with others, when it is collected or used."""
        self._disown(state.KILLED)

    def _disown(self, final: int) -> None:
        self._state = final
        self._watch.retire()
        self._resources.disown(final)

    def ensure_open(self) -> None:
        """Raise what says that the client is closed, or why it has ended; nothing while it is open."""
        with self._lock:
            self._ensure_open()

    # ---- asking

    def ask(
        self,
        send: Callable[[], int],
        what: str,
        channel: str = "",
        undo: Callable[[int], object] | None = None,
        on_sent: Callable[[int], object] | None = None,
    ) -> Pending[object]:
        """Send a command and return it; nobody hears of an answer before `on_sent(correlation_id)` has returned.

        `what` says it in words, `undo` takes back what the driver makes if the caller gives up.
        """
        with self._lock:
            self._ensure_open()
            pending: Pending[object] = Pending(send(), what, self.service, lambda pending: self._cancel(pending, undo))
            self._resources.expect(Request(pending, channel))
            if on_sent is not None:
                on_sent(pending.correlation_id)
            return pending

    def wait(self, pending: Pending[T], timeout_ns: int | str | None = None) -> T:
        """Wait for an answer and return it. Raises DriverTimeoutError when there is none in time; a signal gives the command up."""
        if self._servicing_thread == threading.get_ident():
            pending.cancel()
            raise AerowireError(
                f"{pending.what}: waiting for the driver inside a handler of its messages",
                expected="a call from outside the handler, or the async_ form",
            )

        def poll() -> bool:
            self.invoke_driver()
            return pending.poll()

        return wait_for_answer(pending, timeout_ns, self._context, poll=poll, is_open=lambda: self._state == state.OPEN)

    @property
    def waiting(self) -> WaitPort:
        """The port by which calls that wait sleep."""
        return self._context.ports.waiting

    def require_waiting(self, call: str, instead: str) -> None:
        """Raise BlockingCallError where nothing may wait, BEFORE `call` has begun anything; `instead` does not wait."""
        self._context.ports.waiting.require(call, instead)

    def invoke_driver(self) -> None:
        """Have a driver without threads of its own do its work."""
        if self._context.driver_agent_invoker is not None:
            self._context.driver_agent_invoker.invoke()

    def work_while_waiting(self) -> None:
        """Do the work of a driver and of a client that have no threads of their own, for a call that waits for messages or room."""
        self.invoke_driver()
        if self._invoker is not None:
            self.ensure_open()
            self._invoker.invoke()

    def attach_wakeup(self, wake: Callable[[], object]) -> None:
        """The client has a thread that calls `service`: `wake` wakes it."""
        self._wake = wake

    def on_image_failed(self, subscription: Subscription, image: Image) -> None:
        """A poll has ended an image at a frame that cannot be stepped over: tell the application and the driver, on the conductor's thread.

        Any thread, without the lock: a poll must not wait for the conductor.
        """
        self._failed_images.append((subscription, image))
        if self._wake is not None:
            with contextlib.suppress(ClosedError):  # the client was closed meanwhile, and all its images with it
                self._wake()

    def attach_invoker(self, invoker: AgentInvoker) -> None:
        """The client has no threads: what waits does the work of its agents."""
        self._invoker = invoker

    # ---- by registration id

    def find(self, registration_id: int) -> Resource | None:
        """Return the handle of an asynchronous command, None while there is no answer; raises what the driver refused it with."""
        with self._lock:
            self._ensure_open()
            if self._resources.is_expected(registration_id):
                self.service()
            return self._resources.find(registration_id)

    def start_removal(self, registration_id: int) -> None:
        """Close the handle of a registration, or give up the command that asks for it."""
        with self._lock:
            self._ensure_open()
            pending = self._resources.pending(registration_id)
            if pending is not None:
                pending.cancel()
                return
            resource = self._resources.find(registration_id)
            if resource is not None:
                resource.close()

    def is_command_active(self, correlation_id: int) -> bool:
        """Return whether the driver has not answered a command yet, after a look at what it says."""
        with self._lock:
            if self._state != state.OPEN:
                return False
            if self._resources.is_expected(correlation_id):
                self.service()
            return self._resources.is_expected(correlation_id)

    def has_active_commands(self) -> bool:
        """Return whether the driver has not answered some command yet."""
        with self._lock:
            return self._state == state.OPEN and self._resources.has_expected()

    # ---- giving back

    def close_publication(self, publication: Publication | ExclusivePublication) -> None:
        """End a publication and tell the driver."""
        with self._lock:
            if self._forget(publication):
                self._logs.linger(publication)
                revoke = isinstance(publication, ExclusivePublication) and publication.revoke_on_close
                self.give_back(lambda: self._proxy.remove_publication(publication.registration_id, revoke=revoke))

    def close_subscription(self, subscription: Subscription) -> None:
        """End a subscription and its images, and tell the driver."""
        with self._lock:
            if self._forget(subscription):
                self._resources.end_images(subscription)
                self.give_back(lambda: self._proxy.remove_subscription(subscription.registration_id))

    def close_counter(self, counter: Counter) -> None:
        """End a counter and tell the driver; a static one only ends here."""
        with self._lock:
            if self._forget(counter) and not counter.is_static:
                self.give_back(lambda: self._proxy.remove_counter(counter.registration_id))

    # ---- looking

    def channel_status(self, handle: Publication | ExclusivePublication | Subscription) -> int:
        """Return the status of a handle's channel."""
        with self._lock:
            return channel_status.status(None if handle.is_closed or self.is_closed else self.counters, handle.channel_status_id)

    def local_socket_addresses(self, handle: Publication | ExclusivePublication | Subscription) -> list[str]:
        """Return the addresses that a handle's channel is bound to."""
        with self._lock:
            if handle.is_closed or self.is_closed:
                return []
            return channel_status.local_addresses(self.counters, handle.channel_status_id)

    def resolve_endpoint_port(self, subscription: Subscription) -> str | None:
        """Return a subscription's channel with the port that the system chose, or None while it is not bound."""
        return channel_status.resolve_port(subscription.channel, self.local_socket_addresses(subscription))

    # ---- for what handles the driver's messages; under the lock

    def give_back(self, send: Callable[[], int]) -> None:
        """As `tell`, for a command that counts as active until the driver has answered."""
        self.tell(lambda: self._resources.expect_success(send()))

    def tell(self, send: Callable[[], object]) -> None:
        """Send a command whose answer nobody waits for; one that the driver has no room for is reported."""
        if self._state != state.OPEN:
            return
        try:
            send()
        except RingBufferFullError as error:
            self.handlers.report(error)

    def terminate(self, error: AerowireError) -> None:
        """The client has ended by itself: end everything, tell the error and close handlers; nothing is sent to the driver."""
        if self._state != state.OPEN:
            return
        region = self._cnc.region
        if region is not None and region.find_cut():
            error = region.lost_pages_error()  # zeros in the driver's file look like damage, or like a driver that is dead
        self._state = state.TERMINATED
        self._failure = error
        self._watch.retire()
        self._end_all(state.TERMINATED, error)
        self.handlers.report(error)
        self.handlers.announce_close()

    def check_files(self) -> None:
        """End what uses a file that has lost pages: the client with the driver's own file, else the handles of a log."""
        self._cut_watch.look(lambda: [self._cnc.region, *self._logs.regions()])
        lost = lost_pages()
        if lost == self._lost_pages:
            return
        self._lost_pages = lost
        region = self._cnc.region
        if region is not None and region.lost_pages:
            self.terminate(region.lost_pages_error())
            return
        for registration_id, error in self._logs.take_lost().items():
            self.handlers.report(error)
            for publication in self._resources.end_log(registration_id, error):
                self.give_back(functools.partial(self._proxy.remove_publication, publication.registration_id, revoke=False))

    # ---- below: helpers

    def _end_failed_images(self) -> int:
        count = len(self._failed_images)
        for _ in range(count):
            self._driver_listener.on_image_failed(*self._failed_images.popleft())
        return count

    def _end_all(self, final: int, failure: AerowireError | None) -> None:
        for counter in self._resources.end_all(final, failure):
            self.handlers.announce(UNAVAILABLE_COUNTER, self.counters, counter.registration_id, counter.counter_id)

    def _cancel(self, pending: Pending[object], undo: Callable[[int], object] | None) -> None:
        with self._lock:
            request = self._resources.take_request(pending.correlation_id)
            if request is None:
                return
            pending.fail(ClosedError(f"given up: {pending.what}"))
            if self._resources.drop_subscription(pending.correlation_id):
                self.tell(lambda: self._proxy.remove_subscription(pending.correlation_id))
            elif undo is not None and self._state == state.OPEN:
                self._resources.expect(Request(pending, request.channel, undo))

    def _forget(self, resource: Publication | ExclusivePublication | Subscription | Counter) -> bool:
        return self._state == state.OPEN and self._resources.forget(resource)

    def _ensure_open(self) -> None:
        if self._state == state.OPEN:
            return
        if self._state == state.FORKED:
            raise state.forked_error(self._context.aeron_dir)
        if self._failure is not None:
            raise state.failure_copy(self._failure)
        raise ClosedError("the client is closed", where=self._context.aeron_dir, expected="an open client")

    def _check_liveness(self) -> None:
        end = termination.end_of_client(self._watch, self._context, self.client_id)
        if end is not None:
            self.terminate(end)
        elif self._driver.is_replaced(self._context.clock.now_ns()):
            self.terminate(termination.driver_replaced(self._context))
        elif not self._is_named and self._watch.heartbeat_counter_id >= 0:
            self._is_named = True
            self._context.name_heartbeat(self._cnc, self._watch.heartbeat_counter_id)
