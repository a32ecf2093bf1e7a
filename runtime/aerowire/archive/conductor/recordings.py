"""Recordings: which are asked for, which are being written, how they begin, go on and end. Aeron: ArchiveConductor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aerowire.agents.error_recorder import is_storage_error
from aerowire.archive.conductor import channels
from aerowire.archive.conductor.active_recording import ActiveRecording
from aerowire.archive.conductor.recording_subscription import RecordingSubscription
from aerowire.archive.conductor.unrecorded_stop import UnrecordedStop
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import ExtendRecording, StartRecording
from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.base.errors import AerowireError, ChannelError, ConfigurationError
from aerowire.codecs.flyweights.archive import RecordingSignal
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.catalog_entry import RecordingEntry

if TYPE_CHECKING:
    from aerowire.archive.agents.events import RecordingEnded
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.deletions import Deletions
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.client.subscriptions.image import Image
    from aerowire.codecs.flyweights import archive


class Recordings:
    """The table of recording subscriptions and of recordings that are being written. The conductor's thread.

    Invariant: a subscription in `_subscriptions` is listed, one in `_leaving` is not and has recordings that are ending. The
    subscriptions in `_asked` and, for their counters, the recordings in `_beginning` wait for the driver.
    """

    def __init__(self, core: ArchiveCore, deletions: Deletions) -> None:
        self._core = core
        self._deletions = deletions
        self._subscriptions: dict[str, RecordingSubscription] = {}
        self._asked: set[RecordingSubscription] = set()
        self._leaving: list[RecordingSubscription] = []
        self._active: dict[int, ActiveRecording] = {}
        self._beginning: dict[int, ActiveRecording] = {}
        self.has_skipped = False
        """Whether there are images that are not recorded, and flow by."""

    @property
    def subscriptions(self) -> list[RecordingSubscription]:
        """The subscriptions that clients know, in the order in which they were asked for."""
        return [found for found in self._subscriptions.values() if found.subscription is not None]

    @property
    def count(self) -> int:
        """Recordings as the limit counts them: those that are written, and one for each subscription that has none."""
        return len(self._active) + sum(not found.recordings for found in self._subscriptions.values())

    @property
    def awaits_driver(self) -> bool:
        """Whether a subscription or the counter of a recording is not there yet."""
        return bool(self._asked or self._beginning)

    def active(self, recording_id: int) -> ActiveRecording | None:
        """Return a recording that is being written, or None."""
        return self._active.get(recording_id)

    # ---- requests

    def start(self, session: ControlSession, request: StartRecording) -> None:
        """Subscribe to a channel and record its images; the response follows when the driver has answered."""
        self._check_count("reached")
        self._core.check_storage_space()
        self._subscribe(session, request)

    def extend(self, session: ControlSession, request: ExtendRecording) -> RecordingSubscription:
        """Subscribe to a channel and let its image extend a recording; the response follows when the driver has answered."""
        self._check_count("reached at")
        entry = self._core.entry_of(request.recording_id)
        if request.stream_id != entry.stream_id:
            raise RequestRefusedError(
                f"cannot extend recording {entry.recording_id} with streamId={request.stream_id} for existing streamId={entry.stream_id}",
                ArchiveErrorCode.UNKNOWN_RECORDING,
            )
        if entry.recording_id in self._active:
            raise RequestRefusedError(f"cannot extend active recording {entry.recording_id}", ArchiveErrorCode.ACTIVE_RECORDING)
        if self._deletions.reaches(entry.recording_id, entry.stop_position):
            raise RequestRefusedError(f"cannot extend recording {entry.recording_id} due to an outstanding delete operation")
        self._core.check_storage_space()
        return self._subscribe(session, request)

    def stop(self, session: ControlSession, request: archive.StopRecordingRequest) -> None:
        """End the recordings of a channel and stream."""
        place = channels.recording_place(channels.parse_channel(request.channel))
        found = self._subscriptions.get(channels.recording_key(request.stream_id, place))
        if found is None:
            raise RequestRefusedError(
                f"no recording found for streamId={request.stream_id} channel={request.channel}", ArchiveErrorCode.UNKNOWN_SUBSCRIPTION
            )
        self._stop(found, session, request.correlation_id)

    def stop_subscription(self, session: ControlSession, request: archive.StopRecordingSubscriptionRequest) -> None:
        """End the recordings of a subscription."""
        found = next((found for found in self.subscriptions if found.registration_id == request.subscription_id), None)
        if found is None:
            raise RequestRefusedError(
                f"no recording subscription found for subscriptionId={request.subscription_id}", ArchiveErrorCode.UNKNOWN_SUBSCRIPTION
            )
        self._stop(found, session, request.correlation_id)

    def stop_by_identity(self, session: ControlSession, request: archive.StopRecordingByIdentityRequest) -> None:
        """End one recording, and listen for no more images of its subscription; the relevant id says whether it was being written."""
        self._core.entry_of(request.recording_id)
        recording = self._active.get(request.recording_id)
        is_found = recording is not None and recording.subscription.is_listed
        if recording is None:
            session.send_ok(request.correlation_id)
        else:
            recording.respond_when_ended(session, request.correlation_id, int(is_found))
            recording.stop("stop recording by identity")
            self._unlist(recording.subscription)

    # ---- cycle

    def do_work(self) -> int:
        """Answer what the driver has answered, begin with new images, publish the progress, let go of what has ended."""
        work = 0
        for found in [found for found in self._subscriptions.values() if found.has_news]:
            work += self._look_at(found)
        for found in self._leaving:
            for image in found.new_images():
                found.skip(image)
        self.has_skipped = False
        for found in (*self._subscriptions.values(), *self._leaving):
            if found.has_skipped:
                self.has_skipped = True
                work += found.skip_messages()
        if self._beginning:
            work += self._begin_recordings()
        if self._core.recording_events is not None:
            work += sum([recording.publish_progress() for recording in self._active.values()])
        return work

    def _begin_recordings(self) -> int:
        """Begin the recordings whose counter is there; one that cannot be written has ended."""
        work = 0
        for recording in list(self._beginning.values()):
            if recording.begin():
                work += 1
                del self._beginning[recording.recording_id]
                if recording.is_over:
                    self._forget(recording)
        return work

    def on_ended(self, ended: RecordingEnded) -> None:
        """The recorder is done with a recording."""
        recording = self._active[ended.session.recording_id]
        recording.on_ended(ended)
        self._forget(recording)

    def stop_all(self, reason: str) -> None:
        """Let all recordings end, and record nothing new: the archive closes."""
        for found in list(self._subscriptions.values()):
            self.leave(found, reason)
        for recording in list(self._active.values()):
            if recording.native is None:
                recording.abandon()
                self._beginning.pop(recording.recording_id, None)
                del self._active[recording.recording_id]

    @property
    def has_active(self) -> bool:
        """Whether the recorder still has recordings."""
        return bool(self._active)

    # ---- subscriptions

    def _check_count(self, words: str) -> None:
        most = self._core.context.max_concurrent_recordings
        if self.count >= most:
            raise RequestRefusedError(f"max concurrent recordings {words} {most}", ArchiveErrorCode.MAX_RECORDINGS)

    def _subscribe(self, session: ControlSession, request: StartRecording | ExtendRecording) -> RecordingSubscription:
        try:
            channel, stripped, place = channels.recorded_channel(request.channel, request.source_location)
        except (ChannelError, ConfigurationError) as error:
            raise RequestRefusedError(str(error)) from None
        key = channels.recording_key(request.stream_id, place)
        if key in self._subscriptions:
            raise RequestRefusedError(
                f"recording exists for streamId={request.stream_id} channel={request.channel}", ArchiveErrorCode.ACTIVE_SUBSCRIPTION
            )
        adding = RetriedRequest(lambda: self._core.aeron.async_add_subscription(channel, request.stream_id))
        found = RecordingSubscription(key, channel, stripped, request, session, adding)
        self._subscriptions[key] = found
        self._asked.add(found)
        return found

    def _look_at(self, found: RecordingSubscription) -> int:
        if found.subscription is None:
            return self._await_subscription(found)
        if found.subscription.is_closed:
            self.leave(found, "the subscription was closed")
            return 1
        images = found.new_images()
        for image in images:
            self._begin(found, image)
        return len(images)

    def _await_subscription(self, found: RecordingSubscription) -> int:
        try:
            found.subscription = found.adding.poll(self._core.time.now_ms)
        except Exception as error:  # told to the client
            self._core.errors.record(error, key=("recording subscription", type(error)))
            self._unlist(found)
            found.session.send_error(found.request.correlation_id, str(error))
            return 1
        if found.subscription is None:
            return 0
        self._asked.discard(found)
        found.session.send_ok(found.request.correlation_id, found.registration_id)
        return 1

    def _stop(self, found: RecordingSubscription, session: ControlSession, correlation_id: int) -> None:
        """Stop the recordings of a subscription; the response follows when the last of them has ended."""
        if found.recordings:
            found.recordings[-1].respond_when_ended(session, correlation_id, 0)
        else:
            session.send_ok(correlation_id)
        self.leave(found, "stop recording")

    def leave(self, found: RecordingSubscription, reason: str) -> None:
        """Stop the recordings of a subscription, and close it once they have ended."""
        if found.is_listed and found.subscription is None:
            found.session.send_error(found.request.correlation_id, f"ended before the driver had answered: {reason}")
        for recording in found.recordings:
            recording.stop(reason)
        self._unlist(found)

    def _unlist(self, found: RecordingSubscription) -> None:
        if found.is_listed:
            found.is_listed = False
            self._asked.discard(found)
            del self._subscriptions[found.key]
            if found.recordings:
                self._leaving.append(found)
            else:
                found.close()

    def _forget(self, recording: ActiveRecording) -> None:
        """Let go of a recording that has ended, and of its subscription when that was its last or stops with it."""
        del self._active[recording.recording_id]
        self._core.count(self._core.recording_sessions, -1)
        found = recording.subscription
        found.recordings.remove(recording)
        found.skip(recording.image)
        if found.is_listed and found.request.is_auto_stop:
            self.leave(found, "close recording session")
        elif not found.is_listed and not found.recordings:
            self._leaving.remove(found)
            found.close()

    # ---- images

    def _begin(self, found: RecordingSubscription, image: Image) -> None:
        request = found.request
        try:
            if isinstance(request, ExtendRecording):
                entry, signal = self._extended(found, request, image), RecordingSignal.EXTEND
            else:
                entry, signal = self._added(found, image), RecordingSignal.START
            recording = self._activated(found, entry, image, signal)
        except RequestRefusedError as refusal:
            self._core.errors.record(f"WARN - {refusal.what}", key=("image not recorded", refusal.code))
            found.session.send_error(request.correlation_id, refusal.what, refusal.code)
        except Exception as error:  # the catalog cannot be written, or the driver takes no commands: told to the client
            self._core.errors.record(error, key=("image not recorded", type(error)))
            code = ArchiveErrorCode.STORAGE_SPACE if is_storage_error(error) else ArchiveErrorCode.GENERIC
            found.session.send_error(request.correlation_id, str(error), code)
        else:
            found.recordings.append(recording)
            self._active[entry.recording_id] = recording
            self._beginning[entry.recording_id] = recording
            self._core.count(self._core.recording_sessions, 1)
            return
        found.skip(image)
        if request.is_auto_stop:
            self.leave(found, "the image cannot be recorded")

    def _activated(self, found: RecordingSubscription, entry: RecordingEntry, image: Image, signal: RecordingSignal) -> ActiveRecording:
        """Return a recording that the catalog has as active; if the driver takes no command for its counter, it ends where it is."""
        try:
            return ActiveRecording(self._core, entry, image, found, signal)
        except AerowireError:
            stop = UnrecordedStop(self._core, entry.recording_id, image.join_position, has_failed=False)
            if not stop.write():
                self._core.sessions.add(stop)
            raise

    def _added(self, found: RecordingSubscription, image: Image) -> RecordingEntry:
        catalog = self._core.catalog
        recording_id = catalog.add_recording(
            RecordingEntry(
                recording_id=-1,
                start_timestamp_ms=self._core.time.now_ms,
                start_position=image.join_position,
                initial_term_id=image.initial_term_id,
                segment_file_length=max(self._core.context.segment_file_length, image.term_buffer_length),
                term_buffer_length=image.term_buffer_length,
                mtu_length=image.mtu_length,
                session_id=image.session_id,
                stream_id=image.stream_id,
                stripped_channel=found.stripped_channel,
                original_channel=found.request.channel,
                source_identity=image.source_identity,
            )
        )
        return self._core.entry_of(recording_id)

    def _extended(self, found: RecordingSubscription, request: ExtendRecording, image: Image) -> RecordingEntry:
        where = f"streamId={request.stream_id} channel={request.channel}"
        entry = self._core.entry_of(request.recording_id)
        if entry.recording_id in self._active:
            raise RequestRefusedError(f"cannot extend active recording {entry.recording_id} {where}", ArchiveErrorCode.ACTIVE_RECORDING)
        if self._deletions.reaches(entry.recording_id, entry.stop_position):
            raise RequestRefusedError(f"cannot extend recording {entry.recording_id} due to an outstanding delete operation: {where}")
        _check_extension(entry, image)
        # BEFORE the recording is active: recovery takes all frames for its own.
        self._core.clear_tail(entry, entry.stop_position)
        self._core.give_up_behind(entry)
        self._core.catalog.extend_recording(entry.recording_id, found.session.session_id, request.correlation_id, image.session_id)
        return replace(entry, session_id=image.session_id)


def _check_extension(entry: RecordingEntry, image: Image) -> None:
    """Raise RequestRefusedError with the first parameter in which an image does not continue a recording."""
    for name, actual, of_recording, expected in (
        ("joinPosition", image.join_position, "stopPosition", entry.stop_position),
        ("initialTermId", image.initial_term_id, "initialTermId", entry.initial_term_id),
        ("termBufferLength", image.term_buffer_length, "termBufferLength", entry.term_buffer_length),
        ("mtuLength", image.mtu_length, "mtuLength", entry.mtu_length),
    ):
        if actual != expected:
            raise RequestRefusedError(
                f"cannot extend recording {entry.recording_id} image.{name}={actual} != rec.{of_recording}={expected}",
                ArchiveErrorCode.INVALID_EXTENSION,
            )
