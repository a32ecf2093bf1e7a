"""What the parts of a consensus module share: its client, its archive, its files, its counters, the way to record errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.errors import ConsensusModuleError

if TYPE_CHECKING:
    from aerowire.agents.client_errors import ClientErrors
    from aerowire.agents.error_recorder import ErrorRecorder
    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.counter import Counter
    from aerowire.cluster.files.node_state import NodeStateFile
    from aerowire.cluster.files.recording_log import RecordingLog
    from aerowire.cluster.module.cluster_clock import ClusterClock
    from aerowire.cluster.module.cluster_events import ClusterEvents
    from aerowire.cluster.module.context import ConsensusModuleContext
    from aerowire.cluster.module.log.archive_signals import ArchiveSignals
    from aerowire.cluster.module.log_agent_control import LogAgentControl
    from aerowire.codecs.tables.counters import CounterType
    from aerowire.system.ports import Ports


@dataclass(slots=True, kw_only=True)
class ModuleCore:
    """The parts that all others work with. The agent's thread."""

    context: ConsensusModuleContext
    ports: Ports
    aeron: Aeron
    archive: AeronArchive
    signals: ArchiveSignals
    recording_log: RecordingLog
    node_state: NodeStateFile
    counters: Mapping[CounterType, Counter]
    errors: ErrorRecorder
    client_errors: ClientErrors
    events: ClusterEvents
    cluster_clock: ClusterClock
    log_agent: LogAgentControl

    def set_counter(self, kind: CounterType, value: int) -> None:
        """Set a counter, which may have gone with the client."""
        counter = self.counters[kind]
        if not counter.is_closed:
            counter.value = value

    def raise_counter(self, kind: CounterType, value: int) -> None:
        """Set a counter that never goes back, which may have gone with the client."""
        counter = self.counters[kind]
        if not counter.is_closed:
            counter.propose_max(value)

    def increment(self, kind: CounterType) -> None:
        """Add one to a counter, which may have gone with the client."""
        counter = self.counters[kind]
        if not counter.is_closed:
            counter.increment()

    def counter_value(self, kind: CounterType) -> int:
        """Return a counter's value; 0 once it has gone with the client."""
        counter = self.counters[kind]
        return 0 if counter.is_closed else counter.value

    def deadline(self, what: str) -> Callable[[], None]:
        """Return a check that raises ConsensusModuleError once `what` lasts for the heartbeat timeout."""
        clock, timeout_ns = self.ports.clock, self.context.leader_heartbeat_timeout_ns
        deadline_ns = clock.now_ns() + timeout_ns

        def check() -> None:
            if clock.now_ns() >= deadline_ns:
                raise ConsensusModuleError(f"timeout: {what}", expected=f"an end within {timeout_ns / 1e9:g} s")

        return check
