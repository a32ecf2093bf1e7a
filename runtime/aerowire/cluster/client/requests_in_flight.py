"""Requests that were sent to a cluster and are not answered: in flight, or in doubt since their leader was lost. Sans I/O."""

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

    Invariant: a key is in flight, or in doubt, or unknown; `len()` counts both and is at most `limit`, as long as `is_full` is heeded.
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
        """Keys of the requests that the present leader has been sent, in order."""
        return tuple(self._in_flight)

    @property
    def in_doubt(self) -> tuple[InDoubt, ...]:
        """Requests in doubt, in the order in which they were sent."""
        return tuple(self._in_doubt.values())

    def sent(self, key: Hashable, cluster_session_id: int, leadership_term_id: int) -> None:
        """Take a request that was sent to a leader; one in doubt that was sent again is in flight again."""
        self._in_doubt.pop(key, None)
        self._in_flight[key] = InDoubt(key, cluster_session_id, leadership_term_id)

    def answered(self, key: Hashable) -> bool:
        """Take an answer, late ones too, or what the application knows otherwise; return whether it was waited for."""
        return (self._in_flight.pop(key, None) or self._in_doubt.pop(key, None)) is not None

    def lose(self) -> tuple[InDoubt, ...]:
        """Take the loss of the leader; return the requests that are in doubt now and were not before."""
        lost, self._in_flight = self._in_flight, {}
        self._in_doubt.update(lost)
        return tuple(lost.values())
