"""The log as its leader publishes it: the publication, its destinations, and what is appended. Aeron: LogPublisher.

What is appended here is of templates that are rare; an appended message has its result at once, a position, or None where the log pushes
back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import AerowireError, ConsensusModuleError
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED
from aerowire.cluster.consensus.inputs import LogPublicationAdded
from aerowire.cluster.module import channels
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.cluster.enums import ClusterAction
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_recording import LogRecording

_SEND_ATTEMPTS = 3


class LogPublisher:
    """The publication of a leader's log. Invariant: `publication` is None while this member does not lead."""

    def __init__(self, core: ModuleCore, recording: LogRecording) -> None:
        """Start without a publication."""
        self._core = core
        self._recording = recording
        self._destinations: list[Pending[int]] = []
        self._channel_tag = 0
        self.publication: ExclusivePublication | None = None

    @property
    def position(self) -> int:
        """How far the log is published; 0 without a publication."""
        return 0 if self.publication is None else self.publication.position

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

    def poll(self) -> None:
        """Look whether the driver has taken the destinations."""
        for pending in tuple(self._destinations):
            try:
                if pending.poll():
                    self._destinations.remove(pending)
                    pending.result()
            except AerowireError as error:
                self._core.errors.record(error)

    def append_new_leadership_term_event(self, leadership_term_id: int, term_base_log_position: int, log_session_id: int) -> int | None:
        """Append the event that begins a term."""
        core = self._core
        return self._append_with_position(
            lambda log_position: NewLeadershipTermEvent(
                leadership_term_id=leadership_term_id,
                log_position=log_position,
                timestamp=core.cluster_clock.time(),
                term_base_log_position=term_base_log_position,
                leader_member_id=core.context.cluster_member_id,
                log_session_id=log_session_id,
                time_unit=core.cluster_clock.time_unit,
                app_version=core.context.app_version,
            )
        )

    def append_cluster_action(self, leadership_term_id: int, action: ClusterAction, flags: int) -> int | None:
        """Append what all members are to do at this position."""
        return self._append_with_position(
            lambda log_position: ClusterActionRequest(
                leadership_term_id=leadership_term_id,
                log_position=log_position,
                timestamp=self._core.cluster_clock.time(),
                action=action,
                flags=flags,
            )
        )

    def append(self, *parts: Buffer) -> int | None:
        """Append a message. Raises ConsensusModuleError where the log has ended."""
        for _ in range(_SEND_ATTEMPTS):
            position = self._offer(*parts)
            if position is not None:
                return position
        return None

    def close(self) -> None:
        """Close the publication: its end of stream tells followers that the leader has closed it."""
        self._destinations.clear()
        if self.publication is not None:
            self.publication.close()
            self.publication = None

    def _append_with_position(self, make: Callable[[int], NewLeadershipTermEvent | ClusterActionRequest]) -> int | None:
        """Append a message that names the position behind itself, which moves when the rest of a term is too short for it."""
        length = align(DataHeaderDecoder.ENCODED_LENGTH + len(make(0).encode()), FRAME_ALIGNMENT)
        for _ in range(_SEND_ATTEMPTS):
            position = self._offer(make(self.position + length).encode())
            if position is not None:
                return position
        return None

    def _offer(self, *parts: Buffer) -> int | None:
        if self.publication is None:
            return None
        result = self.publication.offer_parts(*parts)
        if result in {CLOSED, MAX_POSITION_EXCEEDED}:
            what = "log publication is closed" if result == CLOSED else "log publication at max position"
            raise ConsensusModuleError(what, where=self.publication.channel)
        return result if result > 0 else None
