"""Clients in the world: the real client, in a process of its own on a simulated host, and the application that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.base.errors import AerowireError, DriverTimeoutError
from aerowire.base.units import INT64_MAX
from aerowire.client.aeron import Aeron
from aerowire.simulation.process import ProcessState

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.client.conductor.async_close import AsyncClose
    from aerowire.client.conductor.driver_connection import AsyncConnect
    from aerowire.client.handles.waiting import Pending
    from aerowire.simulation.process import Deadline, Process, Work
    from aerowire.system.ports import Ports

T = TypeVar("T")

# How often a driver that is not there yet is looked for, as the blocking connect does.
RETRY_NS = 10_000_000
# Answers come within microseconds of simulated time unless the driver is paused, or names are looked up.
ANSWER_LIMIT_NS = 10_000_000_000


class SimulatedClient:
    """One process with one client. From `SimulatedHost.connect`; the world calls `work`.

    Its application is `work()`, called in each cycle once the client is connected; it returns how much it did. Without a time of
    `next_deadline_ns` it is due only when something else is. With the process's `ports` the application may connect other clients, and
    invoke them itself. Errors that no caller can be given are in `errors`, the client's end among them. Invariant: once it has ended,
    orderly or killed, it does nothing.
    """

    def __init__(
        self,
        *,
        aeron_dir: Path | str,
        ports: Ports,
        process: Process,
        run: Callable[[int, Callable[[], bool]], bool],
        work: Work | None = None,
        next_deadline_ns: Deadline | None = None,
        **options: Any,
    ) -> None:
        """`ports` are the process's, `options` the client's. `run(duration_ns, until)` lets the world run."""
        self.errors: list[BaseException] = []
        self._process = process
        self._clock = ports.clock
        self._waiting = ports.waiting
        self._run = run
        self._work = work
        self._next_deadline_ns = next_deadline_ns
        self._is_working = False
        self._closing: AsyncClose | None = None
        defaults = {"environ": {}, "error_handler": self.errors.append}
        self.ports = ports
        own = {"ports": self.ports, "use_conductor_agent_invoker": True}
        self._connecting: AsyncConnect[Aeron] = Aeron.async_connect(aeron_dir, **{**defaults, **options, **own})
        self._look_ns = self._clock.now_ns()
        self._look()

    @property
    def connecting(self) -> AsyncConnect[Aeron]:
        """The connection, which a driver that is there answers at once."""
        return self._connecting

    @property
    def aeron(self) -> Aeron:
        """The client. Raises what kept it from connecting, and RuntimeError while it tries."""
        return self._connecting.result()

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended: in order, killed, or with its host's power."""
        return self._process.state is ProcessState.ENDED

    @property
    def process_id(self) -> int:
        """Id of the process on its host."""
        return self._process.identity.own_id()

    def complete(self, pending: Pending[T], limit_ns: int = ANSWER_LIMIT_NS) -> T:
        """Let the world run until a command has its answer, and return that: for those outside of the world.

        Raises what the driver refused the command with, DriverTimeoutError when there is no answer in time, and BlockingCallError within
        the application's own work.
        """
        if self._is_working:
            self._waiting.require("SimulatedClient.complete", "poll() of the command in each cycle")
        if not self._run(limit_ns, lambda: pending.is_done):
            pending.abandon()
            raise DriverTimeoutError(f"no answer to: {pending.what}", expected=f"an answer within {limit_ns / 1e9:g} simulated s")
        return pending.result()

    def work(self) -> int:
        """Run one duty cycle of the client and of its application; return how much was done."""
        if self.has_ended:
            return 0
        if self._closing is not None:
            return self._finish(self._closing)
        done = 0
        if not self._connecting.is_done:
            done = self._look()
        if not self._connecting.is_fulfilled:
            return done
        done += self._invoke()
        if self._work is None or self.has_ended or self._closing is not None:
            return done
        self._is_working = True
        try:
            return done + self._work()
        finally:
            self._is_working = False

    def next_deadline_ns(self) -> int:
        """Return when there is work without a datagram."""
        if self.has_ended:
            return INT64_MAX
        if self._closing is not None:
            return self._closing.deadline_ns
        if not self._connecting.is_done:
            return self._look_ns
        client_ns = self.aeron.next_deadline_ns() if self._connecting.is_fulfilled else INT64_MAX
        return client_ns if self._next_deadline_ns is None else min(client_ns, self._next_deadline_ns())

    def start(self, work: Work, next_deadline_ns: Deadline | None = None) -> None:
        """Let an application have turns from now on, in place of the one before: for those that are made with what this client has added.

        `work` and `next_deadline_ns` are as in `SimulatedHost.connect`. Raises ClosedError when the process has ended.
        """
        self._process.wake()
        self._work, self._next_deadline_ns = work, next_deadline_ns

    def close(self) -> None:
        """End the process in an orderly way: at once, or when its client has lingered. A second call does nothing."""
        if self.has_ended or self._closing is not None:
            return
        self._connecting.cancel()
        if self._connecting.is_fulfilled:
            self._closing = self.aeron.async_close()
            self._finish(self._closing)
        else:
            self._process.end()

    def kill(self) -> None:
        """End the process at once: its driver hears nothing more of it, and finds out by the heartbeat."""
        if not self.has_ended:
            self._process.kill()

    def _finish(self, closing: AsyncClose) -> int:
        if not closing.poll():
            return 0
        self._process.end()
        return 1

    def _look(self) -> int:
        now_ns = self._clock.now_ns()
        if now_ns < self._look_ns:
            return 0
        self._look_ns = now_ns + RETRY_NS
        if not self._connecting.poll():
            return 0
        if not self._connecting.is_fulfilled:
            try:
                self._connecting.result()
            except AerowireError as error:
                self.errors.append(error)
        return 1

    def _invoke(self) -> int:
        aeron = self.aeron
        if aeron.next_deadline_ns() > self._clock.now_ns():  # a client that has ended is never due
            return 0
        try:
            return aeron.invoke()
        except AerowireError:
            if not aeron.is_closed:
                raise
            return 1  # the end of the client, which its error handler was told of
