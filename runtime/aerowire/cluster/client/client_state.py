"""The states of a client from its connection to its end, with their transitions and deadlines. Sans I/O. Aeron: AeronCluster.State."""

from __future__ import annotations

from enum import Enum

from aerowire.base.units import INT64_MAX
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED


class ClusterState(Enum):
    """State of a client. The value describes it in words."""

    CONNECTED = "connected to the leader"
    AWAIT_NEW_LEADER = "waiting for the cluster to tell its new leader"
    AWAIT_NEW_LEADER_CONNECTION = "waiting for a connection to the new leader"
    PENDING_CLOSE = "about to close"
    CLOSED = "closed"


class ClientStateMachine:
    """Times in nanoseconds are arguments. Changed by the events of the session and by the results of offers.

    Each event returns whether it has changed the state. `deadline_ns` is when `is_over` becomes true, None where nothing is waited for.
    Invariant: there is a deadline in the two states that await something, and in no other.
    """

    def __init__(self, *, message_timeout_ns: int, new_leader_timeout_ns: int) -> None:
        self.state = ClusterState.CONNECTED
        self.deadline_ns: int | None = None
        self._timeouts = {
            ClusterState.AWAIT_NEW_LEADER: new_leader_timeout_ns,
            ClusterState.AWAIT_NEW_LEADER_CONNECTION: message_timeout_ns,
        }

    @property
    def timeout_ns(self) -> int | None:
        """How long the state may last."""
        return self._timeouts.get(self.state)

    def on_ingress_result(self, result: int, now_ns: int) -> bool:
        """Change the state by the result of an offer."""
        if self.state is ClusterState.CONNECTED:
            if result in (NOT_CONNECTED, CLOSED):
                return self._enter(ClusterState.AWAIT_NEW_LEADER, now_ns)
            if result == MAX_POSITION_EXCEEDED:
                return self._enter(ClusterState.PENDING_CLOSE, now_ns)
        elif self.state is ClusterState.AWAIT_NEW_LEADER_CONNECTION and result > 0:
            return self._enter(ClusterState.CONNECTED, now_ns)
        return False

    def on_egress_lost(self, now_ns: int) -> bool:
        """Begin to wait for a new leader: the image with the messages of the present one has ended."""
        if self.state in (ClusterState.CONNECTED, ClusterState.AWAIT_NEW_LEADER_CONNECTION):
            return self._enter(ClusterState.AWAIT_NEW_LEADER, now_ns)
        return False

    def on_new_leader(self, now_ns: int) -> bool:
        """Begin to wait for a connection to the new leader, which the cluster has announced."""
        if self.state in (ClusterState.PENDING_CLOSE, ClusterState.CLOSED):
            return False
        return self._enter(ClusterState.AWAIT_NEW_LEADER_CONNECTION, now_ns)

    def on_leader_connected(self, now_ns: int) -> bool:
        """Note that the new leader is connected."""
        return self.state is ClusterState.AWAIT_NEW_LEADER_CONNECTION and self._enter(ClusterState.CONNECTED, now_ns)

    def on_session_closed(self, now_ns: int) -> bool:
        """Begin to close: the cluster has closed the session."""
        return self.state is not ClusterState.CLOSED and self._enter(ClusterState.PENDING_CLOSE, now_ns)

    def on_close(self, now_ns: int) -> bool:
        """End for good: the client is closed."""
        return self._enter(ClusterState.CLOSED, now_ns)

    def is_over(self, now_ns: int) -> bool:
        """Return whether the client has to close: it is about to, or has waited for too long."""
        return self.state is ClusterState.PENDING_CLOSE or (self.deadline_ns is not None and now_ns >= self.deadline_ns)

    def _enter(self, state: ClusterState, now_ns: int) -> bool:
        self.state = state
        timeout_ns = self._timeouts.get(state)
        # A cluster may tell a timeout of any length.
        self.deadline_ns = None if timeout_ns is None else min(now_ns + timeout_ns, INT64_MAX)
        return True
