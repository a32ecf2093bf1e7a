"""The open sessions of clients, and their publications at the leader. Aeron: ClusteredServiceAgent's sessions."""

from __future__ import annotations

from bisect import insort
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import RegistrationError
from aerowire.cluster.services.client_session import ClientSession

if TYPE_CHECKING:
    from collections.abc import Generator

    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.services.core import ContainerCore
    from aerowire.cluster.services.log_adapter import BoundedLogAdapter
    from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord

_by_id = attrgetter("id")


class ClientSessions:
    """Sessions in the order of their ids. Invariant: the log adapter knows the same ones. The agent's thread."""

    def __init__(self, core: ContainerCore, log: BoundedLogAdapter) -> None:
        self._core = core
        self._log = log
        self._sessions: list[ClientSession] = []

    @property
    def all(self) -> tuple[ClientSession, ...]:
        """All open sessions."""
        return tuple(self._sessions)

    def get(self, session_id: int) -> ClientSession | None:
        """Return an open session."""
        return self._log.sessions.get(session_id)

    def add(self, record: ClientSessionRecord) -> ClientSession:
        """Add a session, which must not be there yet; return it."""
        session = ClientSession(record, self._core)
        insort(self._sessions, session, key=_by_id)
        self._log.add_session(session.id, session)
        return session

    def remove(self, session_id: int) -> ClientSession | None:
        """Remove a session and close its publication; return it, or None."""
        session = self._log.remove_session(session_id)
        if session is not None:
            self._sessions.remove(session)
            session.disconnect()
        return session

    def connect(self, session: ClientSession) -> Generator[Pending[Any] | None, Any, None]:
        """Add the publication to a client; one that cannot be added is an error of that session alone."""
        if session.publication is not None:
            return
        try:
            publication = yield self._core.aeron.async_add_publication(session.response_channel, session.response_stream_id)
        except (RegistrationError, ValueError) as error:
            self._core.errors.warn(f"the client of session {session.id} cannot be answered: {error}")
            return
        session.connect(publication)

    def disconnect_all(self) -> None:
        """Close the publications to all clients."""
        for session in self._sessions:
            try:
                session.disconnect()
            except Exception as error:
                self._core.errors.record(error)
