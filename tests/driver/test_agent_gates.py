"""Commands to agents keep their order and none is lost, however small an agent's queue is."""

from __future__ import annotations

from typing import Any, cast

from aerowire.driver.agent_gates import TrackerGate


class SmallAgent:
    """An agent whose queue holds two commands."""

    def __init__(self) -> None:
        self.queue: list[tuple[str, Any]] = []

    @property
    def free_commands(self) -> int:
        return 2 - len(self.queue)

    def add_publication(self, publication: Any) -> None:
        assert self.free_commands > 0
        self.queue.append(("add", publication))

    def close_publication(self, publication: Any, *, abandoned: bool) -> None:
        del abandoned
        assert self.free_commands > 0
        self.queue.append(("close", publication))


def test_what_does_not_fit_waits_in_order() -> None:
    agent = SmallAgent()
    gate = TrackerGate(cast(Any, agent))
    for number in range(3):
        gate.add_publication(cast(Any, number))
        gate.close_publication(cast(Any, number), abandoned=False)
    assert not gate.is_open
    seen: list[tuple[str, Any]] = []
    while agent.queue or gate.flush():
        seen += agent.queue
        agent.queue.clear()
    assert seen == [(kind, number) for number in range(3) for kind in ("add", "close")]


def test_a_new_command_never_passes_a_waiting_one() -> None:
    agent = SmallAgent()
    gate = TrackerGate(cast(Any, agent))
    for number in range(3):
        gate.add_publication(cast(Any, number))
    agent.queue.clear()
    gate.close_publication(cast(Any, 0), abandoned=False)
    assert agent.queue == []
    assert gate.flush() == 2
    assert agent.queue == [("add", 2), ("close", 0)]
