"""Members of a cluster in a simulated world: on each host a driver, an archive, and a process with a consensus module and its service."""

from __future__ import annotations

from typing import Any

from aerowire.base.runner import AgentInvoker
from aerowire.client import Aeron
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.module.log.log_publisher import Appended
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.ipc.error_log import read_errors
from aerowire.simulation.host import AERON_DIR, SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.nodes import OPTIONS
from tests.cluster.module.scripted_service import ScriptedService

MS = 1_000_000
LOOK_NS = 2 * MS  # how often a member looks for what comes by streams
DRIVER: dict[str, Any] = {"term_buffer_length": "64k", "ipc_term_buffer_length": "64k", "client_liveness_timeout_ns": "2s"}


class SimulatedMember:
    """One member. Changed by the world; `start` begins a life, `kill` ends it. While `is_stalled`, its module runs no Python."""

    def __init__(self, host: SimulatedHost, members: str, member_id: int) -> None:
        self.host = host
        self.member_id = member_id
        self.module: ConsensusModule | None = None
        self.service: ScriptedService | None = None
        self.appended: list[Appended] = []
        self.is_stalled = False
        self.look_ns = LOOK_NS
        self._options = {**OPTIONS, "cluster_members": members, "cluster_member_id": member_id, "cluster_dir": "/cluster", "environ": {}}
        self._options["replication_channel"] = f"aeron:udp?endpoint={host.address}:0"

    def start(self) -> None:
        """Start driver, archive, consensus module and service."""
        self.host.start_driver(**DRIVER)
        self.host.start_archive(
            segment_file_length="64k",
            low_storage_space_threshold=0,
            control_channel=f"aeron:udp?endpoint={self.host.address}:8010",
            replication_channel=f"aeron:udp?endpoint={self.host.address}:0",
        )
        self.module = self.service = None
        process = self.host.new_process("member")
        self._ports = self.host.ports_for(process)
        self._launching = ConsensusModule.async_launch(aeron_dir=AERON_DIR, use_agent_invoker=True, ports=self._ports, **self._options)
        self._connecting = Aeron.async_connect(AERON_DIR, use_conductor_agent_invoker=True, ports=self._ports, environ={})
        process.start(self._work, lambda: self._ports.clock.now_ns() + self.look_ns)

    def kill(self) -> None:
        """End all processes of the host at once."""
        for process in self.host.processes:
            process.kill()
        self.module = self.service = None

    @property
    def is_leader(self) -> bool:
        """Whether it leads a term whose election has ended."""
        return self._is_in_term(ClusterRole.LEADER)

    @property
    def is_follower(self) -> bool:
        """Whether it follows a term's leader."""
        return self._is_in_term(ClusterRole.FOLLOWER)

    def append(self, number: int) -> bool:
        """Append a message to the log of this leader, if there is room for it; its result is in `appended` later."""
        assert self.module is not None
        publisher = self.module.agent.member.log_publisher
        header = bytes.fromhex("180001006f001100") + bytes(24)
        return publisher is not None and publisher.append(header + b"message %d" % number, self.appended.append)

    def __repr__(self) -> str:
        machine = None if self.module is None else self.module.agent.machine
        if self.module is None or machine is None:
            return f"member {self.member_id}: starting"
        errors = [error.text for error in read_errors(self.module.agent._mark_file.error_log_buffer)]
        return f"member {self.member_id}: {machine.state.name} {machine.role.name} at {machine.append_position}, {errors}"

    def _work(self) -> int:
        if self.module is None:
            if self._launching.poll() and self._connecting.poll():
                self.module = self._launching.result()
                self.service = ScriptedService(self._connecting.result())
            return 1
        work = self._work_natively(self.module) if self.is_stalled else self.module.invoker.invoke()
        if self.service is not None:
            self.service.work()
        return work

    @staticmethod
    def _work_natively(module: ConsensusModule) -> int:
        """Run what needs no Python: the watch over the driver, which keeps the client alive, and the log agent."""
        client = module.aeron._invoker
        assert isinstance(client, AgentInvoker)
        return client.invoke_native() + module.invoker.invoke_native()

    def _is_in_term(self, role: ClusterRole) -> bool:
        machine = None if self.module is None else self.module.agent.machine
        return machine is not None and machine.state is ElectionState.CLOSED and machine.role is role


def new_members(world: SimulatedWorld, size: int) -> list[SimulatedMember]:
    """Return members on hosts of their own, started."""
    hosts = [world.add_empty_host(f"10.0.0.{number + 1}") for number in range(size)]
    members = "|".join(
        f"{number}," + ",".join(f"{host.address}:{port}" for port in (9001, 9002, 9003, 9004, 8010)) for number, host in enumerate(hosts)
    )
    made = [SimulatedMember(host, members, number) for number, host in enumerate(hosts)]
    for member in made:
        member.start()
    return made
