"""Publications to the other members, and what is sent on them. Aeron: ConsensusPublisher, ClusterMember.tryAddPublication.

A publication that the driver refuses, or that has ended, is asked for again after a while: a member's name may resolve later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import AerowireError, PublicationClosedError
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED

if TYPE_CHECKING:
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication

_SEND_ATTEMPTS: Final = 3
_RETRY_INTERVAL_NS: Final = 1_000_000_000
_ENDED: Final = frozenset({CLOSED, MAX_POSITION_EXCEEDED})


class ConsensusPublisher:
    """One publication to each other member. The agent's thread."""

    def __init__(self, aeron: Aeron, channels: Mapping[int, str], stream_id: int, on_error: Callable[[str], object]) -> None:
        """`channels` are those of the other members, by member id; `on_error` is called with the reason why one has no publication."""
        self._members = {member_id: _MemberPublication(aeron, channel, stream_id) for member_id, channel in channels.items()}
        self._on_error = on_error

    def poll(self, now_ns: int) -> int:
        """Proceed with publications that are missing; return how many were added."""
        added = 0
        for member_id, member in self._members.items():
            if member.publication is None:
                try:
                    added += member.poll(now_ns)
                except AerowireError as error:
                    self._on_error(f"failed to add consensus publication for member: {member_id} - {error.what}: {error.actual}")
        return added

    def send(self, member_id: int, message: bytes, now_ns: int) -> bool:
        """Send an encoded message to a member; return whether there was a connection and room."""
        member = self._members.get(member_id)
        return member is not None and member.send(message, now_ns)

    def close(self) -> None:
        """Close the publications."""
        for member in self._members.values():
            member.close()


class _MemberPublication:
    """The publication to one member. Invariant: at most one of `publication` and the request for one is there."""

    def __init__(self, aeron: Aeron, channel: str, stream_id: int) -> None:
        self._aeron = aeron
        self._channel = channel
        self._stream_id = stream_id
        self._pending: Pending[ExclusivePublication] | None = None
        self._retry_ns: int | None = None
        self.publication: ExclusivePublication | None = None

    def poll(self, now_ns: int) -> bool:
        """Ask for the publication, or look for the answer. Raises what the driver refused it with."""
        if self._pending is None:
            if self._retry_ns is not None and now_ns < self._retry_ns:
                return False
            self._retry_ns = now_ns + _RETRY_INTERVAL_NS
            self._pending = self._aeron.async_add_exclusive_publication(self._channel, self._stream_id)
        if not self._pending.poll():
            return False
        pending, self._pending = self._pending, None
        self.publication = pending.result()
        return True

    def send(self, message: bytes, now_ns: int) -> bool:
        """Send a message, unless the publication is missing, not connected, or pushed back."""
        if self.publication is None:
            return False
        for _ in range(_SEND_ATTEMPTS):
            try:
                result = self.publication.offer(message)
            except PublicationClosedError:
                result = CLOSED
            if result > 0:
                return True
            if result in _ENDED:
                self.publication.close()
                self.publication, self._retry_ns = None, now_ns + _RETRY_INTERVAL_NS
                return False
            if result == NOT_CONNECTED:
                return False
        return False

    def close(self) -> None:
        """Close the publication, or give up adding it."""
        if self._pending is not None:
            self._pending.abandon()
        if self.publication is not None:
            self.publication.close()
