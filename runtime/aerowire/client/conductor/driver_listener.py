"""What becomes of the driver's messages: answers complete commands and make handles, events add and end images.

Under the conductor's lock. Knows no layouts and sends nothing but what takes back an answer that nobody wants. Aeron: DriverEventsListener.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.client.conductor import termination
from aerowire.client.conductor.handlers import AVAILABLE_COUNTER, UNAVAILABLE_COUNTER
from aerowire.client.conductor.refusals import endpoint_failure, refusal
from aerowire.client.handles import state
from aerowire.client.handles.counter import Counter
from aerowire.client.publications.publication import ExclusivePublication, Publication
from aerowire.client.subscriptions.image import Image
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.base.errors import DamagedBufferError
    from aerowire.client.conductor.conductor import ClientConductor
    from aerowire.client.conductor.driver_events_adapter import PublicationErrorFrame
    from aerowire.client.conductor.driver_proxy import DriverProxy
    from aerowire.client.conductor.handlers import Handlers
    from aerowire.client.conductor.mapped_logs import MappedLogs
    from aerowire.client.conductor.resources import Request, Resource, Resources
    from aerowire.client.context import ConcludedContext
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.ipc.counters import CountersReader


class DriverListener:
    """The listener of one client's DriverEventsAdapter."""

    def __init__(
        self,
        conductor: ClientConductor,
        context: ConcludedContext,
        proxy: DriverProxy,
        counters: CountersReader,
        *,
        resources: Resources,
        logs: MappedLogs,
        handlers: Handlers,
    ) -> None:
        self._conductor = conductor
        self._context = context
        self._proxy = proxy
        self._counters = counters
        self._resources = resources
        self._logs = logs
        self._handlers = handlers

    def on_malformed(self, error: DamagedBufferError) -> None:
        self._handlers.report(error)

    def on_error(self, correlation_id: int, error_code: int, text: str) -> None:
        if error_code == ErrorCode.CHANNEL_ENDPOINT_ERROR:
            # Of older drivers: the id is that of a channel's status counter.
            streams = self._resources.streams_with_status(correlation_id)
            for stream in streams:
                self._handlers.report(endpoint_failure(text, stream))
            if streams:
                return
        request = self._resources.take_request(correlation_id)
        self._resources.note_answer(correlation_id)
        if request is not None:
            self._resources.drop_subscription(correlation_id)
            self._resources.refuse(request, refusal(error_code, text, request.pending.what))

    def on_publication_ready(
        self,
        correlation_id: int,
        registration_id: int,
        session_id: int,
        stream_id: int,
        position_limit_id: int,
        channel_status_id: int,
        log_file: str,
        *,
        exclusive: bool,
    ) -> None:
        request = self._wanted(correlation_id)
        if request is None:
            return
        kind = ExclusivePublication if exclusive else Publication
        self._fulfil(
            request,
            lambda: kind(
                self._conductor,
                self._logs.map(registration_id, log_file),
                self._counters,
                channel=request.channel,
                stream_id=stream_id,
                session_id=session_id,
                registration_id=correlation_id,
                original_registration_id=registration_id,
                position_limit_id=position_limit_id,
                channel_status_id=channel_status_id,
            ),
            lambda: self._proxy.remove_publication(correlation_id, revoke=False),
        )
        if request.pending.is_fulfilled:
            handler = self._context.new_exclusive_publication_handler if exclusive else self._context.new_publication_handler
            self._handlers.call(handler, request.channel, stream_id, session_id, correlation_id)

    def on_subscription_ready(self, correlation_id: int, channel_status_id: int) -> None:
        request = self._wanted(correlation_id)
        subscription = self._resources.subscription(correlation_id)
        if request is not None and subscription is not None:
            subscription._set_channel_status_id(channel_status_id)
            request.pending.complete(subscription)
            self._handlers.call(self._context.new_subscription_handler, subscription.channel, subscription.stream_id, correlation_id)

    def on_available_image(
        self,
        correlation_id: int,
        session_id: int,
        stream_id: int,
        subscription_id: int,
        position_id: int,
        log_file: str,
        source_identity: str,
    ) -> None:
        subscription = self._resources.subscription(subscription_id)
        if subscription is None:
            return
        try:
            image = Image(
                subscription,
                self._logs.map(correlation_id, log_file),
                self._counters,
                correlation_id=correlation_id,
                session_id=session_id,
                stream_id=stream_id,
                subscriber_position_id=position_id,
                source_identity=source_identity,
                open_file=self._context.ports.regions.open_file,
                subscriber_error_handler=self._context.subscriber_error_handler,
            )
        except Exception as error:
            self._handlers.report(error)
            return
        subscription._add_image(image)
        self._handlers.call(subscription.available_image_handler, image)

    def on_unavailable_image(self, correlation_id: int, subscription_id: int) -> None:
        if self._logs.find_cut(correlation_id):
            self._conductor.check_files()  # the driver may have seen first that the log was cut: that is the reason, and ends the image
        subscription = self._resources.subscription(subscription_id)
        image = None if subscription is None else subscription._remove_image(correlation_id)
        if subscription is not None and image is not None:
            image._end(state.UNAVAILABLE)
            self._logs.linger(image, self._context.resource_linger_duration_ns)
            self._handlers.call(subscription.unavailable_image_handler, image)

    def on_image_failed(self, subscription: Subscription, image: Image) -> None:
        """Report an image that ended at a malformed frame, take it from its subscription, and have the driver reject it."""
        failure = image.failure
        if failure is None or subscription._remove_image(image.correlation_id) is None:
            return
        self._handlers.report(failure)
        self._conductor.give_back(lambda: self._proxy.reject_image(image.correlation_id, failure.position, str(failure)))
        self._logs.linger(image, self._context.resource_linger_duration_ns)
        self._handlers.call(subscription.unavailable_image_handler, image)

    def on_operation_success(self, correlation_id: int) -> None:
        self._resources.note_answer(correlation_id)
        self._complete(correlation_id, correlation_id)  # which is the registration id of what was added, a destination say

    def on_counter_ready(self, correlation_id: int, counter_id: int) -> None:
        request = self._wanted(correlation_id)
        if request is not None:
            self._fulfil(
                request,
                lambda: Counter(self._conductor, self._counters, counter_id=counter_id, registration_id=correlation_id),
                lambda: self._proxy.remove_counter(correlation_id),
            )
        self._handlers.announce(AVAILABLE_COUNTER, self._counters, correlation_id, counter_id)

    def on_static_counter(self, correlation_id: int, counter_id: int) -> None:
        request = self._wanted(correlation_id)
        if request is not None:
            self._fulfil(request, lambda: self._static_counter(counter_id))

    def on_unavailable_counter(self, registration_id: int, counter_id: int) -> None:
        self._handlers.announce(UNAVAILABLE_COUNTER, self._counters, registration_id, counter_id)

    def on_client_timeout(self, client_id: int) -> None:
        if client_id == self._proxy.client_id:
            self._conductor.terminate(termination.dropped_by_driver(self._context))

    def on_publication_error(self, frame: PublicationErrorFrame) -> None:
        handler = self._context.publication_error_frame_handler
        if handler is not None and self._resources.has_publication(frame.registration_id):
            self._handlers.call(handler, frame)

    def on_next_available_session_id(self, correlation_id: int, session_id: int) -> None:
        self._complete(correlation_id, session_id)

    def _fulfil(self, request: Request, make: Callable[[], Resource], take_back: Callable[[], object] | None = None) -> None:
        """Complete a command with the handle that `make` returns; when that fails, the command fails and the driver takes its part back."""
        try:
            resource = make()
        except Exception as error:
            self._resources.refuse(request, error)
            if take_back is not None:
                self._conductor.tell(take_back)
            return
        self._resources.add(request.pending.correlation_id, resource)
        request.pending.complete(resource)

    def _complete(self, correlation_id: int, value: object) -> None:
        request = self._resources.take_request(correlation_id)
        if request is not None:
            request.pending.complete(value)

    def _wanted(self, correlation_id: int) -> Request | None:
        """Return the command that an answer is for; None when it is not ours, or given up: then what the driver made is taken back."""
        request = self._resources.take_request(correlation_id)
        if request is not None and request.undo is not None:
            undo = request.undo
            self._conductor.tell(lambda: undo(correlation_id))
            return None
        return request

    def _static_counter(self, counter_id: int) -> Counter:
        registration_id = self._counters.registration_id(counter_id)
        return Counter(self._conductor, self._counters, counter_id=counter_id, registration_id=registration_id, is_static=True)
