"""An application that adds and closes counters and publications all the time: ids, sessions, files and ports are given out again."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from aerowire.client import Counter
from aerowire.simulation.scenarios.application import Application
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.client import Pending
    from aerowire.simulation.host import SimulatedHost

COUNTER_TYPE_ID = 1_500  # of an application's own
_STREAM_ID = 9_001
_KEPT = 4
# To where nothing listens: such a publication asks for receivers ten times a second.
_CHANNEL = "aeron:udp?endpoint=10.0.0.250:45000"


class Churner(Application):
    """Keeps a few things, each of a kind that is drawn, and checks that its counters have the values that it gave them."""

    def __init__(self, host: SimulatedHost, number: int, seed: int) -> None:
        self._draws = Draws(f"churn at {host.address}, {number}", seed)
        self._kept: deque[tuple[Any, int]] = deque()  # each with the value that it was given
        self._due_ns = host.clock.now_ns()
        super().__init__(host, f"churner {number}")

    def next_deadline_ns(self) -> int:
        return self._due_ns

    def work(self) -> int:
        now_ns = self.host.clock.now_ns()
        if now_ns < self._due_ns or self.client.aeron.is_closed:
            return 0
        self._due_ns = now_ns + self._draws.whole(50, 1_000) * MS
        if self.pending is not None:
            if (thing := self.take_answer()) is not None:
                self._keep(thing)
            elif self.pending is not None:
                return 0
        for thing, value in self._kept:
            self._check(thing, value)
        self.pending = self._add()
        return 1

    def _add(self) -> Pending[Any]:
        aeron = self.client.aeron
        if self._draws.happens(0.7):
            return aeron.async_add_counter(COUNTER_TYPE_ID, "comes and goes")
        return aeron.async_add_publication(_CHANNEL if self._draws.happens(0.2) else "aeron:ipc", _STREAM_ID)

    def _keep(self, thing: Any) -> None:
        value = self._draws.whole(1, 1 << 40)
        if isinstance(thing, Counter):
            thing.value = value
        self._kept.append((thing, value))
        if len(self._kept) > _KEPT:
            self._kept.popleft()[0].close()

    def _check(self, thing: Any, value: int) -> None:
        if isinstance(thing, Counter) and thing.value != value:
            where = f"{self.name} at {self.host.address}, counter {thing.counter_id}"
            raise ViolationError("a counter is its owner's", value, thing.value, where)

    def state(self) -> str:
        return f"{len(self._kept)} things kept"
