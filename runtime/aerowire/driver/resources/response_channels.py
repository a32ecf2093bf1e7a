"""Response channels: streams that answer the publisher of a request, each on a session of its own.

Who asks names the subscription that waits for answers (response-correlation-id of its publication), who answers the image of the request
(response-correlation-id of a publication of control-mode=response). The answering driver tells the session; the asking one then takes
that session for its subscription and asks for its set-up. Aeron: DriverConductor.responseSetup, responseConnected,
findResponsePublicationImage, findAndUpdateResponseIpcSubscription.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_params import RESPONSE_CORRELATION_ID_NONE, RESPONSE_CORRELATION_ID_PROTOTYPE, PublicationParams

if TYPE_CHECKING:
    from aerowire.driver.resources.images import Images
    from aerowire.driver.resources.publication_factory import Publication
    from aerowire.driver.resources.subscriptions import Subscriptions


class ResponseChannels:
    """Ties requests to responses."""

    def __init__(self, subscriptions: Subscriptions, images: Images, find_publication: Callable[[int], Publication | None]) -> None:
        self._subscriptions = subscriptions
        self._images = images
        self._find_publication = find_publication

    def check(self, uri: ChannelUri, params: PublicationParams) -> None:
        """Raise ChannelValueError when the subscription that a publication asks, or the image that it answers, is not there."""
        if not params.is_response:
            is_asking = params.response_correlation_id != RESPONSE_CORRELATION_ID_NONE
            if is_asking and self._subscriptions.find(params.response_correlation_id) is None:
                raise _error(uri, "no subscription waits for these responses", "the registration id of a subscription")
            return
        if params.response_correlation_id == RESPONSE_CORRELATION_ID_PROTOTYPE:
            return
        if params.response_correlation_id == RESPONSE_CORRELATION_ID_NONE:
            raise _error(uri, "a response channel does not say what it answers", "response-correlation-id beside control-mode=response")
        image = self._images.find(params.response_correlation_id)
        if image is None:
            raise _error(uri, "unknown image to respond to", "the correlation id of an image")
        if not image.is_response_wanted:
            raise _error(uri, "the image's publisher did not ask for responses", "an image whose publication has response-correlation-id")

    def on_published(self, publication: Publication) -> None:
        """If `params` make a publication a response, send its session to the publisher of the request."""
        params = publication.params
        if publication.is_ipc:
            self._on_ipc_published(params)
        elif params.is_response:
            image = self._images.find(params.response_correlation_id)
            if image is not None:  # until the response publication is connected
                image.native.tell_response(params.session_id)

    def on_connected(self, publication: Publication) -> None:
        """The publication of a response is connected: its session need not be sent any more."""
        image = self._images.find(publication.params.response_correlation_id)
        if image is not None and image.is_response_wanted:
            image.native.tell_response(None)

    def on_response_setup(self, publication: Publication, response_session_id: int) -> None:
        """The other side answers a request by that session: let the waiting subscription take it."""
        self._subscriptions.on_response_session(publication.params.response_correlation_id, response_session_id)

    def _on_ipc_published(self, params: PublicationParams) -> None:
        # On IPC nothing asks for a set-up: the subscription that waits for the answer takes its session, BEFORE it is linked.
        request = self._find_publication(params.response_correlation_id)
        if request is not None and request.is_ipc:
            self._subscriptions.on_ipc_response_session(request.params.response_correlation_id, params.session_id)


def _error(uri: ChannelUri, what: str, expected: str) -> ChannelValueError:
    actual = f"response-correlation-id={uri.get('response-correlation-id')}"
    return ChannelValueError(what, where=uri, expected=expected, actual=actual, error_code=ErrorCode.GENERIC_ERROR)
