"""A counter of somebody else's, read for as long as it is the same one. Aeron: ReadableCounter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ClosedError
from aerowire.client.handles.html import counter_html
from aerowire.ipc.counters import STATE_ALLOCATED

if TYPE_CHECKING:
    from aerowire.ipc.counters import CountersReader

# For "whatever registration it has".
NULL_REGISTRATION_ID = -1


class ReadableCounter:
    """The counter `counter_id`, as long as it belongs to `registration_id` (default: to whom it belongs now). Any thread.

    Raises ClosedError where there is no such counter.
    """

    def __init__(self, counters: CountersReader, counter_id: int, registration_id: int = NULL_REGISTRATION_ID) -> None:
        self._counters = counters
        self._counter_id = counter_id
        self._is_closed = False
        found = counters.registration_id(counter_id)
        self._registration_id = found if registration_id == NULL_REGISTRATION_ID else registration_id
        if not self.is_allocated:
            raise ClosedError(
                "there is no such counter",
                where=f"counter {counter_id}",
                expected=f"registration {self._registration_id}",
                actual=f"state {counters.state(counter_id)}, registration {found}",
            )

    @property
    def counter_id(self) -> int:
        """Index of the counter."""
        return self._counter_id

    @property
    def registration_id(self) -> int:
        """Registration that the counter belongs to."""
        return self._registration_id

    @property
    def state(self) -> int:
        """State of the record: unused, allocated or reclaimed."""
        return self._counters.state(self._counter_id)

    @property
    def is_allocated(self) -> bool:
        """Whether the record is in use, and still by the same registration."""
        return self.state == STATE_ALLOCATED and self._counters.registration_id(self._counter_id) == self._registration_id

    @property
    def is_closed(self) -> bool:
        """Whether this was closed, or its counter has gone."""
        return self._is_closed or not self.is_allocated

    @property
    def label(self) -> str:
        """What the counter is called."""
        return self._counters.label(self._counter_id)

    @property
    def value(self) -> int:
        """The number. Raises ClosedError when the counter has gone, whose place another one may have."""
        value = self._counters.value(self._counter_id)
        if self.is_closed:
            raise ClosedError("the counter has gone", where=self, expected=f"registration {self._registration_id}")
        return value

    def close(self) -> None:
        """Read it no more. The counter itself stays."""
        self._is_closed = True

    def _repr_html_(self) -> str:
        """Render as a table, for notebooks."""
        return counter_html(self)

    def __repr__(self) -> str:
        return f"ReadableCounter(counter_id={self._counter_id}, registration_id={self._registration_id}, is_closed={self.is_closed})"
