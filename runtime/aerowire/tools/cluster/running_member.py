"""A member in this process, as `aerowire cluster start` runs it: a whole node, or a consensus module and services on a driver that runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.files.member_directory import describe_member
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.services import ClusteredServiceContainer
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.ipc.error_log import scan_errors
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    from aerowire.nodes import ClusteredMediaDriver

_UNEXPECTED = "unexpected termination: "
_FORM = "MODULE:CLASS, of a class that is called without arguments"


class RunningMember:
    """A running member, and its description for the user."""

    def __init__(
        self, module: ConsensusModule, containers: Sequence[ClusteredServiceContainer], node: ClusteredMediaDriver | None = None
    ) -> None:
        """`node` is the process's own driver and archive, None where they run elsewhere."""
        self._module = module
        self._containers = containers
        self._node = node
        context = module.context
        self.member_id = context.cluster_member_id
        self.member_count = len(context.members)
        self.cluster_id = context.cluster_id
        self.cluster_dir = context.cluster_path

    @property
    def has_ended(self) -> bool:
        """Whether the member has left its cluster."""
        has_node_ended = self._node is not None and self._node.has_ended
        return has_node_ended or self._module.has_ended or any(container.has_ended for container in self._containers)

    @property
    def standing(self) -> str:
        """Present role of the member in its cluster, in words."""
        member, machine = self._module.agent.member, self._module.agent.machine
        if machine is None:
            waits = self._module.context.service_count > len(self._containers)
            return "recovers, and waits for its services" if waits else "recovers"
        if machine.state is not ElectionState.CLOSED:
            return f"takes part in an election: {_stage(machine.state)}"
        term = f"in term {member.leadership_term_id}"
        return f"leads {term}" if member.role is ClusterRole.LEADER else f"follows member {member.leader_member_id} {term}"

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield names of parts, and where they are."""
        context = self._module.context
        node = self._node
        if node is None:
            yield "media driver", f"{context.aeron_dir}, which runs with an archive already"
        else:
            archive = node.archive
            yield "media driver", f"{node.driver.context.threading_mode.value}, in {node.aeron_dir}"
            where = f"{archive.context.archive_path}, control {archive.context.control_channel}"
            yield "archive", f"{archive.context.threading_mode.value}, id {archive.archive_id}, in {where}"
        yield "consensus module", f"in {self.cluster_dir}, consensus {context.member.consensus_endpoint}"
        yield "ingress", f"{context.ingress_channel}, {context.member.ingress_endpoint}"

    def failure(self) -> str | None:
        """Return the reason why the member could not go on; None if it was shut down. Call it after the member is closed."""
        for container in self._containers:
            if container.termination is not None and not container.termination.is_expected:
                return f"service {container.context.service_id}: {container.termination}"
        log = describe_member(Ports.system().files, self.cluster_dir).component.error_log
        unexpected = [one.text for one in scan_errors(log)[0] if _UNEXPECTED in one.text]
        return unexpected[-1].partition(_UNEXPECTED)[2].splitlines()[0] if unexpected else None


def import_from_here() -> None:
    """Let modules of the current directory be imported."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def load_services(names: Sequence[str]) -> list[object]:
    """Return the classes that are named. Raises ConfigurationError."""
    return [_load(name) for name in names]


@contextmanager
def start_member(
    properties: Mapping[str, str], services: Sequence[object], *, is_attached: bool, one_thread: bool
) -> Iterator[RunningMember]:
    """Start a member and end it in order. Raises the error of a part that cannot start."""
    if is_attached:
        if one_thread:
            raise ConfigurationError(
                "driver and archive of another process share no thread with this one",
                where="--threading",
                expected="not node with --attach",
                actual="node",
            )
        with _on_running_driver(properties, services) as member:
            yield member
        return
    from aerowire.driver.context import Context
    from aerowire.nodes import ClusteredMediaDriver

    options = {"properties": properties}
    with ClusteredMediaDriver.launch(
        Context(properties=properties), archive=options, cluster=options, services=services, one_thread=one_thread
    ) as node:
        yield RunningMember(node.consensus_module, node.containers, node)


@contextmanager
def _on_running_driver(properties: Mapping[str, str], services: Sequence[object]) -> Iterator[RunningMember]:
    from aerowire.codecs.tables.options import OPTIONS

    options: dict[str, Any] = {"aeron_dir": properties.get(OPTIONS["dir"].property), "properties": properties}
    with ExitStack() as services_end, ConsensusModule.launch(**options) as module:
        # The consensus module is closed BEFORE its services: it notifies them.
        containers = [
            services_end.enter_context(ClusteredServiceContainer.launch(service, service_id=service_id, **options))
            for service_id, service in enumerate(services)
        ]
        yield RunningMember(module, containers)


def _load(name: str) -> object:
    module_name, separator, attribute = name.partition(":")
    if not separator or not module_name or not attribute:
        raise ConfigurationError("--service does not name a class", where="--service", expected=_FORM, actual=name)
    try:
        found: object = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        hint = "modules are looked for in the current directory, in PYTHONPATH, and among those that are installed"
        raise ConfigurationError("a service cannot be imported", where=name, expected=_FORM, actual=error, hint=hint) from error
    if not callable(found):
        raise ConfigurationError("a service is no class", where=name, expected=_FORM, actual=type(found).__name__)
    return found


def _stage(state: ElectionState) -> str:
    return state.name.lower().replace("_", " ")
