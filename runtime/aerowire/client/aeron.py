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
from typing import Self

from aerowire.base import arguments, fork
from aerowire.base.errors import AerowireError
from aerowire.base.idle import SleepingIdleStrategy
from aerowire.base.runner import AgentInvoker, AgentRunner
from aerowire.client.aeron_commands import AeronCommands
from aerowire.client.conductor.conductor import ClientConductor
from aerowire.client.conductor.driver_connection import connect_to_driver
from aerowire.client.conductor.driver_proxy import DriverProxy
from aerowire.client.conductor.keepalive import KeepaliveAgent
from aerowire.client.context import ClientContext, ConcludedContext, Invoker
from aerowire.system.bus_error import survive_bus_errors
from aerowire.system.wakeup import Wakeup

STOP_TIMEOUT_S = 5.0


class Aeron(AeronCommands):
    """A connection to one media driver. From `Aeron.connect`; a context manager; any thread.

    Everything opened through it ends with it. When the driver dies or drops the client, everything ends by itself, and every call raises
    the DriverTimeoutError, DriverShutdownError or ClientTimeoutError that says so. In a child process made by fork() its calls raise
    ForkedProcessError.
    """

    def __init__(self, context: ConcludedContext) -> None:
        invoke = context.driver_agent_invoker.invoke if context.driver_agent_invoker is not None else None
        survive_bus_errors()
        driver = connect_to_driver(context.aeron_dir, context.driver_timeout_ns, invoke, is_shared=context.dir_shared)
        cnc = driver.cnc
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
        super().__init__(context, ClientConductor(context, driver, self._watch, proxy))
        self._file_page_size = cnc.file_page_size
        self._is_stopping = False
        self._is_forked = False
        self._runners: list[AgentRunner] = []
        self._invoker: AgentInvoker | None = None
        fork.poison(self)
        if context.use_conductor_agent_invoker:
            self._invoker = AgentInvoker([self._watch, self._conductor], context.clock)
            self._on_agent_start(self._watch.role_name)
            self._invoker.start()
            self._conductor.attach_invoker(self._invoker)
        else:
            self._conductor.attach_wakeup(self._wakeup.wake)
            idle = context.idle_strategy or SleepingIdleStrategy(context.idle_sleep_duration_ns)
            self._runners = [
                AgentRunner([self._watch], context.clock, idle, on_start=self._on_agent_start),
                AgentRunner(
                    [self._conductor],
                    context.clock,
                    self._wakeup,
                    on_start=self._on_agent_start,
                    on_error=self._conductor.on_error,
                    thread_factory=context.thread_factory or _new_thread,
                ),
            ]
            for runner in self._runners:
                runner.start()
        _open_clients.add(self)

    @classmethod
    def connect(cls, aeron_dir: str | os.PathLike[str] | None = None, *, context: ClientContext | None = None, **options: object) -> Aeron:
        """Connect to the media driver in `aeron_dir` (default: `aeron.dir`, AERON_DIR, else the user's directory in shared memory).

        `options` are the fields of ClientContext, or pass a `context`. Waits up to `driver_timeout_ns` (10 s) for the driver. Raises
        DriverDirectoryMissingError, ForeignDirectoryError, DriverTimeoutError, DriverShutdownError, ConfigurationError.
        """
        arguments.instance("context", context, ClientContext, "a ClientContext, or options as keywords")
        if context is not None and options:
            raise TypeError(f"pass either a context or options, not both: {', '.join(options)}")
        chosen = context if context is not None else ClientContext.of(**options)
        if aeron_dir is not None:
            chosen = ClientContext(**{**vars(chosen), "aeron_dir": aeron_dir})
        return cls(chosen.conclude())

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
    def file_page_size(self) -> int:
        """Bytes to which the driver rounds the length of its files."""
        return self._file_page_size

    @property
    def conductor_agent_invoker(self) -> Invoker | None:
        """Whose `invoke()` does the client's work: the client itself if made with `use_conductor_agent_invoker=True`, None otherwise."""
        return self if self._invoker is not None else None

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed, or has ended with its driver."""
        return self._conductor.is_closed

    def invoke(self) -> int:
        """Do one duty cycle of a client made with `use_conductor_agent_invoker=True`; return how much was done."""
        if self._invoker is None:
            raise AerowireError("the client's conductor has a thread of its own", expected="a client with use_conductor_agent_invoker=True")
        self._conductor.ensure_open()
        return self._invoker.invoke()

    def close(self) -> None:
        """Close all publications, subscriptions and counters, take leave of the driver, stop the threads. A second call does nothing."""
        if self._is_forked:
            return
        _open_clients.discard(self)
        was_stopping, self._is_stopping = self._is_stopping, True
        self._conductor.close()
        if was_stopping:
            return
        try:
            if self._context.close_linger_duration_ns:
                time.sleep(self._context.close_linger_duration_ns / 1e9)
        finally:
            self._conductor.leave()
            self._stop_threads()

    def _stop_threads(self) -> None:
        if self._invoker is not None:
            self._invoker.close()
        # In a handler this is the conductor's thread, or has the lock that it waits for: it ends by itself, and the wake-up goes with it.
        timeout_s = 0 if self._conductor.is_in_handler else STOP_TIMEOUT_S
        stopped = [runner.stop(timeout_s) for runner in self._runners]
        if all(stopped):
            self._wakeup.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Aeron(aeron_dir={self._context.aeron_dir!r}, client_id={self.client_id}, is_closed={self.is_closed})"

    def _on_fork(self) -> None:
        self._is_forked = True
        self._conductor.mark_forked()
        _open_clients.discard(self)

    def _on_agent_start(self, role_name: str) -> None:
        """Tell the application that one of its threads is an agent's from now on."""
        if self._context.agent_on_start is None:
            return
        try:
            self._context.agent_on_start(role_name)
        except Exception as error:  # a thread that is not as it was to be is better than none
            self._conductor.handlers.report(error)


# Open clients and their conductors live until they are closed, whoever still refers to them: a publication may outlive the variable that
# held its client.
_open_clients: set[Aeron] = set()


def _new_thread(target: Callable[[], None], name: str) -> threading.Thread:
    return threading.Thread(target=target, name=name, daemon=True)


@atexit.register
def _close_all() -> None:
    for client in list(_open_clients):
        client.close()
