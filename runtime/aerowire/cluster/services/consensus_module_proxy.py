"""Messages of a service to its consensus module: acknowledgements, timers, sessions to close, messages. Aeron: ConsensusModuleProxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import ClusterServiceError
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED, error_string
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.cancel_timer import CancelTimer
from aerowire.codecs.flyweights.cluster.messages.close_session import CloseSession
from aerowire.codecs.flyweights.cluster.messages.cluster_members_query import ClusterMembersQuery
from aerowire.codecs.flyweights.cluster.messages.schedule_timer import ScheduleTimer
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.publications.claim import BufferClaim
    from aerowire.client.publications.publication import Publication

_FAILURES = (NOT_CONNECTED, CLOSED, MAX_POSITION_EXCEEDED)


class ConsensusModuleProxy:
    """The publication to a consensus module. The agent's thread.

    Each method returns whether there was room, and raises ClusterServiceError where the publication has no reader, or has ended.
    """

    def __init__(self, publication: Publication) -> None:
        self._publication = publication

    @property
    def is_connected(self) -> bool:
        """Whether a consensus module reads."""
        return self._publication.is_connected

    def ack(self, log_position: int, timestamp: int, ack_id: int, relevant_id: int, service_id: int) -> bool:
        """Acknowledge that the service has come to a position, or has carried out a command."""
        message = ServiceAck(log_position=log_position, timestamp=timestamp, ack_id=ack_id, relevant_id=relevant_id, service_id=service_id)
        return self._send(message.encode())

    def schedule_timer(self, correlation_id: int, deadline: int) -> bool:
        """Have a timer event in the log at a time of the cluster, or move the timer there that has the id."""
        return self._send(ScheduleTimer(correlation_id=correlation_id, deadline=deadline).encode())

    def cancel_timer(self, correlation_id: int) -> bool:
        """Cancel a timer that has not fired."""
        return self._send(CancelTimer(correlation_id=correlation_id).encode())

    def close_session(self, session_id: int) -> bool:
        """Have a client's session closed."""
        return self._send(CloseSession(cluster_session_id=session_id).encode())

    def cluster_members_query(self, correlation_id: int) -> bool:
        """Ask for the members, which the consensus module tells on the stream of its services."""
        return self._send(ClusterMembersQuery(correlation_id=correlation_id, extended=BooleanType.TRUE).encode())

    def offer_parts(self, *parts: Buffer) -> int:
        """Have a message in the log; return the result of the offer."""
        result = self._publication.offer_parts(*parts)
        self._check(result)
        return result

    def try_claim(self, length: int) -> BufferClaim:
        """Claim space for such a message, header included."""
        claim = self._publication.try_claim(length)
        self._check(claim.result)
        return claim

    def close(self) -> None:
        """Close the publication."""
        self._publication.close()

    def _send(self, message: bytes) -> bool:
        result = self._publication.offer(message)
        self._check(result)
        return result > 0

    def _check(self, result: int) -> None:
        if result in _FAILURES:
            raise ClusterServiceError(
                "the consensus module cannot be told anything",
                where=f"{self._publication.channel} stream {self._publication.stream_id}",
                expected="a publication that a consensus module reads",
                actual=error_string(result),
            )
