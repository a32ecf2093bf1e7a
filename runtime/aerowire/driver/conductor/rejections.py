"""Rejection of images: by the receiver for a stream from the network, here for one that never left this machine."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.streams.ipc_publication import IpcPublication

if TYPE_CHECKING:
    from aerowire.driver.conductor.driver_conductor import DriverConductor
    from aerowire.driver.streams.network_publication import NetworkPublication

# Where a rejection comes from that no network brought. Aeron: IpcPublication.IPC_SRC_ADDRESS.
_IPC_SOURCE = ipaddress.ip_address("127.0.0.1").packed


def reject_image(conductor: DriverConductor, image_correlation_id: int, position: int, reason: str) -> None:
    """Reject an image, or an IPC publication as its subscribers see it. Raises RegistrationError for one that is not there."""
    core = conductor.core
    image = conductor.images.find(image_correlation_id)
    publication = conductor.publications.find(image_correlation_id)
    if image is not None:
        image.native.reject(reason)
    elif publication is not None and isinstance(publication.native, IpcPublication):
        _reject_ipc(conductor, publication.native, reason)
    else:
        raise RegistrationError(
            "unknown image",
            where=f"reject image at position {position}",
            expected="the correlation id of an image",
            actual=image_correlation_id,
            error_code=ErrorCode.GENERIC_ERROR,
        )
    core.count(SystemCounter.IMAGES_REJECTED)


def _reject_ipc(conductor: DriverConductor, native: IpcPublication, reason: str) -> None:
    core = conductor.core
    core.errors.record(
        f"onPublicationError: registrationId={native.registration_id}, sessionId={native.session_id}, streamId={native.stream_id}, "
        f"errorCode={int(ErrorCode.IMAGE_REJECTED)}, errorMessage={reason}",
        key=(reject_image, native.registration_id),
    )
    report_publication_error(conductor, native, reason, ErrorCode.IMAGE_REJECTED)
    publication = conductor.publications.of_native(native)
    if publication is not None:
        # Start the cool-down BEFORE the links are removed, so that no subscriber joins in between.
        core.conductor_agent.reject_publication(native)
        conductor.subscriptions.unlink_all(publication)


def report_publication_error(
    conductor: DriverConductor, native: IpcPublication | NetworkPublication, text: str, error_code: ErrorCode
) -> None:
    """Tell clients of an error of a publication that this driver has found itself."""
    conductor.core.client_proxy.publication_error(
        native.registration_id,
        destination_registration_id=commands.NULL_CORRELATION_ID,
        session_id=native.session_id,
        stream_id=native.stream_id,
        receiver_id=commands.NULL_CORRELATION_ID,
        group_tag=commands.NULL_CORRELATION_ID,
        address=_IPC_SOURCE,
        port=0,
        error_code=error_code,
        text=text,
    )
