"""Scenarios of clusters, and the plans that seeds draw from them: nodes, clients, the network, and misfortunes with their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Self

from aerowire.base.errors import ConfigurationError
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.scenarios.clusters.requests import Operation
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS, SECOND, Range, parts_at
from aerowire.simulation.scenarios.ranges import LIMITS, Limits, check_ranges

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.plan import Kept

SIZES = (1, 2, 3, 5)
_LIMITS: Mapping[str, Limits] = {**LIMITS, "clients": (1, 10), "duration_s": (1, 600)}
WHEEL = "io.aeron.cluster.WheelTimerServiceSupplier"
PRIORITY_HEAP = "io.aeron.cluster.PriorityHeapTimerServiceSupplier"


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of clients: what they ask for, how long they rest between an answer and the next request, and how often they leave.

    A client that leaves closes its session, and opens another one for its next request.
    """

    operations: tuple[Operation, ...] = (*4 * (Operation.APPEND,), Operation.READ, Operation.RELAY, Operation.TIMER)
    rest_ms: tuple[int, int] = (20, 400)
    leave: float = 0.0


class Trouble(Enum):
    """Something that befalls a cluster."""

    KILL_PROCESS = "kill of a process"
    KILL_NODE = "kill of all processes"
    POWER = "power failure"
    POWER_OF_ALL = "power failure of all nodes"
    PARTITION = "partition"
    ISOLATION = "isolation"
    PAUSE = "pause of a process"
    SLOW = "slowness of a process"
    CLOCK_JUMP = "jump of a wall clock"
    CLOCK_DRIFT = "drift of a clock"
    SLOW_DISK = "slow disk"
    SNAPSHOT = "snapshot"
    SUSPENSION = "suspension"
    ROLLING_RESTART = "rolling restart"
    ROLLING_UPGRADE = "rolling upgrade"
    SHUTDOWN = "shutdown by toggle"
    ABORT = "abort by toggle"


@dataclass(frozen=True, slots=True)
class Misfortune:
    """Something that befalls a node at a time from the start, for a duration. `seed` decides its details."""

    at_ns: int
    kind: Trouble
    node: int
    duration_ns: int
    seed: int

    def __str__(self) -> str:
        return f"{self.kind.value} at node {self.node} after {self.at_ns / SECOND:.3f} s for {self.duration_ns / SECOND:.3f} s"


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """All that a seed draws from a scenario of clusters. The streams of its parts are its clients, by number."""

    scenario: str
    seed: int
    nodes: int
    services: int
    sync_level: int
    duration_ns: int
    faults: LinkFaults
    streams: tuple[int, ...]
    misfortunes: tuple[Misfortune, ...]
    churners: tuple[int, ...] = ()
    timer_service: str = WHEEL
    habits: Habits = Habits()

    @property
    def hosts(self) -> int:
        """How many hosts there are: one of each node, and one of each client."""
        return self.nodes + len(self.streams)

    @property
    def habitual_streams(self) -> tuple[int, ...]:
        """Clients have no habits that could be left out."""
        return ()

    def only(self, kept: Kept) -> Self:
        """Return a plan of those parts that are kept."""
        return replace(self, misfortunes=parts_at(kept.misfortunes, self.misfortunes), streams=parts_at(kept.streams, self.streams))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterScenario:
    """Ranges that plans of clusters are drawn from.

    A cluster has one of `sizes` nodes, each with one of `services`, and `clients`. `misfortune_s` is the mean time between two of `kinds`,
    where one that stands twice is twice as likely. Chances of faults are those of a packet, drawn from their range once for a seed. At sync
    level 0 only a minority of nodes loses its power, for ever. All nodes have the same one of `timer_services`. Raises ConfigurationError.
    """

    name: str
    about: str
    sizes: tuple[int, ...] = SIZES
    services: tuple[int, ...] = (1,)
    clients: tuple[int, int] = (1, 3)
    duration_s: tuple[int, int] = (10, 60)
    sync_levels: tuple[int, ...] = (0, 1, 2)
    loss: Range = (0.0, 0.0)
    duplicate: Range = (0.0, 0.0)
    reorder: Range = (0.0, 0.0)
    latency_ms: Range = (0.01, 1.0)
    jitter_ms: Range = (0.0, 0.0)
    misfortune_s: Range = (1.0, 10.0)
    kinds: tuple[Trouble, ...] = tuple(Trouble)
    timer_services: tuple[str, ...] = (WHEEL,)
    habits: Habits = Habits()

    def __post_init__(self) -> None:
        check_ranges(self, _LIMITS)
        for name, known in (
            ("sizes", SIZES),
            ("sync_levels", (0, 1, 2)),
            ("services", (1, 2)),
            ("timer_services", (WHEEL, PRIORITY_HEAP)),
        ):
            values = getattr(self, name)
            if not values or not set(values) <= set(known):
                raise ConfigurationError("not what a cluster can have", where=name, expected=f"some of {known}", actual=values)

    def plan(self, seed: int) -> ClusterPlan:
        """Draw the plan of a seed."""
        draws = Draws(self.name, seed)
        nodes, services = draws.one_of(self.sizes), draws.one_of(self.services)
        duration_ns = draws.whole(*self.duration_s) * SECOND
        faults = LinkFaults(
            loss=draws.between(*self.loss),
            duplicate=draws.between(*self.duplicate),
            reorder=draws.between(*self.reorder),
            latency_ns=int(draws.between(*self.latency_ms) * MS),
            jitter_ns=int(draws.between(*self.jitter_ms) * MS),
        )
        sync_level, clients = draws.one_of(self.sync_levels), tuple(range(draws.whole(*self.clients)))
        misfortunes = tuple(self._misfortunes(draws, nodes, duration_ns))
        return ClusterPlan(
            scenario=self.name,
            seed=seed,
            nodes=nodes,
            services=services,
            sync_level=sync_level,
            duration_ns=duration_ns,
            faults=faults,
            streams=clients,
            misfortunes=misfortunes,
            timer_service=Draws(f"{self.name} timers", seed).one_of(self.timer_services),
            habits=self.habits,
        )

    def _misfortunes(self, draws: Draws, nodes: int, duration_ns: int) -> list[Misfortune]:
        mean_ns = int(draws.between(*self.misfortune_s) * SECOND)
        found: list[Misfortune] = []
        at_ns = 0
        while mean_ns and self.kinds and (at_ns := at_ns + draws.whole(1, 2 * mean_ns)) < duration_ns:
            lasts_ns = draws.whole(SECOND // 10, 5 * SECOND)
            found.append(Misfortune(at_ns, draws.one_of(self.kinds), draws.whole(0, nodes - 1), lasts_ns, draws.seed()))
        return found
