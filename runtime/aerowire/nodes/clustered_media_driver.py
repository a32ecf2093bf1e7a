"""A member of a cluster in one process: media driver, archive, consensus module, and services if they are to run there.

Aeron: ClusteredMediaDriver, with the containers of ClusteredServiceContainer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aerowire.base.errors import ClosedError
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.cluster.services.container import ClusteredServiceContainer
from aerowire.cluster.services.context import ClusteredServiceContext
from aerowire.driver.context import Context, ThreadingMode
from aerowire.nodes.archiving_media_driver import ArchivingMediaDriver
from aerowire.nodes.node_threads import with_one_thread

if TYPE_CHECKING:
    from aerowire.archive.archive import Archive
    from aerowire.driver.media_driver import MediaDriver
    from aerowire.system.ports import Ports


class ClusteredMediaDriver:
    """A driver, an archive on it, a consensus module on both, and containers of services. From `launch`.

    Close it, or use it as a context manager. A member ends by itself when its cluster shuts it down, or it cannot go on: see `has_ended`.
    """

    def __init__(
        self, node: ArchivingMediaDriver, consensus_module: ConsensusModule, containers: Sequence[ClusteredServiceContainer] = ()
    ) -> None:
        """Hold parts that are running; `launch` is the usual way."""
        self._node = node
        self._consensus_module = consensus_module
        self._containers = tuple(containers)

    @classmethod
    def launch(
        cls,
        driver_context: Context | None = None,
        *,
        archive: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        services: Sequence[object] = (),
        service_options: Mapping[str, Any] | None = None,
        ports: Ports | None = None,
        one_thread: bool = False,
    ) -> ClusteredMediaDriver:
        """Start a driver, an archive in its directory, a consensus module, and a container for each of `services`.

        `archive` has options of ArchiveContext, `cluster` of ConsensusModuleContext, `service_options` of ClusteredServiceContext: these
        follow `cluster` in what both have, and get the ids from 0 on in the order of `services`. With services `service_count` is theirs.
        With `one_thread` the native agents of all parts take turns in one thread, which idles as the driver's first agents; callbacks of
        services have threads of their own. A driver in INVOKER mode makes all parts so: `invoke` runs them. Raises as the `launch` of the
        parts, and leaves nothing running.
        """
        if one_thread:
            ports = with_one_thread(ports)
        node = ArchivingMediaDriver.launch(driver_context, ports=ports, **(archive or {}))
        parts: list[ConsensusModule | ClusteredServiceContainer] = []
        try:
            is_invoked = node.driver.context.threading_mode is ThreadingMode.INVOKER
            options: dict[str, Any] = {"aeron_dir": node.aeron_dir, **(cluster or {})}
            if services:
                options["service_count"] = len(services)
            if is_invoked:
                options |= {"use_agent_invoker": True, "media_driver_invoker": node.archive.invoker}
            module = ConsensusModule.launch(ConsensusModuleContext(**options), ports=ports)
            parts.append(module)
            containers = []
            for service_id, service in enumerate(services):
                given = _shared_with_services(module.context) | dict(service_options or {}) | {"service_id": service_id}
                if is_invoked:
                    given |= {"use_agent_invoker": True, "agent_invokers": (module.invoker,)}
                context = ClusteredServiceContext(service, aeron_dir=node.aeron_dir, **given)
                containers.append(ClusteredServiceContainer.launch(context=context, ports=ports))
                parts.append(containers[-1])
        except BaseException:
            _close_all([*parts, node])
            raise
        return cls(node, module, containers)

    @property
    def driver(self) -> MediaDriver:
        """The driver."""
        return self._node.driver

    @property
    def archive(self) -> Archive:
        """The archive."""
        return self._node.archive

    @property
    def consensus_module(self) -> ConsensusModule:
        """The consensus module."""
        return self._consensus_module

    @property
    def containers(self) -> tuple[ClusteredServiceContainer, ...]:
        """The containers of services that run here, by service id."""
        return self._containers

    @property
    def aeron_dir(self) -> str:
        """The directory by which clients find the driver."""
        return self._node.aeron_dir

    @property
    def has_ended(self) -> bool:
        """Whether the member has left its cluster, because a part of it was closed, was shut down, or has lost another part."""
        has_service_ended = any(container.has_ended for container in self._containers)
        return self._consensus_module.has_ended or has_service_ended or self._node.archive.has_ended

    def invoke(self) -> int:
        """Do one duty cycle of all parts, where none has threads; return how much was done. Raises ClosedError where they have."""
        if not self._consensus_module.context.use_agent_invoker:
            raise ClosedError(
                "this node has threads of its own", where="ClusteredMediaDriver.invoke", expected="a driver in INVOKER mode", actual=self
            )
        # The consensus module runs the archive, which runs the driver.
        return self._consensus_module.invoker.invoke() + sum(container.invoker.invoke() for container in self._containers)

    def close(self) -> None:
        """Leave the cluster, then close services, archive and driver. Harmless when done twice. Raises as their `close`."""
        _close_all([self._consensus_module, *self._containers, self._node])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ClusteredMediaDriver({self._node!r}, {self._consensus_module!r}, {len(self._containers)} services)"


def _shared_with_services(context: ConsensusModuleContext) -> dict[str, Any]:
    """Return the options that must be the same for services and their consensus module."""
    names = ("cluster_id", "control_channel", "consensus_module_stream_id", "service_stream_id", "snapshot_channel")
    shared = {name: getattr(context, name) for name in names}
    directories = {"cluster_dir": str(context.services_path), "mark_file_dir": context.mark_file_dir}
    return shared | directories | {"properties": context.properties, "environ": context.environ}


def _close_all(parts: Sequence[ConsensusModule | ClusteredServiceContainer | ArchivingMediaDriver]) -> None:
    """Close all parts in order, even if some fail. Raises the error of the last one that fails."""
    first, *others = parts
    try:
        first.close()
    finally:
        if others:
            _close_all(others)
