"""One replication: a recording of another archive is copied by a replay of it, which is recorded here. Aeron: ReplicationSession.

    CONNECT -> REPLICATE_DESCRIPTOR -> (SRC_RECORDING_POSITION) -> EXTEND -> REPLAY -> AWAIT_IMAGE -> REPLICATE ------> DONE
                                                                                                   -> CATCHUP -> ATTEMPT_LIVE_JOIN -> DONE

The source is asked as any client asks an archive. The steps are one generator, which waits for nothing: it yields once a cycle.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.archive.client.aeron_archive import AeronArchive
from aerowire.archive.client.parameters import ReplayParams
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.archive.conductor import channels
from aerowire.archive.conductor.replication_channels import ReplicationChannels
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import NULL_VALUE, ExtendRecording
from aerowire.base.errors import AerowireError, ArchiveError, ConfigurationError
from aerowire.codecs.flyweights.archive import RecordingSignal, SourceLocation
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.catalog_entry import RecordingEntry

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recording_subscription import RecordingSubscription
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.requests import Replicate
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

T = TypeVar("T")
Steps = Generator[None, None, T]

ACTION_TIMEOUT_MS = 10_000
RETRY_ATTEMPTS = 3
SOURCE_POLL_INTERVAL_MS = 100
# The live stream is added once the copy is that near to it. Aeron: ReplayMerge.LIVE_ADD_MAX_WINDOW.
LIVE_ADD_MAX_WINDOW = 32 * 1024 * 1024
# How long replay and live stream both arrive before the replay is left: five intervals of status messages, of which one has to reach the
# live publisher. It goes on without the copy until one does, and a transport counts from when its destination is added.
LIVE_SETTLE_MS = 1_000


class ReplicationState(enum.Enum):
    """How far a replication has come."""

    CONNECT = "CONNECT"
    REPLICATE_DESCRIPTOR = "REPLICATE_DESCRIPTOR"
    SRC_RECORDING_POSITION = "SRC_RECORDING_POSITION"
    EXTEND = "EXTEND"
    REPLAY = "REPLAY"
    AWAIT_IMAGE = "AWAIT_IMAGE"
    REPLICATE = "REPLICATE"
    CATCHUP = "CATCHUP"
    ATTEMPT_LIVE_JOIN = "ATTEMPT_LIVE_JOIN"
    DONE = "DONE"


class ReplicationSession:
    """A replication that is going on. The conductor's thread. Invariant: it ends with the signal REPLICATE_END, whatever has ended it."""

    def __init__(
        self,
        core: ArchiveCore,
        recordings: Recordings,
        session: ControlSession,
        request: Replicate,
        replication_id: int,
        entry: RecordingEntry | None,
        *,
        replication_channel: str,
        response_channel: str,
    ) -> None:
        """`entry` is the recording that is to hold the copy, None for a new one; `response_channel` that of the source's responses."""
        self.replication_id = replication_id
        self.state = ReplicationState.CONNECT
        self._core = core
        self._recordings = recordings
        self._session = session
        self._request = request
        self._dst_recording_id = NULL_VALUE if entry is None else entry.recording_id
        self._entry = entry
        self._channels = ReplicationChannels(request, replication_channel, replication_id)
        self._response_channel = response_channel
        self._source: AeronArchive | None = None
        self._awaited: Pending[Any] | None = None
        self._recorded: RecordingSubscription | None = None
        self._is_merged = False
        self._replay_session_id = NULL_VALUE
        self._position = NULL_POSITION
        self._poll_ms = 0
        self._steps = self._run()

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.state is ReplicationState.DONE

    @property
    def is_copying(self) -> bool:
        """Whether recorder and source do the work, and it only waits for the end."""
        return self.state is ReplicationState.REPLICATE

    def do_work(self) -> int:
        """Do the next step."""
        if self.is_done:
            return 0
        state = self.state
        try:
            self._check_source()
            next(self._steps)
        except StopIteration:
            pass
        except Exception as error:  # told to the client
            self._core.errors.record(error, key=("replication", type(error)))
            self._fail(error)
        return int(self.state is not state)

    def abort(self, reason: str) -> None:
        """End it before it is done."""
        if not self.is_done:
            self._go_to(ReplicationState.DONE, reason)

    def close(self) -> None:
        """Stop the copy and the replay, disconnect from the source, and tell the client that the replication is over."""
        self._steps.close()
        subscription_id = self._subscription_id
        if self._recorded is not None and not self._is_merged:
            self._recordings.leave(self._recorded, "stop replication")
        if self._awaited is not None:
            self._awaited.abandon()
        if self._source is not None:
            with contextlib.suppress(AerowireError):  # the source may have gone
                if self._replay_session_id != NULL_VALUE and self._source.is_connected:
                    self._source.async_stop_replay(self._replay_session_id)
                self._source.async_close().poll()
        self._signal(NULL_POSITION, RecordingSignal.REPLICATE_END, NULL_VALUE if self._is_merged else subscription_id)

    # ---- steps

    def _run(self) -> Steps[None]:
        self._source = yield from self._connected()
        self._go_to(ReplicationState.REPLICATE_DESCRIPTOR, "connected to the Archive")
        found = yield from self._await(self._source.async_list_recording(self._request.src_recording_id))
        if not found:
            raise RequestRefusedError(f"unknown src recording id {self._request.src_recording_id}", ArchiveErrorCode.UNKNOWN_RECORDING)
        if not self._replicate_descriptor(found[0]):
            return
        if self._request.live_destination:
            yield from self._source_position()
        image = yield from self._replayed(found[0])
        if self._request.live_destination:
            yield from self._merge(image)
        else:
            yield from self._copy(found[0], image)

    def _connected(self) -> Steps[AeronArchive]:
        request = self._request
        connecting = AeronArchive.async_connect(
            aeron=self._core.aeron,
            control_request_channel=request.src_control_channel,
            control_request_stream_id=request.src_control_stream_id,
            control_response_channel=request.src_response_channel or self._response_channel,
            credentials_supplier=_ReplicationCredentials(request.encoded_credentials),
            client_name=f"archive archiveId={self._core.archive_id} replicationSessionId={self.replication_id}",
            lock=contextlib.nullcontext(),
            properties=self._core.context.properties,
            environ=self._core.context.environ,
        )
        try:
            source: AeronArchive = yield from self._await(connecting)
        except AerowireError as error:
            raise RequestRefusedError(f"Replication connection failed={error}", ArchiveErrorCode.REPLICATION_CONNECTION_FAILURE) from error
        return source

    def _replicate_descriptor(self, found: RecordingDescriptor) -> bool:
        """Make the recording that is to hold the copy, or check the one there is; return whether there is something to copy."""
        request, catalog = self._request, self._core.catalog
        if self._entry is not None:  # as it is now: others may have extended it, or purged it
            self._entry = destination_of(self._core, self._recordings, self._dst_recording_id)
        if 0 < request.file_io_max_length < found.mtu_length:
            raise RequestRefusedError(
                f"Replication fileIoMaxLength ({request.file_io_max_length}) is less than than the recording mtuLength ({found.mtu_length})"
            )
        copied = _copied(found)
        try:
            channels.check_described(replace(copied, recording_id=found.recording_id, stop_position=found.stop_position))
        except ConfigurationError as error:
            raise RequestRefusedError(f"src recording {found.recording_id} cannot be copied: {error}") from None
        self._position = found.start_position if self._entry is None else self._entry.stop_position
        if self._entry is None:
            self._dst_recording_id = catalog.add_recording(copied)
            self._signal(found.start_position, RecordingSignal.REPLICATE, NULL_VALUE)
        elif self._entry.start_position == self._entry.stop_position:
            self._position = found.start_position
            catalog.replace_recording(replace(copied, recording_id=self._dst_recording_id))
        if request.live_destination and not found.is_active:
            raise RequestRefusedError("cannot live merge without active source recording")
        if found.stop_position in {found.start_position, catalog.stop_position(self._dst_recording_id)}:
            self._signal(found.stop_position, RecordingSignal.SYNC, NULL_VALUE)
            self._go_to(ReplicationState.DONE, "in sync")
            return False
        return True

    def _source_position(self) -> Steps[int]:
        assert self._source is not None
        if self.state is ReplicationState.REPLICATE_DESCRIPTOR:
            self._go_to(ReplicationState.SRC_RECORDING_POSITION, f"liveDestination={self._request.live_destination}")
        position = yield from self._await(self._source.async_get_recording_position(self._request.src_recording_id))
        if position == NULL_POSITION:
            raise RequestRefusedError("cannot live merge without active source recording")
        return position

    def _replayed(self, found: RecordingDescriptor) -> Steps[Image]:
        """Extend the recording by a replay of the source, and return the replay's image."""
        assert self._source is not None
        request = self._request
        self._go_to(ReplicationState.EXTEND, "")
        is_own_session = not request.live_destination and request.replication_session_id != NULL_VALUE
        session_id = request.replication_session_id if is_own_session else found.session_id
        self._recorded = self._recordings.extend(
            self._session,
            ExtendRecording(
                correlation_id=self.replication_id,
                recording_id=self._dst_recording_id,
                stream_id=found.stream_id,
                source_location=SourceLocation.REMOTE,
                is_auto_stop=True,
                channel=self._channels.recording(session_id),
            ),
        )
        subscription: Subscription = yield from self._subscribed(self._recorded)
        destination = self._channels.destination()
        if destination is not None:
            yield from self._await(subscription.async_add_destination(destination))
        self._go_to(ReplicationState.REPLAY, "" if destination is None else f"replay destination added: {destination}")
        deadline_ms = self._deadline()
        while (channel := self._channels.replay(subscription, session_id)) is None:
            yield from self._pause(deadline_ms, f"failed to resolve subscription endpoint: channel={subscription.channel}")
        length = NULL_VALUE if request.stop_position == NULL_POSITION else request.stop_position - self._position
        params = ReplayParams(
            position=self._position,
            length=length,
            file_io_max_length=request.file_io_max_length,
            subscription_registration_id=subscription.registration_id,
        )
        replay = self._source.async_start_replay(request.src_recording_id, channel, found.stream_id, params)
        self._replay_session_id = yield from self._await(replay)
        self._go_to(ReplicationState.AWAIT_IMAGE, f"srcReplaySessionId={self._replay_session_id}")
        deadline_ms = self._deadline()
        wanted = session_id_of(self._replay_session_id)
        while (image := subscription.image_by_session_id(wanted)) is None:
            yield from self._pause(deadline_ms, f"failed get replay image for sessionId={wanted} on channel={subscription.channel}")
        return image

    def _subscribed(self, recorded: RecordingSubscription) -> Steps[Subscription]:
        while recorded.subscription is None:
            if not recorded.is_listed:
                raise _AlreadyToldError("the driver refused the subscription of the copy")
            yield None
        return recorded.subscription

    def _copy(self, found: RecordingDescriptor, image: Image) -> Steps[None]:
        """Wait until the copy has come to the end of the source, or to where it is to stop, or the replay has ended."""
        self._go_to(ReplicationState.REPLICATE, _words(image))
        stop_position = self._request.stop_position
        while True:
            position = self._copied_position()
            is_synced = not found.is_active and position >= found.stop_position
            is_over = self._recorded is None or not self._recorded.is_listed
            if is_synced or is_over or (stop_position != NULL_POSITION and position >= stop_position):
                break
            yield None
        self._core.events.note(
            ArchiveEventCode.REPLICATION_SESSION_DONE,
            control_session_id=self._session.session_id,
            replication_id=self.replication_id,
            src_recording_id=self._request.src_recording_id,
            replay_position=self._position,
            src_stop_position=found.stop_position,
            dst_recording_id=self._dst_recording_id,
            dst_stop_position=stop_position,
            position=position,
            is_closed=image.is_closed,
            is_end_of_stream=image.is_end_of_stream,
            is_synced=is_synced,
        )
        if is_synced:
            self._signal(position, RecordingSignal.SYNC, self._subscription_id)
        self._replay_session_id = NULL_VALUE
        self._go_to(ReplicationState.DONE, "sync" if is_synced else "done")

    def _merge(self, image: Image) -> Steps[None]:
        """Follow the replay until it is near the live stream, add that, and leave the replay once both bring the same."""
        assert self._recorded is not None
        assert self._recorded.subscription is not None
        subscription = self._recorded.subscription
        self._go_to(ReplicationState.CATCHUP, _words(image))
        source_position = yield from self._source_position()
        while self._copied_position() < source_position:
            if not self._recorded.is_listed:
                raise RequestRefusedError("replication image closed unexpectedly")
            yield None
        self._go_to(ReplicationState.ATTEMPT_LIVE_JOIN, f"position {self._copied_position()} >= srcRecordingPosition {source_position}")
        is_live_added = False
        settled_ms = 0
        while True:
            source_position = yield from self._source_position()
            missing = source_position - self._copied_position()
            if not self._recorded.is_listed:
                raise RequestRefusedError("replication image closed unexpectedly")
            if not is_live_added or image.active_transport_count < 2:
                settled_ms = self._core.time.now_ms + LIVE_SETTLE_MS
            if not is_live_added and missing <= min(image.term_buffer_length >> 2, LIVE_ADD_MAX_WINDOW):
                yield from self._await(subscription.async_add_destination(self._request.live_destination))
                is_live_added = True
            elif is_live_added and missing <= 0 and self._core.time.now_ms >= settled_ms:
                break
            yield None
        destination = self._channels.destination()
        if destination is not None:
            yield from self._await(subscription.async_remove_destination(destination))
        self._is_merged = True
        self._signal(self._copied_position(), RecordingSignal.MERGE, self._subscription_id)
        self._go_to(ReplicationState.DONE, "merge")

    # ---- waiting

    def _await(self, pending: Pending[T]) -> Steps[T]:
        self._awaited = pending
        while not pending.poll():
            yield None
        self._awaited = None
        return pending.result()

    def _pause(self, deadline_ms: int, text: str) -> Steps[None]:
        if self._core.time.now_ms >= deadline_ms:
            raise RequestRefusedError(text)
        yield None

    def _deadline(self) -> int:
        return self._core.time.now_ms + ACTION_TIMEOUT_MS

    def _check_source(self) -> None:
        """Raise what the source tells without having been asked: of a replay that has failed."""
        if self._source is None or self._awaited is not None or self._core.time.now_ms < self._poll_ms:
            return
        self._poll_ms = self._core.time.now_ms + SOURCE_POLL_INTERVAL_MS
        error = self._source.poll_for_error_response()
        if error is not None:
            raise error

    # ---- what is told

    @property
    def _subscription_id(self) -> int:
        return NULL_VALUE if self._recorded is None else self._recorded.registration_id

    def _copied_position(self) -> int:
        recording = self._recordings.active(self._dst_recording_id)
        return self._core.catalog.stop_position(self._dst_recording_id) if recording is None else recording.position

    def _signal(self, position: int, signal: RecordingSignal, subscription_id: int) -> None:
        self._session.send_signal(self.replication_id, self._dst_recording_id, subscription_id, position, signal)

    def _fail(self, error: Exception) -> None:
        text = error.what if isinstance(error, RequestRefusedError) else str(error)
        self._go_to(ReplicationState.DONE, text)
        if not isinstance(error, _AlreadyToldError):
            code = error.code if isinstance(error, RequestRefusedError) else ArchiveErrorCode.GENERIC
            if isinstance(error, ArchiveError) and error.error_code is not None:
                code = ArchiveErrorCode(error.error_code)
            self._session.send_error(self.replication_id, text, code)

    def _go_to(self, state: ReplicationState, reason: str) -> None:
        old, self.state = self.state, state
        self._core.events.state_change(
            ArchiveEventCode.REPLICATION_SESSION_STATE_CHANGE,
            old,
            state,
            replication_id=self.replication_id,
            src_recording_id=self._request.src_recording_id,
            dst_recording_id=self._dst_recording_id,
            position=self._position,
            reason=reason,
        )


