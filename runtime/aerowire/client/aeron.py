"""The client: what an application connects to a media driver with. Aeron: Aeron.

Only this module starts threads: the native keepalive, and the conductor that sleeps until the driver says something.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.base import fork
from aerowire.base.errors import AerowireError
from aerowire.base.idle import SleepingIdleStrategy
from aerowire.base.runner import AgentInvoker
from aerowire.base.units import INT64_MAX
from aerowire.client.aeron_commands import AeronCommands
from aerowire.client.conductor.async_close import AsyncClose
from aerowire.client.conductor.conductor import ClientConductor
from aerowire.client.conductor.driver_connection import AsyncConnect, DriverConnection, DriverFile
from aerowire.client.conductor.driver_proxy import DriverProxy
from aerowire.client.conductor.keepalive import OK, KeepaliveAgent
from aerowire.client.context import ClientContext, ConcludedContext, Invoker
from aerowire.client.handles.waiting import wait_for_result

if TYPE_CHECKING:
    from aerowire.system.threads import Runner

STOP_TIMEOUT_S = 5.0
# How often a driver that is not there yet is looked for.
RETRY_SLEEP_MAX_S = 10e-3
# How often an invoked conductor looks at what nothing tells it of: another driver, files that were cut short.
_LOOK_INTERVAL_NS = 100_000_000


class Aeron(AeronCommands):
    """A connection to one media driver. From `Aeron.connect` or `Aeron.async_connect`; a context manager; any thread.

    Everything opened through it ends with it. When the driver dies or drops the client, everything ends by itself, and every call raises
    the DriverTimeoutError, DriverShutdownError or ClientTimeoutError that says so. In a child process made by fork() its calls raise
    ForkedProcessError.
    """

    def __init__(self, context: ConcludedContext, driver: DriverFile) -> None:
        cnc = driver.cnc
        ports = context.ports
        self._wakeup = ports.new_wakeup()
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
        self._is_closing = False
        self._closing: AsyncClose | None = None
        self._is_forked = False
        self._runners: list[Runner] = []
        self._invoker: AgentInvoker | None = None
        self._next_look_ns = -INT64_MAX  # of an invoked conductor, at what does not wake it
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
                ports.threads.new_runner([self._watch], context.clock, idle, on_start=self._on_agent_start),
                ports.threads.new_runner(
                    [self._conductor],
                    context.clock,
                    self._wakeup,
                    on_start=self._on_agent_start,
                    on_error=self._conductor.on_error,
                    thread_factory=context.thread_factory or ports.threads.new_thread,
                ),
            ]
            for runner in self._runners:
                runner.start()
        # Open until it is closed, whoever still refers to it: a publication may outlive the variable that held its client.
        ports.processes.at_exit(self.close, at_kill=self._on_kill)

    @classmethod
    def connect(cls, aeron_dir: str | os.PathLike[str] | None = None, *, context: ClientContext | None = None, **options: object) -> Aeron:
        """Connect to the media driver in `aeron_dir` (default: `aeron.dir`, AERON_DIR, else the user's directory in shared memory).

        `options` are the fields of ClientContext, or pass a `context`. Waits up to `driver_timeout_ns` (10 s) for the driver. Raises
        DriverDirectoryMissingError, ForeignDirectoryError, DriverTimeoutError, DriverShutdownError, ConfigurationError, and
        BlockingCallError in a simulated world.
        """
        concluded = ClientContext.chosen(aeron_dir, context, options).conclude()
        waiting = concluded.ports.waiting
        waiting.require("Aeron.connect", "Aeron.async_connect")
        return wait_for_result(cls._start(concluded), waiting, sleep_max_s=RETRY_SLEEP_MAX_S)

    @classmethod
    def async_connect(
        cls, aeron_dir: str | os.PathLike[str] | None = None, *, context: ClientContext | None = None, **options: object
    ) -> AsyncConnect[Aeron]:
        """Start to connect, as `connect`: `poll()` the result until it returns true, then take its `result()`, the client.

        What keeps it from connecting within `driver_timeout_ns`, by the clock of the ports, is raised by `result()`.
        """
        return cls._start(ClientContext.chosen(aeron_dir, context, options).conclude())

    @classmethod
    def _start(cls, context: ConcludedContext) -> AsyncConnect[Aeron]:
        invoke = context.driver_agent_invoker.invoke if context.driver_agent_invoker is not None else None
        context.ports.regions.survive_lost_pages()
        connection = DriverConnection(
            context.aeron_dir, context.driver_timeout_ns, ports=context.ports, is_shared=context.dir_shared, invoke=invoke
        )
        return AsyncConnect(context.aeron_dir, connection, lambda driver: cls(context, driver))

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

    def ensure_open(self) -> None:
        """Raise what says that the client is closed, or what has ended it; nothing while it is open."""
        self._conductor.ensure_open()

    def invoke(self) -> int:
        """Do one duty cycle of a client made with `use_conductor_agent_invoker=True`; return how much was done.

        The conductor takes part when the driver has said something or something is due, as it does in a thread of its own.
        """
        if self._invoker is None:
            raise AerowireError("the client's conductor has a thread of its own", expected="a client with use_conductor_agent_invoker=True")
        conductor, watch = self._conductor, self._watch
        conductor.ensure_open()
        work = self._invoker.invoke_native()
        now_ns = watch.last_cycle_ns
        if work or watch.liveness != OK or now_ns >= self._next_look_ns or conductor.next_deadline_ns() <= now_ns:
            work += conductor.do_work(now_ns, 0)
            self._next_look_ns = now_ns + _LOOK_INTERVAL_NS
        return work

    def service(self) -> int:
        """Handle what the driver has said, without waiting for the client's own thread to do so; return how much was done. Any thread.

        Raises what ended the client.
        """
        return self._conductor.service()

    @property
    def to_clients_buffer(self) -> memoryview:
        """The buffer in which the driver answers its clients: for native code that looks for answers without a lock."""
        return self._conductor.to_clients_buffer

    def next_deadline_ns(self) -> int:
        """Return when (ns of the client's clock) `invoke()` has work although the driver says nothing; a time that is past: now."""
        if self._invoker is None or self._conductor.is_closed:
            return INT64_MAX
        return self._invoker.next_deadline_ns()

    def close(self) -> None:
        """Close all publications, subscriptions and counters, notify the driver, stop the threads. A second call does nothing.

        Raises BlockingCallError in a simulated world, before anything is closed, where `close_linger_duration_ns` has it wait.
        """
        if self._is_forked:
            return
        linger_ns = self._context.close_linger_duration_ns
        if linger_ns and (self._closing is None or not self._closing.has_lingered):
            self._conductor.require_waiting("Aeron.close", "Aeron.async_close")
        was_closing, self._is_closing = self._is_closing, True
        closing = self.async_close()
        if was_closing:
            return
        try:
            if linger_ns and not closing.has_lingered:
                self._conductor.waiting.sleep(linger_ns)
        finally:
            closing.finish(STOP_TIMEOUT_S)

    def async_close(self) -> AsyncClose:
        """Start to close the client, as `close`: `poll()` the result until it returns true. Everything opened through it ends at once."""
        self._context.ports.processes.forget_at_exit(self.close)
        self._conductor.close()
        if self._closing is None:
            clock, linger_ns = self._context.clock, self._context.close_linger_duration_ns
            self._closing = AsyncClose(self._context.aeron_dir, clock, linger_ns, leave=self._conductor.leave, stop=self._stop_threads)
        return self._closing

    def _stop_threads(self, timeout_s: float) -> bool:
        """Stop the threads, or the invoker, and return whether they have ended."""
        if self._invoker is not None:
            self._invoker.close()
        # In a handler this is the conductor's thread, or has the lock that it waits for: it ends by itself, and the wake-up goes with it.
        stopped = [runner.stop(0 if self._conductor.is_in_handler else timeout_s) for runner in self._runners]
        if all(stopped):
            self._wakeup.close()
        return all(stopped)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Aeron(aeron_dir={self._context.aeron_dir!r}, client_id={self.client_id}, is_closed={self.is_closed})"

    def _on_fork(self) -> None:
        self._is_forked = True
        self._conductor.mark_forked()
        self._context.ports.processes.forget_at_exit(self.close)

    def _on_kill(self) -> None:
        self._conductor.mark_killed()

    def _on_agent_start(self, role_name: str) -> None:
        """Tell the application that one of its threads is an agent's from now on."""
        if self._context.agent_on_start is None:
            return
        try:
            self._context.agent_on_start(role_name)
        except Exception as error:  # a thread that is not as it was to be is better than none
            self._conductor.handlers.report(error)
