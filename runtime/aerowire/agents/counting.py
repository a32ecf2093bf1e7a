"""What a conductor needs of a counter: a driver has its own, others have those that a client allocated for them."""

from __future__ import annotations

from typing import Protocol


class Counter(Protocol):
    """A counter that goes up by one. One thread."""

    def increment(self) -> object:
        """Add one."""


class ClosableCounter(Counter, Protocol):
    """A counter that a client has allocated, which goes with the client."""

    @property
    def is_closed(self) -> bool: ...


class CounterWhileOpen:
    """A client's counter of what may happen when the client has ended, too: it is not counted then. One thread."""

    __slots__ = ("_counter",)

    def __init__(self, counter: ClosableCounter) -> None:
        self._counter = counter

    def increment(self) -> None:
        """Add one, if the counter is there."""
        if not self._counter.is_closed:
            self._counter.increment()
