"""Images: streams from other drivers, made when the receiver has heard a SETUP that somebody here wants.

Aeron: DriverConductor.CreatePublicationImageCommand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ChannelValueError
from aerowire.codecs.flyweights import logbuffer, transport
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.congestion import make_congestion_control
from aerowire.driver.channels.nak_delay import make_nak_delay
from aerowire.driver.channels.publication_params import check_mtu_length, check_term_length
from aerowire.driver.channels.subscription_params import SubscriptionParams
from aerowire.driver.channels.udp_channel import TIMESTAMP_OFFSET_NONE
from aerowire.driver.resources.logs import Log, LogSpec
from aerowire.driver.streams.publication_image import PublicationImage
from aerowire.logbuffer.descriptor import position_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerowire.driver.conductor.driver_core import DriverCore
    from aerowire.driver.resources.endpoints import Endpoints, ReceiveChannel
    from aerowire.driver.resources.subscription_links import Subscription
    from aerowire.driver.resources.subscriptions import Subscriptions
    from aerowire.driver.resources.waiting_logs import WaitingLogs
    from aerowire.protocol.congestion_control import CongestionControl

_IMAGE_COUNTERS = (CounterType.RCV_HWM, CounterType.RCV_POS, CounterType.RCV_NAKS_SENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A SETUP frame that a receiver has heard and wants an image for, and where it came from."""

    session_id: int
    stream_id: int
    initial_term_id: int
    active_term_id: int
    term_offset: int
    term_length: int
    mtu: int
    flags: int
    transport_index: int
    control_address: tuple[str, int] | None
    source_address: tuple[str, int] | None


@dataclass(slots=True, eq=False)
class Image:
    """An image and what it owns."""

    correlation_id: int
    native: PublicationImage
    endpoint: ReceiveChannel
    session_id: int
    stream_id: int
    log: Log
    source_identity: str
    counter_ids: list[int]
    is_response_wanted: bool = False
    is_lingering: bool = False
    left_for_good: set[int] = field(default_factory=set)

    @property
    def source_id(self) -> int:
        return self.correlation_id

    @property
    def log_path(self) -> str:
        return self.log.path


