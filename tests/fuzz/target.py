"""What a fuzz target is: bytes go in, and nothing but the errors that the product promises may come out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class FindingError(AssertionError):
    """A target saw something that no input may cause, and that is no crash: a wrong length, bytes outside a buffer."""


class Target(Protocol):
    """One entry point. `execute` leaves no state behind on which the next execution depends.

    A target whose executions share objects also has a method `renew`, which replaces them. It is called after some executions; a
    finding that needs what ran before it is saved with these inputs.
    """

    name: str
    # The corpus and mutations have at most so many bytes.
    length_max: int
    # Byte strings that mutations insert: magic numbers, type codes, names.
    words: tuple[bytes, ...]
    # Parts of paths of Python files whose lines guide the fuzzer; none for a target whose code is native.
    traced: tuple[str, ...]

    def seeds(self) -> Iterable[bytes]:
        """Return inputs to begin with beside the corpus."""
        ...

    def execute(self, data: bytes) -> None:
        """Run one input; raise only for a finding."""
        ...
