"""A change between two schemas: what it is, whom it breaks and why, and a list that such changes are gathered in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from aerowire.codegen.problems import Location
from aerowire.codegen.sbe.ir import Named


class Side(StrEnum):
    """A program that reads messages of the other schema."""

    OLD = "old readers"
    NEW = "new readers"


class Grade(StrEnum):
    """How much a change matters: it breaks a reader, both sides can live with it, or it is on no wire."""

    BREAKS = "breaks"
    COMPATIBLE = "compatible"
    NOTE = "note"


OLD = (Side.OLD,)
NEW = (Side.NEW,)
BOTH = (Side.OLD, Side.NEW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference.  `where` names what it is part of; `old` and `new` are its places, None on the side that lacks it.

    `why` says what a reader that breaks makes of it, or how a reader lives with it.
    """

    kind: str
    where: str
    what: str
    why: str = ""
    breaks: tuple[Side, ...] = ()
    is_note: bool = False
    old: Location | None = None
    new: Location | None = None

    @property
    def grade(self) -> Grade:
        if self.breaks:
            return Grade.BREAKS
        return Grade.NOTE if self.is_note else Grade.COMPATIBLE

    @property
    def places(self) -> str:
        """`OLD -> NEW`, or the one of them that there is."""
        return " -> ".join(str(place) for place in (self.old, self.new) if place is not None)

    def __str__(self) -> str:
        verdict = f"breaks {' and '.join(self.breaks)}" if self.breaks else str(self.grade)
        why = f": {self.why}" if self.why else ""
        return f"{verdict}: {self.what}{why} ({self.places})"


@dataclass(slots=True)
class Changes:
    """Changes of one thing; `old` and `new` are its places, which `at` narrows for a part of it."""

    where: str
    old: Location | None = None
    new: Location | None = None
    found: list[Change] = field(default_factory=list)

    def at(self, old: Named | None, new: Named | None) -> Changes:
        """The same list, for changes of a part that stands there."""
        return Changes(self.where, old.location if old else None, new.location if new else None, self.found)

    def add(self, kind: str, what: str, why: str, breaks: tuple[Side, ...] = ()) -> None:
        self.found.append(Change(kind=kind, where=self.where, what=what, why=why, breaks=breaks, old=self.old, new=self.new))

    def note(self, kind: str, what: str, why: str = "") -> None:
        """Add a change that no message shows."""
        self.found.append(Change(kind=kind, where=self.where, what=what, why=why, is_note=True, old=self.old, new=self.new))

    def text(self, name: str, old: str, new: str, subject: str = "") -> None:
        """Note that a text changed, if it did."""
        kind = f"{name.replace(' ', '-')}-changed"
        of = f"{subject}: " if subject else ""
        if old == new:
            return
        if name == "description":
            self.note(kind, f"{of}description changed")
        elif old and new:
            self.note(kind, f"{of}{name} {old} became {new}")
        else:
            self.note(kind, f"{of}{name} {old or new} was {'removed' if old else 'added'}")

    def metadata(self, subject: str, old: Named, new: Named) -> None:
        """Note what every declaration has and no message shows."""
        if old.deprecated != new.deprecated:
            if new.deprecated:
                self.note("deprecated", f"{subject} is deprecated since version {new.deprecated}")
            else:
                self.note("deprecated", f"{subject} is no longer deprecated")
        self.text("semantic type", old.semantic_type, new.semantic_type, subject)
        self.text("description", old.description, new.description, subject)


Item = TypeVar("Item", bound=Named)


@dataclass(frozen=True, slots=True)
class Match(Generic[Item]):
    """What belongs together in two lists, each in the order of its list."""

    pairs: list[tuple[Item, Item]]
    removed: list[Item]
    added: list[Item]


def match_items(old: Sequence[Item], new: Sequence[Item], number: Callable[[Item], object] | None = None) -> Match[Item]:
    """Match by name; what is left by number, which makes it a renaming."""
    partner = _by(old, new, lambda one: one.name)
    if number is not None:
        named = {one.name for one in partner.values()}
        lonely = [one for one in new if one.name not in named]
        partner |= _by([one for one in old if one.name not in partner], lonely, number)
    taken = {one.name for one in partner.values()}
    return Match(
        [(one, partner[one.name]) for one in old if one.name in partner],
        [one for one in old if one.name not in partner],
        [one for one in new if one.name not in taken],
    )


def _by(old: Iterable[Item], new: Iterable[Item], key: Callable[[Item], object]) -> dict[str, Item]:
    found = {key(one): one for one in new}
    return {one.name: found[key(one)] for one in old if key(one) in found}
