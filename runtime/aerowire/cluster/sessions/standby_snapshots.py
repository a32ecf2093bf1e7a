"""Snapshots of standbys, from their notification until they are in recording.log, which is not before the log is committed up to them.

Aeron: SessionManager.processPendingStandbySnapshotNotifications.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from aerowire.cluster.sessions.effects import StoreStandbySnapshot

if TYPE_CHECKING:
    from aerowire.cluster.sessions.core import SessionCore
    from aerowire.cluster.sessions.inputs import StandbySnapshotEntry

# Notifications that wait for the commit: a standby sends one for each of its snapshots, and the latest ones count.
PENDING_MAX: Final = 64


class StandbySnapshots:
    """Notifications in the order in which they came. Changed by `add`, `on_commit_position` and `tick`.

    Invariant: at most PENDING_MAX wait for the commit, and as many for the delay; the oldest gives way.
    """

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._commit_position = -1
        self._pending: deque[tuple[StandbySnapshotEntry, ...]] = deque(maxlen=PENDING_MAX)
        self._delayed: deque[tuple[int, tuple[StandbySnapshotEntry, ...]]] = deque(maxlen=PENDING_MAX)

    def add(self, entries: tuple[StandbySnapshotEntry, ...]) -> None:
        """Take a notification; one without entries says nothing."""
        if entries:
            self._pending.append(entries)
            self._release()

    def on_commit_position(self, position: int) -> None:
        """Note how far the log is committed."""
        self._commit_position = position
        if self._pending:
            self._release()

    def tick(self) -> None:
        """Store what has been delayed for long enough."""
        while self._delayed and self._delayed[0][0] <= self._core.now_ns:
            self._core.emit(StoreStandbySnapshot(self._delayed.popleft()[1]))

    def next_deadline_ns(self) -> int | None:
        """Return when the first delay ends."""
        return self._delayed[0][0] if self._delayed else None

    def _release(self) -> None:
        delay_ns = self._core.options.standby_snapshot_notification_processing_delay_ns
        for _ in range(len(self._pending)):
            entries = self._pending.popleft()
            if entries[0].log_position > self._commit_position:
                self._pending.append(entries)
            elif delay_ns > 0:
                self._delayed.append((self._core.now_ns + delay_ns, entries))
            else:
                self._core.emit(StoreStandbySnapshot(entries))
