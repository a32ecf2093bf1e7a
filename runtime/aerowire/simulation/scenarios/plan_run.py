"""The frame of every run: a world made for a plan, an end at a step or at the first broken rule, and the outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from aerowire.simulation.scenarios.outcome import Outcome, StoppedError
from aerowire.simulation.scenarios.plan import SECOND
from aerowire.simulation.scenarios.violation import ViolationError
from aerowire.simulation.scenarios.watched_world import WatchedWorld

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.catalogue import AnyPlan

PlanT = TypeVar("PlanT", bound="AnyPlan")


class PlanRun(ABC, Generic[PlanT]):
    """One run of a plan. Everything follows from the plan."""

    def __init__(self, plan: PlanT, *, stop_at: int | None = None, on_event: Callable[[str], None] | None = None) -> None:
        """`stop_at` is the step at which StoppedError is raised; `on_event` is called with a line for each event."""
        self.plan = plan
        self.world = WatchedWorld(seed=plan.seed, on_step=self._on_step)
        self.world.events.on_event = on_event
        self._stop_at = stop_at
        self.begun_ns = self.world.clock.now_ns()

    @property
    def events(self) -> dict[str, list[str]]:
        """The last events of each host, oldest first."""
        return self.world.events.by_host

    def execute(self) -> Outcome:
        """Run the plan to its end, or to the first rule that is broken. Raises StoppedError, and what checkers and applications raise."""
        failure = None
        try:
            self.run_to_end()
        except ViolationError as violation:
            failure = f"{self._place}: {violation}"
        messages, digest = self.results()
        outcome = Outcome(
            plan=self.plan,
            failure=failure,
            steps=self.world.steps,
            simulated_ns=self.world.clock.now_ns() - self.begun_ns,
            packets=self.world.network.counts.sent,
            messages=messages,
            digest=self.world.trace_hash ^ digest,
            events=self.events,
        )
        self.close()
        return outcome

    def close(self) -> None:
        """End all hosts of the world."""
        for host in list(self.world.hosts):
            host.lose_power()
            host.discard_left()

    @abstractmethod
    def results(self) -> tuple[int, int]:
        """Return how many messages were received, and a digest of them; 0 where the trace of the world covers them."""

    @abstractmethod
    def run_to_end(self) -> None:
        """Run the plan to its end. Raises ViolationError for a broken rule."""

    def check_step(self) -> None:
        """Check the rules that hold at every step. Raises ViolationError."""

    def _on_step(self) -> None:
        if self._stop_at is not None and self.world.steps >= self._stop_at:
            raise StoppedError(self._place)
        self.check_step()

    @property
    def _place(self) -> str:
        """Step and time, as failures are reported."""
        return f"step {self.world.steps}, {self.world.events.elapsed_ns / SECOND:.6f} s"
