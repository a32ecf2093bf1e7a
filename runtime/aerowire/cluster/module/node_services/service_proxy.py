"""Messages of the consensus module to its services, on one publication. Aeron: ServiceProxy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from aerowire.base.errors import PublicationClosedError
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.cluster_members_extended_response import (
    ClusterMembersExtendedResponse,
    ClusterMembersExtendedResponseActiveMembers,
)
from aerowire.codecs.flyweights.cluster.messages.cluster_members_response import ClusterMembersResponse
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog
from aerowire.codecs.flyweights.cluster.messages.service_termination_position import ServiceTerminationPosition

if TYPE_CHECKING:
    from aerowire.client.publications.publication import Publication
    from aerowire.cluster.consensus.member_states import MemberState
    from aerowire.cluster.consensus.members import ClusterMember
    from aerowire.codecs.flyweights.cnc import ClusterRole


class _Record(Protocol):
    def encode(self) -> bytes: ...


class ServiceProxy:
    """Sends to services; a call returns whether the message was sent, and the caller repeats it."""

    def __init__(self, publication: Publication) -> None:
        """Send on the publication of the control channel."""
        self._publication = publication

    def join_log(
        self,
        *,
        log_position: int,
        max_log_position: int,
        member_id: int,
        log_session_id: int,
        log_stream_id: int,
        is_startup: bool,
        role: ClusterRole,
        log_channel: str,
    ) -> bool:
        """Tell services to read a log, up to a position."""
        return self._offer(
            JoinLog(
                log_position=log_position,
                max_log_position=max_log_position,
                member_id=member_id,
                log_session_id=log_session_id,
                log_stream_id=log_stream_id,
                is_startup=_boolean(is_startup),
                role=role,
                is_standby=BooleanType.FALSE,
                log_channel=log_channel,
            )
        )

    def termination_position(self, log_position: int, *, is_ack_required: bool) -> bool:
        """Tell services to end at a position of the log."""
        return self._offer(ServiceTerminationPosition(log_position=log_position, ack_required=_boolean(is_ack_required)))

    def cluster_members(self, correlation_id: int, leader_member_id: int, active_members: str) -> bool:
        """Answer a tool's question for the members."""
        return self._offer(
            ClusterMembersResponse(correlation_id=correlation_id, leader_member_id=leader_member_id, active_members=active_members)
        )

    def cluster_members_extended(
        self,
        correlation_id: int,
        *,
        now_ns: int,
        leader_member_id: int,
        member_id: int,
        members: Iterable[ClusterMember],
        states: Mapping[int, MemberState],
    ) -> bool:
        """Answer a tool's question for the members and how far each one's log goes."""
        active_members = [
            ClusterMembersExtendedResponseActiveMembers(
                leadership_term_id=states[member.member_id].leadership_term_id,
                log_position=states[member.member_id].log_position,
                time_of_last_append_ns=states[member.member_id].time_of_last_append_position_ns or 0,
                member_id=member.member_id,
                ingress_endpoint=member.ingress_endpoint,
                consensus_endpoint=member.consensus_endpoint,
                log_endpoint=member.log_endpoint,
                catchup_endpoint=member.catchup_endpoint,
                archive_endpoint=member.archive_endpoint,
            )
            for member in members
        ]
        return self._offer(
            ClusterMembersExtendedResponse(
                correlation_id=correlation_id,
                current_time_ns=now_ns,
                leader_member_id=leader_member_id,
                member_id=member_id,
                active_members=active_members,
            )
        )

    def close(self) -> None:
        """Close the publication."""
        self._publication.close()

    def _offer(self, record: _Record) -> bool:
        try:
            return self._publication.offer(record.encode()) > 0
        except PublicationClosedError:
            return False


def _boolean(value: bool) -> BooleanType:
    return BooleanType.TRUE if value else BooleanType.FALSE
