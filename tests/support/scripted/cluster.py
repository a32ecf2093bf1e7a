"""A cluster member that answers as a test says, in a simulated world or in real time. Its channels are real; it decides nothing."""

from __future__ import annotations

from typing import Any

from aerowire.client import Header
from aerowire.cluster import SESSION_HEADER_LENGTH
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
from aerowire.codecs.flyweights.cluster.messages.session_connect_request import SessionConnectRequest
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from tests.support.scripted.peer import ScriptedHost, ScriptedPeer

PROTOCOL_VERSION = 3 << 8
SESSION_ID = 42
TERM_ID = 7
HEARTBEAT_TIMEOUT_NS = 1_000_000_000


def session_event(request: Any, code: EventCode = EventCode.OK, detail: str = "", **fields: Any) -> SessionEvent:
    """Return the answer to a request for a session."""
    given: dict[str, Any] = {
        "cluster_session_id": SESSION_ID,
        "leadership_term_id": TERM_ID,
        "leader_member_id": 0,
        "version": PROTOCOL_VERSION,
        "leader_heartbeat_timeout_ns": HEARTBEAT_TIMEOUT_NS,
        **fields,
    }
    return SessionEvent(correlation_id=request.correlation_id, code=code, detail=detail, **given)


def closed(detail: str, session_id: int = SESSION_ID) -> SessionEvent:
    """Return the news that the cluster has closed a session."""
    return SessionEvent(
        cluster_session_id=session_id,
        correlation_id=0,
        leadership_term_id=TERM_ID,
        leader_member_id=0,
        code=EventCode.CLOSED,
        detail=detail,
    )


def challenge(request: Any, encoded_challenge: bytes) -> Challenge:
    """Return a challenge in answer to a request."""
    return Challenge(correlation_id=request.correlation_id, cluster_session_id=SESSION_ID, encoded_challenge=encoded_challenge)


def new_leader(member_id: int, endpoints: str, term_id: int = TERM_ID + 1) -> NewLeaderEvent:
    """Return the news of a new leader."""
    return NewLeaderEvent(
        leadership_term_id=term_id, cluster_session_id=SESSION_ID, leader_member_id=member_id, ingress_endpoints=endpoints
    )


def message(payload: bytes, timestamp: int = 1_000, session_id: int = SESSION_ID) -> bytes:
    """Return a message of a service."""
    return SessionMessageHeader(leadership_term_id=TERM_ID, cluster_session_id=session_id, timestamp=timestamp).encode() + payload


class ScriptedMember(ScriptedPeer):
    """A member that takes ingress and sends egress. A request for a session opens the publication of egress.

    `requests` are all that came but session messages, whose payloads are in `messages`; both in order.
    """

    def __init__(self, host: ScriptedHost, channel: str, stream_id: int = 101) -> None:
        self.messages: list[bytes] = []
        self.headers: list[SessionMessageHeader] = []
        super().__init__(host, channel, stream_id, {"SessionConnectRequest": lambda request: [session_event(request)]})

    def reach(self, channel: str, stream_id: int = 102) -> None:
        """Open a publication to a client, as a new leader does; what is said is sent on it from then on."""
        super().reach(channel, stream_id)

    def end_egress(self) -> None:
        """Close the publication of egress; ingress is taken all the same."""
        assert self.publication is not None
        self.publication.close()

    def stop(self) -> None:
        """Stop to listen and to speak."""
        self.subscription.close()
        if self.publication is not None:
            self.publication.close()

    def _on_message(self, data: bytes, header: Header) -> None:
        request = cluster.decode(data)
        if isinstance(request, SessionMessageHeader):
            self.headers.append(request)
            self.messages.append(data[SESSION_HEADER_LENGTH:])
        else:
            self.requests.append(request)
        if isinstance(request, SessionConnectRequest):
            self._on_connect(request, header)
        self._answer(request)
