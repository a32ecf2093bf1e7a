"""A client of a simulated cluster: it sends one request after another, and repeats one without an answer under the same number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerowire.base.errors import AerowireError
from aerowire.cluster.client.context import ClusterClientContext
from aerowire.cluster.client.reconnecting_cluster import ReconnectingCluster
from aerowire.simulation.scenarios.clusters.register import KEYS
from aerowire.simulation.scenarios.clusters.requests import Answer, Request
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS, SECOND

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.scenarios.clusters.history import History
    from aerowire.simulation.scenarios.clusters.plan import Habits

_ANSWER_NS = SECOND  # after which a request is sent again
_LOOK_NS = 20 * MS


class RegisterClient:
    """One client, on a host with a driver of its own. `answered` counts its answers; the world calls `work`."""

    def __init__(self, host: SimulatedHost, number: int, endpoints: str, history: History, seed: int, habits: Habits) -> None:
        self.answered = 0
        self.number = number
        self.host = host
        self._history = history
        self._clock = host.clock
        self._draws = Draws(f"client {number}", seed)
        self._endpoints = endpoints
        self._habits = habits
        self._cluster: ReconnectingCluster | None = None
        self._request: Request | None = None
        self._acknowledged_before = 0
        self._asked_ns: int | None = None
        self._next_ns = 0
        self._next_number = 1
        self._is_leaving = False
        self._client = host.connect(work=self.work, next_deadline_ns=self.next_deadline_ns)

    @property
    def state(self) -> str:
        """The request that it waits for, and the state of its connection."""
        return f"client {self.number}: {self._request} after {self.answered} answers, {self._cluster!r}, {self._problem()}"

    def work(self) -> int:
        """Do what there is to do; return how much that was."""
        if self._is_leaving and self._cluster is not None:
            self._is_leaving = False
            self._cluster.close()
            self._cluster = None
        if self._cluster is None:
            self._cluster = ReconnectingCluster(ClusterClientContext.of(**self._options()))
        work = self._cluster.poll()
        now_ns = self._clock.now_ns()
        if self._request is None:
            if now_ns < self._next_ns:
                return work
            self._request = self._draw()
            self._acknowledged_before = self._history.acknowledged
            self._asked_ns = None
        if self._asked_ns is not None and now_ns < self._asked_ns + _ANSWER_NS:
            return work
        request = self._request
        if self._cluster.request(request.number, request.encode()) > 0:
            self._asked_ns = now_ns
            work += 1
        return work

    def next_deadline_ns(self) -> int:
        """Return when it has its next turn."""
        now_ns = self._clock.now_ns()
        return max(now_ns + MS, min(self._next_ns, now_ns + _LOOK_NS)) if self._request is None else now_ns + _LOOK_NS

    def _options(self) -> dict[str, Any]:
        return {
            "aeron": self._client.aeron,
            "ingress_channel": "aeron:udp?term-length=64k",
            "ingress_endpoints": self._endpoints,
            "egress_channel": f"aeron:udp?endpoint={self.host.address}:0",
            "egress_listener": self._on_message,
            "environ": {},
        }

    def _draw(self) -> Request:
        draws, number = self._draws, self._next_number
        self._next_number += 1
        return Request(draws.one_of(self._habits.operations), draws.whole(0, KEYS - 1), self.number, number, draws.seed())

    def _on_message(self, _session_id: int, _time: int, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        answer = Answer.decode(bytes(buffer[offset : offset + length]))
        request = self._request
        if request is None or answer.number < request.number:  # another answer to a request that was repeated
            return
        self._history.answer(request, answer, self._acknowledged_before, f"client {self.number}")
        assert self._cluster is not None
        self._cluster.answered(request.number)
        self.answered += 1
        self._request = None
        self._next_ns = self._clock.now_ns() + self._draws.whole(*self._habits.rest_ms) * MS
        self._is_leaving = self._habits.leave > 0 and self._draws.happens(self._habits.leave)

    def _problem(self) -> AerowireError | BaseException | None:
        return None if self._cluster is None else self._cluster.problem
