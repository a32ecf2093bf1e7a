"""A follower's subscription to the log: its destinations, its image, its recording. Aeron: Election, tryJoinLogAsFollower."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import AerowireError, ConsensusModuleError
from aerowire.base.units import INT64_MAX
from aerowire.cluster.consensus.inputs import CatchupDestinationAdded, LogJoined
from aerowire.cluster.module import channels
from aerowire.codecs.flyweights.archive.enums import SourceLocation
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_consumption import LogConsumption
    from aerowire.cluster.module.log.log_recording import LogRecording
    from aerowire.cluster.module.node_services.service_control import ServiceControl


class FollowerLog:
    """The log of a leader, as one follower receives it. Invariant: a destination is there only while the subscription is."""

    def __init__(self, core: ModuleCore, recording: LogRecording, consumption: LogConsumption, services: ServiceControl) -> None:
        """Start without a log."""
        self._core = core
        self._recording = recording
        self._consumption = consumption
        self._services = services
        self._subscription: Subscription | None = None
        self._catchup_destination: str | None = None
        self._live_destination: str | None = None
        self._closing_registration_id: int | None = None

    def add_catchup_destination(self, log_session_id: int) -> Generator[Pending[Any] | None, Any, CatchupDestinationAdded]:
        """Subscribe at the catch-up endpoint, in steps; the result has the endpoint with the port that it is bound to."""
        context = self._core.context
        subscription = yield from self._subscribe(log_session_id)
        endpoint = context.member.catchup_endpoint
        self._catchup_destination = channels.destination(context.log_channel, endpoint)
        yield subscription.async_add_destination(self._catchup_destination)
        check = self._core.deadline(f"the catch-up endpoint {endpoint} has no port")
        while (found := channels.resolved_endpoint(endpoint, subscription.resolved_endpoint)) is None:
            check()
            yield None
        return CatchupDestinationAdded(found)

    def add_live_destination(self, log_session_id: int) -> Generator[Pending[Any] | None, Any, None]:
        """Subscribe to the live log, in steps, by the subscription of the catch-up if there is one."""
        context = self._core.context
        subscription = yield from self._subscribe(log_session_id)
        self._live_destination = channels.live_log_destination(context.log_channel, context.member.log_endpoint)
        yield subscription.async_add_destination(self._live_destination)

    def remove_catchup_destination(self) -> None:
        """Take the catch-up endpoint from the subscription."""
        destination, self._catchup_destination = self._catchup_destination, None
        if self._subscription is not None and destination is not None:
            self._subscription.async_remove_destination(destination)

    def join(self, log_session_id: int, position: int, *, is_startup: bool) -> Generator[Pending[Any] | None, Any, LogJoined]:
        """Record the image of a session and have services join it, in steps. Raises ConsensusModuleError for another position."""
        check = self._core.deadline(f"no image of log session {log_session_id}")
        while (image := self._image(log_session_id)) is None:
            check()
            yield None
        subscription = self._subscription
        assert subscription is not None  # it has an image
        if image.join_position != position:
            raise ConsensusModuleError(
                "the log begins at another position", where=f"session {log_session_id}", expected=position, actual=image.join_position
            )
        yield from self._recording.record(subscription.channel, log_session_id, SourceLocation.REMOTE)
        self._consumption.join(image, self._recording.position_bound())
        yield from self._services.join_log(
            log_position=position,
            max_log_position=INT64_MAX,
            log_session_id=log_session_id,
            log_stream_id=subscription.stream_id,
            is_startup=is_startup,
            role=ClusterRole.FOLLOWER,
            log_channel=subscription.channel,
        )
        return LogJoined(position, self._recording.recording_id, image.term_buffer_length)

    def close(self) -> None:
        """Leave the log, with its destinations: services may read on at the same endpoints, and must not keep them."""
        subscription, self._subscription = self._subscription, None
        destinations = self._catchup_destination, self._live_destination
        self._catchup_destination = self._live_destination = None
        if subscription is not None:
            self._consumption.leave()
            for destination in destinations:
                if destination is not None:
                    subscription.async_remove_destination(destination)
            self._closing_registration_id = subscription.registration_id
            subscription.close()

    def await_sockets_closed(self) -> Generator[None, None, None]:
        """Wait, in steps, until the driver has closed the sockets of a log that was left: the next one may bind the same endpoints."""
        registration_id, self._closing_registration_id = self._closing_registration_id, None
        if registration_id is not None:
            while any(
                info.type_id == CounterType.LOCAL_SOCKADDR and info.registration_id == registration_id
                for info in self._core.aeron.counters_reader.for_each()
            ):
                yield

    def _subscribe(self, log_session_id: int) -> Generator[Pending[Any] | None, Any, Subscription]:
        if self._subscription is None:
            core, context = self._core, self._core.context
            tags = core.aeron.next_correlation_id(), core.aeron.next_correlation_id()
            channel = channels.follower_log(context.log_channel, tags, log_session_id)
            self._subscription = yield core.aeron.async_add_subscription(channel, context.log_stream_id)
        assert self._subscription is not None
        return self._subscription

    def _image(self, log_session_id: int) -> Image | None:
        try:
            return None if self._subscription is None else self._subscription.image_by_session_id(log_session_id)
        except AerowireError:
            return None
