"""The run of a plan of clusters: makes its world, lets misfortunes happen, heals it, and checks that it makes progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from heapq import heappop, heappush
from io import StringIO
from itertools import count
from typing import TYPE_CHECKING, Any

from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.simulation.scenarios.clusters.client import RegisterClient
from aerowire.simulation.scenarios.clusters.history import LASTING, History
from aerowire.simulation.scenarios.clusters.misfortunes import ClusterMisfortunes
from aerowire.simulation.scenarios.clusters.node import DRIVER, ClusterNode
from aerowire.simulation.scenarios.clusters.plan import PRIORITY_HEAP, ClusterPlan, Trouble
from aerowire.simulation.scenarios.clusters.rules import RaftRules
from aerowire.simulation.scenarios.clusters.service import RegisterService
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS, SECOND
from aerowire.simulation.scenarios.plan_run import PlanRun
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.clusters.plan import Misfortune

PROGRESS = "progress within 30 simulated seconds after the last fault"
_RECOVERY_NS = 30 * SECOND
_SUPERVISION_NS = 100 * MS
_LOGS_NS = SECOND
_LATENESS_MS = 3_000  # of timers: a wheel may have to turn


class ClusterRun(PlanRun[ClusterPlan]):
    """One run of a plan. Everything follows from the plan."""

    def __init__(self, plan: ClusterPlan, *, stop_at: int | None = None, on_event: Callable[[str], None] | None = None) -> None:
        """`stop_at` and `on_event` are those of PlanRun."""
        super().__init__(plan, stop_at=stop_at, on_event=on_event)
        self._planned: list[tuple[int, int, Callable[[], object]]] = []
        self._orders = count()
        self._reported: list[ViolationError] = []
        are_clocks_steady = all(misfortune.kind is not Trouble.CLOCK_JUMP for misfortune in plan.misfortunes)
        self._histories = [
            History(are_clocks_steady=are_clocks_steady, are_timers_sorted=plan.timer_service == PRIORITY_HEAP)
            for _ in range(plan.services)
        ]
        hosts = [self.world.add_empty_host(f"10.0.0.{number + 1}") for number in range(plan.nodes)]
        members = "|".join(
            f"{number}," + ",".join(f"{host.address}:{port}" for port in (9001, 9002, 9003, 9004, 8010))
            for number, host in enumerate(hosts)
        )
        self._endpoints = ",".join(f"{number}={host.address}:9001" for number, host in enumerate(hosts))
        options: dict[str, Any] = {"sync_level": plan.sync_level, "services": plan.services, "timer_service": plan.timer_service}
        self.nodes = [
            ClusterNode(
                host, number, members, partial(self.world.events.note, host.address), Draws(f"restarts of {number}", plan.seed), **options
            )
            for number, host in enumerate(hosts)
        ]
        self.rules = RaftRules(self.nodes, self._histories)
        self.clients: list[RegisterClient] = []
        self._misfortunes = ClusterMisfortunes(self.world, self.nodes, self._later, sync_level=plan.sync_level)
        self._next_logs_ns = self.begun_ns

    def results(self) -> tuple[int, int]:
        """Return the count and the digest of messages."""
        history = self._histories[0]
        return history.answered, history.register.digest()

    def run_to_end(self) -> None:
        """Run the plan."""
        with redirect_stderr(StringIO()):  # drivers and clients report those that have died
            self._start()
            self._let_happen()
            self._recover()

    def _start(self) -> None:
        self._supervise()
        for number in self.plan.streams:
            host = self.world.add_host(f"10.0.1.{number + 1}", **DRIVER)
            self.clients.append(RegisterClient(host, number, self._endpoints, self._histories[0], self.plan.seed, self.plan.habits))
        self.world.network.links.set_all(self.plan.faults)

    # -- Time ----------------------------------------------------------------------------------------------------------

    def _let_happen(self) -> None:
        for misfortune in self.plan.misfortunes:
            self._later(misfortune.at_ns, partial(self._happen, misfortune))
        self._run_until(self.begun_ns + self.plan.duration_ns)

    def _happen(self, misfortune: Misfortune) -> None:
        self.world.events.note("all", str(misfortune))
        self._misfortunes.begin(misfortune)

    def _later(self, after_ns: int, action: Callable[[], object]) -> None:
        heappush(self._planned, (self.world.clock.now_ns() + after_ns, next(self._orders), action))

    def _run_until(self, end_ns: int) -> None:
        while (now_ns := self.world.clock.now_ns()) < end_ns:
            while self._planned and self._planned[0][0] <= now_ns:
                heappop(self._planned)[2]()
            self._supervise()
            until_ns = min(end_ns, now_ns + _SUPERVISION_NS, self._planned[0][0] if self._planned else end_ns)
            self.world.run(until_ns - now_ns)

    def _supervise(self) -> None:
        for node in self.nodes:
            node.supervise(self._new_service)

    def _new_service(self, node: ClusterNode, number: int) -> RegisterService:
        who = f"service {number} of node {node.number}"
        return RegisterService(number, self._histories[number], who, partial(self.rules.check_applied, who=who), self._reported.append)

    def check_step(self) -> None:
        """Check the rules of Raft at a step, and from time to time on the disks."""
        if self._reported:
            raise self._reported[0]
        now_ns = self.world.clock.now_ns()
        if self.rules.look() or now_ns >= self._next_logs_ns:
            self._next_logs_ns = now_ns + _LOGS_NS
            self.rules.look_at_logs()

    # -- The end -------------------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """End all faults, and check that the cluster makes progress, and has kept all that it has acknowledged."""
        self.world.events.note("all", "all faults end")
        self._planned.clear()
        self._misfortunes.end_all()
        answered = [client.answered for client in self.clients]
        acknowledged, ends = self._histories[0].acknowledged, [history.end for history in self._histories]
        deadline_ns = self.world.clock.now_ns() + _RECOVERY_NS

        def has_recovered() -> bool:
            goes_on = all(client.answered > before for client, before in zip(self.clients, answered, strict=True))
            return goes_on and self._is_whole(acknowledged)

        while not has_recovered() or any(self._overdue(ends)):
            if self.world.clock.now_ns() >= deadline_ns:
                if has_recovered():
                    raise ViolationError(LASTING, "no message, timer or session that is overdue", self._overdue(ends), "the cluster")
                saw = "; ".join([node.describe() for node in self.nodes] + [client.state for client in self.clients])
                raise ViolationError(PROGRESS, "a leader, members that follow it, and answers for all clients", saw, "the cluster")
            self._misfortunes.resume()
            self._run_until(self.world.clock.now_ns() + SECOND // 2)
        self.rules.look_at_logs()
        for client in self.clients:
            last = self._histories[0].register.answers[client.number]
            if last.number < client.answered:
                raise ViolationError(LASTING, f"request {client.answered}", last, f"client {client.number}")

    def _overdue(self, ends: list[int]) -> list[str]:
        """Return the messages, timers and ends of sessions that should have come since faults have ended."""
        now_ms = min(node.host.clock.now_ms() for node in self.nodes if node.host.has_power)
        found = [one for history, end in zip(self._histories, ends, strict=True) for one in history.overdue(end, now_ms - _LATENESS_MS)]
        sessions = self._histories[0].sessions.present
        return [*found, f"the end of one of the sessions {sessions}"] if len(sessions) > len(self.clients) else found

    def _is_whole(self, position: int) -> bool:
        """Return whether all members that are left follow one leader, and their services have applied the log up to a position."""
        left = [node for node in self.nodes if node.host.has_power]
        machines = [node.machine for node in left]
        if any(machine is None or machine.state is not ElectionState.CLOSED for machine in machines):
            return False
        terms = {machine.leadership_term_id for machine in machines if machine is not None}
        leaders = [machine for machine in machines if machine is not None and machine.role is ClusterRole.LEADER]
        applied = [service.position for node in left for service in node.services if service is not None]
        return len(terms) == 1 and len(leaders) == 1 and min(applied, default=0) >= position
