"""The log as its leader publishes it: the publication, its destinations, and what is appended. Aeron: LogPublisher.

Messages are appended in the order in which they were given, with position and timestamp filled in, and wait where the log pushes back. The
result of each comes later, in a `poll`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.base.errors import AerowireError, ConsensusModuleError
from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED
from aerowire.cluster.consensus.inputs import LogPublicationAdded
from aerowire.cluster.module import channels
from aerowire.cluster.module.log.stamps import stamp
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

_SEND_ATTEMPTS: Final = 3
_REFUSED: Final = -1
# Appends without a result; callers hold back messages beyond that.
APPENDS_MAX: Final = 64


class Appended(NamedTuple):
    """The result of an append: the position behind the message, and the timestamp that it has in the log."""

    position: int
    timestamp: int

    @property
    def is_refused(self) -> bool:
        """Whether the message is not in the log: the log was left before."""
        return self.position == _REFUSED


_OnResult = Callable[[Appended], object]


class LogPublisher:
    """The publication of a leader's log. Changed by all methods. Invariant: `publication` is None while this member does not lead.

    Each message that was taken has one result. `_waiting` holds those that are not appended, `_results` those whose result is not told.
    """

    def __init__(self, core: ModuleCore, recording: LogRecording) -> None:
        """Start without a publication."""
        self._core = core
        self._recording = recording
        self._destinations: list[Pending[int]] = []
        self._channel_tag = 0
        self._waiting: deque[tuple[bytearray, _OnResult]] = deque()
        self._results: deque[tuple[Appended, _OnResult]] = deque()
        self.publication: ExclusivePublication | None = None

    @property
    def position(self) -> int:
        """How far the log is published; 0 without a publication."""
        return 0 if self.publication is None else self.publication.position

    @property
    def has_room(self) -> bool:
        """Whether one more message can be taken."""
        return len(self._waiting) + len(self._results) < APPENDS_MAX

    @property
    def has_waiting(self) -> bool:
        """Whether a message waits for room in the log."""
        return bool(self._waiting)

    @property
    def is_settled(self) -> bool:
        """Whether each message that was taken has its result."""
        return not self._waiting and not self._results

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

    def poll(self) -> int:
        """Append what waits, and tell the results; look whether the driver has taken the destinations. Return how many results there were.

        Raises ConsensusModuleError where the log has ended.
        """
        self._look_at_destinations()
        self._append_waiting()
        count = len(self._results)
        for _ in range(count):
            appended, on_result = self._results.popleft()
            on_result(appended)
        return count

    def append_new_leadership_term_event(
        self, leadership_term_id: int, term_base_log_position: int, log_session_id: int, on_result: _OnResult
    ) -> bool:
        """Append the event that begins a term, as `append` does."""
        context, cluster_clock = self._core.context, self._core.cluster_clock
        event = NewLeadershipTermEvent(
            leadership_term_id=leadership_term_id,
            log_position=0,
            timestamp=0,
            term_base_log_position=term_base_log_position,
            leader_member_id=context.cluster_member_id,
            log_session_id=log_session_id,
            time_unit=cluster_clock.time_unit,
            app_version=context.app_version,
        )
        return self.append(event.encode(), on_result)

    def append_cluster_action(self, leadership_term_id: int, action: ClusterAction, flags: int, on_result: _OnResult) -> bool:
        """Append what all members are to do at this position, as `append` does."""
        request = ClusterActionRequest(leadership_term_id=leadership_term_id, log_position=0, timestamp=0, action=action, flags=flags)
        return self.append(request.encode(), on_result)

    def append(self, message: Buffer, on_result: _OnResult) -> bool:
        """Take an encoded message of the cluster's schema, and tell its result in a later `poll`; return False if there is no room for it.

        Raises ConsensusModuleError where the log has ended.
        """
        if not self.has_room:
            return False
        self._waiting.append((bytearray(message), on_result))
        self._append_waiting()
        return True

    def offer(self, *parts: Buffer) -> int | None:
        """Append a message at once, as it is; return its position, None where the log pushes back or others wait for it.

        Raises ConsensusModuleError where the log has ended.
        """
        if self._waiting:
            return None
        for _ in range(_SEND_ATTEMPTS):
            position = self._offer(*parts)
            if position is not None:
                return position
        return None

    def close(self) -> None:
        """Close the publication: its end of stream tells followers that the leader has closed it. What waits is refused, in a `poll`."""
        self._destinations.clear()
        if self.publication is not None:
            self.publication.close()
            self.publication = None
        self._append_waiting()

    def _look_at_destinations(self) -> None:
        for pending in tuple(self._destinations):
            try:
                if pending.poll():
                    self._destinations.remove(pending)
                    pending.result()
            except AerowireError as error:
                self._core.errors.record(error)

    def _append_waiting(self) -> None:
        while self._waiting:
            message, on_result = self._waiting[0]
            timestamp = self._core.cluster_clock.time()
            position = _REFUSED if self.publication is None else self._offer_stamped(message, timestamp)
            if position is None:
                return
            self._waiting.popleft()
            self._results.append((Appended(position, timestamp), on_result))

    def _offer_stamped(self, message: bytearray, timestamp: int) -> int | None:
        """Append a message that names the position behind itself, which moves when the rest of a term is too short for it."""
        length = align(DataHeaderDecoder.ENCODED_LENGTH + len(message), FRAME_ALIGNMENT)
        for _ in range(_SEND_ATTEMPTS):
            stamp(message, log_position=self.position + length, timestamp=timestamp)
            position = self._offer(message)
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
