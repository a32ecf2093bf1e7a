"""Whether another archive has the same id at the driver: its counters are there, and its client lives. Times are arguments.

The official archive refuses to start as long as such a counter is there: after it was killed until the driver has given its client up. Here
it is waited for a sign of life, for no longer than a living client takes for two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ActiveArchiveError
from aerowire.codecs.flyweights.cnc import ArchiveCounterKeyEncoder
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.ipc.counters import CounterInfo, CountersReader

# Clients show that they live each 500 ms; one that has not done so twice has died, and its counters go at the driver's client timeout.
BEAT_MS_MAX = 1000


class ArchiveIdCheck:
    """One look at the counters after the other, until an id is known to be free, or is in use."""

    def __init__(self, counters: CountersReader, archive_id: int) -> None:
        self._counters = counters
        self._archive_id = archive_id
        self._key = ArchiveCounterKeyEncoder.encode(archive_id=archive_id)
        self._begun_ms: int | None = None
        self._first_beats: dict[int, int] = {}  # of clients that may live

    def poll(self, now_ms: int) -> bool:
        """Return whether no living archive has the id. Raises ActiveArchiveError when one has."""
        begun_ms = self._begun_ms = now_ms if self._begun_ms is None else self._begun_ms
        is_free = True
        for rival in self._rivals():
            beat_ms = self._heartbeat_of(rival.owner_id)
            if beat_ms is None or now_ms - beat_ms > BEAT_MS_MAX:
                continue
            if beat_ms != self._first_beats.setdefault(rival.owner_id, beat_ms):
                raise ActiveArchiveError(
                    "another archive has this id at the driver",
                    where=f"counter {rival.counter_id}: {rival.label}",
                    expected=f"no archive with id {self._archive_id}",
                    hint=f"choose another {OPTIONS['archive_id'].property}",
                )
            is_free = is_free and now_ms - begun_ms > BEAT_MS_MAX  # a beat ahead of the clock never grows old
        return is_free

    def _rivals(self) -> list[CounterInfo]:
        return [
            counter
            for counter in self._counters.for_each()
            if counter.type_id == CounterType.ARCHIVE_ERROR_COUNT and counter.key.startswith(self._key)
        ]

    def _heartbeat_of(self, client_id: int) -> int | None:
        """Return the epoch milliseconds of a client's last sign of life, or None where there is no such client."""
        for counter in self._counters.for_each():
            if counter.type_id == CounterType.CLIENT_HEARTBEAT and counter.registration_id == client_id:
                return counter.value
        return None
