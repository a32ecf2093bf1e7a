"""The consensus module as an object: launched in this process, with a driver and an archive that run in it or elsewhere.

It has threads of its own, one of them without the interpreter lock, or the caller invokes it. Aeron: ConsensusModule.
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aerowire.agents.client_errors import ClientErrors
from aerowire.agents.hosted_agent import HostedAgent
from aerowire.archive.client.steps import Steps
from aerowire.base import arguments, fork
from aerowire.base.errors import ClosedError, DriverTimeoutError
from aerowire.client.aeron import Aeron
from aerowire.client.context import ClientContext
from aerowire.client.handles.waiting import Pending, wait_for_close, wait_for_result
from aerowire.cluster.module.composition import ModuleFiles, ModuleParts, build_module, invokers_of, open_files
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.codecs.flyweights.commands import NULL_CORRELATION_ID
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    from aerowire.base.runner import AgentInvoker
    from aerowire.cluster.module.agent import ConsensusModuleAgent
    from aerowire.system.waiting import WaitPort

# An agent looks at its stop flag every cycle; a longer wait means that it is stuck in the kernel.
_STOP_TIMEOUT_S = 5.0


class ConsensusModule:
    """A running consensus module. Close it, or use it as a context manager. From `launch` or `async_launch`.

    Invariant: between construction and `close()` exactly one thread runs an agent: its own, or the invoker's caller.
    """

    Context = ConsensusModuleContext

    def __init__(self, context: ConsensusModuleContext, ports: Ports, parts: ModuleParts) -> None:
        """Start a consensus module that was put together; `launch` is the usual way."""
        self._context = context
        self._ports = ports
        self._parts = parts
        self._closing: ConsensusModuleClose | None = None
        self._is_forked = False
        fork.poison(self)
        ports.processes.at_exit(self.close)
        agent = parts.agent
        self._host = HostedAgent(
            agent,
            ports,
            parts.sleeper,
            is_invoked=context.use_agent_invoker,
            on_error=agent.core.errors.record,
            thread_factory=context.thread_factory,
            native=(parts.log_agent, parts.log_agent_idle),
        )

    @classmethod
    def launch(cls, context: ConsensusModuleContext | None = None, *, ports: Ports | None = None, **options: object) -> ConsensusModule:
        """Start a consensus module in this process; without a context, `options` are those of `ConsensusModuleContext`.

        It recovers, and elects, once its services run. Raises ConfigurationError, ActiveClusterError, ClusterFileError, StorageError, and
        what connecting to driver and archive raises.
        """
        launching = cls.async_launch(context, ports=ports, **options)
        launching.waiting.require("ConsensusModule.launch", "ConsensusModule.async_launch")
        return wait_for_result(launching, launching.waiting)

    @classmethod
    def async_launch(
        cls, context: ConsensusModuleContext | None = None, *, ports: Ports | None = None, **options: object
    ) -> ConsensusModuleLaunch:
        """Start to launch, as `launch`: `poll()` the result until it returns true, then take its `result()`."""
        return ConsensusModuleLaunch(_context(context, options), ports if ports is not None else Ports.system())

    @property
    def context(self) -> ConsensusModuleContext:
        return self._context

    @property
    def invoker(self) -> AgentInvoker:
        """All of the consensus module's work in the caller's thread: `invoke()` runs one duty cycle. The consensus module closes it."""
        if self._is_forked:
            raise fork.forked("ConsensusModule")
        if self._host.invoker is None:
            raise ClosedError(
                "this consensus module has no invoker", where="ConsensusModule.invoker", expected="use_agent_invoker=True", actual=False
            )
        return self._host.invoker

    @property
    def agent(self) -> ConsensusModuleAgent:
        """The agent in Python, for tests and the simulator; it belongs to its own thread."""
        return self._parts.agent

    @property
    def aeron(self) -> Aeron:
        """The consensus module's client of its driver."""
        return self._parts.aeron

    @property
    def is_closed(self) -> bool:
        """Whether the consensus module was closed."""
        return self._closing is not None

    @property
    def has_ended(self) -> bool:
        """Whether the member takes part no more: it was closed, was told to end, or has lost its driver, archive or services."""
        return self._parts.agent.is_closed

    def close(self) -> None:
        """Leave the cluster: followers see the end of a leader's log, services are told, files are closed. Harmless when done twice.

        Raises DriverTimeoutError when the thread is stuck, and BlockingCallError in a simulated world, before anything is closed.
        """
        if self._is_forked or (self._closing is not None and self._closing.is_done):
            return
        wait_for_close(self.async_close, self._ports.waiting, "ConsensusModule")

    def async_close(self) -> ConsensusModuleClose:
        """Start to close, as `close`: `poll()` the result until it returns true."""
        if self._closing is None:
            self._ports.processes.forget_at_exit(self.close)
            self._closing = ConsensusModuleClose(self._parts, self._host)
        return self._closing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        context = self._context
        return f"ConsensusModule(cluster_id={context.cluster_id}, member_id={context.cluster_member_id}, {state})"

    def _on_fork(self) -> None:
        # In the child neither the thread nor files are ours.
        self._is_forked = True


