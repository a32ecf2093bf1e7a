"""What a conductor needs of a counter: a driver has its own, others have those that a client allocated for them."""

from __future__ import annotations

from typing import Protocol


class Counter(Protocol):
    """A counter that goes up by one. One thread."""

    def increment(self) -> object:
        """Add one."""
