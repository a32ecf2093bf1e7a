"""The service container as an object: launched in this process, on a node whose driver, archive and consensus module run here or elsewhere.

Aeron: ClusteredServiceContainer.
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
from aerowire.cluster.services.composition import ContainerParts, build_container, invokers_of, take_mark_file
from aerowire.cluster.services.context import ClusteredServiceContext
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    from aerowire.base.runner import AgentInvoker
    from aerowire.cluster.services.agent import ClusteredServiceAgent
    from aerowire.cluster.services.cluster import Cluster
    from aerowire.cluster.services.core import ContainerTermination
    from aerowire.system.waiting import WaitPort

# The agent polls its stop flag every cycle; a longer wait means that the service is stuck.
_STOP_TIMEOUT_S = 5.0


class ClusteredServiceContainer:
    """A running service container. Close it, or use it as a context manager. From `launch` or `async_launch`.

    It ends by itself when the consensus module asks for that or is gone: `has_ended` tells, and the context's `termination_hook` is called.
    Invariant: exactly one thread runs the agent: its own, or the invoker's caller.
    """

    def __init__(self, context: ClusteredServiceContext, ports: Ports, parts: ContainerParts) -> None:
        """Start a container that was put together; `launch` is the usual way."""
        self._context = context
        self._ports = ports
        self._parts = parts
        self._closing: ContainerClose | None = None
        self._is_forked = False
        fork.poison(self)
        ports.processes.at_exit(self.close)
        agent = parts.agent
        self._host = HostedAgent(
            agent,
            ports,
            parts.sleeper,
            is_invoked=context.is_invoked,
            on_error=agent.core.errors.record,
            thread_factory=context.thread_factory,
        )

    @classmethod
    def launch(
        cls, service: object = None, context: ClusteredServiceContext | None = None, *, ports: Ports | None = None, **options: Any
    ) -> ClusteredServiceContainer:
        """Start a container in this process; without a context, `options` are those of `ClusteredServiceContext`.

        Returns when the container runs, which then waits for its consensus module. Raises ConfigurationError, ActiveClusterError,
        ClusterFileError, StorageError, and what connecting to the driver raises.
        """
        launching = cls.async_launch(service, context, ports=ports, **options)
        launching.waiting.require("ClusteredServiceContainer.launch", "ClusteredServiceContainer.async_launch")
        return wait_for_result(launching, launching.waiting)

    @classmethod
    def async_launch(
        cls, service: object = None, context: ClusteredServiceContext | None = None, *, ports: Ports | None = None, **options: Any
    ) -> ContainerLaunch:
        """Start to launch a container, as `launch`: `poll()` the result until it returns true, then take its `result()`."""
        return ContainerLaunch(_context(service, context, options), ports if ports is not None else Ports.system())

    @property
    def context(self) -> ClusteredServiceContext:
        """The options that the container runs with."""
        return self._context

    @property
    def cluster(self) -> Cluster:
        """The cluster as the service sees it; it belongs to the container's thread."""
        return self._parts.agent.cluster

    @property
    def agent(self) -> ClusteredServiceAgent:
        """The agent, for tests and the simulator."""
        return self._parts.agent

    @property
    def aeron(self) -> Aeron:
        """The container's client of its driver."""
        return self._parts.agent.core.aeron

    @property
    def invoker(self) -> AgentInvoker:
        """All of the container's work in the caller's thread, with `use_agent_invoker`: `invoke()` runs one cycle."""
        if self._is_forked:
            raise fork.forked("ClusteredServiceContainer")
        if self._host.invoker is None:
            raise ClosedError(
                "this container has no invoker",
                where="ClusteredServiceContainer.invoker",
                expected="use_agent_invoker=True",
                actual="a thread of its own",
            )
        return self._host.invoker

    @property
    def is_closed(self) -> bool:
        """Whether the container was closed."""
        return self._closing is not None

    @property
    def has_ended(self) -> bool:
        """Whether the service runs no more: the container was closed, or has ended by itself."""
        return self._parts.agent.is_closed

    @property
    def termination(self) -> ContainerTermination | None:
        """Why the container has ended; None while it runs."""
        return self._parts.agent.termination

    def close(self) -> None:
        """End the service and its container. Harmless when done twice.

        Raises DriverTimeoutError when the service is stuck, after which it may be tried again, and BlockingCallError in a simulated world,
        before anything is closed.
        """
        if self._is_forked or (self._closing is not None and self._closing.is_fulfilled):
            return
        wait_for_close(self.async_close, self._ports.waiting, "ClusteredServiceContainer")

    def async_close(self) -> ContainerClose:
        """Start to close the container, as `close`: `poll()` the result until it returns true."""
        if self._closing is None or (self._closing.is_done and not self._closing.is_fulfilled):
            self._ports.processes.forget_at_exit(self.close)
            self._closing = ContainerClose(self._parts.agent, self._ports, self._host)
        return self._closing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "ended" if self.has_ended else "running"
        return f"ClusteredServiceContainer({str(self._context.cluster_path)!r}, service_id={self._context.service_id}, {state})"

    def _on_fork(self) -> None:
        # In the child neither threads nor files are ours.
        self._is_forked = True


