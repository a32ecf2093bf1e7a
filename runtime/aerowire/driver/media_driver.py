"""The media driver as an object: launched in this process, or in one of its own.

Agents run on native threads that never take the interpreter's lock; the conductor has a Python thread. Aeron: MediaDriver.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.agents.worker_thread import WorkerThread
from aerowire.base import arguments, fork, units
from aerowire.base.directory import random_aeron_dir
from aerowire.base.errors import ClosedError, DriverTimeoutError
from aerowire.base.idle import CONTROLLABLE_PARK, ControllableIdleStrategy, idle_strategy
from aerowire.base.runner import AgentInvoker
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.composition import DriverParts, build_driver
from aerowire.driver.context import Context, ThreadingMode
from aerowire.system.ports import Ports
from aerowire.system.processes import usable_cpus

if TYPE_CHECKING:
    from aerowire.base.idle import IdleStrategy
    from aerowire.base.runner import NativeAgent
    from aerowire.driver.conductor.driver_conductor import DriverConductor
    from aerowire.driver.spawned import SpawnedDriver
    from aerowire.system.threads import Runner

_IDLE_ROLES = ("sender", "receiver", "conductor", "sharednetwork", "shared")

# Names of threads by role and form, as the official drivers have them. The thread of commands is ours: officially the conductor runs them.
_THREAD_NAMES: Mapping[str, Mapping[str, str]] = {
    "classic": {
        "sender": "sender",
        "receiver": "receiver",
        "conductor": "conductor",
        "sharednetwork": "[sender, receiver]",
        "shared": "[conductor, sender, receiver]",
        "commands": "client-commands",
    },
    "new": {
        "sender": "aeron-md-snd",
        "receiver": "aeron-md-rcv",
        "conductor": "aeron-md-cnd",
        "sharednetwork": "aeron-md-net",
        "shared": "aeron-md-shd",
        "commands": "aeron-md-cmd",
    },
}

_NS_PER_MS = 1_000_000

# Agents poll their stop flag every cycle; a longer wait means that one is stuck in the kernel.
_STOP_TIMEOUT_S = 5.0


class MediaDriver:
    """A running media driver. Close it, or use it as a context manager.

    Invariant: between construction and `close()` exactly one thread runs the conductor: its own, or the invoker's caller.
    """

    def __init__(self, context: Context | None = None, *, ports: Ports | None = None) -> None:
        """Build and start a driver; `launch` is the usual way."""
        self._context = context if context is not None else Context()
        self._ports = ports if ports is not None else Ports.system()
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_forked = False
        self._termination = threading.Event()
        is_threaded = self._context.threading_mode is not ThreadingMode.INVOKER
        # Name look-ups and files of gigabytes may take seconds; an invoker's caller, who owns time, runs them in line.
        self._resolver = WorkerThread("aeron-md-resolve") if is_threaded else None
        # A thread of its own: of many names that hang, none must hold up a client's channel.
        self._lookups = WorkerThread("aeron-md-names") if is_threaded else None
        self._files = WorkerThread("aeron-md-files") if is_threaded else None
        idles = {role: self._idle(role) for role in _IDLE_ROLES}
        # Decides nothing here; what is none is refused all the same.
        self._idle("driver_native_resource_agent")
        self._ports.regions.survive_lost_pages()
        self._parts: DriverParts = build_driver(
            self._context,
            self._ports,
            resolver=self._resolver,
            lookups=self._lookups,
            files=self._files,
            on_terminate=self._termination.set,
        )
        self._runners: list[Runner] = []
        self._invoker: AgentInvoker | None = None
        try:
            self._start(idles)
        except BaseException:
            self.close()
            raise

    @classmethod
    def launch(cls, context: Context | None = None, *, ports: Ports | None = None, **options: object) -> MediaDriver:
        """Start a driver in this process; without a context, `options` are those of `Context`.

        Raises ConfigurationError, ActiveDriverError, ForeignDirectoryError or StorageSpaceError.
        """
        return cls(_context(context, options), ports=ports)

    @classmethod
    def launch_embedded(cls, *, ports: Ports | None = None, **options: object) -> MediaDriver:
        """Start a driver in this process, in a directory of its own that goes when it ends."""
        options.setdefault("aeron_dir", random_aeron_dir())
        options.setdefault("dir_delete_on_shutdown", True)
        return cls.launch(None, ports=ports, **options)

    @staticmethod
    def spawn(
        *,
        timeout_s: float = 30.0,
        ends_with_parent: bool = True,
        properties: Mapping[str, str] | None = None,
        **options: object,
    ) -> SpawnedDriver:
        """Start a driver in a process of its own and wait until clients can connect.

        `ends_with_parent` lets it end when this process does, however that happens. Raises what the driver's start raised.
        """
        from aerowire.driver.spawned import SpawnedDriver

        return SpawnedDriver(timeout_s=timeout_s, ends_with_parent=ends_with_parent, properties=properties, **options)

    @property
    def context(self) -> Context:
        return self._context

    @property
    def aeron_dir(self) -> str:
        """The directory by which clients find this driver."""
        return self._context.aeron_dir

    @property
    def invoker(self) -> AgentInvoker:
        """All of the driver's work in the caller's thread, in INVOKER mode: `invoke()` runs one duty cycle. The driver closes it."""
        if self._is_forked:
            raise fork.forked("MediaDriver")
        if self._invoker is None:
            raise ClosedError(
                "this driver has no invoker",
                where="MediaDriver.invoker",
                expected="threading_mode=INVOKER",
                actual=self._context.threading_mode.value,
            )
        return self._invoker

    @property
    def conductor(self) -> DriverConductor:
        """The conductor, for tests and the simulator; its tables belong to its own thread."""
        return self._parts.conductor

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def wait_for_termination(self, timeout_s: float | None = None) -> bool:
        """Sleep until a client has ended the driver or somebody closes it; returns False when the time is up."""
        return self._termination.wait(timeout_s)

    def request_termination(self) -> None:
        """Make `wait_for_termination` return; safe in a signal handler."""
        self._termination.set()

    def check_capture(self) -> None:
        """Write out what the capture has gathered; raise StorageSpaceError when it ended early. Nothing without a capture."""
        if self._parts.capture is not None:
            self._parts.capture.flush()

    def close(self) -> None:
        """Stop the agents, free every file, and say that the driver has ended. Harmless when done twice.

        Raises DriverTimeoutError when a thread is stuck; its memory is then left to it until the process ends.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._termination.set()
        self._ports.processes.forget_at_exit(self.close)
        stuck = [runner.role_name for runner in reversed(self._runners) if not runner.stop(_STOP_TIMEOUT_S)]
        if self._invoker is not None:
            self._invoker.close()
        for worker in (self._resolver, self._lookups, self._files):
            if worker is not None:
                worker.shutdown(wait=False, cancel_futures=True)
        if stuck:
            raise DriverTimeoutError(
                "threads of the driver did not stop",
                where=self.aeron_dir,
                expected=f"an end within {_STOP_TIMEOUT_S} s",
                actual=", ".join(stuck),
            )
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else self._context.threading_mode.value
        return f"MediaDriver({self.aeron_dir!r}, {state})"

    def _on_fork(self) -> None:
        # In the child neither threads nor files are ours.
        self._is_forked = True
        self._is_closed = True

    @property
    def _agents(self) -> list[NativeAgent]:
        return [self._parts.sender, self._parts.receiver, self._parts.conductor_agent]

    def _start(self, idles: Mapping[str, IdleStrategy]) -> None:
        fork.poison(self)
        self._ports.processes.at_exit(self.close)
        self._parts.conductor.core.logs.check_room_for_a_log()
        if self._context.threading_mode is not ThreadingMode.INVOKER:
            self._start_threads(idles)
        else:
            self._invoker = AgentInvoker([*self._agents, self._parts.conductor], self._ports.clock)
            self._invoker.start()

    def _start_threads(self, idles: Mapping[str, IdleStrategy]) -> None:
        sender, receiver, conductor_agent = self._agents
        groups: dict[ThreadingMode, dict[str, list[NativeAgent]]] = {
            ThreadingMode.DEDICATED: {"sender": [sender], "receiver": [receiver], "conductor": [conductor_agent]},
            ThreadingMode.SHARED_NETWORK: {"sharednetwork": [sender, receiver], "conductor": [conductor_agent]},
            ThreadingMode.SHARED: {"shared": [sender, receiver, conductor_agent]},
        }
        names = _THREAD_NAMES[self._context.thread_naming]
        threads = self._ports.threads
        for role, agents in groups[self._context.threading_mode].items():
            self._give_control(idles[role])
            runner = threads.new_runner(agents, self._ports.clock, idles[role], role_name=names[role], cpu=self._cpu_of(role))
            self._runners.append(runner)
        conductor, name, cpu = self._parts.conductor, names["commands"], self._cpu_of("commands")
        events, errors = conductor.core.events, conductor.core.errors
        self._runners.append(threads.new_runner([conductor], self._ports.clock, events, role_name=name, cpu=cpu, on_error=errors.record))
        for runner in self._runners:
            runner.start()

    def _cpu_of(self, role: str) -> int | None:
        # Called BEFORE the conductor's thread runs, which owns the error log from then on.
        cpu = self._context.cpu_affinity(role)
        if cpu is None or cpu in usable_cpus():
            return cpu
        self._parts.conductor.core.errors.warn(f"unable to apply affinity: role={role} cpu={cpu}; this process may not use it")
        return None

    def _give_control(self, idle: IdleStrategy) -> None:
        """Let the counter that operators set decide what a controllable strategy does; it says what that is until then."""
        if isinstance(idle, ControllableIdleStrategy):
            counters = self._parts.conductor.core.counters.manager
            counters.set_value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY, CONTROLLABLE_PARK)
            idle.obey(counters.value_view(SystemCounter.CONTROLLABLE_IDLE_STRATEGY))

    def _idle(self, role: str) -> IdleStrategy:
        name, texts = self._context.idle_strategy(role)
        where = OPTIONS[f"{role}_idle_strategy{'_init_args' if texts else ''}"].property
        # A bare number is in the strategy's own unit.
        unit_ns = _NS_PER_MS if idle_strategy(name, where=where).alias == "sleep-ms" else 1
        arguments = (
            units.parse_integer(where, text, 0, units.INT64_MAX) if text.isdecimal() else units.parse_duration_ns(where, text) // unit_ns
            for text in texts
        )
        return idle_strategy(name, *arguments, where=where)


def _context(context: Context | None, options: dict[str, object]) -> Context:
    if context is None:
        return Context(**options)  # type: ignore[arg-type]
    if not isinstance(context, Context):
        hint = "a directory is given as aeron_dir=..." if isinstance(context, str | os.PathLike) else None
        raise arguments.wrong_type("context", context, "a Context, or options as keywords", hint=hint)
    if options:
        raise TypeError("launch takes a context or options, not both")
    return context
