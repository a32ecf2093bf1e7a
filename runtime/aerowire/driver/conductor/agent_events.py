"""What the conductor does about each event that an agent posts.

A handler has the name of its event, and after conductor and event the event's values in the order in which agents fill them in.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, NamedTuple

from aerowire.base.errors import MalformedFrameError
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.conductor.rejections import report_publication_error
from aerowire.driver.queues.events import EventType, NativeErrorCode
from aerowire.driver.resources.images import Setup
from aerowire.driver.resources.local_subscription_links import link_publication
from aerowire.logbuffer.descriptor import room_at

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_conductor import DriverConductor
    from aerowire.driver.queues.events import Event


# A peer may send any number: those without a meaning share an entry of the error log.
_ERROR_CODES = frozenset(ErrorCode)

# By name of NativeErrorCode; the name itself says enough of the others.
_ERROR_TEXTS = {
    "SESSION_LIMIT": "too many sessions of a stream (aeron.driver.stream.session.limit)",
    "IMAGE_LIMIT": "too many images of an endpoint (aeron.receiver.image.limit)",
    "IMAGE_RATE": "too many new images in a second (aeron.receiver.image.rate)",
    "SETUP_REQUESTS": "too many unknown sessions in a second, not asked for their set-up",
    "RECEIVERS_FULL": "too many receivers of a publication, further ones are not waited for",
    "RETRANSMIT_RATE": "too many bytes to send again in a second (aeron.retransmit.byte.rate)",
    "END_DISBELIEVED": "an end of a stream that other frames of the stream contradict",
}
_SOCKET_ERRORS = ("SEND_FAILED", "RECEIVE_FAILED")


class EventHandler(NamedTuple):
    """What is done about an event, and the names of its values."""

    run: Callable[..., None]
    fields: tuple[str, ...]


def on_create_image(
    conductor: DriverConductor,
    event: Event,
    session_id: int,
    stream_id: int,
    initial_term_id: int,
    active_term_id: int,
    term_offset: int,
    term_length: int,
    mtu: int,
    flags: int,
    transport_index: int,
) -> None:
    setup = Setup(
        session_id=session_id,
        stream_id=stream_id,
        initial_term_id=initial_term_id,
        active_term_id=active_term_id,
        term_offset=term_offset,
        term_length=term_length,
        mtu=mtu,
        flags=flags,
        transport_index=transport_index,
        control_address=event.control_address,
        source_address=event.source_address,
    )
    conductor.images.on_setup(event.subject, setup)


def on_image_linger(conductor: DriverConductor, event: Event) -> None:
    image = conductor.images.of_native(event.subject)
    if image is not None:
        conductor.images.on_linger(image)


def on_image_removed(conductor: DriverConductor, event: Event) -> None:
    image = conductor.images.of_native(event.subject)
    if image is not None:
        conductor.subscriptions.on_source_removed(image, lambda: conductor.images.on_removed(image))


def on_publication_linger(conductor: DriverConductor, event: Event, _revoked: int) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.on_linger(publication)
        conductor.subscriptions.notify_unavailable(publication)


def on_publication_done(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.on_done(publication)


def on_publication_removed(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.subscriptions.on_source_removed(publication, lambda: conductor.publications.on_removed(publication))


def on_subscriber_linked(
    conductor: DriverConductor, event: Event, position_id: int, position: int, registration_id: int, accepted: int
) -> None:
    conductor.subscriptions.on_linked(event.subject, position_id, registration_id, join_position=position if accepted else None)


def on_subscriber_unlinked(conductor: DriverConductor, event: Event, position_id: int, registration_id: int) -> None:
    conductor.subscriptions.on_unlinked(event.subject, position_id, registration_id)


def on_subscriber_unavailable(conductor: DriverConductor, event: Event, position_id: int, registration_id: int) -> None:
    conductor.subscriptions.on_untethered_unavailable(event.subject, position_id, registration_id)


def on_subscriber_available(conductor: DriverConductor, event: Event, position_id: int, registration_id: int, _position: int) -> None:
    conductor.subscriptions.on_untethered_available(event.subject, position_id, registration_id)


def on_subscriber_dropped(conductor: DriverConductor, event: Event, position_id: int, registration_id: int) -> None:
    conductor.subscriptions.on_untethered_dropped(event.subject, position_id, registration_id)


def on_cool_down_over(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        link_publication(publication, conductor.subscriptions)


def on_client_timeout(conductor: DriverConductor, _event: Event, client_id: int, closed: int) -> None:
    conductor.core.clients.on_timeout(client_id, is_closed=bool(closed))
    conductor.remove_client(client_id)


def on_send_endpoint_removed(conductor: DriverConductor, event: Event) -> None:
    conductor.send_destinations.on_channel_closed(event.subject)
    conductor.endpoints.on_sender_removed(event.subject)


def on_receive_endpoint_removed(conductor: DriverConductor, event: Event) -> None:
    conductor.endpoints.on_receiver_removed(event.subject)


def on_receive_destination_removed(conductor: DriverConductor, event: Event) -> None:
    conductor.receive_destinations.on_removed(event.subject)


def on_commands_blocked(conductor: DriverConductor, _event: Event) -> None:
    if conductor.core.to_driver.unblock():
        conductor.core.count(SystemCounter.UNBLOCKED_COMMANDS)


def on_publication_error(
    conductor: DriverConductor, event: Event, receiver_id: int, group_tag: int, error_code: int, destination_registration_id: int
) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is None:
        return
    host, port = event.source_address or ("0.0.0.0", 0)
    conductor.core.errors.record(
        f"onPublicationError: registrationId={publication.registration_id}, "
        f"destinationRegistrationId={destination_registration_id}, sessionId={publication.session_id}, "
        f"streamId={publication.stream_id}, receiverId={receiver_id}, groupId={group_tag}, "
        f"errorCode={error_code}, errorMessage={event.message}",
        key=(event.type, publication.registration_id, error_code if error_code in _ERROR_CODES else None),
    )
    conductor.core.client_proxy.publication_error(
        publication.registration_id,
        destination_registration_id=destination_registration_id,
        session_id=publication.session_id,
        stream_id=publication.stream_id,
        receiver_id=receiver_id,
        group_tag=group_tag,
        address=ipaddress.ip_address(host).packed,
        port=port,
        error_code=error_code,
        text=event.message,
    )


def on_native_error(conductor: DriverConductor, event: Event, code: int, a: int, b: int) -> None:
    # `a` is an errno or a stream; `b` would be a session, of which a peer can make up as many as it likes.
    error, channel = NativeErrorCode(code).name, getattr(event.subject, "channel", None)
    detail = os.strerror(a) if error in _SOCKET_ERRORS else f"stream {a} session {b}"
    text = f"{_ERROR_TEXTS.get(error, error.lower().replace('_', ' '))}: {detail} at {channel or type(event.subject).__name__}"
    conductor.core.errors.record(text, key=(event.type, code, a, channel))


def on_malformed_frame(conductor: DriverConductor, event: Event, position: int, frame_length: int, room: int) -> None:
    """Record a frame that cannot be stepped over; report it to an image's sender, or to a publication's clients."""
    image, publication = conductor.images.of_native(event.subject), conductor.publications.of_native(event.subject)
    stream = image or publication
    if stream is None:
        return
    what = "overlaps those received before it" if room else "cannot be stepped over"
    error = MalformedFrameError(
        f"a frame {what}: the {'publication' if image is None else 'image'} has ended",
        session_id=stream.session_id,
        stream_id=stream.stream_id,
        position=position,
        frame_length=frame_length,
        room=room or room_at(position, stream.native.log.length_of_term),
    )
    # A peer can make up as many sessions as it likes.
    conductor.core.errors.record(error, key=(event.type, image is None, stream.stream_id))
    if image is not None:
        image.native.reject(str(error))
        conductor.core.count(SystemCounter.IMAGES_REJECTED)
    elif publication is not None:
        report_publication_error(conductor, publication.native, str(error), ErrorCode.GENERIC_ERROR)


def on_send_name_silent(conductor: DriverConductor, event: Event, destination_registration_id: int) -> None:
    conductor.reresolution.on_silent_sender(event.subject, destination_registration_id)


def on_response_setup(conductor: DriverConductor, event: Event, response_session_id: int) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.response_channels.on_response_setup(publication, response_session_id)


def on_response_connected(conductor: DriverConductor, event: Event) -> None:
    publication = conductor.publications.of_native(event.subject)
    if publication is not None:
        conductor.publications.response_channels.on_connected(publication)


def on_control_name_silent(conductor: DriverConductor, event: Event, transport_index: int) -> None:
    conductor.reresolution.on_silent_control(event.subject, transport_index)


def on_image_done(_conductor: DriverConductor, _event: Event) -> None:
    """Nothing is left to do: IMAGE_REMOVED follows."""


def _handler_of(kind: EventType) -> EventHandler:
    run = globals()[f"on_{kind.name.lower()}"]
    return EventHandler(run, tuple(name.lstrip("_") for name in list(signature(run).parameters)[2:]))


HANDLERS = {kind: _handler_of(kind) for kind in EventType}


def handle(conductor: DriverConductor, event: Event) -> None:
    """Do what an event asks for."""
    handler = HANDLERS[event.type]
    handler.run(conductor, event, *event.values[: len(handler.fields)])
