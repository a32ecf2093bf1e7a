"""The archive as an object: launched in this process, with a driver that runs in it or elsewhere.

Recorder and replayer run on native threads that never take the interpreter's lock; the conductor has a Python thread. Aeron: Archive.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.agents.client_errors import ClientErrors
from aerowire.archive.composition import ArchiveBuild, ArchiveParts, client_name_of, invokers_of
from aerowire.archive.context import ArchiveContext, ArchiveThreadingMode
from aerowire.base import arguments, fork
from aerowire.base.errors import ClosedError, DriverTimeoutError
from aerowire.base.runner import AgentInvoker
from aerowire.client.aeron import Aeron
from aerowire.client.context import ClientContext
from aerowire.client.handles.waiting import Pending, wait_for_close, wait_for_result
from aerowire.codecs.flyweights.commands import NULL_CORRELATION_ID
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    from aerowire.archive.conductor.archive_conductor import ArchiveConductor
    from aerowire.base.runner import NativeAgent
    from aerowire.system.threads import Runner
    from aerowire.system.waiting import WaitPort

# Names of threads by role and form. Officially the shared thread is the conductor's too, and has its name.
_THREAD_NAMES: Mapping[str, Mapping[str, str]] = {
    "classic": {
        "recorder": "archive-recorder",
        "replayer": "archive-replayer",
        "shared": "archive-shared",
        "conductor": "archive-conductor",
    },
    "new": {"recorder": "aeron-ar-rec", "replayer": "aeron-ar-rep", "shared": "aeron-ar-shd", "conductor": "aeron-ar-cnd"},
}

# Agents poll their stop flag every cycle; a longer wait means that one is stuck in the kernel.
_STOP_TIMEOUT_S = 5.0
# The time within which recordings and replays end in order at a close, which notifies their clients.
_CLOSE_TIMEOUT_NS = 5_000_000_000


class Archive:
    """A running archive. Close it, or use it as a context manager. From `launch` or `async_launch`.

    Invariant: between construction and `close()` exactly one thread runs the conductor: its own, or the invoker's caller.
    """

    def __init__(self, context: ArchiveContext, ports: Ports, parts: ArchiveParts) -> None:
        """Start an archive that was put together; `launch` is the usual way."""
        self._context = context
        self._ports = ports
        self._parts = parts
        self._closing: ArchiveClose | None = None
        self._is_forked = False
        self._runners: list[Runner] = []
        self._invoker: AgentInvoker | None = None
        fork.poison(self)
        ports.processes.at_exit(self.close)
        if context.is_invoked:
            self._invoker = AgentInvoker([parts.recorder, parts.replayer, parts.conductor], ports.clock)
            self._invoker.start()
        else:
            self._start_threads()

    @classmethod
    def launch(cls, context: ArchiveContext | None = None, *, ports: Ports | None = None, **options: object) -> Archive:
        """Start an archive in this process, and wait until it serves; without a context, `options` are those of `ArchiveContext`.

        Raises ConfigurationError, ActiveArchiveError, ArchiveFileError, StorageError, and what connecting to the driver raises.
        """
        launching = cls.async_launch(context, ports=ports, **options)
        launching.waiting.require("Archive.launch", "Archive.async_launch")
        return wait_for_result(launching, launching.waiting)

    @classmethod
    def async_launch(cls, context: ArchiveContext | None = None, *, ports: Ports | None = None, **options: object) -> ArchiveLaunch:
        """Start to launch an archive, as `launch`: `poll()` the result until it returns true, then take its `result()`."""
        return ArchiveLaunch(_context(context, options), ports if ports is not None else Ports.system())

    @property
    def context(self) -> ArchiveContext:
        return self._context

    @property
    def archive_id(self) -> int:
        """Number that tells this archive from others."""
        return self._parts.archive_id

    @property
    def invoker(self) -> AgentInvoker:
        """All of the archive's work in the caller's thread, in INVOKER mode: `invoke()` runs one duty cycle. The archive closes it."""
        if self._is_forked:
            raise fork.forked("Archive")
        if self._invoker is None:
            raise ClosedError(
                "this archive has no invoker",
                where="Archive.invoker",
                expected="threading_mode=INVOKER",
                actual=self._context.threading_mode.value,
            )
        return self._invoker

    @property
    def conductor(self) -> ArchiveConductor:
        """The conductor, for tests and the simulator; its tables belong to its own thread."""
        return self._parts.conductor

    @property
    def aeron(self) -> Aeron:
        """The archive's client of its driver."""
        return self._parts.aeron

    @property
    def is_closed(self) -> bool:
        """Whether the archive was closed."""
        return self._closing is not None

    @property
    def has_ended(self) -> bool:
        """Whether the archive serves no more: it was closed, or its client has ended with the driver."""
        return self._parts.conductor.is_closed

    @property
    def failure(self) -> BaseException | None:
        """What ended an archive that was not closed; None while it serves, and where its client did not say."""
        return self._parts.conductor.client_error if self.has_ended and self._closing is None else None

    def close(self) -> None:
        """End recordings, replays and sessions, tell their clients, stop the agents and close the files. Harmless when done twice.

        Raises DriverTimeoutError when a thread is stuck, and BlockingCallError in a simulated world, before anything is closed.
        """
        if self._is_forked or (self._closing is not None and self._closing.is_done):
            return
        wait_for_close(self.async_close, self._ports.waiting, "Archive")

    def async_close(self) -> ArchiveClose:
        """Start to close the archive, as `close`: `poll()` the result until it returns true."""
        if self._closing is None:
            self._ports.processes.forget_at_exit(self.close)
            self._closing = ArchiveClose(self._parts, self._ports, self._invoker, self._runners)
        return self._closing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else self._context.threading_mode.value
        return f"Archive({str(self._context.archive_path)!r}, archive_id={self.archive_id}, {state})"

    def _on_fork(self) -> None:
        # In the child neither threads nor files are ours.
        self._is_forked = True

    def _start_threads(self) -> None:
        parts, threads, clock = self._parts, self._ports.threads, self._ports.clock
        groups: dict[str, list[NativeAgent]] = (
            {"recorder": [parts.recorder], "replayer": [parts.replayer]}
            if self._context.threading_mode is ArchiveThreadingMode.DEDICATED
            else {"shared": [parts.recorder, parts.replayer]}
        )
        names = _THREAD_NAMES[self._context.thread_naming]
        for role, agents in groups.items():
            idle = parts.idles["recorder" if role == "shared" else role]
            factory = self._context.thread_factory(role)
            self._runners.append(threads.new_runner(agents, clock, idle, role_name=names[role], thread_factory=factory))
        on_error, factory = parts.conductor.core.errors.record, self._context.thread_factory("conductor")
        self._runners.append(
            threads.new_runner(
                [parts.conductor], clock, parts.sleeper, role_name=names["conductor"], on_error=on_error, thread_factory=factory
            )
        )
        for runner in self._runners:
            runner.start()


