"""The timers of a member over changes of the leader: what services schedule, what a leader appends, what the log has.

Aeron: the parts of ConsensusModuleAgent that use its TimerService.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from aerowire.base.units import INT64_MAX
from aerowire.cluster.timers.timer_service import TimerHandler, TimerService

_NEVER = INT64_MAX  # a position that is not committed

TimerAppender = Callable[[int], bool]
"""Takes the event of an expired timer for the leader's log, by its correlation id; returns False if there is no room for it.

`on_appended` or `on_append_refused` tells the result of each, in order, before the term ends.
"""


class _Expiry:
    """The event of a timer that a leader has taken for its log."""

    __slots__ = ("correlation_id", "position")

    def __init__(self, correlation_id: int) -> None:
        self.correlation_id = correlation_id
        self.position = _NEVER


class ClusterTimers:
    """Timers of all services. Changed by all methods but `snapshot` and `next_deadline`.

    Invariant: `_appending` holds the events that a leader appends, `_uncommitted` those that it has appended beyond the commit, by their
    positions, and `_expiries` the latest of both for each timer that its service has not cancelled or scheduled since.
    `_expired_counts` holds the timers whose events the log had before the member's own service, which is behind, has scheduled them.
    """

    def __init__(self, make: Callable[[TimerHandler], TimerService], append: TimerAppender) -> None:
        """`make(handler)` returns the timer service."""
        self._service = make(self._on_timer_event)
        self._append = append
        self._appending: deque[_Expiry] = deque()
        self._uncommitted: deque[_Expiry] = deque()
        self._expiries: dict[int, _Expiry] = {}
        self._expired_counts: dict[int, int] = {}

    # Services

    def on_schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, in place of one with the same correlation id; one whose event the log has already is over."""
        self._expiries.pop(correlation_id, None)
        count = self._expired_counts.pop(correlation_id, 0)
        if count == 0:
            self._service.schedule_timer(correlation_id, deadline)
        elif count > 1:
            self._expired_counts[correlation_id] = count - 1

    def on_cancel_timer(self, correlation_id: int) -> None:
        """Remove a timer, if there is one. Unlike officially, it does not come back if the term ends before its event is committed."""
        self._expiries.pop(correlation_id, None)
        self._service.cancel_timer(correlation_id)

    # A leader

    def poll(self, now: int) -> int:
        """Append the events of expired timers, until there is no room or a limit is reached; return how many were taken for the log."""
        return self._service.poll(now)

    def on_appended(self, position: int) -> None:
        """Note the position of the first event that has no result yet."""
        expiry = self._appending.popleft()
        expiry.position = position
        self._uncommitted.append(expiry)

    def on_append_refused(self) -> None:
        """Note that the first event without a result is not in the log: its timer is due at once when the term ends."""
        self.on_appended(_NEVER)

    def current_time(self, now: int) -> None:
        """Note the time of the cluster, after recovery and when the member begins to lead."""
        self._service.current_time(now)

    def next_deadline(self) -> int | None:
        """Return when `poll` finds the next expired timer, which may be in the past; None if there is no timer."""
        return self._service.next_deadline()

    def on_commit_position(self, position: int) -> None:
        """Forget the timers whose events are committed."""
        while self._uncommitted and self._uncommitted[0].position <= position:
            expiry = self._uncommitted.popleft()
            if self._is_latest(expiry):
                del self._expiries[expiry.correlation_id]

    def end_term(self, log_position: int) -> None:
        """Take back the timers whose events the log does not have: they are due at once. After all results of appends."""
        for expiry in self._uncommitted:
            if expiry.position > log_position and self._is_latest(expiry):
                self._service.schedule_timer(expiry.correlation_id, 0)
        self._uncommitted.clear()
        self._expiries.clear()

    # The log

    def on_timer_replayed(self, correlation_id: int) -> None:
        """Remove the timer whose event the log has; if the service has still to schedule it, it is over before."""
        if not self._service.cancel_timer(correlation_id):
            self._expired_counts[correlation_id] = self._expired_counts.get(correlation_id, 0) + 1

    # Snapshots

    def snapshot(self) -> tuple[tuple[int, int], ...]:
        """Return the correlation id and the deadline of each timer, in the order in which the official service has them."""
        return tuple(self._service.snapshot())

    def load(self, timers: Iterable[tuple[int, int]]) -> None:
        """Schedule the timers of a snapshot."""
        for correlation_id, deadline in timers:
            self.on_schedule_timer(correlation_id, deadline)

    def _on_timer_event(self, correlation_id: int) -> bool:
        is_taken = self._append(correlation_id)
        if is_taken:
            expiry = self._expiries[correlation_id] = _Expiry(correlation_id)
            self._appending.append(expiry)
        return is_taken

    def _is_latest(self, expiry: _Expiry) -> bool:
        """Whether the service has neither cancelled nor scheduled the timer since its event was taken for the log."""
        return self._expiries.get(expiry.correlation_id) is expiry
