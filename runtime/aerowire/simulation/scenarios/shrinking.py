"""A smaller plan that still fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Protocol, Self, TypeVar

from aerowire.simulation.scenarios.plan import Kept

Numbers = tuple[int, ...]


class Divisible(Protocol):
    """A plan, of transport, archives or clusters."""

    @property
    def misfortunes(self) -> tuple[object, ...]: ...
    @property
    def streams(self) -> tuple[object, ...]: ...
    @property
    def habitual_streams(self) -> Numbers: ...
    @property
    def churners(self) -> Numbers: ...
    def only(self, kept: Kept) -> Self:
        """Return a plan of those parts that are kept."""


PlanT = TypeVar("PlanT", bound=Divisible)


def shrink(plan: PlanT, fails: Callable[[PlanT], bool]) -> Kept:
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
