"""A smaller plan that still fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from aerowire.simulation.scenarios.plan import Kept, Plan

Numbers = tuple[int, ...]


def shrink(plan: Plan, fails: Callable[[Plan], bool]) -> Kept:
    """Return the parts of a failing plan without which it does not fail.

    `fails` runs a plan. Of each kind of parts halves, quarters and so on are left out first, single ones at last, until leaving any one
    of the result out lets it pass.
    """
    kept = Kept(
        misfortunes=tuple(range(len(plan.misfortunes))),
        streams=tuple(range(len(plan.streams))),
        habits=plan.habitual_streams,
        churners=plan.churners,
    )
    while True:
        before = kept
        for field in fields(Kept):
            kept = _smaller(kept, field.name, lambda fewer: fails(plan.only(fewer)))
        if kept == before:
            return kept


def _smaller(kept: Kept, kind: str, fails: Callable[[Kept], bool]) -> Kept:
    size = max(1, len(getattr(kept, kind)) // 2)
    while numbers := getattr(kept, kind):
        at = 0
        is_smaller = False
        while at < len(numbers):
            fewer = replace(kept, **{kind: numbers[:at] + numbers[at + size :]})
            if fails(fewer):
                kept, is_smaller = fewer, True
                numbers = getattr(kept, kind)
            else:
                at += size
        if size == 1 and not is_smaller:
            break
        size = max(1, size // 2)
    return kept
