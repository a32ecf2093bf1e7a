"""Listings: descriptors of recordings and of recording subscriptions, sent as the client takes them.

Aeron: AbstractListRecordingsSession, ListRecordingSubscriptionsSession, UpdateChannelSession.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.archive.conductor import channels
from aerowire.archive.control.refusals import RequestRefusedError, active_listing
from aerowire.base.errors import ChannelError, ConfigurationError
from aerowire.codecs.flyweights.archive import BooleanType
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recording_subscription import RecordingSubscription
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.codecs.flyweights import archive

# Descriptors of one cycle, so that a long listing holds no other client up.
_DESCRIPTORS_PER_CYCLE = 64


class ListingSession:
    """A listing of one session, of which it has one at a time. Subclasses send one entry after the other."""

    def __init__(self, session: ControlSession, correlation_id: int) -> None:
        self.is_done = False
        self._session = session
        self._correlation_id = correlation_id

    def do_work(self) -> int:
        """Send what the client takes, up to a limit."""
        sent = 0
        while not self.is_done and sent < _DESCRIPTORS_PER_CYCLE:
            if self._session.is_done:
                self.is_done = True
            elif self._try_send_next():
                sent += 1
            else:
                break
        return sent

    def abort(self, _reason: str) -> None:
        """End it without a response."""
        self.is_done = True

    def close(self) -> None:
        """Let the session list again."""
        self._session.active_listing = None

    def _try_send_next(self) -> bool:
        """As `_send_next`; an exception there ends the listing with an error response to the client."""
        try:
            return self._send_next()
        except Exception as error:
            self.is_done = True
            self._session.send_error(self._correlation_id, f"listing failed: {error}")
            raise

    def _send_next(self) -> bool:
        """Send one entry, or end the listing; False when the client takes no more now."""
        raise NotImplementedError


class ListRecordingsSession(ListingSession):
    """Descriptors of recordings from an id on, of all or of those that a function finds; the last response says that there are no more."""

    def __init__(
        self,
        core: ArchiveCore,
        session: ControlSession,
        correlation_id: int,
        *,
        from_recording_id: int,
        count: int,
        find: Callable[[int, int], list[int]],
    ) -> None:
        """`find(recording_id, count)` returns the ids of up to `count` recordings from that id on, in order."""
        super().__init__(session, correlation_id)
        self._core = core
        self._next_id = from_recording_id
        self._left = count
        self._find = find
        self._found: list[int] = []

    def _send_next(self) -> bool:
        if self._left <= 0:
            self.is_done = True
            return True
        if not self._found:
            self._found = self._find(self._next_id, min(self._left, _DESCRIPTORS_PER_CYCLE))
        descriptor = self._core.catalog.descriptor(self._found[0]) if self._found else None
        if descriptor is None:
            self._session.send_recording_unknown(self._correlation_id, self._found[0] if self._found else self._next_id)
            self.is_done = True
            return True
        if not self._session.send_descriptor(self._correlation_id, descriptor):
            return False
        self._next_id = self._found.pop(0) + 1
        self._left -= 1
        self.is_done = self._left == 0
        return True


class ListSubscriptionsSession(ListingSession):
    """Descriptors of recording subscriptions from an index on."""

    def __init__(
        self, session: ControlSession, request: archive.ListRecordingSubscriptionsRequest, subscriptions: list[RecordingSubscription]
    ) -> None:
        super().__init__(session, request.correlation_id)
        self._left = request.subscription_count
        self._matching = [
            found
            for found in subscriptions[request.pseudo_index :]
            if (request.apply_stream_id != BooleanType.TRUE or found.request.stream_id == request.stream_id)
            and request.channel in found.channel
        ]

    def _send_next(self) -> bool:
        if not self._matching:
            self._session.send_subscription_unknown(self._correlation_id)
            self.is_done = True
            return True
        found = self._matching[0]
        if not self._session.send_subscription_descriptor(
            self._correlation_id, found.registration_id, found.request.stream_id, found.channel
        ):
            return False
        self._matching.pop(0)
        self._left -= 1
        self.is_done = self._left == 0
        return True


class Listings:
    """What clients ask about several recordings. The conductor's thread."""

    def __init__(self, core: ArchiveCore, recordings: Recordings) -> None:
        self._core = core
        self._recordings = recordings

    def recordings(self, session: ControlSession, request: archive.ListRecordingsRequest) -> None:
        """List recordings from an id on."""
        self._list(session, request.correlation_id, request.from_recording_id, request.record_count, self._core.catalog.ids_from)

    def recordings_for_uri(self, session: ControlSession, request: archive.ListRecordingsForUriRequest) -> None:
        """List recordings of a stream whose channel holds a text."""
        fragment = _octets(request.channel)

        def find(recording_id: int, count: int) -> list[int]:
            return self._core.catalog.find_from(recording_id, count, request.stream_id, fragment)

        self._list(session, request.correlation_id, request.from_recording_id, request.record_count, find)

    def recording(self, session: ControlSession, request: archive.ListRecordingRequest) -> None:
        """Send the descriptor of one recording."""
        _check_free(session)
        if not self._core.catalog.has_recording(request.recording_id):
            session.send_recording_unknown(request.correlation_id, request.recording_id)
            return
        listing = ListRecordingsSession(
            self._core,
            session,
            request.correlation_id,
            from_recording_id=request.recording_id,
            count=1,
            find=lambda recording_id, _count: [recording_id],
        )
        self._begin(session, listing)

    def subscriptions(self, session: ControlSession, request: archive.ListRecordingSubscriptionsRequest) -> None:
        """List the subscriptions that are recorded."""
        _check_free(session)
        subscriptions = self._recordings.subscriptions
        if not 0 <= request.pseudo_index < len(subscriptions) or request.subscription_count <= 0:
            session.send_subscription_unknown(request.correlation_id)
            return
        self._begin(session, ListSubscriptionsSession(session, request, subscriptions))

    def find_last(self, session: ControlSession, request: archive.FindLastMatchingRecordingRequest) -> None:
        """Respond with the latest recording of a stream and session, or with -1."""
        if request.min_recording_id < 0:
            raise RequestRefusedError(f"minRecordingId={request.min_recording_id} < 0", ArchiveErrorCode.UNKNOWN_RECORDING)
        found = self._core.catalog.find_last(request.min_recording_id, request.session_id, request.stream_id, _octets(request.channel))
        session.send_ok(request.correlation_id, found)

    def update_channel(self, session: ControlSession, request: archive.UpdateChannelRequest) -> None:
        """Give a recording another channel."""
        _check_free(session)
        if not self._core.catalog.has_recording(request.recording_id):
            session.send_recording_unknown(request.correlation_id, request.recording_id)
            return
        try:
            stripped = channels.stripped_channel(channels.parse_channel(request.channel))
            channels.check_listed(stripped, request.channel)
        except (ChannelError, ConfigurationError) as error:
            raise RequestRefusedError(str(error)) from None
        self._core.catalog.change_channel(request.recording_id, stripped, request.channel)
        session.send_ok(request.correlation_id)

    def _list(
        self, session: ControlSession, correlation_id: int, from_recording_id: int, count: int, find: Callable[[int, int], list[int]]
    ) -> None:
        _check_free(session)
        listing = ListRecordingsSession(self._core, session, correlation_id, from_recording_id=from_recording_id, count=count, find=find)
        self._begin(session, listing)

    def _begin(self, session: ControlSession, listing: ListingSession) -> None:
        session.active_listing = listing
        self._core.sessions.add(listing)


def _check_free(session: ControlSession) -> None:
    if session.has_active_listing:
        raise active_listing()


def _octets(text: str) -> bytes:
    return text.encode("ascii", "surrogateescape")
