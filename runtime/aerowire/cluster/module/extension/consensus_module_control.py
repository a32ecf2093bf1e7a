"""What an extension may ask of its consensus module, and tell it to do. Aeron: ConsensusModuleControl, ClusterClientSession."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.base.errors import ConsensusModuleError
from aerowire.cluster.sessions.inputs import ServiceClosed, SessionActive
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.client.aeron import Aeron
    from aerowire.cluster.consensus.members import ClusterMember
    from aerowire.cluster.module.clients.client_sessions import ClientSessions
    from aerowire.cluster.module.context import ConsensusModuleContext
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_publisher import Appended, LogPublisher
    from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
    from aerowire.security.authorisation import AuthorisationService


class ExtensionLog:
    """The log of a leader, as its extension appends to it. The consensus module's thread."""

    def __init__(self, publisher: LogPublisher, may_append: Callable[[], bool]) -> None:
        """`may_append` tells whether the member is at a point of the log where something may follow."""
        self._publisher = publisher
        self._may_append = may_append

    @property
    def position(self) -> int:
        """How far the log is published."""
        return self._publisher.position

    def append(self, message: Buffer, on_position: Callable[[int], object] = lambda _: None) -> bool:
        """Append a message with an SBE header of the extension's schema; return False if there is no room for it now.

        There is none while the member is suspended, or takes a snapshot. `on_position` gets the position behind the message, -1 if the
        term has ended before it was in the log. The message is committed once the commit position is there.
        """

        def on_result(appended: Appended) -> None:
            on_position(-1 if appended.is_refused else appended.position)

        return self._may_append() and self._publisher.append(message, on_result)


class ClusterClientSession:
    """A client's session, by its id. It may have been closed meanwhile: then nothing is sent."""

    def __init__(self, cluster_session_id: int, sessions: ClientSessions, core: ModuleCore) -> None:
        self._sessions = sessions
        self._core = core
        self.id = cluster_session_id

    @property
    def is_open(self) -> bool:
        """Whether the client may send."""
        return self._sessions.principal_of(self.id) is not None

    @property
    def encoded_principal(self) -> bytes:
        """The principal that the session was authenticated as."""
        return self._sessions.principal_of(self.id) or b""

    def offer(self, message: bytes) -> bool:
        """Send a message to the client, as the leader; return whether there was a connection and room."""
        return self._sessions.send(self.id, message)

    def note_activity(self) -> None:
        """Take the client to be there: a message of an extension does not tell by itself whose it is."""
        self._sessions.give(SessionActive(self.id, self._core.ports.clock.now_ns()))


class ConsensusModuleControl:
    """The consensus module as its extension sees it. The consensus module's thread."""

    def __init__(self, core: ModuleCore, sessions: ClientSessions) -> None:
        self._core = core
        self._sessions = sessions
        self._archive: AeronArchive | None = None

    @property
    def member_id(self) -> int:
        """The id of this member."""
        return self._core.context.cluster_member_id

    @property
    def cluster_id(self) -> int:
        """The id of the cluster, which tells its counters from those of others at the driver."""
        return self._core.context.cluster_id

    @property
    def cluster_member(self) -> ClusterMember:
        """This member with its endpoints."""
        return self._core.context.member

    @property
    def context(self) -> ConsensusModuleContext:
        """The options of the consensus module."""
        return self._core.context

    @property
    def time(self) -> int:
        """The time of the cluster, in `time_unit`."""
        return self._core.cluster_clock.time()

    @property
    def time_unit(self) -> ClusterTimeUnit:
        """The unit of the cluster's time."""
        return self._core.cluster_clock.time_unit

    @property
    def aeron(self) -> Aeron:
        """The consensus module's client of its driver."""
        return self._core.aeron

    @property
    def archive(self) -> AeronArchive:
        """A client of the node's archive, of the extension's own, which polls it."""
        if self._archive is None:
            raise ConsensusModuleError("the extension has no connection to the archive", where="ConsensusModuleControl.archive")
        return self._archive

    @archive.setter
    def archive(self, archive: AeronArchive) -> None:
        self._archive = archive

    @property
    def authorisation_service(self) -> AuthorisationService:
        """What permits requests of clients."""
        return self._core.context.authorisation

    @property
    def commit_position_counter_id(self) -> int:
        """The id of the counter of the commit position."""
        return self._core.counters[CounterType.CLUSTER_COMMIT_POSITION].counter_id

    @property
    def commit_position(self) -> int:
        """Up to where the log is committed."""
        return self._core.counter_value(CounterType.CLUSTER_COMMIT_POSITION)

    def get_client_session(self, cluster_session_id: int) -> ClusterClientSession | None:
        """Return a session that is open; None of one that is not."""
        session = ClusterClientSession(cluster_session_id, self._sessions, self._core)
        return session if session.is_open else None

    def close_cluster_session(self, cluster_session_id: int) -> None:
        """Close a client's session."""
        self._sessions.give(ServiceClosed(cluster_session_id))
