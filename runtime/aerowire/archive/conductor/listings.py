"""Listings: descriptors of recordings and of recording subscriptions, sent as the client takes them.

Aeron: AbstractListRecordingsSession, ListRecordingSubscriptionsSession, UpdateChannelSession.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.conductor import channels
from aerowire.archive.conductor.descriptor_listing import DescriptorListing
from aerowire.archive.control.refusals import RequestRefusedError, active_listing
from aerowire.base.errors import ChannelError, ConfigurationError
from aerowire.codecs.flyweights.archive import BooleanType
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recording_subscription import RecordingSubscription
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.files.catalog import Catalog
    from aerowire.codecs.flyweights import archive

# Descriptors of subscriptions in one cycle, so that a long listing holds no other client up.
_DESCRIPTORS_PER_CYCLE = 64
# How often a cycle of a conductor with a thread of its own yields to the driver and the client, which make room for more: some 50 us.
_PATIENCE = 100


class ListingSession:
    """A listing of one session, of which it has one at a time."""

    def __init__(self, session: ControlSession, correlation_id: int) -> None:
        self.is_done = False
        self._session = session
        self._correlation_id = correlation_id

    def do_work(self) -> int:
        """Send what the client takes, up to a limit. An exception ends the listing with an error response to the client."""
        if self._session.is_done:
            self.is_done = True
        if self.is_done:
            return 0
        try:
            return self._send()
        except Exception as error:
            self.is_done = True
            self._session.send_error(self._correlation_id, f"listing failed: {error}")
            raise

    def abort(self, _reason: str) -> None:
        """End it without a response."""
        self.is_done = True

    def close(self) -> None:
        """Let the session list again."""
        self._session.active_listing = None

    def _send(self) -> int:
        """Send entries, or end the listing; return how much was done."""
        raise NotImplementedError


class ListRecordingsSession(ListingSession):
    """Descriptors of recordings; the last response says that there are no more."""

    def __init__(self, catalog: Catalog, session: ControlSession, correlation_id: int, listing: DescriptorListing) -> None:
        super().__init__(session, correlation_id)
        self._catalog = catalog
        self._listing = listing

    def _send(self) -> int:
        listing, publication = self._listing, self._session.free_publication
        if publication is None:
            return 0
        scanned = listing.send(publication, self._catalog.index, self._catalog.data)
        self._session.on_offered(listing.sent, listing.refusal)
        if listing.is_exhausted:
            self._session.send_recording_unknown(self._correlation_id, listing.next_id)
            self.is_done = True
        elif listing.left <= 0:
            self.is_done = True
        return scanned


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

    def _send(self) -> int:
        sent = 0
        while not self.is_done and sent < _DESCRIPTORS_PER_CYCLE and self._send_next():
            sent += 1
        return sent

    def _send_next(self) -> bool:
        """Send one descriptor, or end the listing; False when the client takes no more now."""
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
        self._patience = 0 if core.context.is_invoked else _PATIENCE

    def recordings(self, session: ControlSession, request: archive.ListRecordingsRequest) -> None:
        """List recordings from an id on."""
        head = session.descriptor_head(request.correlation_id)
        listing = DescriptorListing(head, request.from_recording_id, request.record_count, patience=self._patience)
        self._list(session, request.correlation_id, listing)

    def recordings_for_uri(self, session: ControlSession, request: archive.ListRecordingsForUriRequest) -> None:
        """List recordings of a stream whose channel holds a text."""
        listing = DescriptorListing(
            session.descriptor_head(request.correlation_id),
            request.from_recording_id,
            request.record_count,
            stream_id=request.stream_id,
            channel_fragment=_octets(request.channel),
            patience=self._patience,
        )
        self._list(session, request.correlation_id, listing)

    def recording(self, session: ControlSession, request: archive.ListRecordingRequest) -> None:
        """Send the descriptor of one recording."""
        _check_free(session)
        recording_id = request.recording_id
        if not self._core.catalog.has_recording(recording_id):
            session.send_recording_unknown(request.correlation_id, recording_id)
            return
        head = session.descriptor_head(request.correlation_id)
        self._list(session, request.correlation_id, DescriptorListing(head, recording_id, 1, end_id=recording_id + 1))

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

    def _list(self, session: ControlSession, correlation_id: int, listing: DescriptorListing) -> None:
        _check_free(session)
        self._begin(session, ListRecordingsSession(self._core.catalog, session, correlation_id, listing))

    def _begin(self, session: ControlSession, listing: ListingSession) -> None:
        session.active_listing = listing
        self._core.sessions.add(listing)


def _check_free(session: ControlSession) -> None:
    if session.has_active_listing:
        raise active_listing()


def _octets(text: str) -> bytes:
    return text.encode("ascii", "surrogateescape")
