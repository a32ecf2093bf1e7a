"""Tokens that let a replay be asked for over another connection than its session's. Times are arguments. Aeron: ArchiveConductor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.archive.control.requests import NULL_VALUE

if TYPE_CHECKING:
    from aerowire.archive.control.control_session import ControlSession

# A client uses a token at once; one that asks for more than that only makes the archive keep them.
TOKENS_PER_SESSION_MAX = 1024
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class _Permission:
    session: ControlSession
    recording_id: int
    deadline_ns: int


class ReplayTokens:
    """Tokens by number. Invariant: they are in the order of their deadlines."""

    def __init__(self, random_u64: Callable[[], int], timeout_ns: int) -> None:
        self._random_u64 = random_u64
        self._timeout_ns = timeout_ns
        self._permissions: dict[int, _Permission] = {}

    def __len__(self) -> int:
        return len(self._permissions)

    def generate(self, session: ControlSession, recording_id: int, now_ns: int) -> int:
        """Return a new token for one recording. A session with too many tokens loses its oldest."""
        own = [token for token, permission in self._permissions.items() if permission.session is session]
        if len(own) >= TOKENS_PER_SESSION_MAX:
            del self._permissions[own[0]]
        token = NULL_VALUE
        while token == NULL_VALUE or token in self._permissions:
            token = self._random_u64() - _SIGN
        self._permissions[token] = _Permission(session, recording_id, now_ns + self._timeout_ns)
        return token

    def session_of(self, token: int, recording_id: int, now_ns: int) -> ControlSession | None:
        """Return the session that got a token for this recording, or None when there is none or its time is over."""
        found = self._permissions.get(token)
        if found is None or found.recording_id != recording_id or now_ns >= found.deadline_ns:
            return None
        return found.session

    def expire(self, now_ns: int) -> int:
        """Forget the tokens whose time is over; return how many."""
        count = 0
        while self._permissions:
            token = next(iter(self._permissions))
            if now_ns < self._permissions[token].deadline_ns:
                break
            del self._permissions[token]
            count += 1
        return count

    def forget(self, session: ControlSession) -> None:
        """Forget the tokens of a session that has ended."""
        self._permissions = {token: found for token, found in self._permissions.items() if found.session is not session}
