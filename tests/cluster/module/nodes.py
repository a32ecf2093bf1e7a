"""Members of a cluster in one thread: each with a driver, an archive, a consensus module and a service; `run` lets all of them work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from aerowire.archive import Archive
from aerowire.client import Aeron
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from aerowire.ipc.error_log import read_errors
from tests.cluster.module.scripted_service import ScriptedService
from tests.support.waiting import wait_until

PATIENT: dict[str, Any] = {"client_liveness_timeout_ns": "60s", "publication_unblock_timeout_ns": "61s"}
OPTIONS: dict[str, Any] = {
    "ingress_channel": "aeron:udp",
    "log_channel": "aeron:udp?term-length=64k",
    "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
    "leader_heartbeat_timeout_ns": "1s",
    "leader_heartbeat_interval_ns": "50ms",
    "startup_canvass_timeout_ns": "2s",
    "election_timeout_ns": "250ms",
    "election_status_interval_ns": "50ms",
}


class Node:
    """One member and what it stands on. `start` and `stop` begin and end its consensus module and its service, if it has one."""

    def __init__(self, directory: Path, members: str, member_id: int, archive_endpoint: str, **options: Any) -> None:
        self.member_id = member_id
        self.directory = directory
        self._options = {**OPTIONS, "cluster_members": members, **options}
        self.driver = MediaDriver.launch_embedded(threading_mode="INVOKER", **PATIENT)
        self.archive = Archive.launch(
            aeron_dir=self.driver.aeron_dir,
            archive_dir=directory / "archive",
            threading_mode="INVOKER",
            media_driver_invoker=self.driver.invoker,
            segment_file_length=64 * 1024,
            control_channel=f"aeron:udp?endpoint={archive_endpoint}",
            replication_channel="aeron:udp?endpoint=127.0.0.1:0",
            low_storage_space_threshold=0,
        )
        self._launching: Any = None
        self.module: ConsensusModule | None = None
        self.service: ScriptedService | None = None

    def start(self) -> None:
        """Begin to start the consensus module, and its service."""
        self._launching = ConsensusModule.async_launch(
            aeron_dir=self.driver.aeron_dir,
            cluster_dir=str(self.directory / "cluster"),
            cluster_member_id=self.member_id,
            use_agent_invoker=True,
            **self._options,
        )

    def work(self) -> None:
        """Let all work once."""
        self.archive.invoker.invoke()
        if self._launching is not None and self._launching.poll():
            launching, self._launching = self._launching, None
            self.module = launching.result()
            if self.module.context.service_count:
                self.service = ScriptedService(self.connect())
        if self.module is not None and not self.module.is_closed:
            self.module.invoker.invoke()
        if self.service is not None:
            self.service.work()

    def connect(self) -> Aeron:
        """Connect a client without threads to the driver."""
        return Aeron.connect(self.driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=self.driver.invoker)

    def stop(self) -> None:
        """End the consensus module and its service."""
        if self.service is not None:
            self.service.aeron.close()
        if self.module is not None:
            self.module.close()
        self.module = self.service = None

    def close(self) -> None:
        """End all."""
        self.stop()
        self.archive.close()
        self.driver.close()

    def counter(self, kind: CounterType) -> int:
        """Return the value of a counter of the consensus module."""
        assert self.module is not None
        return next(info.value for info in self.module.aeron.counters_reader.for_each() if info.type_id == kind)

    @property
    def is_leader(self) -> bool:
        """Whether it leads a term whose election has ended."""
        return self._is_in_term(ClusterRole.LEADER)

    @property
    def is_follower(self) -> bool:
        """Whether it follows a term's leader."""
        return self._is_in_term(ClusterRole.FOLLOWER)

    @property
    def errors(self) -> list[str]:
        """What the consensus module's error log has."""
        assert self.module is not None
        return [error.text for error in read_errors(self.module.agent._mark_file.error_log_buffer)]

    def _is_in_term(self, role: ClusterRole) -> bool:
        machine = None if self.module is None else self.module.agent.machine
        return machine is not None and machine.state is ElectionState.CLOSED and machine.role is role


def run(nodes: list[Node], until: Callable[[], object]) -> None:
    """Let nodes work until something is so."""

    def work() -> None:
        for node in nodes:
            node.work()

    wait_until(until, lambda: "it did not come to that: " + "; ".join(map(describe, nodes)), work=work)


def describe(node: Node) -> str:
    """Return where a node stands, for a failure's message."""
    machine = None if node.module is None else node.module.agent.machine
    state = (
        "none"
        if machine is None
        else f"{machine.state.name} {machine.role.name} term {machine.leadership_term_id} at {machine.append_position}"
    )
    return f"member {node.member_id}: {state}, errors {node.errors if node.module is not None else []}"
