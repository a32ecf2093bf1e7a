"""Draws from a seed: the same numbers everywhere, whatever the machine and PYTHONHASHSEED."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

from aerowire.system.random import SeededRandom

T = TypeVar("T")


class Draws:
    """Draws of one purpose: those of another, or of another seed, are other ones."""

    def __init__(self, purpose: str, seed: int) -> None:
        digest = blake2b(f"{purpose}:{seed}".encode(), digest_size=8).digest()
        self._random = SeededRandom(int.from_bytes(digest, "little"))

    def happens(self, chance: float) -> bool:
        """Return whether something of this chance (0 to 1) happens."""
        return self._random.double() < chance

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + self._random.below(high - low + 1)

    def between(self, low: float, high: float) -> float:
        """Return a number from `low` to `high`."""
        return low + (high - low) * self._random.double()

    def one_of(self, choices: Sequence[T]) -> T:
        """Return one of several, each as likely."""
        return choices[self._random.below(len(choices))]

    def seed(self) -> int:
        """Return the seed of a further generator."""
        return self._random.u64()
