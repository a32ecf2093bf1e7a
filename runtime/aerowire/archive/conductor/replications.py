"""Replications of recordings of other archives: which are asked for, which are going on. Aeron: ArchiveConductor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.archive.conductor import channels
from aerowire.archive.conductor.replication_session import ReplicationSession, destination_of
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import NULL_VALUE
from aerowire.base.channel_uri import ChannelUri
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.requests import Replicate
    from aerowire.codecs.flyweights import archive
    from aerowire.recordings.catalog_entry import RecordingEntry


class Replications:
    """The table of replications. The conductor's thread."""

    def __init__(self, core: ArchiveCore, recordings: Recordings, next_id: Callable[[], int]) -> None:
        """`next_id` gives the id of each, which no control session has."""
        self._core = core
        self._recordings = recordings
        self._next_id = next_id
        self._sessions: dict[int, ReplicationSession] = {}

    @property
    def copying_count(self) -> int:
        """How many only wait for the end of their copy."""
        return sum(replication.is_copying for replication in self._sessions.values()) if self._sessions else 0

    def replicate(self, session: ControlSession, request: Replicate) -> None:
        """Begin to copy a recording of another archive; the response is the replication's id, and signals tell how it goes."""
        channel = request.replication_channel or self._core.context.replication_channel
        if channels.parse_channel(channel).get("control-mode") == channels.CONTROL_MODE_RESPONSE:
            _check_response_channel(request)
        self._forget_done()
        replication_id = self._next_id()
        replication = ReplicationSession(
            self._core,
            self._recordings,
            session,
            request,
            replication_id,
            self._destination(request.dst_recording_id),
            replication_channel=channel,
            response_channel=self._response_channel(),
        )
        self._sessions[replication_id] = replication
        self._core.sessions.add(replication)
        session.send_ok(request.correlation_id, replication_id)

    def stop(self, session: ControlSession, request: archive.StopReplicationRequest) -> None:
        """End a replication, and the recording that it extends."""
        self._forget_done()
        found = self._sessions.pop(request.replication_id, None)
        if found is None:
            raise RequestRefusedError(f"unknown replication id {request.replication_id}", ArchiveErrorCode.UNKNOWN_REPLICATION)
        found.abort("stop replication")
        session.send_ok(request.correlation_id)

    def stop_all(self) -> None:
        """End all replications: the archive closes."""
        for replication in self._sessions.values():
            replication.abort("archive closed")

    def _destination(self, recording_id: int) -> RecordingEntry | None:
        """Return the recording that is to hold the copy, None for a new one. Raises RequestRefusedError."""
        return None if recording_id == NULL_VALUE else destination_of(self._core, self._recordings, recording_id)

    def _response_channel(self) -> str:
        """Return the channel on which another archive responds: on the host of the control channel, or of what is replicated."""
        context = self._core.context
        control = context.control_channel if context.control_channel_enabled else context.replication_channel
        return channels.response_endpoint_of(control) if "endpoint" in ChannelUri.parse(control) else control

    def _forget_done(self) -> None:
        self._sessions = {key: found for key, found in self._sessions.items() if not found.is_done}


def _check_response_channel(request: Replicate) -> None:
    if request.live_destination:
        raise RequestRefusedError("response channels can't be used with live destinations")
    if request.channel_tag_id != NULL_VALUE or request.subscription_tag_id != NULL_VALUE:
        raise RequestRefusedError("response channels can't be used with tagged replication")
