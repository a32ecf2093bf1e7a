"""Operations that take more than one cycle, and the list of those that are going on. Aeron: Session, SessionWorker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Session(Protocol):
    """An operation that is done in steps, none of which waits."""

    @property
    def is_done(self) -> bool:
        """Whether it is over, and is to be closed."""

    def do_work(self) -> int:
        """Do one step; return how much was done."""

    def abort(self, reason: str) -> None:
        """End it before it is done."""

    def close(self) -> None:
        """Give back what it holds, and answer what is left to be answered."""


class SessionList:
    """The operations of an archive. What one raises is reported, and ends neither it nor the others. The conductor's thread."""

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        self._sessions: list[Session] = []
        self._on_error = on_error

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, session: Session) -> None:
        """Work on an operation from the next cycle on."""
        self._sessions.append(session)

    def do_work(self) -> int:
        """Do one step of each; close those that are done."""
        work = 0
        for session in tuple(self._sessions):
            try:
                work += session.do_work()
            except Exception as error:  # one operation must not end the archive
                self._on_error(error)
            if session.is_done:
                self._sessions.remove(session)
                self._close(session)
                work += 1
        return work

    def close(self) -> None:
        """Close all of them, done or not."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            self._close(session)

    def _close(self, session: Session) -> None:
        try:
            session.close()
        except Exception as error:  # the others are to be closed too
            self._on_error(error)
