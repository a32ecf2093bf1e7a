"""What a client asks its driver for: each request by its command, with what takes it back. Aeron: ClientConductor.asyncAddPublication.

Knows which commands there are; what becomes of the answers is in driver_listener.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError
from aerowire.client.subscriptions.subscription import Subscription
from aerowire.codecs.flyweights.commands import REJECT_REASON_LENGTH_MAX

if TYPE_CHECKING:
    from aerowire.client.conductor.conductor import ClientConductor
    from aerowire.client.conductor.driver_proxy import DriverProxy
    from aerowire.client.conductor.handlers import Handler
    from aerowire.client.conductor.resources import Resources
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication, Publication


class Requests:
    """One client's requests for resources. Any thread; keeps nothing."""

    def __init__(self, conductor: ClientConductor, proxy: DriverProxy, resources: Resources) -> None:
        self._conductor = conductor
        self._proxy = proxy
        self._resources = resources

    def start_publication(self, channel: str, stream_id: int) -> Pending[Publication]:
        """Ask for a publication shared with all who ask for the same channel and stream."""
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.add_publication(channel, stream_id), f"add publication {channel} stream {stream_id}", channel, self._remove
        )

    def start_exclusive_publication(self, channel: str, stream_id: int) -> Pending[ExclusivePublication]:
        """Ask for a publication with a session of its own."""
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.add_exclusive_publication(channel, stream_id),
            f"add exclusive publication {channel} stream {stream_id}",
            channel,
            self._remove,
        )

    def start_subscription(
        self, channel: str, stream_id: int, available: Handler | None, unavailable: Handler | None
    ) -> Pending[Subscription]:
        """Ask for a subscription; the handlers are called with each image that comes and goes."""

        def note(registration_id: int) -> None:
            # In the table before its answer: images may be announced together with it.
            subscription = Subscription(
                self._conductor,
                channel=channel,
                stream_id=stream_id,
                registration_id=registration_id,
                available_image_handler=available,
                unavailable_image_handler=unavailable,
            )
            self._resources.add(registration_id, subscription)

        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.add_subscription(channel, stream_id),
            f"add subscription {channel} stream {stream_id}",
            channel,
            self._proxy.remove_subscription,
            note,
        )

    def start_counter(self, type_id: int, key: bytes, label: str) -> Pending[Counter]:
        """Ask for a counter."""
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.add_counter(type_id, key, label), f"add counter {label!r}", undo=self._proxy.remove_counter
        )

    def start_static_counter(self, type_id: int, registration_id: int, key: bytes, label: str) -> Pending[Counter]:
        """Ask for a counter that outlives its clients."""
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.add_static_counter(type_id, registration_id, key, label), f"add static counter {label!r}"
        )

    def start_next_session_id(self, stream_id: int) -> Pending[int]:
        """Ask for a session id that nobody uses on the stream."""
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.next_available_session_id(stream_id), f"get a session id for stream {stream_id}"
        )

    def start_rejection(self, image_correlation_id: int, position: int, reason: str) -> Pending[None]:
        """Ask the driver to drop an image and to tell its publisher why."""
        if len(reason) > REJECT_REASON_LENGTH_MAX:
            raise AerowireError(
                "the reason for a rejection is too long",
                where="reason",
                expected=f"at most {REJECT_REASON_LENGTH_MAX} bytes",
                actual=len(reason),
            )
        return self._conductor.ask(  # type: ignore[return-value]
            lambda: self._proxy.reject_image(image_correlation_id, position, reason), f"reject image {image_correlation_id}"
        )

    def _remove(self, registration_id: int) -> int:
        return self._proxy.remove_publication(registration_id, revoke=False)
