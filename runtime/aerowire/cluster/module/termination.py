"""The end of a whole cluster, as its leader sees it: services and followers have come to the end, or took too long. Sans I/O.

Aeron: ClusterTermination.
"""

from __future__ import annotations

from collections.abc import Collection


class ClusterTermination:
    """Members and services that have not ended yet. Changed by `on_services_terminated`, `on_member_terminated` and `extend`."""

    def __init__(self, followers: Collection[int], deadline_ns: int) -> None:
        """`followers` are the other members; after the deadline they are not waited for."""
        self._awaited = set(followers)
        self._deadline_ns = deadline_ns
        self._is_awaiting_services = True

    def on_services_terminated(self) -> None:
        """The node's own services have come to the end."""
        self._is_awaiting_services = False

    def on_member_terminated(self, member_id: int) -> None:
        """A follower has ended."""
        self._awaited.discard(member_id)

    def extend(self, deadline_ns: int) -> None:
        """Begin the time anew: a snapshot was taken meanwhile."""
        self._deadline_ns = deadline_ns

    def can_terminate(self, now_ns: int) -> bool:
        """Whether the leader may end. Its own services it waits for in any case."""
        return not self._is_awaiting_services and (not self._awaited or now_ns >= self._deadline_ns)
