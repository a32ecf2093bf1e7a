"""Publications: who registered them, which are shared, and how they end. Aeron: DriverConductor, PublicationLink.

Streams run on the agents; this module follows the events of their life.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from aerowire.base.channel_uri import MEDIA_IPC, TAG_INVALID, ChannelUri
from aerowire.base.errors import ChannelValueError, RegistrationError
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_checks import check_network, confirm_match, mismatch
from aerowire.driver.channels.publication_params import PublicationParams
from aerowire.driver.resources.publication_factory import Publication, PublicationFactory, PublicationRequest
from aerowire.driver.resources.response_channels import ResponseChannels
from aerowire.driver.resources.sessions import Sessions
from aerowire.driver.streams.network_publication import NetworkPublication

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.endpoints import Endpoints, SendChannel
    from aerowire.driver.resources.images import Images
    from aerowire.driver.resources.subscriptions import Subscriptions
    from aerowire.driver.resources.waiting_logs import WaitingLogs


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
        waiting_logs: WaitingLogs,
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
        self._waiting_logs = waiting_logs

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

    def add(
        self, uri: ChannelUri, udp: UdpChannel | None, stream_id: int, registration_id: int, client_id: int, *, is_exclusive: bool
    ) -> None:
        """Make or share a publication, of IPC when `udp` is None. One whose log takes long is made when that is there."""
        self._core.clients.get_or_add(client_id)
        canonical_form = MEDIA_IPC if udp is None else udp.canonical_form
        params = PublicationParams.of(uri, self._core.context, self, stream_id, canonical_form)
        if udp is not None:
            check_network(udp)
        self._start(
            PublicationRequest(
                uri=uri, udp=udp, params=params, registration_id=registration_id, client_id=client_id, is_exclusive=is_exclusive
            )
        )

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

    def _start(self, request: PublicationRequest) -> None:
        """Share a publication, or make one as soon as its log is there."""
        if self._share(request):
            return
        params = request.params
        if request.udp is not None:
            params.shrink_prototype()
        wait = partial(self._waiting_logs.add, request.registration_id, client_id=request.client_id)
        # A request that would share a stream whose log is still being made waits for that one.
        stream = None if request.is_exclusive else (request.canonical_form, params.stream_id)
        other = None if stream is None else self._waiting_logs.of_stream(stream)
        if other is not None:
            wait(other, partial(self._on_other_log, request))
            return
        made = self._core.logs.begin_publication(request.registration_id, params.term_length, is_sparse=params.is_sparse)
        if made is None:
            self._add(self._factory.make(request), request)
        else:
            wait(made, partial(self._on_log, request, made), stream=stream)

    def _on_other_log(self, request: PublicationRequest) -> None:
        """Go on when the log of a stream that could be shared is there, or cannot be made."""
        request.params.check_tags(request.uri, self)
        self._start(request)

    def _on_log(self, request: PublicationRequest, made: Future[Any]) -> None:
        """Go on when a request's own log is there, or cannot be made. What others may have changed meanwhile is checked again."""
        request.params.check_tags(request.uri, self)
        if not self._share(request):
            made.result()
            self._add(self._factory.make(request), request)

    def _share(self, request: PublicationRequest) -> bool:
        """Register a request with a publication that it shares; False when it may have a new one. Raises ChannelError."""
        uri, udp, params = request.uri, request.udp, request.params
        endpoint = None
        if udp is not None:
            self._response_channels.check(uri, params)
            endpoint = self._endpoints.find_sender(udp)
            if endpoint is not None:
                self._endpoints.check_sender(endpoint, udp, params)
        can_share = not request.is_exclusive and (udp is None or endpoint is not None)
        existing = self._find_shared(endpoint, params) if can_share else None
        if existing is None:
            self._check_session(request)
            return False
        confirm_match(uri, params, existing)
        if udp is not None and params.spies_simulate_connection != existing.params.spies_simulate_connection:
            raise mismatch(uri, "ssc", existing.params.spies_simulate_connection, existing)
        self._link(existing, request)
        if udp is not None:
            self._response_channels.on_published(existing)
        return True

    def _find_shared(self, endpoint: SendChannel | None, params: PublicationParams) -> Publication | None:
        for item in self._by_stream.get(params.stream_id, ()):
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

    def _check_session(self, request: PublicationRequest) -> None:
        if request.session_key not in self._sessions:
            return
        params = request.params
        if "session-id" not in request.uri:  # the driver's choice, which another publication has taken while this one's log was made
            params.session_id = self.next_session_id(params.stream_id, request.canonical_form)
            return
        raise ChannelValueError(
            "an existing publication has the same session id",
            where=request.uri.original,
            expected="a session id that is not in use on this channel and stream",
            actual=f"session-id={params.session_id} stream-id={params.stream_id}",
            error_code=ErrorCode.INVALID_CHANNEL,
        )

    def _release_session(self, publication: Publication) -> None:
        # Once: from then on the session is the next one's, who may have the same key.
        if publication.has_session:
            publication.has_session = False
            self._sessions.release(publication.session_key)

    def _add(self, publication: Publication, request: PublicationRequest) -> None:
        self._publications[publication.registration_id] = self._by_native[publication.native] = publication
        self._by_stream.setdefault(publication.stream_id, []).append(publication)
        self._sessions.take(publication.session_key)
        publication.has_session = True
        self._response_channels.on_published(publication)
        if isinstance(publication.native, NetworkPublication) and publication.endpoint is not None:
            publication.endpoint.publication_count += 1
            self._core.sender.add_publication(publication.native)
        # BEFORE the conductor agent opens the window, so that waiting subscribers read the stream from its start.
        try:
            self._on_made(publication)
        except Exception as error:  # somebody who waits goes without; the publisher has its stream, and can end it
            self._core.errors.record(error)
        self._core.conductor_agent.add_publication(publication.native)
        self._link(publication, request)

    def _link(self, publication: Publication, request: PublicationRequest) -> None:
        publication.reference_count += 1
        self._links[request.registration_id] = PublicationLink(publication, request.client_id)
        self._core.client_proxy.publication_ready(
            request.registration_id,
            registration_id=publication.registration_id,
            session_id=publication.session_id,
            stream_id=publication.stream_id,
            position_limit_counter_id=publication.counter_ids[CounterType.PUB_LMT],
            channel_status_counter_id=publication.channel_status_counter_id,
            log_file=publication.log.path,
            is_exclusive=request.is_exclusive,
        )

    def _unlink(self, publication: Publication, *, is_abandoned: bool) -> None:
        publication.reference_count -= 1
        if publication.reference_count == 0:
            self._core.conductor_agent.close_publication(publication.native, abandoned=is_abandoned)
