"""Timer services beside the official ones: random schedules expire in the same order, and are in snapshots in the same order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from aerowire.cluster.timers.priority_heap_timer_service import PriorityHeapTimerService
from aerowire.cluster.timers.timer_service import TimerHandler, TimerService
from aerowire.cluster.timers.wheel_timer_service import WheelTimerService
from tests.cluster.timers.schedules import TICK, TICKS_PER_WHEEL, Schedule, random_commands
from tests.conftest import SEED
from tests.interop.harness import Java

pytestmark = pytest.mark.interop

COMMANDS = 1_000
ROUNDS = 30


def wheel(handler: TimerHandler) -> TimerService:
    return WheelTimerService(handler, tick_resolution=TICK, ticks_per_wheel=TICKS_PER_WHEEL)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [(wheel, ("wheel", str(TICK), str(TICKS_PER_WHEEL))), (PriorityHeapTimerService, ("heap",))],
    ids=["wheel", "heap"],
)
def test_timers_expire_and_are_stored_in_the_official_order(
    java: Java, tmp_path: Path, make: Callable[[TimerHandler], TimerService], arguments: tuple[str, ...]
) -> None:
    # Each round has times and ids of its own: the services meet times that step back, and timers that are very late.
    random = Random(SEED)
    commands = [command for _ in range(ROUNDS) for command in random_commands(random, COMMANDS)]
    file = tmp_path / "commands"
    file.write_text("\n".join(commands) + "\n")
    official = java.run_tool("TimerSchedules", tmp_path, *arguments, str(file)).split("\n")[:-1]
    schedule = Schedule(make)
    for number, (command, expected) in enumerate(zip(commands, official, strict=True), 1):
        assert schedule.execute(command) == expected, f"line {number}: {command}"
    assert any(line.endswith(" of 20") for line in official), "no poll reaches its limit"
