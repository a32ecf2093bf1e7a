"""The idle strategy of callbacks that wait: their container's work goes on meanwhile. Aeron: ClusteredServiceAgent as IdleStrategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.base.idle import IdleStrategy
    from aerowire.system.waiting import WaitPort


class ServiceIdleStrategy:
    """Idles, and does what the container has to do meanwhile. The service's thread, within a callback."""

    def __init__(self, strategy: IdleStrategy, waiting: WaitPort, work: Callable[[], object]) -> None:
        self._strategy = strategy
        self._waiting = waiting
        self._work = work

    def reset(self) -> None:
        """Idle briefly at first the next time."""
        self._strategy.start_over()

    def idle(self, work_count: int = 0) -> None:
        """Idle if nothing was done. Raises what ends the container, and BlockingCallError in a simulated world."""
        self._waiting.require("Cluster.idle_strategy.idle", "a generator function: yield")
        self._strategy(work_count)
        if work_count <= 0:
            self._work()
