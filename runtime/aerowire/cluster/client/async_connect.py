"""Connecting to a cluster, step by step and without waiting. Aeron: AeronCluster.AsyncConnect.

Opens the egress subscription and publications to the members, asks the first that listens for a session, follows a redirect to the
leader, and answers a challenge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.archive.client.connecting import Connecting, add, resolved_channel
from aerowire.base.errors import ClusterAuthenticationError, ClusterError, ClusterTimeoutError, ConfigurationError
from aerowire.base.version import VERSION
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.cluster.client.egress_poller import EgressPoller
from aerowire.cluster.client.ingress_endpoints import parse_ingress_endpoints
from aerowire.cluster.client.ingress_members import IngressMembers
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.challenge_response import ChallengeResponse
from aerowire.codecs.flyweights.cluster.messages.session_connect_request import SessionConnectRequest
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.recordings.versions import compose_version

if TYPE_CHECKING:
    from contextlib import ExitStack

    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.client.aeron_cluster import AeronCluster
    from aerowire.cluster.client.context import ConcludedClusterContext
    from aerowire.cluster.client.ingress_members import IngressPublication

DEFAULT_CLIENT_NAME: Final = "cluster-client"
PROTOCOL_VERSION: Final = compose_version(0, 3, 0)  # Aeron: AeronCluster.Configuration.PROTOCOL_SEMANTIC_VERSION
# The part of the time for connecting after which other members are tried beside a leader that does not listen.
LEADER_SHARE: Final = 4
# During an election members may redirect a client in circles: requests after the first ones have this interval.
REQUESTS_AT_ONCE: Final = 3
REQUEST_INTERVAL_NS: Final = 100_000_000
# The heartbeat timeout of a cluster that does not send it.
LEADER_HEARTBEAT_TIMEOUT_NS: Final = 10_000_000_000


class ConnectState(Enum):
    """State of a connection. The value says in words what it waits for; `step` is its number, as in Aeron where Aeron has the state."""

    AWAIT_CLIENT = "the media driver"
    CREATE_EGRESS_SUBSCRIPTION = "the driver to add the egress subscription"
    CREATE_INGRESS_PUBLICATIONS = "the driver to add the ingress publications"
    AWAIT_PUBLICATION_CONNECTED = "a member that listens to ingress"
    SEND_MESSAGE = "room for a request in the ingress publication"
    POLL_RESPONSE = "the cluster's answer"
    CONCLUDE_CONNECT = "nothing: the session is open"
    DONE = "nothing: it is connected"
    FAILED = "nothing: it has failed"

    @property
    def step(self) -> int:
        """Number of the state, which grows as the connection goes on. Aeron: AsyncConnect.step."""
        return list(ConnectState).index(self) - 2


_HINTS = {
    ConnectState.AWAIT_PUBLICATION_CONNECTED: "do members run, and are these their ingress channel, endpoints and stream?",
    ConnectState.POLL_RESPONSE: "does the cluster have a leader, and can it reach the egress channel?",
}


class Connected(NamedTuple):
    """Result of connecting: the session, its leader and its streams. `aeron` is closed with the session if `owns_aeron`."""

    context: ConcludedClusterContext
    aeron: Aeron
    owns_aeron: bool
    subscription: Subscription
    egress_image: Image
    publication: IngressPublication
    cluster_session_id: int
    leadership_term_id: int
    leader_member_id: int
    new_leader_timeout_ns: int


class AsyncConnect(Connecting["AeronCluster"]):
    """A connection under way: `poll()` it until it returns true, then take its `result()`. From `AeronCluster.async_connect`.

    `state` is what it waits for, and `problem` the last error that it has got over. After `message_timeout_ns` it fails with a
    ClusterTimeoutError that says both. Given up or failed, it leaves nothing open.
    """

    __slots__ = ("_context", "_make", "_opened", "_others", "_others_ns", "state")

    def __init__(self, context: ConcludedClusterContext, make: Callable[[Connected], AeronCluster]) -> None:
        """`make` makes the result."""
        super().__init__("connect to the cluster", self._open, context, default_name=DEFAULT_CLIENT_NAME, timed_out=self._timed_out)
        self.state = ConnectState.AWAIT_CLIENT
        self._context = context
        self._make = make
        self._opened = ""  # the channel of the member that was asked last
        self._others: dict[int, str] = {}  # members to try from `_others_ns` on
        self._others_ns = 0

    def fail(self, error: BaseException) -> None:
        """End without a connection."""
        self.state = ConnectState.FAILED
        super().fail(error)

    # ---- the steps

    def _open(self, aeron: Aeron, opened: ExitStack) -> Generator[Pending[Any] | None, Any, AeronCluster]:
        context = self._context
        self.state = ConnectState.CREATE_EGRESS_SUBSCRIPTION
        channel, stream_id = context.egress_subscription_channel(), context.egress_stream_id
        subscription = yield from add(self, lambda: aeron.async_add_subscription(channel, stream_id))
        opened.callback(subscription.close)
        self.state = ConnectState.CREATE_INGRESS_PUBLICATIONS
        members = IngressMembers(context, aeron, subscription.registration_id)
        opened.callback(members.close)
        if context.ingress_endpoints is None:
            members.replace_by_channel()
        else:
            members.replace(parse_ingress_endpoints(context.ingress_endpoints))
        client = yield from self._open_session(aeron, subscription, members)
        self.state = ConnectState.DONE
        return client

    def _open_session(
        self, aeron: Aeron, subscription: Subscription, members: IngressMembers
    ) -> Generator[Pending[Any] | None, Any, AeronCluster]:
        poller = EgressPoller(subscription)
        requests = 0
        while True:
            self.state = ConnectState.AWAIT_PUBLICATION_CONNECTED
            if requests >= REQUESTS_AT_ONCE:
                yield from self._pause(REQUEST_INTERVAL_NS)
            requests += 1
            response_channel = yield from resolved_channel(subscription)
            member_id, publication = yield from self._await_member(members)
            event = yield from self._ask_for_session(aeron, poller, publication, response_channel)
            if event is None:
                continue
            if event.code == EventCode.REDIRECT:
                self._redirect(members, event)
                continue
            self.state = ConnectState.CONCLUDE_CONNECT
            told_ns = event.leader_heartbeat_timeout_ns
            heartbeat_timeout_ns = told_ns if told_ns is not None and told_ns > 0 else LEADER_HEARTBEAT_TIMEOUT_NS
            assert poller.image is not None  # the event's
            return self._make(
                Connected(
                    context=self._context,
                    aeron=aeron,
                    owns_aeron=self._context.aeron is None,
                    subscription=subscription,
                    egress_image=poller.image,
                    publication=members.take(member_id),
                    cluster_session_id=event.cluster_session_id,
                    leadership_term_id=event.leadership_term_id,
                    leader_member_id=event.leader_member_id,
                    new_leader_timeout_ns=self._context.new_leader_timeout_ns or 2 * heartbeat_timeout_ns,
                )
            )

    def _pause(self, duration_ns: int) -> Generator[Pending[Any] | None, Any, None]:
        end_ns = self.now_ns() + duration_ns
        while self.now_ns() < end_ns:
            yield None

    def _await_member(self, members: IngressMembers) -> Generator[Pending[Any] | None, Any, tuple[int, IngressPublication]]:
        while True:
            found = members.poll()
            if found is not None:
                self._opened, self._others = found[1].channel, {}
                return found
            if self._others and self.now_ns() >= self._others_ns:
                members.replace(self._others)
                self._others = {}
            for error in members.errors:
                self.problem = error
            if members.are_refused:
                raise ClusterError(
                    "the driver has refused every ingress publication",
                    where=self._where(),
                    actual="; ".join(str(error) for error in members.errors),
                )
            yield None

    def _ask_for_session(
        self, aeron: Aeron, poller: EgressPoller, publication: IngressPublication, response_channel: str
    ) -> Generator[Pending[Any] | None, Any, SessionEvent | None]:
        """Ask a member for a session. Return its answer, an OK or a redirect; None if it has gone without an answer."""
        context, supplier = self._context, self._context.credentials_supplier
        correlation_id = aeron.next_correlation_id()
        message = SessionConnectRequest(
            correlation_id=correlation_id,
            response_stream_id=context.egress_stream_id,
            version=PROTOCOL_VERSION,
            response_channel=response_channel,
            encoded_credentials=supplier.encoded_credentials(),
            client_info=f"name={context.client_name} version={VERSION} commit=aerowire",
        ).encode()
        while True:
            event = yield from self._exchange(poller, publication, message, correlation_id)
            if isinstance(event, Challenge):
                correlation_id = aeron.next_correlation_id()
                message = ChallengeResponse(
                    correlation_id=correlation_id,
                    cluster_session_id=event.cluster_session_id,
                    encoded_credentials=supplier.on_challenge(event.encoded_challenge),
                ).encode()
            else:
                return event

    def _exchange(
        self, poller: EgressPoller, publication: IngressPublication, message: bytes, correlation_id: int
    ) -> Generator[Pending[Any] | None, Any, SessionEvent | Challenge | None]:
        self.state = ConnectState.SEND_MESSAGE
        while (result := publication.offer(message)) < 0:
            if result in (NOT_CONNECTED, CLOSED, MAX_POSITION_EXCEEDED):
                self.problem = ClusterError("the member has gone before the request was sent", where=publication.channel)
                return None
            yield None
        self.state = ConnectState.POLL_RESPONSE
        while True:
            event = poller.poll(correlation_id)
            if isinstance(event, SessionEvent):
                self._check(event)
            if event is not None:
                return event
            if not publication.is_connected:
                self.problem = ClusterError("the member has gone before it answered", where=publication.channel)
                return None
            yield None

    def _redirect(self, members: IngressMembers, event: SessionEvent) -> None:
        """Try the leader that a redirect names, and later the others of its list if the leader does not listen."""
        try:
            endpoints = parse_ingress_endpoints(event.detail)
            leader = endpoints[event.leader_member_id]
        except (ConfigurationError, KeyError):
            self.problem = ClusterError(
                "a redirect names no leader",
                where=self._opened,
                expected=f"the endpoint of member {event.leader_member_id}",
                actual=repr(event.detail),
            )
            return
        if self._context.ingress_endpoints is not None:  # otherwise the channel itself leads to the leader
            members.replace({event.leader_member_id: leader})
            self._others = endpoints
            self._others_ns = self.now_ns() + self._context.message_timeout_ns // LEADER_SHARE

    # ---- below: helpers

    def _check(self, event: SessionEvent) -> None:
        """Raise the error of a session event that refuses the connection."""
        where = f"{self._where()}, correlation id {event.correlation_id}"
        if event.code == EventCode.AUTHENTICATION_REJECTED:
            raise ClusterAuthenticationError(f"the cluster rejected the credentials: {event.detail}", where=where)
        if event.code == EventCode.ERROR:
            raise ClusterError(f"the cluster refused to open a session: {event.detail}", where=where)

    def _where(self) -> str:
        context = self._context
        endpoints = "" if context.ingress_endpoints is None else f" endpoints {context.ingress_endpoints}"
        return (
            f"ingress {context.ingress_channel} stream {context.ingress_stream_id}{endpoints}, "
            f"egress {context.egress_channel} stream {context.egress_stream_id}"
        )

    def _timed_out(self) -> ClusterTimeoutError:
        asked = f" of {self._opened}" if self.state is ConnectState.POLL_RESPONSE else ""
        return ClusterTimeoutError(
            "connecting to the cluster took too long",
            where=self._where(),
            expected=f"a session within {self._context.message_timeout_ns / 1e9:g} s",
            actual=f"still waiting for {self.state.value}{asked}" + (f"; the last error was: {self.problem}" if self.problem else ""),
            hint=_HINTS.get(self.state),
        )
