"""A service that notes its callbacks."""

from __future__ import annotations

from typing import Any

from aerowire.client import Image
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService, LeadershipTerm
from aerowire.codecs.flyweights.cluster.enums import CloseReason
from aerowire.codecs.flyweights.cnc import ClusterRole


class NotingService(ClusteredService):
    """Notes each callback with what it was called with, and the position of the log and the time at that point."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.places: list[tuple[int, int]] = []
        self.sessions: dict[int, ClientSession] = {}

    def note(self, *event: Any) -> None:
        self.events.append(event)
        self.places.append((self.cluster.log_position, self.cluster.time))

    def take(self) -> list[tuple[Any, ...]]:
        taken, self.events = self.events, []
        return taken

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        self.cluster = cluster
        self.note("start", snapshot_image is not None)

    def on_session_open(self, session: ClientSession, at: int) -> None:
        self.sessions[session.id] = session
        self.note("open", session.id, at)

    def on_session_close(self, session: ClientSession, at: int, reason: CloseReason) -> None:
        self.note("close", session.id, at, reason.name)

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        self.note("message", None if session is None else session.id, message, at)

    def on_timer_event(self, correlation_id: int, at: int) -> None:
        self.note("timer", correlation_id, at)

    def on_role_change(self, role: ClusterRole) -> None:
        self.note("role", role.name)

    def on_terminate(self, _cluster: Cluster) -> None:
        self.note("terminate")

    def on_new_leadership_term_event(self, term: LeadershipTerm) -> None:
        self.note("term", term.leadership_term_id, term.log_position, term.leader_member_id, term.app_version)
