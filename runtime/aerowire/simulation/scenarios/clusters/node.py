"""A node of a simulated cluster: driver, archive, consensus module and services, each a process that is started again when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.services.container import ClusteredServiceContainer
from aerowire.recordings.versions import compose_version
from aerowire.simulation.host import AERON_DIR
from aerowire.simulation.scenarios.clusters.logs import SEGMENT_OF_LOG
from aerowire.simulation.scenarios.clusters.processes import ContainerProcess, ModuleProcess
from aerowire.simulation.scenarios.plan import SECOND

if TYPE_CHECKING:
    from aerowire.cluster.consensus.machine import ConsensusMachine
    from aerowire.cluster.snapshots.consensus_module_snapshot import ConsensusModuleState
    from aerowire.simulation.archives import SimulatedArchive
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.scenarios.clusters.processes import LaunchedProcess
    from aerowire.simulation.scenarios.clusters.service import RegisterService
    from aerowire.simulation.scenarios.draws import Draws

Note = Callable[[str], object]
CLUSTER_DIR = "/cluster"
DRIVER: dict[str, Any] = {
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "client_liveness_timeout_ns": "2s",
    "image_liveness_timeout_ns": "1s",
    "publication_linger_timeout_ns": "100ms",
}
MODULE: dict[str, Any] = {
    "ingress_channel": "aeron:udp?term-length=64k",
    "egress_channel": "aeron:udp?term-length=64k",
    "log_channel": "aeron:udp?term-length=64k",
    "leader_heartbeat_timeout_ns": "1s",
    "leader_heartbeat_interval_ns": "50ms",
    "startup_canvass_timeout_ns": "2s",
    "election_timeout_ns": "250ms",
    "election_status_interval_ns": "50ms",
    "session_timeout_ns": "5s",
    "cluster_dir": CLUSTER_DIR,
    "environ": {},
}
# Without checksums a frame that was written in part when the archive died counts as whole, and the log is a different one from there on.
_CHECKSUM = "org.agrona.checksum.Crc32c"
_RESTART_NS = 3 * SECOND  # at most, from the end of a process to the next


class ClusterNode:
    """One node. `supervise` starts processes that have ended, as long as the node `is_wanted`."""

    def __init__(
        self,
        host: SimulatedHost,
        number: int,
        members: str,
        note: Note,
        draws: Draws,
        *,
        sync_level: int,
        services: int,
        timer_service: str,
    ) -> None:
        """`members` are those of the cluster, as its option has them; `draws` decide how long a process that has ended stays away."""
        self.host = host
        self.number = number
        self.is_wanted = True
        self.module: ModuleProcess | None = None
        self.containers: list[ContainerProcess | None] = [None] * services
        self.services: list[RegisterService | None] = [None] * services
        self.archive: SimulatedArchive | None = None
        self.lives = 0  # of the consensus module
        self.minor_version = 0  # of the application
        self._sync_level = sync_level
        self._members = members
        self._timer_service = timer_service
        self._note = note
        self._draws = draws
        self._restarts_ns: dict[str, int] = {}  # of what has ended, by name

    @property
    def machine(self) -> ConsensusMachine | None:
        """The consensus machine of the module that runs."""
        agent = self.module
        return None if agent is None or agent.running is None or agent.has_ended else agent.running.agent.machine

    @property
    def commit_position(self) -> int:
        """The value of the module's counter."""
        assert self.module is not None
        return int(self.module.running.agent.member.commit_position)

    @property
    def stored_term_id(self) -> int:
        """The latest term in which the member has voted, as its node state has it."""
        assert self.module is not None
        return int(self.module.running.agent.core.node_state.candidate_term.candidate_term_id)

    @property
    def replicated_state(self) -> ConsensusModuleState:
        """What the module would keep in a snapshot."""
        assert self.module is not None
        state: ConsensusModuleState = self.module.running.agent.member.replicated.state()
        return state

    def supervise(self, new_service: Callable[[ClusterNode, int], RegisterService]) -> None:
        """Start the processes that do not run. Where the driver does not, all others are started again with it."""
        if not self.is_wanted or not self.host.has_power:
            return
        host = self.host
        for number, service in enumerate(self.services):
            container = self.containers[number]
            if service is not None and service.is_stuck and container is not None:
                container.process.kill()
        if not host.has_driver:
            for process in host.processes:
                process.kill()
            host.start_driver(**DRIVER)
            self._restarts_ns.clear()  # times of a clock that began anew, where the host had lost power
        if self._is_due("archive", self.archive):
            self.archive = host.start_archive(
                sleeps=True,
                segment_file_length=SEGMENT_OF_LOG,
                low_storage_space_threshold=0,
                file_sync_level=self._sync_level,
                catalog_file_sync_level=self._sync_level,
                record_checksum=_CHECKSUM,
                replay_checksum=_CHECKSUM,
            )
        if self._is_due("module", self.module):
            self.lives += 1
            self.module = ModuleProcess(host, "module", self._launch_module, self._note)
        for number, container in enumerate(self.containers):
            if self._is_due(f"service {number}", container):
                service = self.services[number] = new_service(self, number)
                self.containers[number] = ContainerProcess(host, f"service {number}", self._launcher(service, number), self._note)

    def kill(self) -> None:
        """End all processes at once."""
        for process in self.host.processes:
            process.kill()

    def leave(self, *, is_upgraded: bool = False) -> None:
        """End the module and the services in order; those that are started next are of a later version if it `is_upgraded`."""
        self.minor_version += is_upgraded
        for agent in (*self.containers, self.module):
            if agent is not None and not agent.has_ended:
                agent.leave()

    def describe(self) -> str:
        """Return its state in one line."""
        machine = self.machine
        services = [None if service is None else service.position for service in self.services]
        if machine is None:
            return f"node {self.number}: no module, services at {services}, processes {[one.name for one in self.host.processes]}"
        state = f"{machine.state.name} {machine.role.name} term {machine.leadership_term_id} at {machine.append_position}"
        return f"node {self.number}: {state} commit {self.commit_position}, services at {services}"

    def _is_due(self, name: str, last: LaunchedProcess | SimulatedArchive | None) -> bool:
        """Return whether a process is to be started: it is the first of its name, or the last one has been away for its time."""
        if last is None:
            return True
        if not last.has_ended:
            return False
        now_ns = self.host.clock.now_ns()
        if now_ns < self._restarts_ns.setdefault(name, now_ns + self._draws.whole(0, _RESTART_NS)):
            return False
        del self._restarts_ns[name]
        return True

    @property
    def _app_version(self) -> int:
        return compose_version(1, self.minor_version, 0)

    def _launch_module(self, ports: Any) -> Any:
        return ConsensusModule.async_launch(
            aeron_dir=AERON_DIR,
            use_agent_invoker=True,
            ports=ports,
            cluster_members=self._members,
            cluster_member_id=self.number,
            replication_channel=f"aeron:udp?endpoint={self.host.address}:0",
            service_count=len(self.services),
            file_sync_level=self._sync_level,
            app_version=self._app_version,
            timer_service_supplier=self._timer_service,
            **MODULE,
        )

    def _launcher(self, service: RegisterService, number: int) -> Callable[..., Any]:
        def launch(ports: Any) -> Any:
            return ClusteredServiceContainer.async_launch(
                service,
                aeron_dir=AERON_DIR,
                use_agent_invoker=True,
                ports=ports,
                cluster_dir=CLUSTER_DIR,
                service_id=number,
                app_version=self._app_version,
                environ={},
            )

        return launch
