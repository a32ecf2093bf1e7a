"""The client of a cluster. Aeron: AeronCluster.

with AeronCluster.connect(
    ingress_channel="aeron:udp",
    ingress_endpoints="0=localhost:9002",
    egress_channel="aeron:udp?endpoint=localhost:0",
    egress_listener=print,
) as cluster:
    cluster.offer(b"an order")
    cluster.poll_egress()
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from aerowire.archive.client.steps import Steps
from aerowire.archive.client.waiting import invokers, wait_for_result
from aerowire.base.errors import ClusterConnectionError, ClusterError, ClusterTimeoutError, ConfigurationError, PublicationClosedError
from aerowire.base.units import INT64_MAX
from aerowire.client.publications.publication import ADMIN_ACTION, CLOSED, NOT_CONNECTED
from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.client.subscriptions.controlled_assembler import ControlledFragmentAssembler
from aerowire.cluster.client.async_connect import AsyncConnect, Connected
from aerowire.cluster.client.client_state import ClientStateMachine, ClusterState
from aerowire.cluster.client.context import ClusterClientContext
from aerowire.cluster.client.egress_adapter import EgressAdapter
from aerowire.cluster.client.ingress_endpoints import parse_ingress_endpoints
from aerowire.cluster.client.ingress_members import IngressMembers
from aerowire.cluster.client.listeners import extension_handler
from aerowire.cluster.client.session_ingress import SessionIngress
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, EventCode
from aerowire.codecs.flyweights.cluster.messages.admin_request import AdminRequest
from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
from aerowire.codecs.flyweights.cluster.messages.session_close_request import SessionCloseRequest
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.codecs.flyweights.cluster.messages.session_keep_alive import SessionKeepAlive

if TYPE_CHECKING:
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.client.context import ConcludedClusterContext
    from aerowire.cluster.client.egress_events import EgressEvent
    from aerowire.cluster.client.listeners import ControlledEgressListener, EgressListener

# As many as the official client reads and tries.
FRAGMENT_LIMIT: Final = 10
SEND_ATTEMPTS: Final = 3


class AeronCluster(SessionIngress):
    """A session with a cluster. From `AeronCluster.connect` or `AeronCluster.async_connect`; a context manager; one thread at a time.

    `offer` sends, `poll_egress` receives. The cluster closes a session without messages and keep-alives (`send_keep_alive`) after its
    session timeout. When the leader is lost, the client waits for the cluster to announce the new one, and connects to it. It closes itself
    when that takes too long, and when the cluster closes the session: then `is_closed` is true, and `close_reason` is the error. A message
    that was offered and not answered when the leader is lost may have been processed or not.
    """

    def __init__(self, connected: Connected) -> None:
        super().__init__(connected.cluster_session_id)
        context = connected.context
        self._context = context
        self._aeron = connected.aeron
        self._owns_aeron = connected.owns_aeron
        self._invokers = invokers(context, connected.aeron)
        self._clock = connected.aeron.context.clock
        self._subscription = connected.subscription
        self._egress_image = connected.egress_image
        self._leader_member_id = connected.leader_member_id
        self._machine = ClientStateMachine(
            message_timeout_ns=context.message_timeout_ns, new_leader_timeout_ns=connected.new_leader_timeout_ns
        )
        self._members = IngressMembers(context, connected.aeron, connected.subscription.registration_id)
        listener, controlled_listener = context.egress_listener, context.controlled_egress_listener
        extension = None if context.extension_listener is None else extension_handler(context.extension_listener)
        plain = EgressAdapter(connected.cluster_session_id, listener.on_message, partial(self._on_event, listener), extension)
        controlled = EgressAdapter(
            connected.cluster_session_id, controlled_listener.on_message, partial(self._on_event, controlled_listener), extension
        )
        self._adapters = (plain, controlled)
        self._assembler = FragmentAssembler(plain.on_fragment)
        self._controlled_assembler = ControlledFragmentAssembler(controlled.on_controlled_fragment)
        self._close_reason: ClusterError | None = None
        self._closing: Pending[None] | None = None
        self.set_leader(connected.publication, connected.leadership_term_id)

    @classmethod
    def connect(cls, context: ClusterClientContext | None = None, **options: object) -> AeronCluster:
        """Connect to a cluster. `options` are the fields of ClusterClientContext, or pass a `context`.

        Waits up to `message_timeout_ns` (5 s). Raises ClusterTimeoutError, ClusterAuthenticationError, ClusterError (too many sessions, or
        another major version of the protocol), ConfigurationError, ChannelError, RegistrationError, what keeps the client from its driver,
        and BlockingCallError in a simulated world.
        """
        concluded = ClusterClientContext.chosen(context, options).conclude()
        concluded.ports.waiting.require("AeronCluster.connect", "AeronCluster.async_connect")
        return wait_for_result(AsyncConnect(concluded, cls), concluded)

    @classmethod
    def async_connect(cls, context: ClusterClientContext | None = None, **options: object) -> AsyncConnect:
        """Start to connect, as `connect`: `poll()` the result until it returns true, then take its `result()`, the client."""
        return AsyncConnect(ClusterClientContext.chosen(context, options).conclude(), cls)

    # ---- the session

    @property
    def context(self) -> ConcludedClusterContext:
        """The options that the client runs with."""
        return self._context

    @property
    def aeron(self) -> Aeron:
        """The client of the media driver that it uses."""
        return self._aeron

    @property
    def egress_subscription(self) -> Subscription:
        """The subscription to the messages of the cluster, for waiting by other means. Only this client may poll it."""
        return self._subscription

    @property
    def leader_member_id(self) -> int:
        """Id of the member that leads, as the client knows it."""
        return self._leader_member_id

    @property
    def state(self) -> ClusterState:
        """State of the client."""
        return self._machine.state

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed, or has closed itself: see `close_reason`."""
        return self._machine.state is ClusterState.CLOSED

    @property
    def close_reason(self) -> ClusterError | None:
        """Error by which the client has closed itself, or is about to; None after `close`."""
        return self._close_reason

    @property
    def dropped_messages(self) -> int:
        """How many messages of the egress were damaged or of an unknown kind."""
        return sum(adapter.dropped for adapter in self._adapters)

    def next_deadline_ns(self) -> int:
        """Return when (ns of the client's clock) a state that waits for a leader is over; INT64_MAX without one."""
        deadline_ns = self._machine.deadline_ns
        return INT64_MAX if deadline_ns is None else deadline_ns

    # ---- sending

    def send_keep_alive(self) -> bool:
        """Send a keep-alive; return whether there was room for it. Does not wait."""
        return self._send(SessionKeepAlive(leadership_term_id=self.leadership_term_id, cluster_session_id=self.cluster_session_id).encode())

    def send_admin_request_to_take_a_snapshot(self, correlation_id: int) -> bool:
        """Send a request for a snapshot; return whether there was room for it. Does not wait.

        `on_admin_response` of the listener gets the answer. The official cluster permits it to no client unless it is configured to.
        """
        return self._send(
            AdminRequest(
                leadership_term_id=self.leadership_term_id,
                cluster_session_id=self.cluster_session_id,
                correlation_id=correlation_id,
                request_type=AdminRequestType.SNAPSHOT,
            ).encode()
        )

    def track_ingress_publication_result(self, result: int) -> None:
        """Note the result of an offer that was made to `ingress_publication` directly; the client's own calls do so themselves."""
        if self._machine.on_ingress_result(result, self._clock.now_ns()):
            if self.state is ClusterState.PENDING_CLOSE:
                self._close_reason = ClusterConnectionError(
                    "the ingress stream has reached its last position", where=self._where(), hint="connect a new AeronCluster"
                )
            self._release_leader()

    def result_without_leader(self) -> int:
        """Return NOT_CONNECTED; raises ClosedError when closed."""
        if self.is_closed:
            raise PublicationClosedError(
                "the client of the cluster is closed",
                where=f"cluster session {self.cluster_session_id}",
                expected="an open client",
                actual=None if self._close_reason is None else str(self._close_reason),
            )
        return NOT_CONNECTED

    # ---- receiving

    def poll_egress(self) -> int:
        """Pass up to ten fragments to the listener, and follow the leader; return how much was done. Does not wait.

        Raises what the listener raises, and what has ended the client of the driver.
        """
        if self.is_closed:
            return 0
        for invoker in self._invokers:
            invoker.invoke()
        return self._subscription.poll(self._assembler, FRAGMENT_LIMIT) + self.poll_state_changes()

    def controlled_poll_egress(self) -> int:
        """Poll as `poll_egress`, with the controlled listener, whose actions say how the poll goes on."""
        if self.is_closed:
            return 0
        for invoker in self._invokers:
            invoker.invoke()
        return self._subscription.controlled_poll(self._controlled_assembler, FRAGMENT_LIMIT) + self.poll_state_changes()

    def poll_state_changes(self) -> int:
        """Look at the connection and the time without reading the egress; return how much was done. Closes the client when it is over.

        Each poll of the egress does it too.
        """
        machine = self._machine
        if machine.state is ClusterState.CONNECTED and not self._is_egress_over():
            return 0
        if machine.state is ClusterState.CLOSED:
            return 0
        now_ns = self._clock.now_ns()
        work = 0
        if self._is_egress_over() and machine.on_egress_lost(now_ns):
            self._release_leader()
            work += 1
        if machine.state is ClusterState.AWAIT_NEW_LEADER_CONNECTION:
            work += self._follow_leader()
        if machine.is_over(now_ns):
            self._close_reason = self._close_reason or self._timed_out()
            self.close()
            work += 1
        return work

    # ---- the end

    def close(self) -> None:
        """Close the session at the cluster, and the client of the driver if it was made for this. A second call does nothing."""
        if self.is_closed:
            return
        try:
            publication = self.ingress_publication
            if self.state is ClusterState.CONNECTED and publication is not None and publication.is_connected:
                self._send(
                    SessionCloseRequest(leadership_term_id=self.leadership_term_id, cluster_session_id=self.cluster_session_id).encode()
                )
        finally:
            self._machine.on_close(self._clock.now_ns())
            self._release_leader()
            self._members.close()
            self._subscription.close()
            if self._owns_aeron:
                self._aeron.close()

    def async_close(self) -> Pending[None]:
        """Start to close, as `close`: `poll()` the result until it returns true. The session ends at once."""
        owns_aeron, self._owns_aeron = self._owns_aeron, False
        self.close()
        if self._closing is None:
            self._closing = Steps("close the client of the cluster", self._close_aeron(owns_aeron))
        return self._closing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"AeronCluster(cluster_session_id={self.cluster_session_id}, leadership_term_id={self.leadership_term_id}, "
            f"leader_member_id={self._leader_member_id}, state={self.state.name})"
        )

    def _close_aeron(self, owns_aeron: bool) -> Generator[Pending[Any] | None, Any, None]:
        if owns_aeron:
            yield self._aeron.async_close()

    # ---- below: helpers

    def _send(self, message: bytes) -> bool:
        """Offer a message that has its own header; a rotation of the term is followed by another attempt."""
        for _ in range(SEND_ATTEMPTS):
            publication = self.ingress_publication
            if publication is None:
                self.result_without_leader()
                return False
            result = CLOSED if publication.is_closed else publication.offer(message)
            self.track_ingress_publication_result(result)
            if result > 0:
                return True
            if result != ADMIN_ACTION:
                return False
        return False

    def _on_event(self, listener: EgressListener | ControlledEgressListener, event: EgressEvent, header: Header) -> None:
        """Handle a message of the cluster itself, and pass it to the listener of the poll."""
        if isinstance(event, SessionEvent):
            if event.code == EventCode.CLOSED:
                self._on_session_closed(event)
            listener.on_session_event(event)
        elif isinstance(event, NewLeaderEvent):
            self._on_new_leader(event, header)
            listener.on_new_leader(event)
        elif isinstance(event, AdminResponse):
            listener.on_admin_response(event)

    def _on_session_closed(self, event: SessionEvent) -> None:
        self._close_reason = ClusterConnectionError(
            f"the cluster has closed the session: {event.detail}", where=self._where(), hint="connect a new AeronCluster"
        )
        self._machine.on_session_closed(self._clock.now_ns())

    def _on_new_leader(self, event: NewLeaderEvent, header: Header) -> None:
        if not self._machine.on_new_leader(self._clock.now_ns()):
            return
        self._egress_image = header.context
        self._leader_member_id = event.leader_member_id
        self._release_leader(event.leadership_term_id)
        self._assembler.clear()
        self._controlled_assembler.clear()
        self._follow(event)

    def _follow(self, event: NewLeaderEvent) -> None:
        """Start to open a publication to the new leader."""
        if self._context.ingress_endpoints is None:
            self._members.replace_by_channel()
            return
        try:
            endpoint = parse_ingress_endpoints(event.ingress_endpoints)[event.leader_member_id]
        except (ConfigurationError, KeyError):
            # The list of the cluster is unusable: the endpoints of the options may be right.
            self._members.replace(parse_ingress_endpoints(self._context.ingress_endpoints))
        else:
            self._members.replace({event.leader_member_id: endpoint})

    def _follow_leader(self) -> int:
        """Go on opening the publication to the new leader; return whether it listens now."""
        if self.ingress_publication is not None:
            return 0
        found = self._members.poll()
        if found is None:
            return 0
        self.set_leader(self._members.take(found[0]), self.leadership_term_id)
        self._machine.on_leader_connected(self._clock.now_ns())
        return 1

    def _is_egress_over(self) -> bool:
        """Return whether the leader has closed the egress, which shows before its image ends, or is gone."""
        return self._egress_image.is_closed or self._egress_image.is_end_of_stream

    def _release_leader(self, leadership_term_id: int | None = None) -> None:
        publication = self.ingress_publication
        if publication is not None:
            publication.close()
        self.set_leader(None, self.leadership_term_id if leadership_term_id is None else leadership_term_id)

    def _where(self) -> str:
        return (
            f"cluster session {self.cluster_session_id}, leader {self._leader_member_id} of term {self.leadership_term_id}, "
            f"ingress {self._context.ingress_channel} stream {self._context.ingress_stream_id}, "
            f"egress {self._subscription.channel} stream {self._subscription.stream_id}"
        )

    def _timed_out(self) -> ClusterTimeoutError:
        timeout_ns = self._machine.timeout_ns or 0
        errors = "; ".join(str(error) for error in self._members.errors)
        return ClusterTimeoutError(
            "the cluster was without a leader for too long",
            where=self._where(),
            expected=f"a leader within {timeout_ns / 1e9:g} s",
            actual=f"still {self.state.value}" + (f"; the last error was: {errors}" if errors else ""),
            hint="connect a new AeronCluster",
        )
