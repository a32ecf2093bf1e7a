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
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_params import RESPONSE_CORRELATION_ID_NONE, RESPONSE_CORRELATION_ID_PROTOTYPE, PublicationParams

if TYPE_CHECKING:
    from aerowire.driver.resources.images import Image, Images
    from aerowire.driver.resources.publication_factory import Publication
    from aerowire.driver.resources.subscriptions import Subscriptions


class ResponseChannels:
    """Ties requests to responses."""

    def __init__(self, subscriptions: Subscriptions, images: Images, find_publication: Callable[[int], Publication | None]) -> None:
        self._subscriptions = subscriptions
        self._images = images
        self._find_publication = find_publication

    def check_request(self, uri: ChannelUri, params: PublicationParams) -> None:
        """Raise ChannelValueError when a publication asks for responses to a subscription that does not exist."""
        if params.is_response or params.response_correlation_id == RESPONSE_CORRELATION_ID_NONE:
            return
        if self._subscriptions.find(params.response_correlation_id) is None:
            raise _error(uri, "no subscription waits for these responses", "the registration id of a subscription")

    def image_of(self, uri: ChannelUri, params: PublicationParams) -> Image | None:
        """Return the image that a publication answers, None when it answers none; raises ChannelValueError when that cannot be."""
        if not params.is_response or params.response_correlation_id == RESPONSE_CORRELATION_ID_PROTOTYPE:
            return None
        if params.response_correlation_id == RESPONSE_CORRELATION_ID_NONE:
            raise _error(uri, "a response channel does not say what it answers", "response-correlation-id beside control-mode=response")
        image = self._images.find(params.response_correlation_id)
        if image is None:
            raise _error(uri, "unknown image to respond to", "the correlation id of an image")
        if not image.is_response_wanted:
            raise _error(uri, "the image's publisher did not ask for responses", "an image whose publication has response-correlation-id")
        return image

    def shape(self, params: PublicationParams) -> None:
        """Make a prototype, which only keeps its channel open, as small as can be."""
        if params.is_response and params.response_correlation_id == RESPONSE_CORRELATION_ID_PROTOTYPE:
            params.term_length = transport.TERM_LENGTH_MIN
            params.window_length = min(params.window_length, params.term_length >> 1)

    def on_answering(self, image: Image | None, publication: Publication) -> None:
        """A publication answers `image`: its publisher is told which session that is, until somebody listens."""
        if image is not None:
            image.native.tell_response(publication.session_id)

    def on_connected(self, publication: Publication) -> None:
        """Somebody listens to an answering publication: the session was told often enough."""
        image = self._images.find(publication.params.response_correlation_id)
        if image is not None and image.is_response_wanted:
            image.native.tell_response(None)

    def on_response_setup(self, publication: Publication, response_session_id: int) -> None:
        """The other side answers a request by that session: let the waiting subscription take it."""
        self._subscriptions.on_response_session(publication.params.response_correlation_id, response_session_id)

    def on_ipc_publication(self, params: PublicationParams) -> None:
        """An IPC publication is about to answer another: the subscription that waits for it takes its session."""
        if params.response_correlation_id == RESPONSE_CORRELATION_ID_NONE:
            return
        request = self._find_publication(params.response_correlation_id)
        if request is not None and request.is_ipc:
            self._subscriptions.on_ipc_response_session(request.params.response_correlation_id, params.session_id)


def _error(uri: ChannelUri, what: str, expected: str) -> ChannelValueError:
    actual = f"response-correlation-id={uri.get('response-correlation-id')}"
    return ChannelValueError(what, where=uri, expected=expected, actual=actual, error_code=ErrorCode.GENERIC_ERROR)