class ArchiveLaunch(Pending[Archive]):
    """An archive that is being launched: it connects to the driver, opens its files, and gets its counters and subscriptions."""

    __slots__ = ("_build", "_client_errors", "_connecting", "_context", "_ports")

    def __init__(self, context: ArchiveContext, ports: Ports) -> None:
        super().__init__(NULL_CORRELATION_ID, f"launch the archive in {context.archive_path}", self._look, ArchiveLaunch._give_up)
        self._context = context
        self._ports = ports
        self._build: ArchiveBuild | None = None
        self._client_errors = ClientErrors()
        client = ClientContext(
            aeron_dir=context.aeron_dir,
            client_name=client_name_of(context),
            use_conductor_agent_invoker=context.is_invoked,
            driver_agent_invoker=context.media_driver_invoker,
            error_handler=self._client_errors,
            properties=context.properties,
            environ=context.environ,
            ports=ports,
        )
        self._connecting: Pending[Aeron] = Aeron.async_connect(context=client)

    @property
    def waiting(self) -> WaitPort:
        """The port by which a caller may wait for it."""
        return self._ports.waiting

    def _look(self) -> None:
        try:
            if self._build is None:
                if self._connecting.poll():
                    self._build = ArchiveBuild(self._context, self._ports, self._connecting.result(), self._client_errors)
                return
            self._serve_client()
            parts = self._build.poll()
            if parts is not None:
                self.complete(Archive(self._context, self._ports, parts))
        except Exception as error:
            self._undo()
            self.fail(error)

    def _serve_client(self) -> None:
        """Do the work of driver and client, where nothing else does it yet, and look for answers."""
        aeron = self._connecting.result()
        for invoker in invokers_of(self._context, aeron):
            invoker.invoke()
        aeron.service()

    def _undo(self) -> None:
        """Close what was opened for an archive that will not be."""
        if self._build is not None:
            self._build.files.close()
        if self._connecting.is_fulfilled:
            self._connecting.result().async_close().poll()
        else:
            self._connecting.cancel()

    @staticmethod
    def _give_up(pending: Pending[Archive]) -> None:
        assert isinstance(pending, ArchiveLaunch)
        pending._undo()
        pending.fail(ClosedError(f"given up: {pending.what}"))


class ArchiveClose(Pending[None]):
    """An archive that is being closed: recordings and replays end, then the agents, then the files. It cannot be given up."""

    __slots__ = ("_client", "_deadline_ns", "_invoker", "_parts", "_ports", "_runners")

    def __init__(self, parts: ArchiveParts, ports: Ports, invoker: AgentInvoker | None, runners: list[Runner]) -> None:
        super().__init__(NULL_CORRELATION_ID, f"close the archive in {parts.conductor.core.directory}", self._look, lambda _: None)
        self._parts = parts
        self._ports = ports
        self._invoker = invoker
        self._runners = runners
        self._client: Pending[None] | None = None
        self._deadline_ns = ports.clock.now_ns() + _CLOSE_TIMEOUT_NS
        parts.conductor.request_close()

    def _look(self) -> None:
        if self._client is None:
            if self._invoker is not None and not self._invoker.is_closed:
                self._invoker.invoke()
            if not self._parts.conductor.is_closed and self._ports.clock.now_ns() < self._deadline_ns:
                return
            try:
                self._stop_agents()
                self._parts.close()
            except Exception as error:
                self._parts.aeron.async_close().poll()
                self.fail(error)
                return
            self._client = self._parts.aeron.async_close()
        if self._client.poll():
            self.complete(None)

    def _stop_agents(self) -> None:
        """Stop the threads, conductor last, or the invoker. Raises DriverTimeoutError."""
        stuck = [runner.role_name for runner in self._runners if not runner.stop(_STOP_TIMEOUT_S)]
        if self._invoker is not None:
            self._invoker.close()
        if stuck:
            raise DriverTimeoutError(
                "threads of the archive did not stop",
                where=self._parts.conductor.core.directory,
                expected=f"an end within {_STOP_TIMEOUT_S} s",
                actual=", ".join(stuck),
            )


def _context(context: ArchiveContext | None, options: dict[str, object]) -> ArchiveContext:
    if context is None:
        return ArchiveContext(**options)  # type: ignore[arg-type]
    arguments.instance("context", context, ArchiveContext, "an ArchiveContext, or options as keywords")
    if options:
        raise TypeError("launch takes a context or options, not both")
    return context
