"""What the conductor does about each event that an agent posts: a table from event type to handler."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from aerowire.base.errors import MalformedFrameError
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.conductor.rejections import report_publication_error
from aerowire.driver.queues.events import EventType
from aerowire.driver.resources.local_subscription_links import link_publication
from aerowire.driver.resources.logs import LogNotReadyError
from aerowire.logbuffer.descriptor import room_at

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_conductor import DriverConductor
    from aerowire.driver.queues.events import Event


# A peer may send any number: those without a meaning share an entry of the error log.
_ERROR_CODES = frozenset(ErrorCode)


def _on_create_image(conductor: DriverConductor, event: Event) -> None:
    _make_image(conductor, event, None)


def _make_image(conductor: DriverConductor, event: Event, correlation_id: int | None) -> None:
    try:
        conductor.images.on_setup(event.subject, event, correlation_id)
    except LogNotReadyError as cause:
        identity = cause.identity
        conductor.waiting_logs.add(cause, lambda: _make_image(conductor, event, identity))


def _on_image_linger(conductor: DriverConductor, event: Event) -> None:
    image = conductor.images.of_native(event.subject)
    if image is not None:
        conductor.images.on_linger(image)


def _on_image_removed(conductor: DriverConductor, event: Event) -> None:
    image = conductor.images.of_native(event.subject)
    if image is not None:
        conductor.subscriptions.on_source_removed(image, lambda: conductor.images.on_removed(image))


def _on_publication_linger(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.on_linger(publication)
        conductor.subscriptions.notify_unavailable(publication)


def _on_publication_done(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.on_done(publication)


def _on_publication_removed(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.subscriptions.on_source_removed(publication, lambda: conductor.publications.on_removed(publication))


def _on_subscriber_linked(conductor: DriverConductor, event: Event) -> None:
    join_position = event.position if event.accepted else None
    conductor.subscriptions.on_linked(event.subject, event.position_id, event.registration_id, join_position=join_position)


def _on_subscriber_unlinked(conductor: DriverConductor, event: Event) -> None:
    conductor.subscriptions.on_unlinked(event.subject, event.position_id, event.registration_id)


def _on_subscriber_unavailable(conductor: DriverConductor, event: Event) -> None:
    conductor.subscriptions.on_untethered_unavailable(event.subject, event.position_id, event.registration_id)


def _on_subscriber_available(conductor: DriverConductor, event: Event) -> None:
    conductor.subscriptions.on_untethered_available(event.subject, event.position_id, event.registration_id)


def _on_subscriber_dropped(conductor: DriverConductor, event: Event) -> None:
    conductor.subscriptions.on_untethered_dropped(event.subject, event.position_id, event.registration_id)


def _on_cool_down_over(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        link_publication(publication, conductor.subscriptions)


def _on_client_timeout(conductor: DriverConductor, event: Event) -> None:
    conductor.core.clients.on_timeout(event.client_id, is_closed=bool(event.closed))
    conductor.remove_client(event.client_id)


def _on_send_endpoint_removed(conductor: DriverConductor, event: Event) -> None:
    conductor.send_destinations.on_channel_closed(event.subject)
    conductor.endpoints.on_sender_removed(event.subject)


def _on_receive_endpoint_removed(conductor: DriverConductor, event: Event) -> None:
    conductor.endpoints.on_receiver_removed(event.subject)


def _on_receive_destination_removed(conductor: DriverConductor, event: Event) -> None:
    conductor.receive_destinations.on_removed(event.subject)


def _on_commands_blocked(conductor: DriverConductor, _event: Event) -> None:
    if conductor.core.to_driver.unblock():
        conductor.core.count(SystemCounter.UNBLOCKED_COMMANDS)


def _on_publication_error(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is None:
        return
    host, port = event.source_address or ("0.0.0.0", 0)
    conductor.core.errors.record(
        f"onPublicationError: registrationId={publication.registration_id}, "
        f"destinationRegistrationId={event.destination_registration_id}, sessionId={publication.session_id}, "
        f"streamId={publication.stream_id}, receiverId={event.receiver_id}, groupId={event.group_tag}, "
        f"errorCode={event.error_code}, errorMessage={event.message}",
        key=(event.type, publication.registration_id, event.error_code if event.error_code in _ERROR_CODES else None),
    )
    conductor.core.client_proxy.publication_error(
        publication.registration_id,
        destination_registration_id=event.destination_registration_id,
        session_id=publication.session_id,
        stream_id=publication.stream_id,
        receiver_id=event.receiver_id,
        group_tag=event.group_tag,
        address=ipaddress.ip_address(host).packed,
        port=port,
        error_code=event.error_code,
        text=event.message,
    )


def _on_native_error(conductor: DriverConductor, event: Event) -> None:
    # `a` is an errno or a stream; `b` would be a session, of which a peer can make up as many as it likes.
    conductor.core.errors.record(event.describe(), key=(event.type, event.code, event.a, getattr(event.subject, "channel", None)))


def _on_malformed_frame(conductor: DriverConductor, event: Event) -> None:
    """Record a frame that cannot be stepped over; report it to an image's sender, or to a publication's clients."""
    image, publication = conductor.images.of_native(event.subject), conductor.publications.of_native(event.subject)
    stream = image or publication
    if stream is None:
        return
    what = "overlaps those received before it" if event.room else "cannot be stepped over"
    error = MalformedFrameError(
        f"a frame {what}: the {'publication' if image is None else 'image'} has ended",
        session_id=stream.session_id,
        stream_id=stream.stream_id,
        position=event.position,
        frame_length=event.frame_length,
        room=event.room or room_at(event.position, stream.native.log.length_of_term),
    )
    # A peer can make up as many sessions as it likes.
    conductor.core.errors.record(error, key=(event.type, image is None, stream.stream_id))
    if image is not None:
        conductor.core.receiver.reject_image(image.native, str(error))
        conductor.core.count(SystemCounter.IMAGES_REJECTED)
    elif publication is not None:
        report_publication_error(conductor, publication.native, str(error), ErrorCode.GENERIC_ERROR)


def _on_send_name_silent(conductor: DriverConductor, event: Event) -> None:
    conductor.reresolution.on_silent_sender(event.subject, event.destination_registration_id)


def _on_response_setup(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.response_channels.on_response_setup(publication, event.response_session_id)


def _on_response_connected(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.response_channels.on_connected(publication)


def _on_control_name_silent(conductor: DriverConductor, event: Event) -> None:
    conductor.reresolution.on_silent_control(event.subject, event.transport_index)


def _ignore(_conductor: DriverConductor, _event: Event) -> None:
    """Nothing is left to do."""


EVENT_HANDLERS: Mapping[int, Callable[[DriverConductor, Event], None]] = {
    EventType.CREATE_IMAGE: _on_create_image,
    EventType.IMAGE_LINGER: _on_image_linger,
    EventType.IMAGE_DONE: _ignore,
    EventType.IMAGE_REMOVED: _on_image_removed,
    EventType.PUBLICATION_LINGER: _on_publication_linger,
    EventType.PUBLICATION_DONE: _on_publication_done,
    EventType.PUBLICATION_REMOVED: _on_publication_removed,
    EventType.SUBSCRIBER_LINKED: _on_subscriber_linked,
    EventType.SUBSCRIBER_UNLINKED: _on_subscriber_unlinked,
    EventType.CLIENT_TIMEOUT: _on_client_timeout,
    EventType.SEND_ENDPOINT_REMOVED: _on_send_endpoint_removed,
    EventType.RECEIVE_ENDPOINT_REMOVED: _on_receive_endpoint_removed,
    EventType.RECEIVE_DESTINATION_REMOVED: _on_receive_destination_removed,
    EventType.COMMANDS_BLOCKED: _on_commands_blocked,
    EventType.PUBLICATION_ERROR: _on_publication_error,
    EventType.NATIVE_ERROR: _on_native_error,
    EventType.RESPONSE_SETUP: _on_response_setup,
    EventType.RESPONSE_CONNECTED: _on_response_connected,
    EventType.SEND_NAME_SILENT: _on_send_name_silent,
    EventType.SUBSCRIBER_UNAVAILABLE: _on_subscriber_unavailable,
    EventType.SUBSCRIBER_AVAILABLE: _on_subscriber_available,
    EventType.SUBSCRIBER_DROPPED: _on_subscriber_dropped,
    EventType.COOL_DOWN_OVER: _on_cool_down_over,
    EventType.CONTROL_NAME_SILENT: _on_control_name_silent,
    EventType.MALFORMED_FRAME: _on_malformed_frame,
}
