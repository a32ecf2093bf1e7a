"""The misfortunes of a plan: what they do to hosts, processes and networks, and what ends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.partitions import Partition, PartitionKind
from aerowire.simulation.process import ProcessState
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import CRASHES, SECOND, Kind, Misfortune

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.process import Process
    from aerowire.simulation.world import SimulatedWorld

Undo = Callable[[], object]


class Misfortunes:
    """Lets misfortunes happen to a world; `start_driver` is called for a host that has its power again, or whose driver was killed."""

    def __init__(self, world: SimulatedWorld, start_driver: Callable[[SimulatedHost], None]) -> None:
        self._world = world
        self._start_driver = start_driver
        # By host and process.
        self._hold_ups: Counter[tuple[str, int]] = Counter()  # under way
        self._held_up_until_ns: dict[tuple[str, int], int] = {}
        self._begun = 0

    @property
    def have_begun(self) -> bool:
        """Whether anything has happened to any host yet."""
        return self._begun > 0

    def was_held_up(self, host: SimulatedHost, process_id: int, since_ns: int) -> bool:
        """Return whether a process was paused or slow at some time after `since_ns` (of the world's clock)."""
        key = host.address, process_id
        return self._hold_ups[key] > 0 or self._held_up_until_ns.get(key, since_ns) > since_ns

    def begin(self, misfortune: Misfortune) -> Undo | None:
        """Let a misfortune happen; return what ends it, None where there is nothing that it could happen to."""
        host = self._world.hosts[misfortune.host]
        if not host.has_power:
            return None
        kind, draws = misfortune.kind, Draws("misfortune", misfortune.seed)
        self._begun += 1
        if kind in CRASHES:
            return self._crash(kind, host, draws)
        if kind is Kind.CLOCK_JUMP:
            host.clock.jump(draws.whole(-600, 600) * SECOND)
            return _nothing
        if kind is Kind.CLOCK_DRIFT:
            host.clock.set_drift(draws.whole(-500, 500))
            return partial(host.clock.set_drift, 0)
        if kind in (Kind.PARTITION, Kind.CLOG):
            return self._cut(misfortune, host, draws)
        return self._hold_up(kind, host, draws)

    def end_all(self) -> None:
        """Let all of them be over."""
        self._world.network.links.set_all(LinkFaults())
        self._world.network.heal()
        for host in self._world.hosts:
            for process in host.processes:
                process.undisturb()
                while self._hold_ups[_key(host, process)] > 0:
                    self._end_hold_up(host, process)
            self._start_again(host)

    def _crash(self, kind: Kind, host: SimulatedHost, draws: Draws) -> Undo | None:
        if kind is Kind.POWER:
            host.lose_power()
            return partial(self._start_again, host)
        if kind is Kind.KILL_DRIVER:
            if not host.has_driver:
                return None
            host.driver_process.kill()
            return partial(self._start_again, host)
        clients = [client for client in host.clients if not client.has_ended]
        if not clients:
            return None
        draws.one_of(clients).kill()
        return _nothing

    def _start_again(self, host: SimulatedHost) -> None:
        if not host.has_power:
            host.restart()
        if not host.has_driver:
            self._start_driver(host)

    def _cut(self, misfortune: Misfortune, host: SimulatedHost, draws: Draws) -> Undo:
        network = self._world.network
        if misfortune.kind is Kind.PARTITION:
            kinds = (PartitionKind.HALVES, PartitionKind.ONE_ISOLATED, PartitionKind.BUSIEST_ISOLATED)
            partition = network.draw_partition(draws.one_of(kinds), one_way=draws.happens(0.3))
            network.partition(partition)
            return partial(self._heal, partition)
        for other in self._world.hosts:
            if other is not host:
                network.links.clog(host.address, other.address, misfortune.duration_ns)
        return _nothing

    def _heal(self, partition: Partition) -> None:
        if partition in self._world.network.partitions:
            self._world.network.heal(partition)

    def _hold_up(self, kind: Kind, host: SimulatedHost, draws: Draws) -> Undo | None:
        running = [process for process in host.processes if process.state is ProcessState.RUNNING]
        if not running:
            return None
        process = draws.one_of(running)
        self._hold_ups[_key(host, process)] += 1
        if kind is Kind.PAUSE:
            process.pause()
            return partial(self._resume, host, process)
        process.slow(draws.whole(10, 2_000) * 1_000)
        return partial(self._quicken, host, process)

    def _resume(self, host: SimulatedHost, process: Process) -> None:
        if process.state is ProcessState.PAUSED:
            process.resume()
        self._end_hold_up(host, process)

    def _quicken(self, host: SimulatedHost, process: Process) -> None:
        if process.state in (ProcessState.RUNNING, ProcessState.PAUSED):
            process.slow(0)
        self._end_hold_up(host, process)

    def _end_hold_up(self, host: SimulatedHost, process: Process) -> None:
        self._hold_ups[_key(host, process)] -= 1
        self._held_up_until_ns[_key(host, process)] = self._world.clock.now_ns()


def _key(host: SimulatedHost, process: Process) -> tuple[str, int]:
    return host.address, process.identity.own_id()


def _nothing() -> None:
    """End nothing: the misfortune was over at once, or ends by itself."""
