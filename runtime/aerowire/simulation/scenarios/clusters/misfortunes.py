"""The misfortunes of a cluster: their effects on nodes, processes, clocks, disks and the network, and their ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ClusterRole, ConsensusModuleState, ElectionState
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.partitions import Partition
from aerowire.simulation.process import ProcessState
from aerowire.simulation.scenarios.clusters.plan import Misfortune, Trouble
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS, SECOND

if TYPE_CHECKING:
    from aerowire.simulation.process import Process
    from aerowire.simulation.scenarios.clusters.node import ClusterNode
    from aerowire.simulation.world import SimulatedWorld

Later = Callable[[int, Callable[[], object]], None]
_CLOCK_JUMP_S = 600
_DRIFT_PPM = 500
_TURN_NS = (10_000, 2 * MS)
_TOGGLES = {
    Trouble.SNAPSHOT: ClusterControlToggle.SNAPSHOT,
    Trouble.SHUTDOWN: ClusterControlToggle.SHUTDOWN,
    Trouble.ABORT: ClusterControlToggle.ABORT,
}


class ClusterMisfortunes:
    """Lets misfortunes happen to a world. `later(after_ns, action)` is how they end."""

    def __init__(self, world: SimulatedWorld, nodes: Sequence[ClusterNode], later: Later, *, sync_level: int) -> None:
        self._world = world
        self._nodes = nodes
        self._later = later
        self._sync_level = sync_level

    def begin(self, misfortune: Misfortune) -> None:
        """Let a misfortune happen."""
        node, draws = self._nodes[misfortune.node], Draws("misfortune", misfortune.seed)
        kind, lasts_ns = misfortune.kind, misfortune.duration_ns
        if kind is Trouble.POWER:
            self._fail_power([node], lasts_ns)
        elif kind is Trouble.POWER_OF_ALL:
            if self._sync_level > 0:
                self._fail_power(self._nodes, lasts_ns)
        elif kind in {Trouble.PARTITION, Trouble.ISOLATION}:
            self._cut(kind, draws, lasts_ns)
        elif kind in _TOGGLES:
            self._toggle(_TOGGLES[kind])
        elif kind is Trouble.SUSPENSION:
            self._toggle(ClusterControlToggle.SUSPEND)
            self._later(lasts_ns, partial(self._toggle, ClusterControlToggle.RESUME))
        elif kind in {Trouble.ROLLING_RESTART, Trouble.ROLLING_UPGRADE}:
            for place, other in enumerate(self._nodes):
                self._later(place * lasts_ns, partial(other.leave, is_upgraded=kind is Trouble.ROLLING_UPGRADE))
        elif node.host.has_power:
            self._befall(kind, node, draws, lasts_ns)

    def end_all(self) -> None:
        """End all misfortunes; a host that has lost its power for ever stays without."""
        self._world.network.links.set_all(LinkFaults())
        self._world.network.heal()
        for node in self._nodes:
            node.host.disk.faults = DiskFaults()
            node.host.clock.set_drift(0)
            for process in node.host.processes:
                process.undisturb()
            self._bring_back(node)
        self._toggle(ClusterControlToggle.RESUME)

    def resume(self) -> None:
        """Resume a cluster that is suspended."""
        self._toggle(ClusterControlToggle.RESUME)

    # -- Nodes ---------------------------------------------------------------------------------------------------------

    def _befall(self, kind: Trouble, node: ClusterNode, draws: Draws, lasts_ns: int) -> None:
        running = [process for process in node.host.processes if process.state is ProcessState.RUNNING]
        if kind is Trouble.CLOCK_JUMP:
            node.host.clock.jump(draws.whole(-_CLOCK_JUMP_S, _CLOCK_JUMP_S) * SECOND)
        elif kind is Trouble.CLOCK_DRIFT:
            node.host.clock.set_drift(draws.whole(-_DRIFT_PPM, _DRIFT_PPM))
            self._later(lasts_ns, partial(node.host.clock.set_drift, 0))
        elif kind is Trouble.SLOW_DISK:
            node.host.disk.faults = DiskFaults(latency_ns=draws.whole(1, 5 * MS), jitter_ns=draws.whole(0, 5 * MS))
            self._later(lasts_ns, partial(setattr, node.host.disk, "faults", DiskFaults()))
        elif kind is Trouble.KILL_NODE:
            node.is_wanted = False
            node.kill()
            self._later(lasts_ns, partial(self._bring_back, node))
        elif running:
            self._befall_process(kind, draws.one_of(running), draws, lasts_ns)

    def _befall_process(self, kind: Trouble, process: Process, draws: Draws, lasts_ns: int) -> None:
        if kind is Trouble.KILL_PROCESS:
            process.kill()
        elif kind is Trouble.PAUSE:
            process.pause()
            self._later(lasts_ns, process.undisturb)
        else:
            process.slow(draws.whole(*_TURN_NS))
            self._later(lasts_ns, process.undisturb)

    def _fail_power(self, nodes: Sequence[ClusterNode], lasts_ns: int) -> None:
        """Take the power from nodes; at sync level 0 for ever, and never from a majority."""
        lost = sum(not node.host.has_power for node in self._nodes)
        for node in nodes:
            if not node.host.has_power or (self._sync_level == 0 and lost + 1 > (len(self._nodes) - 1) // 2):
                continue
            lost += 1
            node.host.lose_power()
            node.is_wanted = False
            if self._sync_level > 0:
                self._later(lasts_ns, partial(self._bring_back, node))

    def _bring_back(self, node: ClusterNode) -> None:
        if not node.host.has_power:
            if self._sync_level == 0:
                return
            node.host.restart()
        node.is_wanted = True

    # -- The network, and the cluster ----------------------------------------------------------------------------------

    def _cut(self, kind: Trouble, draws: Draws, lasts_ns: int) -> None:
        """Cut nodes from each other: each to a side of its own drawing, or one from the others; clients may reach some of them."""
        hosts = [host.address for host in self._world.hosts]
        nodes = [node.host.address for node in self._nodes]
        side = [draws.one_of(nodes)] if kind is Trouble.ISOLATION else [address for address in hosts if draws.happens(0.5)]
        reach = draws.happens(0.5)  # whether clients reach both sides
        left = [address for address in side if address in nodes or not reach]
        right = [address for address in hosts if address not in side and (address in nodes or not reach)]
        if draws.happens(0.3):
            left, right = right, left
        partition = Partition(tuple(left), tuple(right), one_way=draws.happens(0.3))
        self._world.network.partition(partition)
        self._later(lasts_ns, partial(self._heal, partition))

    def _heal(self, partition: Partition) -> None:
        if partition in self._world.network.partitions:
            self._world.network.heal(partition)

    def _toggle(self, toggle: ClusterControlToggle) -> None:
        """Turn the control toggle of each leader where it may be turned."""
        for node in self._nodes:
            machine = node.machine
            if machine is None or machine.state is not ElectionState.CLOSED or machine.role is not ClusterRole.LEADER:
                continue
            assert node.module is not None
            agent = node.module.running.agent
            core, is_suspended = agent.core, agent.member.state is ConsensusModuleState.SUSPENDED
            if is_suspended != (toggle is ClusterControlToggle.RESUME):
                continue
            before = core.counter_value(CounterType.CLUSTER_CONTROL_TOGGLE)
            if before == ClusterControlToggle.NEUTRAL or (is_suspended and before == ClusterControlToggle.SUSPEND):
                core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, toggle)
