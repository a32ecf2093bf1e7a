"""Publications: who registered them, which are shared, and how they end. Aeron: DriverConductor, PublicationLink.

Streams run on the agents; this module follows the events of their life.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.channel_uri import MEDIA_IPC, TAG_INVALID, ChannelUri
from aerowire.base.errors import ChannelValueError, RegistrationError
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_checks import check_network, confirm_match, mismatch
from aerowire.driver.channels.publication_params import PublicationParams
from aerowire.driver.channels.udp_channel import UdpChannel
from aerowire.driver.resources.logs import LogNotReadyError
from aerowire.driver.resources.publication_factory import Publication, PublicationFactory
from aerowire.driver.resources.response_channels import ResponseChannels
from aerowire.driver.resources.sessions import Sessions
from aerowire.driver.streams.network_publication import NetworkPublication

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.endpoints import Endpoints, SendChannel
    from aerowire.driver.resources.images import Images
    from aerowire.driver.resources.subscriptions import Subscriptions


@dataclass(frozen=True, slots=True)
class PublicationLink:
    """One client's registration of a publication."""

    publication: Publication
    client_id: int


class Publications:
    """All publications of the driver, and who registered them."""

    def __init__(
        self,
        core: DriverCore,
        endpoints: Endpoints,
        sessions: Sessions,
        subscriptions: Subscriptions,
        images: Images,
        *,
        on_made: Callable[[Publication], object],
    ) -> None:
        """`on_made` is called with a new publication to link who already waits for it."""
        self._core = core
        self._on_made = on_made
        self._endpoints = endpoints
        self._sessions = sessions
        self._factory = PublicationFactory(core, endpoints)
        self._response_channels = ResponseChannels(subscriptions, images, self.find)
        self._links: dict[int, PublicationLink] = {}
        self._publications: dict[int, Publication] = {}
        self._by_native: dict[object, Publication] = {}
        self._by_stream: dict[int, list[Publication]] = {}
        self._being_made: dict[tuple[str, int], LogNotReadyError] = {}

    def __iter__(self) -> Iterator[Publication]:
        return iter(tuple(self._publications.values()))

    def publication_by_tag(self, tag: int, *, is_ipc: bool) -> Publication | None:
        """Return the publication whose URI gave it `tag`."""
        if tag == TAG_INVALID:
            return None
        return next((item for item in self._publications.values() if item.is_ipc == is_ipc and item.params.entity_tag == tag), None)

    def next_session_id(self, stream_id: int, canonical_form: str) -> int:
        return self._sessions.next_for_channel(stream_id, canonical_form)

    def random_term_id(self) -> int:
        return self._core.ports.random.below(1 << 32) - (1 << 31)

    def of_native(self, native: object) -> Publication | None:
        """Return the publication that an event is about."""
        return self._by_native.get(native)

    def find(self, registration_id: int) -> Publication | None:
        """Return the publication whose log has `registration_id`."""
        return self._publications.get(registration_id)

    def has(self, registration_id: int) -> bool:
        """Return whether a client's handle, or a log that may be draining, has `registration_id`."""
        return registration_id in self._links or registration_id in self._publications

    @property
    def response_channels(self) -> ResponseChannels:
        """What ties publications to those that answer them."""
        return self._response_channels

    def add_ipc(self, uri: ChannelUri, stream_id: int, correlation_id: int, client_id: int, *, is_exclusive: bool) -> Publication | None:
        """Make or share an IPC publication; returns it when it is new."""
        self._core.clients.get_or_add(client_id)
        params = PublicationParams.of(uri, self._core.context, self, stream_id, MEDIA_IPC)
        existing = None if is_exclusive else self._find_shared(None, stream_id, params)
        if existing is not None:
            confirm_match(uri, params, existing)
            self._link(existing, correlation_id, client_id, is_exclusive=is_exclusive)
            return None
        session_key = self._take_session(params, MEDIA_IPC, uri.original)
        self._prepare_log(params, MEDIA_IPC, correlation_id, client_id, is_exclusive=is_exclusive)
        self._response_channels.on_ipc_publication(params)
        return self._add(
            self._factory.make(uri.original, params, correlation_id, client_id, None, session_key, is_exclusive=is_exclusive), client_id
        )

    def add_network(
        self, channel: UdpChannel, stream_id: int, correlation_id: int, client_id: int, *, is_exclusive: bool
    ) -> Publication | None:
        """Make or share a UDP publication; returns it when it is new."""
        self._core.clients.get_or_add(client_id)
        params = PublicationParams.of(channel.uri, self._core.context, self, stream_id, channel.canonical_form)
        check_network(channel)
        self._response_channels.check_request(channel.uri, params)
        endpoint = self._endpoints.find_sender(channel)
        if endpoint is not None:
            self._endpoints.check_sender(endpoint, channel, params)
            existing = None if is_exclusive else self._find_shared(endpoint, stream_id, params)
            if existing is not None:
                confirm_match(channel.uri, params, existing)
                if params.spies_simulate_connection != existing.params.spies_simulate_connection:
                    raise mismatch(channel.uri, "ssc", existing.params.spies_simulate_connection, existing)
                answered = self._response_channels.image_of(channel.uri, params)
                self._link(existing, correlation_id, client_id, is_exclusive=is_exclusive)
                self._response_channels.on_answering(answered, existing)
                return None
        session_key = self._take_session(params, channel.canonical_form, channel.original)
        # BEFORE its log is prepared: a prototype's is smaller than its channel says.
        self._response_channels.shape(params)
        self._prepare_log(params, channel.canonical_form, correlation_id, client_id, is_exclusive=is_exclusive)
        answered = self._response_channels.image_of(channel.uri, params)
        made = self._factory.make(channel.original, params, correlation_id, client_id, channel, session_key, is_exclusive=is_exclusive)
        self._add(made, client_id)
        self._response_channels.on_answering(answered, made)
        return made

    def remove(self, correlation_id: int, registration_id: int, *, is_revoked: bool) -> None:
        """Give a registration back; the last one lets the stream drain, or end at once when revoked."""
        link = self._links.pop(registration_id, None)
        if link is None:
            raise RegistrationError(
                "unknown publication",
                where="remove publication",
                expected="the registration of a publication",
                actual=registration_id,
                error_code=ErrorCode.UNKNOWN_PUBLICATION,
            )
        if is_revoked:
            link.publication.native.revoke()
        self._unlink(link.publication, is_abandoned=False)
        self._core.client_proxy.operation_success(correlation_id)

    def remove_client(self, client_id: int) -> None:
        """Give back every registration of a client that is gone."""
        for registration_id in [key for key, link in self._links.items() if link.client_id == client_id]:
            self._unlink(self._links.pop(registration_id).publication, is_abandoned=True)

    def on_log_no_longer_awaited(self, registration_id: int) -> None:
        """The command that asked for a log was done, or given up: nobody waits for its stream."""
        for key in [key for key, cause in self._being_made.items() if cause.identity == registration_id]:
            del self._being_made[key]

    def on_linger(self, publication: Publication) -> None:
        """The stream takes no more data. An IPC session id is free from here on."""
        publication.is_ending = True
        if publication.is_ipc:
            self._release_session(publication)

    def on_done(self, publication: Publication) -> None:
        """The stream's life is over; the sender lets go of it, and of the endpoint after it."""
        publication.is_ending = True
        self._release_session(publication)
        if isinstance(publication.native, NetworkPublication) and publication.endpoint is not None:
            self._core.sender.remove_publication(publication.native)
            self._endpoints.release_sender(publication.endpoint)

    def on_removed(self, publication: Publication) -> None:
        """No agent holds the stream any more: free its counters and log."""
        self._by_native.pop(publication.native, None)
        self._publications.pop(publication.registration_id, None)
        self._by_stream[publication.stream_id].remove(publication)
        if not self._by_stream[publication.stream_id]:
            del self._by_stream[publication.stream_id]
        self._release_session(publication)
        for counter_id in publication.counter_ids.values():
            self._core.counters.manager.free(counter_id)
        self._core.logs.free_later(publication.log)
        self._core.conductor_events.state(
            DriverEventCode.REMOVE_PUBLICATION_CLEANUP,
            registration_id=publication.registration_id,
            session_id=publication.session_id,
            stream_id=publication.stream_id,
            channel=publication.channel,
        )

    def close(self) -> None:
        """Free every log; the agents must have stopped."""
        for publication in self._publications.values():
            self._core.logs.free_later(publication.log)
        self._publications.clear()
        self._by_native.clear()
        self._by_stream.clear()
        self._links.clear()

    def _find_shared(self, endpoint: SendChannel | None, stream_id: int, params: PublicationParams) -> Publication | None:
        for item in self._by_stream.get(stream_id, ()):
            if (
                item.endpoint is endpoint
                and not item.is_exclusive
                and not item.is_ending
                and item.reference_count > 0
                and not item.log.has_lost_pages
                and item.params.response_correlation_id == params.response_correlation_id
            ):
                return item
        return None

    def _prepare_log(
        self, params: PublicationParams, canonical_form: str, registration_id: int, client_id: int, *, is_exclusive: bool
    ) -> None:
        """Raise LogNotReadyError until the log can be made at once. BEFORE anything else changes: the command is done again."""
        # Who would share a stream whose log is still being made waits for that one.
        key = (canonical_form, params.stream_id)
        first = None if is_exclusive else self._being_made.get(key)
        if first is not None and first.identity != registration_id and not first.made.done():
            raise LogNotReadyError(registration_id, first.made, client_id)
        try:
            self._core.logs.prepare_publication(registration_id, params.term_length, is_sparse=params.is_sparse, client_id=client_id)
        except LogNotReadyError as cause:
            if not is_exclusive:
                self._being_made[key] = cause
            raise
        if first is not None:
            del self._being_made[key]

    def _take_session(self, params: PublicationParams, canonical_form: str, channel: str) -> tuple[int, int, str]:
        key = (params.session_id, params.stream_id, canonical_form)
        if key in self._sessions:
            raise ChannelValueError(
                "an existing publication has the same session id",
                where=channel,
                expected="a session id that nobody uses on this channel and stream",
                actual=f"session-id={params.session_id} stream-id={params.stream_id}",
                error_code=ErrorCode.INVALID_CHANNEL,
            )
        return key

    def _release_session(self, publication: Publication) -> None:
        # Once: from then on the session is the next one's, who may have the same key.
        if publication.has_session:
            publication.has_session = False
            self._sessions.release(publication.session_key)

    def _add(self, publication: Publication, client_id: int) -> Publication:
        self._publications[publication.registration_id] = self._by_native[publication.native] = publication
        self._by_stream.setdefault(publication.stream_id, []).append(publication)
        self._sessions.take(publication.session_key)
        publication.has_session = True
        if isinstance(publication.native, NetworkPublication) and publication.endpoint is not None:
            publication.endpoint.publication_count += 1
            self._core.sender.add_publication(publication.native)
        # BEFORE the conductor agent opens the window, so that waiting subscribers read the stream from its start.
        try:
            self._on_made(publication)
        except Exception as error:  # somebody who waits goes without; the publisher has its stream, and can end it
            self._core.errors.record(error)
        self._core.conductor_agent.add_publication(publication.native)
        self._link(publication, publication.registration_id, client_id, is_exclusive=publication.is_exclusive)
        return publication

    def _link(self, publication: Publication, correlation_id: int, client_id: int, *, is_exclusive: bool) -> None:
        publication.reference_count += 1
        self._links[correlation_id] = PublicationLink(publication, client_id)
        self._core.client_proxy.publication_ready(
            correlation_id,
            registration_id=publication.registration_id,
            session_id=publication.session_id,
            stream_id=publication.stream_id,
            position_limit_counter_id=publication.counter_ids[CounterType.PUB_LMT],
            channel_status_counter_id=publication.channel_status_counter_id,
            log_file=publication.log.path,
            is_exclusive=is_exclusive,
        )

    def _unlink(self, publication: Publication, *, is_abandoned: bool) -> None:
        publication.reference_count -= 1
        if publication.reference_count == 0:
            self._core.conductor_agent.close_publication(publication.native, abandoned=is_abandoned)