class Images:
    """All images of the driver."""

    def __init__(self, core: DriverCore, endpoints: Endpoints, subscriptions: Subscriptions, waiting_logs: WaitingLogs) -> None:
        self._core = core
        self._waiting_logs = waiting_logs
        self._endpoints = endpoints
        self._subscriptions = subscriptions
        self._by_native: dict[object, Image] = {}
        self._removed = 0

    def __iter__(self) -> Iterator[Image]:
        return iter(tuple(self._by_native.values()))

    def find(self, correlation_id: int) -> Image | None:
        """Return an image by its correlation id."""
        return next((image for image in self if image.correlation_id == correlation_id), None)

    def of_native(self, native: object) -> Image | None:
        """Return the image that an event is about."""
        return self._by_native.get(native)

    def on_setup(self, native_endpoint: object, setup: Setup) -> None:
        """Make an image for everybody who subscribed to the stream, as soon as its log is there; on failure the receiver may ask again."""
        endpoint = self._endpoints.receiver_of(native_endpoint)
        if endpoint is not None:
            self._attempt(endpoint, setup, partial(self._start, endpoint, setup))

    def link_subscription(self, subscription: Subscription) -> None:
        """Link a new subscription to the images that are already there."""
        for image in self:
            is_match = image.endpoint is subscription.endpoint and subscription.wants(image.session_id, image.stream_id)
            if is_match and not image.is_lingering and image.native.accepts_subscribers:
                self._subscriptions.link_later(subscription, image)

    def on_linger(self, image: Image) -> None:
        """The stream has ended or gone silent: subscribers lose the image, and the endpoint perhaps its last user."""
        image.is_lingering = True
        if self._subscriptions.notify_unavailable(image):
            self._core.receiver.remove_cool_down(image.endpoint.native, image.session_id, image.stream_id)
        image.endpoint.image_count -= 1
        self._endpoints.close_receiver_if_unused(image.endpoint)

    def on_removed(self, image: Image) -> None:
        """No agent holds the image any more: free its counters and log."""
        self._by_native.pop(image.native, None)
        self._removed += 1
        for counter_id in image.counter_ids:
            self._core.counters.manager.free(counter_id)
        self._core.logs.free_later(image.log)
        self._core.conductor_events.state(
            DriverEventCode.REMOVE_IMAGE_CLEANUP,
            correlation_id=image.correlation_id,
            session_id=image.session_id,
            stream_id=image.stream_id,
            channel=image.endpoint.channel.original,
            source_identity=image.source_identity,
        )

    def take_removed(self) -> int:
        """Return how many images were removed since the last call."""
        removed, self._removed = self._removed, 0
        return removed

    def close(self) -> None:
        """Free every log; the agents must have stopped."""
        for image in self:
            self._core.logs.free_later(image.log)
        self._by_native.clear()

    def _start(self, endpoint: ReceiveChannel, setup: Setup) -> bool:
        where = f"SETUP from {_identity(setup.source_address)} on {endpoint.channel.original}"
        check_mtu_length(where, setup.mtu)
        check_term_length(where, setup.term_length)
        params = SubscriptionParams.of(endpoint.channel.uri, self._core.context, setup.term_length)
        if setup.mtu > params.receiver_window_length:
            raise ChannelValueError(
                "a sender's MTU is longer than the receiver's initial window",
                where=where,
                expected=f"at most {params.receiver_window_length}",
                actual=f"mtu={setup.mtu}",
                hint="raise rcv-wnd or aeron.rcv.initial.window.length",
                error_code=ErrorCode.GENERIC_ERROR,
            )
        subscribers = self._subscriptions.of_stream(endpoint, setup.session_id, setup.stream_id)
        if not subscribers:
            return False
        correlation_id = self._core.next_correlation_id()
        made = self._core.logs.begin_image(correlation_id, setup.term_length, is_sparse=subscribers[0].params.is_sparse)
        if made is None:
            self._create(endpoint, setup, params, subscribers, correlation_id)
        else:
            finish = partial(self._finish, endpoint, setup, params, correlation_id, made)
            self._waiting_logs.add(correlation_id, made, partial(self._attempt, endpoint, setup, finish))
        return True

    def _finish(self, endpoint: ReceiveChannel, setup: Setup, params: SubscriptionParams, correlation_id: int, made: Future[Any]) -> bool:
        """Go on when an image's log is there, or cannot be made. Subscriptions may have come or gone meanwhile."""
        subscribers = self._subscriptions.of_stream(endpoint, setup.session_id, setup.stream_id)
        if not subscribers:
            return False
        made.result()
        self._create(endpoint, setup, params, subscribers, correlation_id)
        return True

    def _attempt(self, endpoint: ReceiveChannel, setup: Setup, step: Callable[[], bool]) -> None:
        """Take a step towards an image; when there will be none the receiver may ask again."""
        if endpoint.is_closing:
            return  # the receiver has been told to forget the endpoint, and must not be told more about it
        is_under_way = False
        try:
            is_under_way = step()
        finally:
            if not is_under_way:
                self._core.receiver.remove_init_in_progress(endpoint.native, setup.session_id, setup.stream_id)

    def _create(
        self, endpoint: ReceiveChannel, setup: Setup, params: SubscriptionParams, subscribers: list[Subscription], correlation_id: int
    ) -> None:
        core = self._core
        first = subscribers[0]
        is_group = _is_group(endpoint, first, setup.flags)
        log = self._create_log(endpoint, setup, params, first, correlation_id, is_group=is_group)
        positions: list[int] = []
        counter_ids: dict[CounterType, int] = {}
        indicator_ids: list[int] = []
        join_position = position_of(setup.active_term_id, setup.term_offset, setup.term_length, setup.initial_term_id)
        try:
            congestion_control, indicator_ids = make_congestion_control(
                core, endpoint.channel, setup.session_id, setup.stream_id, setup.mtu, params.receiver_window_length, correlation_id
            )
            for counter_type in _IMAGE_COUNTERS:
                counter_ids[counter_type] = core.counters.stream(
                    counter_type,
                    client_id=first.client_id,
                    registration_id=correlation_id,
                    session_id=setup.session_id,
                    stream_id=setup.stream_id,
                    channel=first.channel,
                )
            for subscription in subscribers:
                position_id = self._subscriptions.allocate_position(subscription, correlation_id, setup.session_id)
                positions.append(position_id)
                core.counters.manager.set_value(position_id, join_position)
            native = self._make_native(
                endpoint,
                setup,
                params,
                first,
                correlation_id,
                log,
                counter_ids,
                congestion_control,
                list(zip(positions, subscribers, strict=True)),
                is_group=is_group,
            )
        except Exception:
            for counter_id in (*counter_ids.values(), *indicator_ids, *positions):
                core.counters.manager.free(counter_id)
            core.logs.free_now(log)
            raise
        image = Image(
            correlation_id,
            native,
            endpoint,
            setup.session_id,
            setup.stream_id,
            log,
            _identity(setup.source_address),
            [*counter_ids.values(), *indicator_ids],
            is_response_wanted=bool(setup.flags & transport.SetupFlags.SEND_RESPONSE),
        )
        self._by_native[native] = image
        endpoint.image_count += 1
        # The conductor agent must know an image BEFORE the receiver feeds it.
        core.conductor_agent.add_image(native)
        core.receiver.add_image(native)
        for position_id, subscription in zip(positions, subscribers, strict=True):
            self._subscriptions.link_first(subscription, image, position_id, join_position)

    def _create_log(
        self,
        endpoint: ReceiveChannel,
        setup: Setup,
        params: SubscriptionParams,
        first: Subscription,
        correlation_id: int,
        *,
        is_group: bool,
    ) -> Log:
        metadata = {
            "type": logbuffer.LogType.PUBLICATION_IMAGE,
            "receiver_window_length": params.receiver_window_length,
            "socket_rcvbuf_length": endpoint.so_rcvbuf,
            "socket_sndbuf_length": endpoint.so_sndbuf,
            "tether": params.is_tether,
            "rejoin": params.is_rejoin,
            "reliable": first.params.is_reliable,
            "group": is_group,
            "is_response": params.is_response,
            "untethered_window_limit_timeout_ns": params.untethered_window_limit_timeout_ns,
            "untethered_resting_timeout_ns": params.untethered_resting_timeout_ns,
            "untethered_linger_timeout_ns": params.untethered_linger_timeout_ns,
        }
        spec = LogSpec(
            session_id=setup.session_id,
            stream_id=setup.stream_id,
            initial_term_id=setup.initial_term_id,
            term_id=setup.active_term_id,
            term_offset=setup.term_offset,
            term_length=setup.term_length,
            mtu_length=setup.mtu,
            is_sparse=first.params.is_sparse,
            metadata=metadata,
        )
        return self._core.logs.create_image(correlation_id, spec)

    def _make_native(
        self,
        endpoint: ReceiveChannel,
        setup: Setup,
        params: SubscriptionParams,
        first: Subscription,
        correlation_id: int,
        log: Log,
        counter_ids: dict[CounterType, int],
        congestion_control: CongestionControl,
        subscribers: list[tuple[int, Subscription]],
        *,
        is_group: bool,
    ) -> PublicationImage:
        core, context = self._core, self._core.context
        stamp_offset = endpoint.channel.channel_rcv_timestamp_offset
        return PublicationImage(
            log.buffers,
            endpoint.native,
            core.counters.manager,
            core.system,
            correlation_id=correlation_id,
            session_id=setup.session_id,
            stream_id=setup.stream_id,
            initial_term_id=setup.initial_term_id,
            active_term_id=setup.active_term_id,
            term_offset=setup.term_offset,
            control_address=setup.control_address,
            transport_index=setup.transport_index,
            hwm_position_id=counter_ids[CounterType.RCV_HWM],
            rebuild_position_id=counter_ids[CounterType.RCV_POS],
            naks_sent_id=counter_ids[CounterType.RCV_NAKS_SENT],
            subscriber_position_ids=[(position_id, item.registration_id) for position_id, item in subscribers],
            congestion_control=congestion_control,
            clock=core.ports.clock,
            stamp_offset=None if stamp_offset == TIMESTAMP_OFFSET_NONE else stamp_offset,
            delay=make_nak_delay(endpoint.channel, context, core.ports.random, is_group=is_group),
            reliable=first.params.is_reliable,
            image_liveness_timeout_ns=context.image_liveness_timeout_ns,
            status_message_timeout_ns=context.rcv_status_message_timeout_ns,
            loss_report=core.loss_report,
            source_identity=_identity(setup.source_address),
            untethered=params.untethered_times(),
            tethers={position_id: item.tether for position_id, item in subscribers},
            stream_events=core.conductor_events.of_stream(setup.session_id, setup.stream_id, endpoint.channel.original),
            now_ns=core.ports.clock.now_ns(),
        )


def _identity(address: tuple[str, int] | None) -> str:
    if address is None:
        return "unknown"
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_group(endpoint: ReceiveChannel, first: Subscription, flags: int) -> bool:
    if first.params.group is not None:
        return first.params.group
    return endpoint.channel.is_multicast or bool(flags & transport.SetupFlags.GROUP)
