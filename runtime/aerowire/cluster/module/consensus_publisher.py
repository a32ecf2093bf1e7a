"""Publications to the other members, which the native log agent sends on. Aeron: ConsensusPublisher, ClusterMember.tryAddPublication.

A publication that the driver refuses, or that has ended, is asked for again after a while: a member's name may resolve later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import AerowireError
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED
from aerowire.cluster.agents.events import PublicationReturned

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.cluster.module.log_agent_control import LogAgentControl

_RETRY_INTERVAL_NS: Final = 1_000_000_000
_ENDED: Final = frozenset({CLOSED, MAX_POSITION_EXCEEDED})


class ConsensusPublisher:
    """One publication to each other member. The conductor's thread.

    A lost message is reported at a later time than that of its sending. A sender that repeats it at once would otherwise keep virtual time
    from advancing.
    """

    def __init__(
        self,
        aeron: Aeron,
        log_agent: LogAgentControl,
        channels: Mapping[int, str],
        stream_id: int,
        on_error: Callable[[str], object],
    ) -> None:
        """`channels` are those of the other members, by member id; `on_error` is called with the reason why one has no publication."""
        self._log_agent = log_agent
        self._members = {member_id: _MemberPublication(aeron, channel, stream_id) for member_id, channel in channels.items()}
        self._on_error = on_error
        self._lost: list[tuple[int, Callable[[bool], object]]] = []
        self._now_ns = 0
        log_agent.listen(PublicationReturned, self._on_returned)

    def poll(self, now_ns: int) -> int:
        """Tell which messages are lost, and proceed with publications that are missing; return how many were added."""
        self._now_ns = now_ns
        lost, self._lost = self._lost, []
        for lost_ns, on_sent in lost:
            if lost_ns < now_ns:
                on_sent(False)
            else:
                self._lost.append((lost_ns, on_sent))
        added = 0
        for member_id, member in self._members.items():
            if member.publication is None:
                try:
                    if member.poll(now_ns):
                        added += 1
                        self._log_agent.proxy.set_publication(member_id, member.lend())
                except AerowireError as error:
                    self._on_error(f"failed to add consensus publication for member: {member_id} - {error.what}: {error.actual}")
        return added

    def send(self, member_id: int, message: Buffer, on_sent: Callable[[bool], object] | None = None) -> None:
        """Send an encoded message to a member; `on_sent` is called later with whether there was a connection and room."""

        def on_result(position: int) -> None:
            member = self._members.get(member_id)
            if member is not None and position in _ENDED:
                member.close()
            if on_sent is not None and position > 0:
                on_sent(True)
            elif on_sent is not None:
                self._lost.append((self._now_ns, on_sent))

        self._log_agent.send(member_id, message, on_result)

    def close(self) -> None:
        """Close the publications, which recalls them."""
        for member in self._members.values():
            member.close()

    def _on_returned(self, event: PublicationReturned) -> None:
        for member in self._members.values():
            if member.loan is event.publication:
                member.on_returned()


class _MemberPublication:
    """The publication to one member. Invariant: at most one of `publication` and the request for one is there."""

    def __init__(self, aeron: Aeron, channel: str, stream_id: int) -> None:
        self._aeron = aeron
        self._channel = channel
        self._stream_id = stream_id
        self._pending: Pending[ExclusivePublication] | None = None
        self._retry_ns: int | None = None
        self.publication: ExclusivePublication | None = None
        self.loan: LentPublication | None = None

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

    def lend(self) -> LentPublication:
        """Return the loan of the publication, which is there."""
        assert self.publication is not None
        self.loan = LentPublication(self.publication)
        return self.loan

    def on_returned(self) -> None:
        """Give up a publication that the agent has given back: it has ended. Another one is asked for."""
        self.close()
        self.publication = self.loan = None

    def close(self) -> None:
        """Close the publication, or give up adding it."""
        if self._pending is not None:
            self._pending.abandon()
            self._pending = None
        if self.publication is not None:
            self.publication.close()
