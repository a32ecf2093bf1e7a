"""The processes of one simulated machine: their ids, which of them run, and what each calls when it ends in an orderly way."""

from __future__ import annotations

from collections.abc import Callable

# As on a machine that has been running for a while. 0 and 1 mean something to those who look at ids.
FIRST_ID = 1_000


class ProcessTable:
    """Gives processes their ids; one that has ended keeps its own, so that no later one has it again."""

    def __init__(self) -> None:
        self._begun_ms: dict[int, int] = {}
        self._next_id = FIRST_ID

    def begin(self, epoch_ms: int) -> SimulatedProcess:
        """Begin a process at a time of the wall clock."""
        process_id, self._next_id = self._next_id, self._next_id + 1
        self._begun_ms[process_id] = epoch_ms
        return SimulatedProcess(self, process_id)

    def is_running(self, pid: int, begun_by_ms: int | None = None) -> bool:
        """Return whether a process has not ended, and began no later than `begun_by_ms`."""
        begun_ms = self._begun_ms.get(pid)
        return begun_ms is not None and (begun_by_ms is None or begun_ms <= begun_by_ms)

    def remove(self, pid: int) -> None:
        """Forget a process that has ended."""
        self._begun_ms.pop(pid, None)


class SimulatedProcess:
    """One process, and the ProcessPort of what runs in it."""

    def __init__(self, table: ProcessTable, process_id: int) -> None:
        self._table = table
        self._id = process_id
        self._at_exit: list[tuple[Callable[[], object], Callable[[], object] | None]] = []  # in order, and when killed

    def own_id(self) -> int:
        """Return the id."""
        return self._id

    def is_running(self, pid: int, *, begun_by_ms: int | None = None) -> bool:
        """Return whether a process of this machine runs."""
        return self._table.is_running(pid, begun_by_ms)

    def at_exit(self, function: Callable[[], object], *, at_kill: Callable[[], object] | None = None) -> None:
        """Keep a function for `end`, and one for `kill`."""
        self._at_exit.append((function, at_kill))

    def forget_at_exit(self, function: Callable[[], object]) -> None:
        """Drop a function that is kept for `end`, and the one for `kill` beside it."""
        self._at_exit = [kept for kept in self._at_exit if kept[0] != function]

    def end(self) -> None:
        """End in an orderly way: call what is kept, the last first."""
        while self._at_exit:
            self._at_exit.pop()[0]()
        self._table.remove(self._id)

    def kill(self) -> None:
        """End at once: nothing is called but what keeps objects of the process from changing memory when they are collected."""
        while self._at_exit:
            at_kill = self._at_exit.pop()[1]
            if at_kill is not None:
                at_kill()
        self._table.remove(self._id)
