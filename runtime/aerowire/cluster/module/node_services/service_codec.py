"""Messages of services to their consensus module, as values. Aeron: ConsensusModuleAdapter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from aerowire.cluster.service_messages.pending_service_message_tracker import SESSION_HEADER_LENGTH
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.messages.cancel_timer import CancelTimer
from aerowire.codecs.flyweights.cluster.messages.close_session import CloseSession
from aerowire.codecs.flyweights.cluster.messages.cluster_members_query import ClusterMembersQuery
from aerowire.codecs.flyweights.cluster.messages.schedule_timer import ScheduleTimer
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.support.errors import SbeError


@dataclass(frozen=True, slots=True)
class ServiceMessage:
    """A message of a service to all services of the cluster; `message` has its session header."""

    cluster_session_id: int
    message: bytes


Word: TypeAlias = ServiceMessage | CloseSession | ScheduleTimer | CancelTimer | ServiceAck | ClusterMembersQuery

_Record: TypeAlias = CloseSession | ScheduleTimer | CancelTimer | ServiceAck | ClusterMembersQuery


def decode_service_word(data: bytes) -> Word | None:
    """Return what a message on the stream to the consensus module says; None of one that says nothing here."""
    try:
        decoded = decode(data)
    except SbeError:
        return None
    if isinstance(decoded, SessionMessageHeader):
        return ServiceMessage(decoded.cluster_session_id, data) if len(data) >= SESSION_HEADER_LENGTH else None
    return decoded if isinstance(decoded, _Record) else None