class ContainerLaunch(Steps[ClusteredServiceContainer]):
    """A container that is being launched: it connects to the driver, takes its mark file, and gets its counters and streams."""

    __slots__ = ("_aeron", "_context", "_ports")

    def __init__(self, context: ClusteredServiceContext, ports: Ports) -> None:
        super().__init__(f"launch service {context.service_id} in {context.cluster_path}", self._launch(), self._serve_client)
        self._context = context
        self._ports = ports
        self._aeron = context.aeron

    @property
    def waiting(self) -> WaitPort:
        """The port by which a caller may wait for it."""
        return self._ports.waiting

    def _launch(self) -> Generator[Pending[Any] | None, Any, ClusteredServiceContainer]:
        context, ports = self._context, self._ports
        mark_file, client_errors = None, ClientErrors()
        if context.aeron is None:
            client = ClientContext(
                aeron_dir=context.aeron_dir,
                client_name=context.service_name,
                use_conductor_agent_invoker=context.is_invoked,
                error_handler=client_errors,
                properties=context.properties,
                environ=context.environ,
                ports=ports,
            )
            self._aeron = yield Aeron.async_connect(context=client)
        aeron = self._aeron
        assert aeron is not None
        try:
            mark_file = take_mark_file(context, ports, aeron)
            parts = yield from build_container(context, ports, aeron, mark_file, client_errors)
        except BaseException:
            if mark_file is not None:
                mark_file.close()
            if context.aeron is None:
                aeron.async_close().poll()
            raise
        return ClusteredServiceContainer(context, ports, parts)

    def _serve_client(self) -> None:
        """Do the work of what has no threads, where nothing else does it yet."""
        invokers = self._context.agent_invokers if self._aeron is None else invokers_of(self._context, self._aeron)
        for invoker in invokers:
            invoker.invoke()


class ContainerClose(Steps[None]):
    """A container that is being closed: the service ends, then the streams, the client and the thread. It cannot be given up."""

    __slots__ = ("_agent", "_host", "_ports")

    def __init__(self, agent: ClusteredServiceAgent, ports: Ports, host: HostedAgent) -> None:
        super().__init__(f"close service {agent.core.context.service_id}", self._close(), host.invoke)
        self._agent = agent
        self._ports = ports
        self._host = host
        agent.request_close()

    def _close(self) -> Generator[None, None, None]:
        deadline_ns = self._ports.clock.now_ns() + round(_STOP_TIMEOUT_S * 1e9)
        while not self._agent.is_closed:
            if self._ports.clock.now_ns() >= deadline_ns:
                raise self._stuck()
            yield None
        if not self._host.stop(_STOP_TIMEOUT_S):
            raise self._stuck()

    def _stuck(self) -> DriverTimeoutError:
        return DriverTimeoutError(
            "a service container did not stop",
            where=self._agent.core.context.cluster_path,
            expected=f"an end within {_STOP_TIMEOUT_S} s",
            actual=f"{self._agent.role_name} is {self._agent.stage.name}",
        )


def _context(service: object, context: ClusteredServiceContext | None, options: dict[str, Any]) -> ClusteredServiceContext:
    if context is None:
        return ClusteredServiceContext(service, **options)
    arguments.instance("context", context, ClusteredServiceContext, "a ClusteredServiceContext, or options as keywords")
    if options or service is not None:
        raise TypeError("launch takes a context, or a service and options, not both")
    return context
