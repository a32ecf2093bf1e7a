"""Commands to a timer service, drawn from a seed, and what they print: tests/interop/java/TimerSchedules.java carries out the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from aerowire.cluster.timers.timer_service import TimerHandler, TimerService

TICK = 8
TICKS_PER_WHEEL = 32
TURN = TICK * TICKS_PER_WHEEL


def random_commands(random: Random, count: int) -> Iterator[str]:
    """Yield commands; ids come again, deadlines are past, near, equal and turns of the wheel away, and time leaps now and then."""
    now = random.randrange(1_000_000)
    ids = [random.choice([number, random.getrandbits(63), -number, number << 32]) for number in range(random.choice([8, 40, 600]))]
    yield f"time {now}"
    for _ in range(count):
        draw = random.random()
        if draw < 0.55:
            span = random.choice([TICK, TURN, 3 * TURN])
            yield f"schedule {random.choice(ids)} {now + random.randrange(-TICK, span)}"
        elif draw < 0.7:
            yield f"cancel {random.choice(ids)}"
        elif draw < 0.95:
            now += random.choice([0, 0, 1, random.randrange(TICK), random.randrange(TURN), TICK - now % TICK])
            yield f"poll {now} {random.choice([0, 1, 7, 1000, 1000, 1000])}"
        elif draw < 0.96:
            now += random.randrange(5 * TURN)
            yield f"time {now}"
        elif draw < 0.97:
            now += 1_000 * TURN + random.randrange(TURN)
        else:
            yield "snapshot"
    yield "snapshot"


class Schedule:
    """A timer service under test, and what its handler takes."""

    def __init__(self, make: Callable[[TimerHandler], TimerService]) -> None:
        self.service = make(self._on_timer_event)
        self._taken: list[int] = []
        self._taken_max = 0

    def execute(self, command: str) -> str:
        """Carry a command out; return what it prints."""
        name, *numbers = command.split()
        first, second = [*map(int, numbers), 0, 0][:2]
        match name:
            case "schedule":
                self.service.schedule_timer(first, second)
            case "cancel":
                return str(self.service.cancel_timer(first)).lower()
            case "time":
                self.service.current_time(first)
            case "poll":
                taken, count = self.poll(first, second)
                return " ".join([*map(str, taken), f"of {count}"])
            case _:
                return "".join(f"{correlation_id}@{deadline} " for correlation_id, deadline in self.service.snapshot())
        return ""

    def poll(self, now: int, taken_max: int = 1_000) -> tuple[list[int], int]:
        """Poll; return the ids that the handler took, and how many the service says that there were."""
        self._taken, self._taken_max = [], taken_max
        count = self.service.poll(now)
        return self._taken, count

    def poll_all(self, now: int, taken_max: int = 1_000) -> list[int]:
        """Poll as often as the service says that it has timers which are due; return the ids that the handler took."""
        taken: list[int] = []
        self.poll(now, taken_max=0)
        while (deadline := self.service.next_deadline()) is not None and deadline <= now:
            taken += self.poll(now, taken_max)[0]
        return taken

    def _on_timer_event(self, correlation_id: int) -> bool:
        if len(self._taken) == self._taken_max:
            return False
        self._taken.append(correlation_id)
        return True
