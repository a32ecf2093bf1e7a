"""A client of a cluster that opens another session when one has ended, and reports which requests are in doubt."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from aerowire.archive.client.waiting import run_invokers
from aerowire.base import arguments
from aerowire.base.errors import AerowireError, ClosedError, ClusterAuthenticationError
from aerowire.base.units import INT64_MAX
from aerowire.client.handles.waiting import wait_for
from aerowire.client.publications.publication import BACK_PRESSURED, NOT_CONNECTED
from aerowire.cluster.client.aeron_cluster import AeronCluster
from aerowire.cluster.client.client_state import ClusterState
from aerowire.cluster.client.requests_in_flight import RequestsInFlight

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.cluster.client.async_connect import AsyncConnect
    from aerowire.cluster.client.context import ClusterClientContext
    from aerowire.cluster.client.requests_in_flight import InDoubt

    InDoubtHandler = Callable[[tuple[InDoubt, ...]], object]
    ConnectedHandler = Callable[[AeronCluster], object]

# A second's worth at 65,536 a second; some megabytes.
REQUESTS_MAX: Final = 65_536
RECONNECT_DELAY: Final = "200ms"
# Well below a cluster's session timeout, which is 10 s unless it is configured otherwise.
KEEP_ALIVE_INTERVAL: Final = "1s"


class ReconnectState(Enum):
    """State of a reconnecting client. The value describes it in words."""

    CONNECTING = "opening a session"
    CONNECTED = "in a session"
    WAITING = "waiting before the next attempt to open a session"
    CLOSED = "closed"


class ReconnectingCluster:
    """Sessions with a cluster, one after another. A context manager; one thread at a time. Making it does not wait.

    `poll` does all that has to be done: it reads the egress, keeps the session alive, follows leaders, and opens another session when one
    has ended, however long that takes; a cluster that was stopped whole is found again once it runs. `problem` is the error by which the
    last session or attempt has ended. When the cluster rejects the credentials, or the given client of the driver has ended, this client
    ends for good, and `poll` raises the error.

    `request` sends a message under a key of the application's own, and the application calls `answered` when it has the answer. Requests
    that are not answered when the next leader is connected, or when the session ends, are in doubt: the cluster may have processed each of
    them or not. `on_in_doubt` is called with each of them once. The answer may still come; or the application sends the request again under
    its key, if the service recognises repetitions. `on_connected` is called with each new session.
    """

    def __init__(
        self,
        context: ClusterClientContext,
        *,
        reconnect_delay_ns: int | str = RECONNECT_DELAY,
        keep_alive_interval_ns: int | str = KEEP_ALIVE_INTERVAL,
        requests_max: int = REQUESTS_MAX,
        on_in_doubt: InDoubtHandler | None = None,
        on_connected: ConnectedHandler | None = None,
    ) -> None:
        """Begin to open a session. Raises ConfigurationError and ChannelError.

        `reconnect_delay_ns` is the time between two attempts, a number or a text such as "1s"; `requests_max` how many requests may be in
        flight or in doubt. Messages go to the egress listener of the context, or to the controlled one where it has that alone.
        """
        arguments.function("on_in_doubt", on_in_doubt)
        arguments.function("on_connected", on_connected)
        self.state = ReconnectState.CONNECTING
        self.problem: BaseException | None = None
        self.sessions_opened = 0
        self._context = context
        self._options = context.conclude()
        self._clock = context.aeron.context.clock if context.aeron is not None else self._options.ports.clock
        self._delay_ns = arguments.duration_ns("reconnect_delay_ns", reconnect_delay_ns)
        self._keep_alive_interval_ns = arguments.duration_ns("keep_alive_interval_ns", keep_alive_interval_ns)
        self._requests = RequestsInFlight(arguments.whole_number("requests_max", requests_max, 1, INT64_MAX))
        is_controlled = context.egress_listener is None and context.controlled_egress_listener is not None
        self._poll_egress = AeronCluster.controlled_poll_egress if is_controlled else AeronCluster.poll_egress
        self._on_in_doubt = on_in_doubt
        self._on_connected = on_connected
        self._cluster: AeronCluster | None = None
        self._connecting: AsyncConnect | None = None
        self._leadership_term_id = -1  # of the leader that the requests in flight were sent to
        self._next_attempt_ns = self._next_keep_alive_ns = 0

    @property
    def cluster(self) -> AeronCluster | None:
        """The session that is open; None between two of them."""
        return self._cluster

    @property
    def is_connected(self) -> bool:
        """Whether a request can be sent: a session is open, and its leader is known."""
        return self._cluster is not None and self._cluster.state is ClusterState.CONNECTED

    @property
    def is_closed(self) -> bool:
        """Whether it has ended for good."""
        return self.state is ReconnectState.CLOSED

    @property
    def in_flight(self) -> tuple[Hashable, ...]:
        """Keys of the requests that are not answered and not in doubt, in the order in which they were sent."""
        return self._requests.in_flight

    @property
    def in_doubt(self) -> tuple[InDoubt, ...]:
        """Requests in doubt that were neither answered nor sent again, in the order in which they were sent."""
        return self._requests.in_doubt

    def request(self, key: Hashable, buffer: Buffer) -> int:
        """Offer a message to the cluster under a key; results and errors as `AeronCluster.offer`.

        NOT_CONNECTED where there is no session or no leader, BACK_PRESSURED also where `requests_max` requests wait for their answers.
        """
        cluster = self._cluster
        if self.is_closed:
            raise ClosedError("the client of the cluster is closed", expected="an open client", actual=self._ended_by())
        if cluster is None or cluster.state is not ClusterState.CONNECTED:
            return NOT_CONNECTED
        if self._requests.is_full and key not in self._requests:
            return BACK_PRESSURED
        result = cluster.offer(buffer)
        if result > 0:
            self._requests.sent(key, cluster.cluster_session_id, cluster.leadership_term_id)
        return result

    def answered(self, key: Hashable) -> bool:
        """Forget a request that was answered, or will not be; return whether it was in flight or in doubt."""
        return self._requests.answered(key)

    def poll(self) -> int:
        """Do all work that is due; return how much that was. Does not wait.

        Raises what a listener raises, and what has ended it for good.
        """
        if self.is_closed:
            return 0
        return self._open_session() if self._cluster is None else self._poll_session(self._cluster)

    def await_session(self, timeout_ns: int | str | None = None) -> AeronCluster | None:
        """Poll until a session is open, and return it; None when `timeout_ns` (None: for ever) is over before."""
        self._options.ports.waiting.require("ReconnectingCluster.await_session", "ReconnectingCluster.poll")
        limit = None if timeout_ns is None else arguments.duration_ns("timeout_ns", timeout_ns)
        strategy = self._options.idle_strategy

        def poll() -> bool:
            self.poll()
            return self.is_connected or self.is_closed

        wait_for(poll, limit, idle=strategy, waiting=self._options.ports.waiting)
        return self._cluster

    def next_deadline_ns(self) -> int:
        """Return when (ns of the client's clock) something is due if nothing comes; INT64_MAX when closed."""
        if self.is_closed:
            return INT64_MAX
        if self._cluster is not None:
            return min(self._cluster.next_deadline_ns(), self._next_keep_alive_ns)
        return self._next_attempt_ns if self._connecting is None else self._connecting.deadline_ns

    def close(self) -> None:
        """Close the session, and end for good. Requests in flight are in doubt. A second call does nothing."""
        if self.is_closed:
            return
        self.state = ReconnectState.CLOSED
        connecting, self._connecting = self._connecting, None
        if connecting is not None:
            connecting.abandon()
        if self._cluster is not None:
            self._cluster.close()
        self._lose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReconnectingCluster(state={self.state.name}, cluster={self._cluster!r})"

    # ---- below: helpers

    def _open_session(self) -> int:
        aeron = self._context.aeron
        if aeron is not None:
            self._end_with(aeron.ensure_open)
        if self._connecting is None:
            if aeron is not None:
                run_invokers(self._options, aeron)
            if self._clock.now_ns() < self._next_attempt_ns:
                return 0
            self.state = ReconnectState.CONNECTING
            self._connecting = AeronCluster.async_connect(self._context)
        if not self._connecting.poll():
            return 0
        connecting, self._connecting = self._connecting, None
        try:
            cluster = connecting.result()
        except ClusterAuthenticationError as error:
            self.problem = error
            self.close()
            raise
        except AerowireError as error:
            self.problem = error
            self.state = ReconnectState.WAITING
            self._next_attempt_ns = self._clock.now_ns() + self._delay_ns
            return 1
        self._cluster = cluster
        self._leadership_term_id = cluster.leadership_term_id
        self._next_keep_alive_ns = self._clock.now_ns() + self._keep_alive_interval_ns
        self.sessions_opened += 1
        self.state = ReconnectState.CONNECTED
        if self._on_connected is not None:
            self._on_connected(cluster)
        return 1

    def _poll_session(self, cluster: AeronCluster) -> int:
        try:
            work = self._poll_egress(cluster)
        except AerowireError as error:
            if not cluster.aeron.is_closed:
                raise
            self.problem = error
            cluster.close()
            work = 1
        if cluster.is_closed:
            self._end_session(cluster)
        elif cluster.state is ClusterState.CONNECTED:
            if cluster.leadership_term_id != self._leadership_term_id:
                self._leadership_term_id = cluster.leadership_term_id
                self._lose()
            self._keep_alive(cluster)
        return work

    def _keep_alive(self, cluster: AeronCluster) -> None:
        now_ns = self._clock.now_ns()
        if now_ns >= self._next_keep_alive_ns and cluster.send_keep_alive():
            self._next_keep_alive_ns = now_ns + self._keep_alive_interval_ns

    def _end_session(self, cluster: AeronCluster) -> None:
        self.problem = cluster.close_reason or self.problem
        self._cluster = None
        self.state = ReconnectState.CONNECTING
        self._next_attempt_ns = self._clock.now_ns()
        self._lose()

    def _lose(self) -> None:
        lost = self._requests.lose()
        if lost and self._on_in_doubt is not None:
            self._on_in_doubt(lost)

    def _end_with(self, check: Callable[[], object]) -> None:
        """Call a check; end for good when it raises."""
        try:
            check()
        except AerowireError as error:
            self.problem = error
            self.close()
            raise

    def _ended_by(self) -> str | None:
        return None if self.problem is None else str(self.problem)