class ConsensusModuleLaunch(Steps[ConsensusModule]):
    """A consensus module that is being launched: it connects to driver and archive, opens its files, gets its counters and streams."""

    __slots__ = ("_aeron", "_context", "_ports")

    def __init__(self, context: ConsensusModuleContext, ports: Ports) -> None:
        super().__init__(f"launch the consensus module in {context.cluster_path}", self._launch(), self._serve_client)
        self._context = context
        self._ports = ports
        self._aeron: Aeron | None = None

    @property
    def waiting(self) -> WaitPort:
        """The port by which a caller may wait for it."""
        return self._ports.waiting

    def _launch(self) -> Generator[Pending[Any] | None, Any, ConsensusModule]:
        context, ports, client_errors = self._context, self._ports, ClientErrors()
        client = ClientContext(
            aeron_dir=context.aeron_dir,
            client_name=context.agent_role_name,
            use_conductor_agent_invoker=context.use_agent_invoker,
            driver_agent_invoker=context.media_driver_invoker,
            error_handler=client_errors,
            properties=context.properties,
            environ=context.environ,
            ports=ports,
        )
        self._aeron = aeron = yield Aeron.async_connect(context=client)
        files: ModuleFiles | None = None
        try:
            files = open_files(context, ports, aeron)
            parts = yield from build_module(context, ports, aeron, files, client_errors)
            return ConsensusModule(context, ports, parts)
        except BaseException:
            if files is not None:
                files.close()
            aeron.async_close().poll()
            raise

    def _serve_client(self) -> None:
        """Do the work of driver and client, where nothing else does it yet."""
        if self._aeron is not None:
            for invoker in invokers_of(self._context, self._aeron):
                invoker.invoke()


class ConsensusModuleClose(Pending[None]):
    """A consensus module that is being closed: its agents stop, it leaves the log, files and client are closed. It cannot be given up."""

    __slots__ = ("_client", "_host", "_parts")

    def __init__(self, parts: ModuleParts, host: HostedAgent) -> None:
        what = f"close the consensus module in {parts.agent.core.context.cluster_path}"
        super().__init__(NULL_CORRELATION_ID, what, self._look, lambda _: None)
        self._parts = parts
        self._host = host
        self._client: Pending[None] | None = None

    def _look(self) -> None:
        if self._client is None:
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
        """Stop the threads, or the invoker. Raises DriverTimeoutError."""
        if not self._host.stop(_STOP_TIMEOUT_S):
            raise DriverTimeoutError(
                "the threads of the consensus module did not stop",
                where=self._parts.agent.core.context.cluster_path,
                expected=f"an end within {_STOP_TIMEOUT_S} s",
                actual=self._parts.agent.role_name,
            )


def _context(context: ConsensusModuleContext | None, options: dict[str, object]) -> ConsensusModuleContext:
    if context is None:
        return ConsensusModuleContext(**options)  # type: ignore[arg-type]
    arguments.instance("context", context, ConsensusModuleContext, "a ConsensusModuleContext, or options as keywords")
    if options:
        raise TypeError("launch takes a context or options, not both")
    return context
