"""The client: what an application connects to a media driver with. Aeron: Aeron.

Only this module starts threads: the native keepalive, and the conductor that sleeps until the driver says something.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.base import fork
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import AerowireError, ConfigurationError
from aerowire.base.idle import SleepingIdleStrategy
from aerowire.base.runner import AgentInvoker, AgentRunner
from aerowire.client.conductor import ClientConductor
from aerowire.client.connecting import connect_to_driver
from aerowire.client.context import ClientContext, ConcludedContext
from aerowire.client.driver_proxy import DriverProxy
from aerowire.client.handlers import AVAILABLE_COUNTER, CLOSE, UNAVAILABLE_COUNTER
from aerowire.client.keepalive import KeepaliveAgent
from aerowire.system.clock import SystemClock
from aerowire.system.wakeup import Wakeup

if TYPE_CHECKING:
    from aerowire.client.counter import Counter
    from aerowire.client.image import Image
    from aerowire.client.publication import ExclusivePublication, Publication
    from aerowire.client.subscription import Subscription
    from aerowire.client.waiting import Pending
    from aerowire.ipc.counters import CountersReader

# What a signed integer of 32 bits holds.
STREAM_ID_MIN, STREAM_ID_MAX = -(1 << 31), (1 << 31) - 1

ImageHandler = Callable[["Image"], object]
CounterHandler = Callable[["CountersReader", int, int], object]

# With nothing to expect but a signal of the keepalive, the conductor looks around this often all the same.
CONDUCTOR_SLEEP_MAX_S = 1.0
STOP_TIMEOUT_S = 5.0


class Aeron:
    """A connection to one media driver. From `Aeron.connect`; a context manager; any thread.

    Everything opened through it ends with it. When the driver dies or drops the client, everything ends by itself, and every call raises
    the DriverTimeoutError, DriverShutdownError or ClientTimeoutError that says so. In a child process made by fork() its calls raise
    ForkedProcessError.
    """

    def __init__(self, context: ConcludedContext) -> None:
        invoke = context.driver_agent_invoker.invoke if context.driver_agent_invoker is not None else None
        driver = connect_to_driver(context.aeron_dir, context.driver_timeout_ns, invoke)
        cnc = driver.cnc
        self._context = context
        self._wakeup = Wakeup()
        proxy = DriverProxy(cnc.to_driver)
        self._watch = KeepaliveAgent(
            cnc.to_driver,
            cnc.counters_reader(),
            cnc.to_clients_buffer,
            self._wakeup,
            client_id=proxy.client_id,
            driver_timeout_ms=context.driver_timeout_ns // 1_000_000,
            interval_ns=context.keepalive_interval_ns,
            service_timeout_ns=cnc.client_liveness_timeout_ns,
        )
        self._conductor = ClientConductor(context, driver, self._watch, proxy)
        self._is_stopping = False
        self._is_forked = False
        self._thread: threading.Thread | None = None
        self._runner: AgentRunner | None = None
        self._invoker: AgentInvoker | None = None
        fork.poison(self)
        if context.use_conductor_agent_invoker:
            self._invoker = AgentInvoker([self._watch], SystemClock())
            self._invoker.start()
        else:
            self._runner = AgentRunner([self._watch], SystemClock(), SleepingIdleStrategy(context.idle_sleep_duration_ns))
            self._runner.start()
            self._thread = threading.Thread(target=_run_conductor, args=(self,), name="aeron-client-conductor", daemon=True)
            self._thread.start()
        _open_clients.add(self)

    @classmethod
    def connect(cls, aeron_dir: str | os.PathLike[str] | None = None, *, context: ClientContext | None = None, **options: object) -> Aeron:
        """Connect to the media driver in `aeron_dir` (default: `aeron.dir`, AERON_DIR, else the user's directory in shared memory).

        `options` are the fields of ClientContext, or pass a `context`. Waits up to `driver_timeout_ns` (10 s) for the driver. Raises
        DriverDirectoryMissingError, ForeignDirectoryError, DriverTimeoutError, DriverShutdownError, ConfigurationError.
        """
        if context is not None and options:
            raise TypeError(f"pass either a context or options, not both: {', '.join(options)}")
        chosen = context if context is not None else ClientContext.of(**options)
        if aeron_dir is not None:
            chosen = ClientContext(**{**vars(chosen), "aeron_dir": aeron_dir})
        return cls(chosen.conclude())

    # ---- publications and subscriptions

    def add_publication(self, channel: str, stream_id: int, *, timeout_ns: int | None = None) -> Publication:
        """Add a publication that may be offered to from many threads, and wait for the driver.

        `timeout_ns` is how long to wait; None: `driver_timeout_ns`. Raises ChannelError for a channel that is not valid, RegistrationError
        (with the driver's `error_code`) when the driver refuses, DriverTimeoutError when it does not answer.
        """
        return self._conductor.wait(self.async_add_publication(channel, stream_id), timeout_ns)

    def add_exclusive_publication(self, channel: str, stream_id: int, *, timeout_ns: int | None = None) -> ExclusivePublication:
        """Add a publication with a session of its own for one thread, and wait for the driver. As `add_publication`."""
        return self._conductor.wait(self.async_add_exclusive_publication(channel, stream_id), timeout_ns)

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        timeout_ns: int | None = None,
    ) -> Subscription:
        """Add a subscription and wait for the driver. The handlers (default: the context's) are called with each image that comes and goes.

        Raises as `add_publication`.
        """
        pending = self.async_add_subscription(
            channel, stream_id, available_image_handler=available_image_handler, unavailable_image_handler=unavailable_image_handler
        )
        return self._conductor.wait(pending, timeout_ns)

    def async_add_publication(self, channel: str, stream_id: int) -> Pending[Publication]:
        """Start to add a publication: `poll()` the result until it returns true, then take its `result()`."""
        self._check_stream(channel, stream_id)
        return self._conductor.start_publication(channel, stream_id, exclusive=False)  # type: ignore[return-value]

    def async_add_exclusive_publication(self, channel: str, stream_id: int) -> Pending[ExclusivePublication]:
        """Start to add an exclusive publication: `poll()` the result until it returns true, then take its `result()`."""
        self._check_stream(channel, stream_id)
        return self._conductor.start_publication(channel, stream_id, exclusive=True)  # type: ignore[return-value]

    def async_add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> Pending[Subscription]:
        """Start to add a subscription: `poll()` the result until it returns true, then take its `result()`."""
        self._check_stream(channel, stream_id)
        return self._conductor.start_subscription(
            channel,
            stream_id,
            available_image_handler or self._context.available_image_handler,
            unavailable_image_handler or self._context.unavailable_image_handler,
        )

    def next_correlation_id(self) -> int:
        """Return a number that no other command or client of this driver has or gets."""
        self._conductor.ensure_open()
        return self._conductor.next_correlation_id()

    def next_session_id(self, stream_id: int, *, timeout_ns: int | None = None) -> int:
        """Ask the driver for a session id that nobody uses on the stream."""
        return self._conductor.wait(self._conductor.start_next_session_id(stream_id), timeout_ns)

    # ---- counters

    def add_counter(self, type_id: int, label: str = "", *, key: bytes = b"", timeout_ns: int | None = None) -> Counter:
        """Add a counter that lives as long as this client keeps it, and wait. Raises RegistrationError, CountersFullError."""
        return self._conductor.wait(self.async_add_counter(type_id, label, key=key), timeout_ns)

    def async_add_counter(self, type_id: int, label: str = "", *, key: bytes = b"") -> Pending[Counter]:
        """Start to add a counter: `poll()` the result until it returns true, then take its `result()`."""
        return self._conductor.start_counter(type_id, key, label)

    def add_static_counter(
        self, type_id: int, label: str = "", *, registration_id: int, key: bytes = b"", timeout_ns: int | None = None
    ) -> Counter:
        """Add, or find again, a counter that outlives its clients, by type and registration id; and wait."""
        return self._conductor.wait(self._conductor.start_static_counter(type_id, registration_id, key, label), timeout_ns)

    @property
    def counters_reader(self) -> CountersReader:
        """All counters of the driver and its clients, for reading."""
        self._conductor.ensure_open()
        return self._conductor.counters

    def add_available_counter_handler(self, handler: CounterHandler) -> int:
        """Call `handler(counters_reader, registration_id, counter_id)` for each counter that appears; returns a number to remove it by."""
        return self._conductor.handlers.add(AVAILABLE_COUNTER, handler)

    def remove_available_counter_handler(self, handler_id: int) -> bool:
        """Remove a handler by its number; returns whether it was there."""
        return self._conductor.handlers.remove(AVAILABLE_COUNTER, handler_id)

    def add_unavailable_counter_handler(self, handler: CounterHandler) -> int:
        """Call `handler(counters_reader, registration_id, counter_id)` for each counter that goes; returns a number to remove it by."""
        return self._conductor.handlers.add(UNAVAILABLE_COUNTER, handler)

    def remove_unavailable_counter_handler(self, handler_id: int) -> bool:
        """Remove a handler by its number; returns whether it was there."""
        return self._conductor.handlers.remove(UNAVAILABLE_COUNTER, handler_id)

    def add_close_handler(self, handler: Callable[[], object]) -> int:
        """Call `handler()` when the client closes; returns a number to remove it by."""
        return self._conductor.handlers.add(CLOSE, handler)

    def remove_close_handler(self, handler_id: int) -> bool:
        """Remove a handler by its number; returns whether it was there."""
        return self._conductor.handlers.remove(CLOSE, handler_id)

    # ---- the client itself

    @property
    def context(self) -> ConcludedContext:
        """The options that the client runs with."""
        return self._context

    @property
    def client_id(self) -> int:
        """Number by which the driver knows this client."""
        return self._conductor.client_id

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed, or has ended with its driver."""
        return self._conductor.is_closed

    def invoke(self) -> int:
        """Do one duty cycle of a client made with `use_conductor_agent_invoker=True`; return how much was done."""
        if self._invoker is None:
            raise AerowireError("the client's conductor has a thread of its own", expected="a client with use_conductor_agent_invoker=True")
        self._conductor.ensure_open()
        return self._invoker.invoke() + self._conductor.service()

    def close(self) -> None:
        """Close all publications, subscriptions and counters, take leave of the driver, stop the threads. A second call does nothing."""
        if self._is_forked:
            return
        _open_clients.discard(self)
        was_stopping, self._is_stopping = self._is_stopping, True
        self._conductor.close()
        if was_stopping:
            return
        if self._context.close_linger_duration_ns:
            time.sleep(self._context.close_linger_duration_ns / 1e9)
        if self._runner is not None:
            self._runner.stop(STOP_TIMEOUT_S)
        if self._invoker is not None:
            self._invoker.close()
        self._wakeup.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_TIMEOUT_S)
        self._wakeup.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Aeron(aeron_dir={self._context.aeron_dir!r}, client_id={self.client_id}, is_closed={self.is_closed})"

    def _check_stream(self, channel: str, stream_id: int) -> None:
        if not STREAM_ID_MIN <= stream_id <= STREAM_ID_MAX:
            limits = f"{STREAM_ID_MIN} to {STREAM_ID_MAX}"
            raise ConfigurationError(
                "stream id is out of range", where=channel, expected=limits, actual=stream_id, hint="a stream id has 32 bits on the wire"
            )
        if self._context.validate_channels:
            ChannelUri.parse(channel)

    def _on_fork(self) -> None:
        self._is_forked = True
        self._conductor.mark_forked()
        _open_clients.discard(self)

    def _serve(self) -> bool:
        """Sleep until something is due and do it, on the conductor's thread; return whether to go on."""
        deadline_ns = self._conductor.linger_deadline_ns()
        sleep_s = CONDUCTOR_SLEEP_MAX_S if deadline_ns is None else (deadline_ns - time.monotonic_ns()) / 1e9
        self._wakeup.wait(min(max(sleep_s, 0.0), CONDUCTOR_SLEEP_MAX_S))
        self._wakeup.drain()
        if self._is_stopping:
            return False
        self._conductor.service_quietly()
        return True


# Open clients and their conductors live until they are closed, whoever still refers to them: a publication may outlive the variable that
# held its client.
_open_clients: set[Aeron] = set()


def _run_conductor(client: Aeron) -> None:
    while client._serve():
        pass


@atexit.register
def _close_all() -> None:
    for client in list(_open_clients):
        client.close()
