"""How a run of a scenario ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.catalogue import AnyPlan


class StoppedError(Exception):
    """The step at which a run is to stop has come."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `failure` says which rule was broken and how, None where none was."""

    plan: AnyPlan
    failure: str | None
    steps: int
    simulated_ns: int
    packets: int
    messages: int
    digest: int
    events: dict[str, list[str]]

    @property
    def is_well(self) -> bool:
        """Whether all rules were kept."""
        return self.failure is None
