"""Whether another component owns a counter of a driver that says what it is: the counter is there, and its client lives.

The official components refuse to start as long as such a counter is there: after one was killed until the driver has given its client up.
Here it is waited for a sign of life, for no longer than a living client takes for two. Times are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.base.errors import AerowireError
    from aerowire.ipc.counters import CounterInfo, CountersReader

# Clients show that they live each 500 ms; one that has not done so twice has died, and its counters go at the driver's client timeout.
BEAT_MS_MAX = 1000


class LivingOwnerCheck:
    """One look at the counters after the other, until no living client owns such a counter, or one does."""

    def __init__(
        self, counters: CountersReader, is_rival: Callable[[CounterInfo], bool], refusal: Callable[[CounterInfo], AerowireError]
    ) -> None:
        """`is_rival` tells the counters that no other component may have; `refusal` makes the error of one."""
        self._counters = counters
        self._is_rival = is_rival
        self._refusal = refusal
        self._begun_ms: int | None = None
        self._first_beats: dict[int, int] = {}  # of clients that may live

    def poll(self, now_ms: int) -> bool:
        """Return whether no living component has such a counter. Raises the refusal when one has."""
        begun_ms = self._begun_ms = now_ms if self._begun_ms is None else self._begun_ms
        is_free = True
        for rival in [counter for counter in self._counters.for_each() if self._is_rival(counter)]:
            beat_ms = self._heartbeat_of(rival.owner_id)
            if beat_ms is None or now_ms - beat_ms > BEAT_MS_MAX:
                continue
            if beat_ms != self._first_beats.setdefault(rival.owner_id, beat_ms):
                raise self._refusal(rival)
            is_free = is_free and now_ms - begun_ms > BEAT_MS_MAX  # a beat ahead of the clock never grows old
        return is_free

    def _heartbeat_of(self, client_id: int) -> int | None:
        """Return the epoch milliseconds of a client's last sign of life, or None where there is no such client."""
        for counter in self._counters.for_each():
            if counter.type_id == CounterType.CLIENT_HEARTBEAT and counter.registration_id == client_id:
                return counter.value
        return None
