"""What applications want of an archive and would have to put together of several operations: one call for each.

A publication that goes on where its recording has stopped, the wait until a position is recorded, the end of a recording and what follows,
and a whole copy of a recording.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.archive.client import recording_pos
from aerowire.archive.client.archive_commands import blocking
from aerowire.archive.client.control_session import SessionState
from aerowire.archive.client.listing_commands import ListingCommands
from aerowire.archive.client.parameters import NULL_POSITION, NULL_VALUE, ReplayParams, ReplicationParams
from aerowire.archive.client.recording_commands import RecordingCommands, with_session
from aerowire.archive.client.replay_commands import ReplayCommands
from aerowire.archive.client.replication_commands import ReplicationCommands
from aerowire.base.channel_builder import initial_position
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ArchiveError, ArchiveTimeoutError
from aerowire.client.publications.publication import ExclusivePublication
from aerowire.codecs.flyweights.archive.enums import RecordingSignal
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.catalog_entry import implausible_fields

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor, RecordingSignalEvent
    from aerowire.archive.client.recording_pos import RecordingPosition
    from aerowire.archive.client.replay_commands import Handlers, ImageHandler, OpenReplay
    from aerowire.client.handles.waiting import Pending

_REPLICATION = ReplicationParams()
# Of a channel, what makes a stream the same one when its publisher is started again; an archive keeps these in stripped channels.
_IDENTITY: Final = ("endpoint", "interface", "control", "control-mode", "tags", "alias")
# Of a channel, what the place where a recording goes on decides.
_POSITION: Final = ("init-term-id", "term-id", "term-offset", "term-length", "mtu", "session-id")


class ContinuedPublication(NamedTuple):
    """A recorded publication, its recording, and the position at which it goes on: 0 for a new recording."""

    publication: ExclusivePublication
    recording_id: int
    position: int


class CompositeCommands(RecordingCommands, ListingCommands, ReplayCommands, ReplicationCommands):
    """Operations of several steps, each of which is to come out right whatever has been there before."""

    def async_add_continued_publication(self, channel: str, stream_id: int) -> Pending[ContinuedPublication]:
        """Add an exclusive publication that goes on with the last recording of its channel and stream, or begins a new one.

        The recording is the last whose channel agrees in endpoint, interface, control, tags and alias; an `alias` of its own keeps a stream
        apart from others. One that still goes on is waited for, `message_timeout_ns` long: its publisher may just have ended. The
        publication has the recording's term length and MTU, whatever the channel says.
        """
        return self._steps(f"add continued publication {channel} stream {stream_id}", self._continued_publication(channel, stream_id))

    add_continued_publication = blocking(async_add_continued_publication)

    def async_await_recorded(self, recording_id: int, position: int) -> Pending[int]:
        """Wait until a recording has come to a position, at least; the result is how far it has come.

        What is recorded is as durable as the archive's `file_sync_level` says. Fails with ArchiveTimeoutError when the recording has not
        moved for `message_timeout_ns`, and with INVALID_POSITION when it has stopped before.
        """
        return self._steps(f"wait for position {position} of recording {recording_id}", self._recorded_up_to(recording_id, position))

    await_recorded = blocking(async_await_recorded)

    def async_tail(
        self,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        *,
        length: int,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> Pending[OpenReplay]:
        """Replay the last `length` bytes of a recording, and what follows; the result is as that of `open_replay`.

        A replay begins with a whole message: this one at the start of the term that holds the place, so that it may be longer.
        """
        handlers = (available_image_handler, unavailable_image_handler)
        steps = self._tailed(recording_id, replay_channel, replay_stream_id, length, handlers)
        return self._steps(f"tail recording {recording_id} by {replay_channel}", steps)

    tail = blocking(async_tail)

    def async_copy_recording(
        self, src_recording_id: int, src_control_stream_id: int, src_control_channel: str, params: ReplicationParams = _REPLICATION
    ) -> Pending[int]:
        """Copy a recording of another archive, as `replicate`, and wait for the end; the result is the id of the copy.

        With a `live_destination` it waits until the copy has merged with the live stream, which it follows from then on. Fails with the
        replication's error. Given up, the replication is stopped.
        """
        steps = self._copied(src_recording_id, src_control_stream_id, src_control_channel, params)
        return self._steps(f"copy recording {src_recording_id} of {src_control_channel}", steps)

    copy_recording = blocking(async_copy_recording)

    # ---- below: a continued publication

    def _continued_publication(self, channel: str, stream_id: int) -> Generator[Pending[Any] | None, Any, ContinuedPublication]:
        found: list[RecordingDescriptor] = yield self.async_list_recordings_for_uri("", stream_id)
        mine = [one for one in found if _identity(one.stripped_channel) == _identity(channel)]
        last = _checked(mine[-1]) if mine else None
        position = 0 if last is None else (yield from self._stopped(last))
        publication: ExclusivePublication = yield self._aeron.async_add_exclusive_publication(
            channel if last is None else _continued(channel, last, position), stream_id
        )
        try:
            recorded = with_session(channel, publication.session_id)
            if last is None:
                yield self.async_start_recording(recorded, stream_id, auto_stop=True)
                recording_id = yield from self._recording_of(publication)
            else:
                recording_id = last.recording_id
                yield self.async_extend_recording(recording_id, recorded, stream_id, auto_stop=True)
                yield from self._extended(recording_id, publication)
        except BaseException:
            publication.close()
            raise
        return ContinuedPublication(publication, recording_id, position)

    def _recording_of(self, publication: ExclusivePublication) -> Generator[Pending[Any] | None, Any, int]:
        """Return the recording of a publication that was just added: the archive begins it when it has the image."""
        deadline_ns = self._deadline_ns()
        while True:
            recording_id: int = yield self.async_find_last_matching_recording(0, "", publication.stream_id, publication.session_id)
            if recording_id != NULL_POSITION:
                return recording_id
            self._check_time(deadline_ns, "the archive does not begin to record", publication.channel, "a recording of the publication")
            yield None

    def _extended(self, recording_id: int, publication: ExclusivePublication) -> Generator[Pending[Any] | None, Any, None]:
        """Wait until a recording goes on with a publication: until the archive has its image, the recording is one that has stopped."""
        deadline_ns = self._deadline_ns()
        while True:
            stop_position: int = yield self.async_get_stop_position(recording_id)
            if stop_position == NULL_POSITION:
                return
            what = f"the archive does not go on with recording {recording_id}"
            self._check_time(deadline_ns, what, publication.channel, "an active recording of the publication", recording_id)
            yield None

    def _stopped(self, descriptor: RecordingDescriptor) -> Generator[Pending[Any] | None, Any, int]:
        """Return where a recording has stopped, once it has."""
        deadline_ns = self._deadline_ns()
        position = descriptor.stop_position
        while position == NULL_POSITION:
            what = f"recording {descriptor.recording_id} is still going on"
            self._check_time(deadline_ns, what, descriptor.stripped_channel, "a recording that has stopped", descriptor.recording_id)
            position = yield self.async_get_stop_position(descriptor.recording_id)
            yield None
        return position

    # ---- below: positions

    def _recorded_up_to(self, recording_id: int, position: int) -> Generator[Pending[Any] | None, Any, int]:
        counters = self._aeron.counters_reader
        counter: RecordingPosition | None = None
        last, deadline_ns = NULL_POSITION, self._deadline_ns()
        while True:
            recorded = NULL_POSITION if counter is None else counters.value(counter.counter_id)
            if counter is None or recording_pos.describe_recording_counter(counters, counter.counter_id) != counter:
                counter, recorded = None, (yield self.async_get_max_recorded_position(recording_id))
            if recorded >= position:
                return recorded
            if recorded > last:
                last, deadline_ns = recorded, self._deadline_ns()
            if counter is None:
                stop_position: int = yield self.async_get_stop_position(recording_id)
                if stop_position == NULL_POSITION:
                    counter = self._counter_of(recording_id)
                elif stop_position < position:
                    raise ArchiveError(
                        f"recording {recording_id} has stopped before the position that is waited for",
                        expected=f"position {position}",
                        actual=f"position {stop_position}",
                        error_code=ArchiveErrorCode.INVALID_POSITION,
                        recording_id=recording_id,
                    )
            what = f"recording {recording_id} does not move"
            self._check_time(deadline_ns, what, f"position {last}", f"position {position}", recording_id)
            yield None

    def _counter_of(self, recording_id: int) -> RecordingPosition | None:
        """Return the counter of a recording that goes on, if the archive is sure to be on the client's own driver.

        Archives on different drivers may have the same id, and have recordings with the same ids: only a request by IPC tells them apart.
        """
        session = self._session
        if session.archive_id == NULL_VALUE or not ChannelUri.parse(session.context.control_request_channel).is_ipc:
            return None
        found = recording_pos.recording_positions(self._aeron.counters_reader, session.archive_id)
        return next((one for one in found if one.recording_id == recording_id), None)

    def _tailed(
        self, recording_id: int, channel: str, stream_id: int, length: int, handlers: Handlers
    ) -> Generator[Pending[Any] | None, Any, OpenReplay]:
        found: list[RecordingDescriptor] = yield self.async_list_recording(recording_id)
        end: int = yield self.async_get_max_recorded_position(recording_id)  # which refuses a recording that does not exist
        if not found:
            raise ArchiveError(
                f"the archive does not describe recording {recording_id}",
                error_code=ArchiveErrorCode.UNKNOWN_RECORDING,
                recording_id=recording_id,
            )
        one = _checked(found[0])
        place = max(end - length, one.start_position)
        term_start = place - place % one.term_buffer_length
        params = ReplayParams(position=max(term_start, one.start_position))
        available, unavailable = handlers
        replay: OpenReplay = yield self.async_open_replay(
            recording_id, channel, stream_id, params, available_image_handler=available, unavailable_image_handler=unavailable
        )
        return replay

    # ---- below: a copy

    def _copied(
        self, src_recording_id: int, stream_id: int, channel: str, params: ReplicationParams
    ) -> Generator[Pending[Any] | None, Any, int]:
        copy = _Copy(is_followed=bool(params.live_destination))
        session = self._session

        def listen(replication_id: int) -> int:
            # At once: signals may stand behind the answer.
            session.listen(replication_id, on_error=copy.on_error, on_signal=copy.on_signal)
            return replication_id

        replication_id: int = yield self._replicate(src_recording_id, stream_id, channel, params, listen)
        try:
            while not copy.is_over:
                if session.state is not SessionState.CONNECTED:
                    raise session.disconnection()
                yield None
        except GeneratorExit:
            if session.state is SessionState.CONNECTED:
                self.async_try_stop_replication(replication_id)
            raise
        finally:
            session.forget(replication_id)
        if copy.error is not None:
            raise copy.error
        return copy.recording_id

    # ---- below: time

    def _deadline_ns(self) -> int:
        return self._aeron.context.clock.now_ns() + self._session.context.message_timeout_ns

    def _check_time(self, deadline_ns: int, what: str, where: str, expected: str, recording_id: int = NULL_POSITION) -> None:
        if self._aeron.context.clock.now_ns() >= deadline_ns:
            within = f"{expected} within {self._session.context.message_timeout_ns / 1e9:g} s"
            raise ArchiveTimeoutError(what, where=where, expected=within, recording_id=recording_id)


class _Copy:
    """What the archive has said of one replication."""

    def __init__(self, *, is_followed: bool) -> None:
        self.recording_id = NULL_POSITION
        self.error: ArchiveError | None = None
        self._awaited = {RecordingSignal.MERGE} if is_followed else {RecordingSignal.REPLICATE_END, RecordingSignal.STOP}

    @property
    def is_over(self) -> bool:
        """Whether the copy is complete, or has failed."""
        return self.error is not None or not self._awaited

    def on_signal(self, event: RecordingSignalEvent) -> None:
        self._awaited.discard(event.signal)
        self.recording_id = max(self.recording_id, event.recording_id)

    def on_error(self, error: ArchiveError) -> None:
        self.error = error


def _checked(descriptor: RecordingDescriptor) -> RecordingDescriptor:
    """Return a descriptor that can be computed with; raises ArchiveError."""
    problem = implausible_fields(descriptor)
    if problem is not None:
        raise ArchiveError(
            "the archive describes a recording that cannot be", actual=problem, hint="does `aerowire archive verify` find it damaged?"
        )
    return descriptor


def _identity(channel: str) -> tuple[str, ...]:
    """Return what makes a channel's stream the same one."""
    uri = ChannelUri.parse(channel)
    return (uri.media, *(uri.get(key) or "" for key in _IDENTITY))


def _continued(channel: str, descriptor: RecordingDescriptor, position: int) -> str:
    """Return a channel whose stream goes on with a recording."""
    uri = ChannelUri.parse(channel)
    for key in _POSITION:
        uri.parameters.pop(key, None)
    start = initial_position(position, descriptor.initial_term_id, descriptor.term_buffer_length)
    uri.parameters.update({"mtu": str(descriptor.mtu_length), **{key.replace("_", "-"): str(value) for key, value in start.items()}})
    return str(uri)
