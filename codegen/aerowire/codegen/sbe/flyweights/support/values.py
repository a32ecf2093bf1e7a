"""Members of enums and sets by value, those included that a schema does not name."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Self, TypeVar

EnumT = TypeVar("EnumT", bound=IntEnum)
FlagT = TypeVar("FlagT", bound=IntFlag)

MAX_KNOWN_FLAGS = 256  # combinations of flags that are kept ready


class OpenEnum(IntEnum):
    """Base of the enums.  Copies and pickles members by value, because Python 3.11 does so by name, which an unknown value has not."""

    def __reduce_ex__(self, _protocol: object) -> tuple[type[Self], tuple[int]]:
        return self.__class__, (int(self),)


class OpenFlag(IntFlag):
    """Base of the sets.  Copies and pickles a combination by value, those included that have bits without a name."""

    def __reduce_ex__(self, _protocol: object) -> tuple[type[Self], tuple[int]]:
        return self.__class__, (int(self),)


def unknown(of: type[EnumT], value: object, least: int, greatest: int) -> EnumT | None:
    """A member that the schema does not have, `UNKNOWN_77`, for a value that the bytes can hold; it is not kept in the class."""
    if not isinstance(value, int) or not least <= value <= greatest:
        return None
    made = int.__new__(of, value)
    made._name_ = f"UNKNOWN_{value}" if value >= 0 else f"UNKNOWN_N{-value}"
    made._value_ = int(value)
    return made


class EnumLookup(dict[int, EnumT]):
    """Members by value; an unknown value makes a member that is not kept."""

    __slots__ = ("of",)

    def __init__(self, of: type[EnumT]) -> None:
        super().__init__({int(one): one for one in of})
        self.of = of

    def __missing__(self, value: int) -> EnumT:
        return self.of(value)


class OptionalEnumLookup(dict[int, EnumT | None]):
    """Members by value, and None for the null value."""

    __slots__ = ("of",)

    def __init__(self, of: type[EnumT], null: int) -> None:
        super().__init__({int(one): one for one in of})
        self.of = of
        self[null] = None

    def __missing__(self, value: int) -> EnumT:
        return self.of(value)


class FlagLookup(dict[int, FlagT]):
    """Combinations of flags by value, with bits that the schema does not name."""

    __slots__ = ("of",)

    def __init__(self, of: type[FlagT]) -> None:
        super().__init__()
        self.of = of

    def __missing__(self, value: int) -> FlagT:
        if len(self) < MAX_KNOWN_FLAGS:
            found = self[value] = self.of(value)
            return found
        # The class itself would keep every combination that was ever seen.
        made = int.__new__(self.of, value)
        known = [one for one in self.of if int(one) & value]
        rest = value & ~sum(int(one) for one in known)
        names = [one.name or "" for one in known]
        made._name_ = "|".join([*names, *([str(rest)] if rest else [])]) if names else None
        made._value_ = value
        return made
