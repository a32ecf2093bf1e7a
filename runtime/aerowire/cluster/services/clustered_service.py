"""The interface of services, with callbacks that do nothing. Aeron: ClusteredService."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.cluster.enums import CloseReason, ClusterTimeUnit
from aerowire.codecs.flyweights.cnc import ClusterRole

if TYPE_CHECKING:
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.services.client_session import ClientSession
    from aerowire.cluster.services.cluster import Cluster

# What a callback returns that goes on later: it yields where it would have to wait.
Steps = Generator[None, None, None]


@dataclass(frozen=True, slots=True)
class LeadershipTerm:
    """A term of the cluster, as its log announces it. `app_version` is that of the leader's application, `timestamp` the cluster's time."""

    leadership_term_id: int
    log_position: int
    timestamp: int
    term_base_log_position: int
    leader_member_id: int
    log_session_id: int
    time_unit: ClusterTimeUnit
    app_version: int


class ClusteredService:
    """A service that all members of a cluster run on the same log. Override what is needed; a class with the same methods will do, too.

    State must follow from the log alone: from messages, timers, sessions and the time that comes with them, not from clocks, random
    numbers, the role, or the order of sets. Callbacks run on the container's thread, one at a time. What one raises is put into the error
    log and counted, and the container goes on with the next event; raised by `on_start`, it ends the container.

    `on_start` and `on_take_snapshot` may be generator functions: each `yield` lets the container do its other work, so they wait for room
    in the publication, or for what is to be read, without blocking. Others call `cluster.idle_strategy.idle()` for that.
    """

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> Steps | None:
        """Begin, with the state in the image of the last snapshot, if there is one."""

    def on_session_open(self, session: ClientSession, at: int) -> None:
        """Take note of a client's session that opens at a time of the cluster."""

    def on_session_close(self, session: ClientSession, at: int, reason: CloseReason) -> None:
        """Take note of a client's session that has ended."""

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        """Handle a message; one without a session was sent by a service of the cluster."""

    def on_timer_event(self, correlation_id: int, at: int) -> None:
        """Handle a timer that was scheduled with this id."""

    def on_take_snapshot(self, publication: ExclusivePublication) -> Steps | None:
        """Write the state to the publication, in messages of any form."""

    def on_role_change(self, role: ClusterRole) -> None:
        """Take note of the member's new role, which no state may depend on."""

    def on_terminate(self, cluster: Cluster) -> None:
        """Clean up: the container ends."""

    def on_new_leadership_term_event(self, term: LeadershipTerm) -> None:
        """Take note of a term that begins."""

    def do_background_work(self, now_ns: int) -> int:  # noqa: ARG002 for those that override it
        """Do what has nothing to do with the state, and return how much that was. `now_ns` is the container's clock, not the cluster's."""
        return 0
