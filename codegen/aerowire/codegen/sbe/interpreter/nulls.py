"""The nulls of a composite's members: whether all are there, and how they are written for a composite without a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aerowire.codegen.sbe.interpreter.leaf import Forms, Leaf, Slot, leaf_of
from aerowire.codegen.sbe.ir import ByteOrder, EncodedType, Enum, FlagSet, Presence


@dataclass(frozen=True, slots=True)
class Null:
    """The slots of a member from `start` on when it is null; of text, for which `text` is its leaf, that is any that reads as empty."""

    start: int
    slots: tuple[Slot, ...]
    text: Leaf | None

    def is_in(self, slots: Sequence[Slot]) -> bool:
        """Whether the member is null in what was unpacked."""
        if self.text is not None and self.text.decode is not None:
            return self.text.decode(slots[self.start]) == ""
        found = slots[self.start : self.start + len(self.slots)]
        return all(one == null or (null != null and one != one) for one, null in zip(found, self.slots, strict=True))  # noqa: PLR0124 (NaN)


def null_of(forms: Forms, type: EncodedType | Enum | FlagSet, order: ByteOrder, start: int) -> Null:
    """The null of a member whose first slot is `start`: what is written for an optional one that is left out."""
    leaf = leaf_of(forms, type, Presence.OPTIONAL, order)
    is_text = isinstance(type, EncodedType) and type.is_text
    return Null(start, (leaf.default,) if leaf.slots == 1 else tuple(leaf.default), leaf if is_text else None)


def all_null(nulls: Sequence[Null], slots: Sequence[Slot]) -> bool:
    """Whether every member is null."""
    return all(one.is_in(slots) for one in nulls)


def put_nulls(nulls: Sequence[Null], slots: list[Slot]) -> None:
    """Make every member null in what will be packed."""
    for one in nulls:
        slots[one.start : one.start + len(one.slots)] = one.slots
