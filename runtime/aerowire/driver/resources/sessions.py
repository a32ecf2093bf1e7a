"""Session ids: which are taken, and which comes next. Aeron: DriverConductor.nextAvailableSessionId."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Sessions:
    """Session ids in use and the next to give out.

    Invariant: `_active` holds the (session, stream, channel) of every publication that is not yet done.
    """

    reserved_low: int
    reserved_high: int
    next_id: int
    _active: set[tuple[int, int, str]] = field(default_factory=set)

    def next_for_channel(self, stream_id: int, canonical_form: str) -> int:
        """Return a session id that no stream of the channel uses."""
        while True:
            session_id = self._advance()
            if (session_id, stream_id, canonical_form) not in self._active:
                return session_id

    def next_for_stream(self, stream_id: int) -> int:
        """Return a session id that no stream of that id uses, on whichever channel."""
        in_use = {session for session, stream, _ in self._active if stream == stream_id}
        while True:
            session_id = self._advance()
            if session_id not in in_use:
                return session_id

    def take(self, key: tuple[int, int, str]) -> None:
        """Mark a session as used."""
        self._active.add(key)

    def release(self, key: tuple[int, int, str]) -> None:
        """Mark a session as free."""
        self._active.discard(key)

    def __contains__(self, key: tuple[int, int, str]) -> bool:
        return key in self._active

    def _advance(self) -> int:
        session_id = self.next_id
        if self.reserved_low <= session_id <= self.reserved_high:
            session_id = _wrap(self.reserved_high + 1)
        self.next_id = _wrap(session_id + 1)
        return session_id


def _wrap(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
