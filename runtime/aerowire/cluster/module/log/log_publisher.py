"""The log as its leader publishes it: the publication, its destinations, and what the conductor appends. Aeron: LogPublisher.

The native agent appends messages in the order in which they were given, with position and timestamp filled in; they wait where the log
pushes back. The result of each comes later. Only the event that begins a term is appended here, before the agent has the log.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.base.errors import AerowireError, ConsensusModuleError
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED
from aerowire.cluster.agents.events import MessageAppended
from aerowire.cluster.agents.outbound_message import OutboundMessage
from aerowire.cluster.consensus.inputs import LogPublicationAdded
from aerowire.cluster.module import channels
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.cluster.enums import ClusterAction
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent, NewLeadershipTermEventDecoder
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.cluster.agents.session_table import OpenSession
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_recording import LogRecording

_SEND_ATTEMPTS: Final = 3
_TERM_EVENT_LENGTH: Final = align(
    DataHeaderDecoder.ENCODED_LENGTH + HEADER.size + NewLeadershipTermEventDecoder.SBE_BLOCK_LENGTH, FRAME_ALIGNMENT
)
# Appends without a result; callers hold back messages beyond that.
APPENDS_MAX: Final = 64


class Appended(NamedTuple):
    """The result of an append: the position behind the message, and the timestamp that it has in the log."""

    position: int
    timestamp: int

    @property
    def is_refused(self) -> bool:
        """Whether the message is not in the log: the log was left before."""
        return self.position < 0


_OnResult = Callable[[Appended], object]


class LogPublisher:
    """The publication of a leader's log. Changed by all methods. Invariant: `publication` is None while this member does not lead.

    Each message that was taken has one result, which is counted; `_appending` holds those whose result is not told.
    """

    def __init__(self, core: ModuleCore, recording: LogRecording) -> None:
        """Start without a publication."""
        self._core = core
        self._recording = recording
        self._destinations: list[Pending[int]] = []
        self._channel_tag = 0
        self._appending: dict[OutboundMessage, _OnResult] = {}
        self.publication: ExclusivePublication | None = None
        self.result_count = 0
        core.log_agent.listen(MessageAppended, self._on_appended)

    @property
    def position(self) -> int:
        """How far the log is published; 0 without a publication."""
        return 0 if self.publication is None else self.publication.position

    @property
    def has_room(self) -> bool:
        """Whether one more message can be taken."""
        return len(self._appending) < APPENDS_MAX

    @property
    def is_settled(self) -> bool:
        """Whether each message that was taken has its result."""
        return not self._appending

    def add(self, position: int) -> Generator[Pending[Any] | None, Any, LogPublicationAdded]:
        """Open the publication at a position, with a destination for each other member, in steps."""
        core, context = self._core, self._core.context
        self.close()
        recording = yield from self._recording.describe()
        self._channel_tag, tag = core.aeron.next_correlation_id(), core.aeron.next_correlation_id()
        channel = channels.log_publication(
            context.log_channel,
            tags=(self._channel_tag, tag),
            own_endpoint=context.member.log_endpoint,
            is_bound=context.log_control_enable,
            is_alone=len(context.members) == 1,
            position=position,
            recording=recording,
        )
        publication: ExclusivePublication = yield core.aeron.async_add_exclusive_publication(channel, context.log_stream_id)
        self.publication = publication
        if channels.is_multi_destination(context.log_channel):
            self._destinations = [
                publication.async_add_destination(channels.destination(context.log_channel, member.log_endpoint))
                for member in context.members
                if member is not context.member
            ]
        return LogPublicationAdded(publication.session_id)

    def recording_channel(self, log_session_id: int) -> str:
        """Return the channel by which the archive records the log."""
        return channels.leader_recording(self._core.context.log_channel, self._channel_tag, log_session_id)

    def services_channel(self, log_session_id: int) -> str:
        """Return the channel by which services read the log."""
        return channels.leader_services(self._core.context.log_channel, self._channel_tag, log_session_id)

    def lend(self) -> LentPublication:
        """Return the loan of the publication, for the term that has begun."""
        if self.publication is None:
            raise ConsensusModuleError("log publication is closed")
        return LentPublication(self.publication)

    def poll(self) -> int:
        """Look whether the driver has taken the destinations; return how many it has answered."""
        answered = 0
        for pending in tuple(self._destinations):
            try:
                if pending.poll():
                    self._destinations.remove(pending)
                    answered += 1
                    pending.result()
            except AerowireError as error:
                self._core.errors.record(error)
        return answered

    def offer_new_leadership_term_event(self, leadership_term_id: int, term_base_log_position: int, log_session_id: int) -> int | None:
        """Append the event that begins a term; return its position, None where the log pushes back.

        Raises ConsensusModuleError where the log has ended.
        """
        publication, context, cluster_clock = self.publication, self._core.context, self._core.cluster_clock
        for _ in range(_SEND_ATTEMPTS):
            if publication is None:
                break
            event = NewLeadershipTermEvent(
                leadership_term_id=leadership_term_id,
                log_position=publication.position + _TERM_EVENT_LENGTH,
                timestamp=cluster_clock.time(),
                term_base_log_position=term_base_log_position,
                leader_member_id=context.cluster_member_id,
                log_session_id=log_session_id,
                time_unit=cluster_clock.time_unit,
                app_version=context.app_version,
            )
            result = publication.offer(event.encode())
            if result in {CLOSED, MAX_POSITION_EXCEEDED}:
                what = "log publication is closed" if result == CLOSED else "log publication at max position"
                raise ConsensusModuleError(what, where=publication.channel)
            if result > 0:
                return result
        return None

    def append_cluster_action(self, leadership_term_id: int, action: ClusterAction, flags: int, on_result: _OnResult) -> bool:
        """Append what all members are to do at this position, as `append` does."""
        request = ClusterActionRequest(leadership_term_id=leadership_term_id, log_position=0, timestamp=0, action=action, flags=flags)
        return self.append(request.encode(), on_result)

    def append(self, message: Buffer, on_result: _OnResult, session: OpenSession | None = None) -> bool:
        """Take an encoded message of the cluster's schema, and tell its result later; return False if there is no room for it.

        The append of an open event opens its session for the agent.
        """
        if not self.has_room:
            return False
        outbound = OutboundMessage(message, session)
        self._appending[outbound] = on_result
        self._core.log_agent.proxy.append(outbound)
        return True

    def close(self) -> None:
        """Close the publication: its end of stream tells followers that the leader has closed it. AFTER the agent has given it back."""
        self._destinations.clear()
        if self.publication is not None:
            self.publication.close()
            self.publication = None

    def _on_appended(self, event: MessageAppended) -> None:
        on_result = self._appending.pop(event.message)
        self.result_count += 1
        on_result(Appended(event.position, event.timestamp))
