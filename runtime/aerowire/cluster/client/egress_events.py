"""Messages of a cluster to its clients, other than those of services, as values. Sans I/O. Aeron: EgressAdapter, EgressPoller."""

from __future__ import annotations

from typing import Final, TypeAlias

from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse, AdminResponseDecoder
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge, ChallengeDecoder
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent, NewLeaderEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent, SessionEventDecoder
from aerowire.codecs.support.errors import SbeError

EgressEvent: TypeAlias = SessionEvent | NewLeaderEvent | Challenge | AdminResponse

_KINDS: Final[dict[int, type[EgressEvent]]] = {
    SessionEventDecoder.SBE_TEMPLATE_ID: SessionEvent,
    NewLeaderEventDecoder.SBE_TEMPLATE_ID: NewLeaderEvent,
    ChallengeDecoder.SBE_TEMPLATE_ID: Challenge,
    AdminResponseDecoder.SBE_TEMPLATE_ID: AdminResponse,
}


def decode_event(template_id: int, message: bytes) -> EgressEvent | None:
    """Decode a message of the cluster's schema, SBE header included; return None for one that is unknown or damaged."""
    kind = _KINDS.get(template_id)
    try:
        return None if kind is None else kind.decode(message)
    except SbeError:
        return None
