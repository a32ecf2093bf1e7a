"""Whether another archive has the same id at the driver: its counters are there, and its client lives. Times are arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ActiveArchiveError
from aerowire.codecs.flyweights.cnc import ArchiveCounterKeyEncoder
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.ipc.counters import CounterInfo, CountersReader

# Clients show that they live each 500 ms; one that does not for so long has died, and its counters go at the driver's client timeout.
BEAT_MS_MAX = 1200


class ArchiveIdCheck:
    """One look at the counters after the other, until an id is known to be free, or is in use."""

    def __init__(self, counters: CountersReader, archive_id: int) -> None:
        self._counters = counters
        self._archive_id = archive_id
        self._key = ArchiveCounterKeyEncoder.encode(archive_id=archive_id)
        self._first: tuple[int, int] | None = None

    def poll(self, now_ms: int) -> bool:
        """Return whether no living archive has the id. Raises ActiveArchiveError when one has."""
        rival = self._rival()
        beat_ms = None if rival is None else self._heartbeat_of(rival.owner_id)
        if rival is None or beat_ms is None or now_ms - beat_ms > BEAT_MS_MAX:
            return True
        if self._first is None:
            self._first = beat_ms, now_ms
        first_beat_ms, begun_ms = self._first
        if beat_ms != first_beat_ms:
            raise ActiveArchiveError(
                "another archive has this id at the driver",
                where=f"counter {rival.counter_id}: {rival.label}",
                expected=f"no archive with id {self._archive_id}",
                hint=f"choose another {OPTIONS['archive_id'].property}",
            )
        return now_ms - begun_ms > BEAT_MS_MAX

    def _rival(self) -> CounterInfo | None:
        for counter in self._counters.for_each():
            if counter.type_id == CounterType.ARCHIVE_ERROR_COUNT and counter.key.startswith(self._key):
                return counter
        return None

    def _heartbeat_of(self, client_id: int) -> int | None:
        """Return the epoch milliseconds of a client's last sign of life, or None where there is no such client."""
        for counter in self._counters.for_each():
            if counter.type_id == CounterType.CLIENT_HEARTBEAT and counter.registration_id == client_id:
                return counter.value
        return None
