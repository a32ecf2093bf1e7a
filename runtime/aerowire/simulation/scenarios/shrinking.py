"""A smaller plan that still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aerowire.simulation.scenarios.plan import Plan


def shrink(plan: Plan, fails: Callable[[Plan], bool]) -> tuple[list[int], list[int]]:
    """Return the numbers of the misfortunes and streams of a failing plan without which it does not fail.

    `fails` runs a plan. Halves, quarters and so on are left out first, single ones at last: leaving any one of the result out, it passes.
    """
    streams = list(range(len(plan.streams)))
    misfortunes = _without(list(range(len(plan.misfortunes))), lambda kept: fails(plan.only(kept, streams)))
    streams = _without(streams, lambda kept: fails(plan.only(misfortunes, kept)))
    return _without(misfortunes, lambda kept: fails(plan.only(kept, streams))), streams


def _without(numbers: list[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    size = max(1, len(numbers) // 2)
    while numbers:
        at = 0
        is_smaller = False
        while at < len(numbers):
            fewer = numbers[:at] + numbers[at + size :]
            if fails(fewer):
                numbers, is_smaller = fewer, True
            else:
                at += size
        if size == 1 and not is_smaller:
            break
        size = max(1, size // 2)
    return numbers
