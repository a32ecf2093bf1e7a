"""Timers in a binary heap, ordered by their deadlines. Aeron: PriorityHeapTimerService.

Timers expire in the order of their deadlines, also after a restart; those of one deadline are not ordered.
"""

from __future__ import annotations

from collections.abc import Iterator

from aerowire.cluster.timers.timer_service import POLL_LIMIT, TimerHandler


class _Timer:
    """A timer, and its place in the heap."""

    __slots__ = ("correlation_id", "deadline", "index")

    def __init__(self, correlation_id: int, deadline: int, index: int) -> None:
        self.correlation_id = correlation_id
        self.deadline = deadline
        self.index = index


class PriorityHeapTimerService:
    """Timers that expire by deadlines. Changed by `schedule_timer`, `cancel_timer` and `poll`.

    Invariant: no timer is due before its parent, which has the index (index - 1) / 2. Standard heaps sift otherwise where deadlines are
    equal: their snapshots would differ from the official ones.
    """

    def __init__(self, on_timer_event: TimerHandler) -> None:
        """Start without timers."""
        self._on_timer_event = on_timer_event
        self._heap: list[_Timer] = []
        self._timers: dict[int, _Timer] = {}

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, in place of the one that has the same correlation id."""
        timer = self._timers.get(correlation_id)
        if timer is None:
            timer = self._timers[correlation_id] = _Timer(correlation_id, deadline, len(self._heap))
            self._heap.append(timer)
            self._shift_up(timer)
        elif deadline < timer.deadline:
            timer.deadline = deadline
            self._shift_up(timer)
        elif deadline > timer.deadline:
            timer.deadline = deadline
            self._shift_down(timer)

    def cancel_timer(self, correlation_id: int) -> bool:
        """Remove a timer; return whether there was one."""
        timer = self._timers.pop(correlation_id, None)
        if timer is None:
            return False
        last = self._heap.pop()
        if last is not timer:
            last.index = timer.index
            self._shift_down(last)
            if last.index == timer.index:
                self._shift_up(last)
        return True

    def poll(self, now: int) -> int:
        """Hand at most 20 expired timers to the handler, until it refuses; return how many it took."""
        expired_count = 0
        while self._heap and expired_count < POLL_LIMIT:
            timer = self._heap[0]
            if timer.deadline > now or not self._on_timer_event(timer.correlation_id):
                break
            self.cancel_timer(timer.correlation_id)
            expired_count += 1
        return expired_count

    def snapshot(self) -> Iterator[tuple[int, int]]:
        """Yield the correlation id and the deadline of each timer, in the order in which the official service has them."""
        for timer in self._heap:
            yield timer.correlation_id, timer.deadline

    def current_time(self, now: int) -> None:
        """Nothing: deadlines alone say when a timer expires."""

    def next_deadline(self) -> int | None:
        """Return when a poll finds the next expired timer, which may be in the past; None if there is no timer."""
        return self._heap[0].deadline if self._heap else None

    def _shift_up(self, timer: _Timer) -> None:
        """Move a timer up from its index while it is due before its parent."""
        heap, index = self._heap, timer.index
        while index > 0:
            parent = heap[(index - 1) >> 1]
            if timer.deadline >= parent.deadline:
                break
            self._place(parent, index)
            index = (index - 1) >> 1
        self._place(timer, index)

    def _shift_down(self, timer: _Timer) -> None:
        """Move a timer down from its index unless it is due before both children; also past a child that is due with it."""
        heap, index = self._heap, timer.index
        half = len(heap) >> 1
        while index < half:
            child_index = 2 * index + 1
            if child_index + 1 < len(heap) and heap[child_index].deadline > heap[child_index + 1].deadline:
                child_index += 1
            if timer.deadline < heap[child_index].deadline:
                break
            self._place(heap[child_index], index)
            index = child_index
        self._place(timer, index)

    def _place(self, timer: _Timer, index: int) -> None:
        self._heap[index] = timer
        timer.index = index
