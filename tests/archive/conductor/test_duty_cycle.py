"""The measure of the conductor's cycles."""

from __future__ import annotations

from aerowire.archive.conductor.duty_cycle import DutyCycleTracker
from tests.archive.conductor.conftest import Rig

MS = 1_000_000


def test_a_cycle_is_as_long_as_what_is_done_in_it_without_the_sleep(rig: Rig) -> None:
    def values() -> tuple[int, int]:
        return longest.value, exceeded.value

    adding = [rig.aeron.async_add_counter(5000 + number, "cycle") for number in range(2)]
    rig.run(lambda: all(one.poll() for one in adding))
    longest, exceeded = (one.result() for one in adding)
    tracker = DutyCycleTracker(longest, exceeded, 100 * MS)
    tracker.measure(1_000 * MS, 900 * MS)
    assert values() == (0, 0)
    tracker.measure(1_100 * MS, 99 * MS)
    assert values() == (1 * MS, 0)
    tracker.measure(1_300 * MS, 99 * MS)
    assert values() == (101 * MS, 1)
    longest.close()
    tracker.measure(2_000 * MS, 0)
    assert exceeded.value == 1