def destination_of(core: ArchiveCore, recordings: Recordings, recording_id: int) -> RecordingEntry:
    """Return the recording that is to hold a copy. Raises RequestRefusedError."""
    entry = core.catalog.entry(recording_id)
    if entry is None:
        raise RequestRefusedError(f"unknown destination recording id {recording_id}", ArchiveErrorCode.UNKNOWN_RECORDING)
    if entry.is_active or recordings.active(recording_id) is not None:
        raise RequestRefusedError(f"cannot replicate to active recording {recording_id}", ArchiveErrorCode.ACTIVE_RECORDING)
    return entry


class _ReplicationCredentials:
    """The credentials that a request to replicate gives. Aeron: ReplicationCredentialsSupplier."""

    def __init__(self, credentials: bytes) -> None:
        self._credentials = credentials

    def encoded_credentials(self) -> bytes:
        """Return what the connect request carries."""
        return self._credentials

    def on_challenge(self, _encoded_challenge: bytes) -> bytes:
        """Refuse to answer: the client that asked is not there to."""
        raise AerowireError("replication does not support challenge/response")


class _AlreadyToldError(AerowireError):
    """The end of a replication whose client has got an error response already."""


def _copied(found: RecordingDescriptor) -> RecordingEntry:
    """Return the entry of a copy of a recording that holds nothing yet."""
    return RecordingEntry(
        recording_id=NULL_VALUE,
        start_timestamp_ms=found.start_timestamp,
        stop_timestamp_ms=found.start_timestamp,
        start_position=found.start_position,
        stop_position=found.start_position,
        initial_term_id=found.initial_term_id,
        segment_file_length=found.segment_file_length,
        term_buffer_length=found.term_buffer_length,
        mtu_length=found.mtu_length,
        session_id=found.session_id,
        stream_id=found.stream_id,
        stripped_channel=found.stripped_channel,
        original_channel=found.original_channel,
        source_identity=found.source_identity,
    )


def _words(image: Image) -> str:
    return f"image.correlationId={image.correlation_id}, image.sessionId={image.session_id}, image.joinPosition={image.join_position}"
