"""What a client has asked its driver for, and what it got. Aeron: ClientConductor's resourceByRegIdMap.

Knows how each kind of handle ends; knows neither commands nor what the driver says. Under the conductor's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from aerowire.base.errors import AerowireError, ClosedError
from aerowire.client.handles import state
from aerowire.client.handles.counter import Counter
from aerowire.client.publications.publication import ExclusivePublication, Publication
from aerowire.client.subscriptions.subscription import Subscription

if TYPE_CHECKING:
    from aerowire.client.conductor.handlers import Handlers
    from aerowire.client.conductor.mapped_logs import MappedLogs
    from aerowire.client.handles.waiting import Pending

# Refusals are kept for who asks by registration id; who looks at the pending command itself has no need of them.
REFUSALS_MAX = 1024

Resource: TypeAlias = "Publication | ExclusivePublication | Subscription | Counter"


@dataclass(frozen=True)
class Request:
    """A command without an answer. `undo` takes back what the driver makes although nobody wants it any more; None: still wanted."""

    pending: Pending[object]
    channel: str = ""
    undo: Callable[[int], object] | None = None


class Resources:
    """Open handles and unanswered commands by registration or correlation id. Invariant: a handle in the table is open."""

    def __init__(self, logs: MappedLogs, handlers: Handlers) -> None:
        self._logs = logs
        self._handlers = handlers
        self._resources: dict[int, Resource] = {}
        self._ids: dict[Resource, int] = {}
        self._requests: dict[int, Request] = {}
        self._given_back: set[int] = set()
        self._refusals: dict[int, BaseException] = {}

    def expect_success(self, correlation_id: int) -> None:
        """Note a command that gave something back: nobody waits for its answer."""
        self._given_back.add(correlation_id)

    def note_answer(self, correlation_id: int) -> None:
        """Note that the driver answered a command that gave something back."""
        self._given_back.discard(correlation_id)

    def refuse(self, request: Request, error: BaseException) -> None:
        """Fail a command, and keep the reason for who asks for it by registration id."""
        request.pending.fail(error)
        self._refusals[request.pending.correlation_id] = error
        if len(self._refusals) > REFUSALS_MAX:
            del self._refusals[next(iter(self._refusals))]

    def is_expected(self, correlation_id: int) -> bool:
        """Return whether a command of this client has no answer yet and somebody wants it."""
        return correlation_id in self._given_back or self.pending(correlation_id) is not None

    def has_expected(self) -> bool:
        """Return whether any command has no answer yet."""
        return bool(self._given_back) or any(request.undo is None for request in self._requests.values())

    def pending(self, correlation_id: int) -> Pending[object] | None:
        """Return a command that has no answer yet and was not given up."""
        request = self._requests.get(correlation_id)
        return None if request is None or request.undo is not None else request.pending

    def find(self, registration_id: int) -> Resource | None:
        """Return the open handle of a registration, None while there is no answer; raises, once, what the driver refused it with."""
        refused = self._refusals.pop(registration_id, None)
        if refused is not None:
            raise refused
        return None if registration_id in self._requests else self._resources.get(registration_id)

    def expect(self, request: Request) -> None:
        """Note a command that was sent."""
        self._requests[request.pending.correlation_id] = request

    def take_request(self, correlation_id: int) -> Request | None:
        """Return the command that an answer is for and forget it; None when it is not one of this client's."""
        return self._requests.pop(correlation_id, None)

    def add(self, registration_id: int, resource: Resource) -> None:
        """Note a handle by the id that the driver's messages call it by."""
        self._resources[registration_id] = resource
        self._ids[resource] = registration_id

    def subscription(self, registration_id: int) -> Subscription | None:
        """Return an open subscription."""
        found = self._resources.get(registration_id)
        return found if isinstance(found, Subscription) else None

    def has_publication(self, original_registration_id: int) -> bool:
        """Return whether there is an open handle of a publication, by the id of its first one."""
        return any(
            isinstance(resource, Publication | ExclusivePublication) and resource.original_registration_id == original_registration_id
            for resource in self._resources.values()
        )

    def streams_with_status(self, channel_status_id: int) -> list[Publication | ExclusivePublication | Subscription]:
        """Return the open handles whose channel has that status counter."""
        return [
            resource
            for resource in self._resources.values()
            if isinstance(resource, Publication | ExclusivePublication | Subscription) and resource.channel_status_id == channel_status_id
        ]

    def forget(self, resource: Resource) -> bool:
        """Take an open handle out of the table and end it; False when it has ended before."""
        if resource.is_closed:
            return False
        self._take_out(resource)
        resource._end(state.CLOSED)
        return True

    def drop_subscription(self, registration_id: int) -> bool:
        """End a subscription that is not answered for, and its images; return whether there was one."""
        subscription = self.subscription(registration_id)
        if subscription is None or not self.forget(subscription):
            return False
        self.end_images(subscription)
        return True

    def end_images(self, subscription: Subscription, final: int = state.CLOSED, failure: AerowireError | None = None) -> None:
        """End a subscription's images and tell its handler."""
        images = subscription._remove_images()
        for image in images:
            image._end(final, failure)
            self._logs.linger(image)
        for image in images:
            self._handlers.call(subscription.unavailable_image_handler, image)

    def end_log(self, registration_id: int, failure: AerowireError) -> list[Publication | ExclusivePublication]:
        """End the handles of a log that `failure` has made useless; returns its publications, which the driver is to be told of."""
        publications = []
        for resource in list(self._resources.values()):
            if isinstance(resource, Subscription):
                image = resource._remove_image(registration_id)
                if image is not None:
                    image._end(state.TERMINATED, failure)
                    self._logs.linger(image)
                    self._handlers.call(resource.unavailable_image_handler, image)
            elif isinstance(resource, Publication | ExclusivePublication) and resource.original_registration_id == registration_id:
                self._take_out(resource)
                resource._end(state.TERMINATED, failure)
                self._logs.linger(resource)
                publications.append(resource)
        return publications

    def end_all(self, final: int, failure: AerowireError | None) -> list[Counter]:
        """End every handle and fail every command: the client is closed, or `failure` ended it. Returns the counters that end with it."""
        resources, self._resources = list(self._resources.values()), {}
        self._ids.clear()
        requests, self._requests = list(self._requests.values()), {}
        for resource in resources:
            resource._end(final, failure)
        for request in requests:
            if not request.pending.is_done:
                request.pending.fail(state.failure_copy(failure) if failure else ClosedError("the client is closed"))
        for resource in resources:
            if isinstance(resource, Subscription):
                self.end_images(resource, final, failure)
        return [resource for resource in resources if isinstance(resource, Counter) and not resource.is_static]

    def disown(self, final: int) -> None:
        """In the child of a fork, or a simulated process that is killed: no handle changes what it leads to any more."""
        for resource in self._resources.values():
            if isinstance(resource, Subscription):
                for image in resource.images:
                    image._end(final)
            resource._end(final)

    def _take_out(self, resource: Resource) -> None:
        registration_id = self._ids.pop(resource, None)
        if registration_id is not None:
            del self._resources[registration_id]
