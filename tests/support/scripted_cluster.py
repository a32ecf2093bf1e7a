"""A cluster's member that answers as a test says, in a simulated world or in real time. It speaks on real channels, and decides nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from aerowire.client import ExclusivePublication, FragmentAssembler, Header, Pending
from aerowire.cluster import SESSION_HEADER_LENGTH
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from tests.support.scripted_archive import ScriptedHost

PROTOCOL_VERSION = 3 << 8
SESSION_ID = 42
TERM_ID = 7
HEARTBEAT_TIMEOUT_NS = 1_000_000_000

Answer = Callable[[Any], Iterable[Any]]


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


class ScriptedMember:
    """A process of a host that takes ingress on a channel and answers each kind by `answers`: class name -> records or bytes, or none.

    A request for a session opens the publication of egress. `requests` are all that came but session messages, whose payloads are in
    `messages`; both in order.
    """

    def __init__(self, host: ScriptedHost, channel: str, stream_id: int = 101) -> None:
        self.requests: list[Any] = []
        self.messages: list[bytes] = []
        self.headers: list[SessionMessageHeader] = []
        self.answers: dict[str, Answer] = {"SessionConnectRequest": lambda request: [session_event(request)]}
        self.publication: ExclusivePublication | None = None
        self._opening: Pending[ExclusivePublication] | None = None
        self._unsent: deque[bytes] = deque()
        self._assembler = FragmentAssembler(self._on_message)
        self.client = host.connect(work=self._work)
        self.subscription = self.client.complete(self.client.aeron.async_add_subscription(channel, stream_id))

    def names(self) -> list[str]:
        """Return the kinds of the requests that came."""
        return [type(request).__name__ for request in self.requests]

    def say(self, *records: Any) -> None:
        """Send records or bytes on the publication of egress."""
        self._unsent.extend(record if isinstance(record, bytes) else record.encode() for record in records)

    def reach(self, channel: str, stream_id: int = 102) -> None:
        """Open a publication to a client, as a new leader does; what is said is sent on it from then on."""
        self.publication = None
        self._opening = self.client.aeron.async_add_exclusive_publication(channel, stream_id)

    def end_egress(self) -> None:
        """Close the publication of egress; ingress is taken all the same."""
        assert self.publication is not None
        self.publication.close()

    def stop(self) -> None:
        """Stop to listen and to speak."""
        self.subscription.close()
        if self.publication is not None:
            self.publication.close()

    def _work(self) -> int:
        done = 0
        if hasattr(self, "subscription") and not self.subscription.is_closed:
            done = self.subscription.poll(self._assembler, 10)
        if self._opening is not None and self._opening.poll():
            self.publication, self._opening = self._opening.result(), None
            done += 1
        publication = self.publication
        while self._unsent and publication is not None and not publication.is_closed and publication.offer(self._unsent[0]) > 0:
            self._unsent.popleft()
            done += 1
        return done

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        data = bytes(buffer[offset : offset + length])
        request = cluster.decode(data)
        name = type(request).__name__
        if isinstance(request, SessionMessageHeader):
            self.headers.append(request)
            self.messages.append(data[SESSION_HEADER_LENGTH:])
        else:
            self.requests.append(request)
        if name == "SessionConnectRequest":
            channel, stream_id = request.response_channel, request.response_stream_id  # type: ignore[union-attr]
            if "control-mode=response" in channel:
                channel += f"|response-correlation-id={header.image.correlation_id}"
            self.reach(channel, stream_id)
        self.say(*self.answers.get(name, lambda _: ())(request))
