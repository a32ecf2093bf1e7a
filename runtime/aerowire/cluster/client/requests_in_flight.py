"""Unanswered requests to a cluster: in flight, or in doubt since the loss of their leader. Sans I/O."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class InDoubt(NamedTuple):
    """A request that the cluster may have processed or not: its leader, of this session and term, was lost before it answered."""

    key: Hashable
    cluster_session_id: int
    leadership_term_id: int


class RequestsInFlight:
    """Requests by the keys that the application knows them by. Changed by `sent`, `answered` and `lose`.

    Invariant: a key is in flight, or in doubt, or unknown; `len()` counts both and is at most `limit`, if no key is added while `is_full`.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_flight: dict[Hashable, InDoubt] = {}
        self._in_doubt: dict[Hashable, InDoubt] = {}

    def __len__(self) -> int:
        return len(self._in_flight) + len(self._in_doubt)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._in_flight or key in self._in_doubt

    @property
    def is_full(self) -> bool:
        """Whether no request may be sent before another is answered."""
        return len(self) >= self._limit

    @property
    def in_flight(self) -> tuple[Hashable, ...]:
        """Keys of the requests that were sent to the present leader, in order."""
        return tuple(self._in_flight)

    @property
    def in_doubt(self) -> tuple[InDoubt, ...]:
        """Requests in doubt, in the order in which they were sent."""
        return tuple(self._in_doubt.values())

    def sent(self, key: Hashable, cluster_session_id: int, leadership_term_id: int) -> None:
        """Note a request that was sent to a leader; one in doubt is in flight again."""
        self._in_doubt.pop(key, None)
        self._in_flight[key] = InDoubt(key, cluster_session_id, leadership_term_id)

    def answered(self, key: Hashable) -> bool:
        """Forget a request that was answered, even late, or is settled otherwise; return whether its key was known."""
        return (self._in_flight.pop(key, None) or self._in_doubt.pop(key, None)) is not None

    def lose(self) -> tuple[InDoubt, ...]:
        """Put all requests in flight in doubt, because their leader was lost; return them."""
        lost, self._in_flight = self._in_flight, {}
        self._in_doubt.update(lost)
        return tuple(lost.values())
