"""An array of pointers keeps their order, whatever is removed, and has a limit."""

from __future__ import annotations

import random
from typing import Any

POINTERS_MAX = 1 << 20


def test_additions_and_removals_at_random_leave_what_a_list_would_have(tally: Any, seed: int) -> None:
    draw = random.Random(seed)
    twin, expected, operations = list[int](), list[bool](), list[Any]()
    for number in range(1, 5_000):
        kind = draw.random()
        if kind < 0.55:
            operations.append(number)
            twin.append(number)
            expected.append(True)
        elif kind < 0.8:
            one = draw.randrange(1, number + 1)
            operations.append(-one)
            expected.append(one in twin)
            if one in twin:
                twin.remove(one)
        elif twin:
            index = draw.randrange(len(twin))
            operations.append((index,))
            del twin[index]
    assert tally.run_on_array(operations) == [twin, expected]


def test_a_full_array_refuses(tally: Any) -> None:
    assert tally.fill_array(POINTERS_MAX) == (POINTERS_MAX, True)
    assert tally.fill_array(POINTERS_MAX + 5) == (POINTERS_MAX, True)
