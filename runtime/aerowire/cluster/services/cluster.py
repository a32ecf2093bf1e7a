"""The cluster as its services see it. Aeron: Cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ClusterServiceError
from aerowire.cluster.services.client_session import part_of
from aerowire.cluster.services.message_claim import MessageClaim
from aerowire.cluster.services.session_header import SESSION_HEADER_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from aerowire.client.aeron import Aeron
    from aerowire.cluster.services.client_session import ClientSession
    from aerowire.cluster.services.client_sessions import ClientSessions
    from aerowire.cluster.services.context import ClusteredServiceContext
    from aerowire.cluster.services.core import ContainerCore
    from aerowire.cluster.services.log_adapter import BoundedLogAdapter
    from aerowire.cluster.services.service_idle import ServiceIdleStrategy
    from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
    from aerowire.codecs.flyweights.cnc import ClusterRole


class Cluster:
    """The handle that `on_start` gets. The service's thread.

    `schedule_timer`, `cancel_timer`, `offer`, `try_claim` and `close_client_session` raise ServiceCallError from on_start, on_role_change,
    on_terminate and do_background_work: what they do goes into the log, at a point that must be the same on all members. They raise
    ClusterServiceError when the consensus module has gone.
    """

    def __init__(self, core: ContainerCore, log: BoundedLogAdapter, idle: ServiceIdleStrategy) -> None:
        self._core = core
        self._log = log
        self._idle = idle
        self._client_sessions: ClientSessions | None = None

    def attach(self, sessions: ClientSessions) -> None:
        """Container: show these sessions."""
        self._client_sessions = sessions

    # ---- what it is

    @property
    def member_id(self) -> int:
        """Number of this member; -1 until the log is joined for the first time."""
        return self._core.member_id

    @property
    def role(self) -> ClusterRole:
        """Whether this member leads or follows. No state may depend on it."""
        return self._core.role

    @property
    def log_position(self) -> int:
        """Position of the log behind the event that is handled."""
        return self._log.log_position

    @property
    def time(self) -> int:
        """Time of the cluster, which is that of the event that is handled: the same on all members. In units of `time_unit`."""
        return self._log.cluster_time

    @property
    def time_unit(self) -> ClusterTimeUnit | None:
        """Unit of the cluster's time; None until a term or a snapshot has told."""
        return self._core.time_unit

    @property
    def aeron(self) -> Aeron:
        """The container's client of its driver."""
        return self._core.aeron

    @property
    def context(self) -> ClusteredServiceContext:
        """The options that the container runs with."""
        return self._core.context

    @property
    def idle_strategy(self) -> ServiceIdleStrategy:
        """What a callback that waits is to call while it does: `idle(work_count)`."""
        return self._idle

    # ---- sessions

    @property
    def client_sessions(self) -> Sequence[ClientSession]:
        """The open sessions of clients, by ascending id."""
        assert self._client_sessions is not None
        return self._client_sessions.all

    def get_session(self, session_id: int) -> ClientSession | None:
        """Return an open session, or None."""
        assert self._client_sessions is not None
        return self._client_sessions.get(session_id)

    def close_client_session(self, session_id: int) -> bool:
        """Ask for the end of a session, which comes by the log; return whether there was room for that. ClusterServiceError if unknown."""
        self._core.guard.check()
        session = self.get_session(session_id)
        if session is None:
            raise ClusterServiceError("there is no such session", where=f"session {session_id}", expected="an open session of a client")
        return session.close()

    # ---- what goes into the log

    def schedule_timer(self, correlation_id: int, deadline: int) -> bool:
        """Have `on_timer_event(correlation_id, at)` called at a time of the cluster, or later; return whether there was room for that.

        A timer that has the id is moved. If it returns False, try again from the same callback: `cluster.idle_strategy.idle()` between.
        """
        self._core.guard.check()
        return self._core.proxy.schedule_timer(correlation_id, deadline)

    def cancel_timer(self, correlation_id: int) -> bool:
        """Cancel a timer; return whether there was room for that, not whether the timer was there."""
        self._core.guard.check()
        return self._core.proxy.cancel_timer(correlation_id)

    def offer(self, buffer: Buffer, offset: int = 0, length: int | None = None) -> int:
        """Send a message to all services of the cluster, this one too, by the log; as a publication's offer."""
        return self.offer_parts(part_of(buffer, offset, length) if offset or length is not None else buffer)

    def offer_parts(self, *buffers: Buffer) -> int:
        """Send one message that lies in several buffers, as `offer`."""
        self._core.guard.check()
        return self._core.proxy.offer_parts(self._header(), *buffers)

    def try_claim(self, length: int) -> MessageClaim:
        """Claim space for such a message."""
        self._core.guard.check()
        claim = self._core.proxy.try_claim(SESSION_HEADER_LENGTH + length)
        return MessageClaim(claim.result, claim=claim, header=self._header()) if claim else MessageClaim(claim.result)

    def _header(self) -> bytes:
        # The session of a service's message is the service: its consensus module puts a number of its own in that place.
        return self._core.header.encode(self._core.context.service_id, self._log.cluster_time)

    def __repr__(self) -> str:
        return f"Cluster(member_id={self.member_id}, role={self.role.name}, log_position={self.log_position})"
