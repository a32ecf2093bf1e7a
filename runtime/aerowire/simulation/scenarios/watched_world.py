"""A world that reports its steps to the run of a scenario."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.simulation.world import SimulatedWorld


class WatchedWorld(SimulatedWorld):
    """A world that calls `on_step` at each of its steps, whichever call lets time pass."""

    def __init__(self, *, seed: int, on_step: Callable[[], None]) -> None:
        super().__init__(seed=seed)
        self._on_step = on_step

    def run(self, duration_ns: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass; return True as soon as `until` holds, False when the time is over."""

        def is_over() -> bool:
            self._on_step()
            return until is not None and until()

        return super().run(duration_ns, until=is_over)
