"""Status messages that say otherwise, and images announced otherwise: for the faults of the groups A and U."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aerowire.codecs.flyweights.commands import AvailableImageDecoder, AvailableImageEncoder, CommandType
from aerowire.codecs.flyweights.transport import StatusMessageDecoder, StatusMessageEncoder
from aerowire.codecs.tables.counters import CounterType
from tests.conformance.injector import Announce, Count, Link, Passage, edited, read
from tests.conformance.misbehaviour import HALF_TERM, is_elicit, is_setup

# -- status messages --------------------------------------------------------------------------------------------------


def is_strange(datagram: bytes) -> bool:
    """Say whether a datagram is data of the session that A06 does not ask for."""
    return b"of no interest" in datagram


def is_wanted(datagram: bytes) -> bool:
    """Say whether a datagram is data of the session that A06 asks for."""
    return b"of interest" in datagram


def is_general(datagram: bytes) -> bool:
    """Say whether a datagram asks any session for a SETUP."""
    return is_elicit(datagram) and read(datagram).session_id == 0


def is_special(datagram: bytes) -> bool:
    """Say whether a datagram asks one session for a SETUP."""
    return is_elicit(datagram) and read(datagram).session_id != 0


def status_of(data: bytes) -> bytes:
    """A status message that has consumed up to a frame of data."""
    frame = read(data)
    ids = {"session_id": frame.session_id, "stream_id": frame.stream_id, "consumption_term_id": frame.term_id}
    return StatusMessageEncoder.encode(consumption_term_offset=frame.term_offset, receiver_window=HALF_TERM, receiver_id=1, **ids)


def status_of_setup(setup: bytes) -> bytes:
    """A first status message for a stream."""
    frame = read(setup)
    ids = {"session_id": frame.session_id, "stream_id": frame.stream_id, "consumption_term_id": frame.active_term_id}
    return StatusMessageEncoder.encode(consumption_term_offset=frame.term_offset, receiver_window=HALF_TERM, receiver_id=1, **ids)


def untagged(status: bytes) -> bytes:
    """A status message without its tag."""
    length = StatusMessageDecoder.ENCODED_LENGTH
    return edited(status[:length], frame_length=length)


def tagged(tag: int) -> Callable[[bytes], bytes]:
    """Put another tag into a status message."""
    return lambda status: status[: StatusMessageDecoder.ENCODED_LENGTH] + tag.to_bytes(8, "little", signed=True)


# -- images -----------------------------------------------------------------------------------------------------------


def hide(hidden: CommandType) -> Announce:
    """Announce everything but news of one type."""
    return lambda type_id, body: [] if type_id == hidden else [(type_id, body)]


def announced(body: bytes, **changes: int) -> bytes:
    """The announcement of an image with some of it changed."""
    changed = bytearray(body)
    encoder = AvailableImageEncoder(changed)
    for name, value in changes.items():
        setattr(encoder, name, value)
    return bytes(changed)


def readmit() -> Announce:
    """Announce an image again, under another id, when it has become unavailable."""
    last: list[bytes] = []

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        yield type_id, body
        if type_id == CommandType.ON_AVAILABLE_IMAGE:
            last.append(body)
        elif type_id == CommandType.ON_UNAVAILABLE_IMAGE:
            image = AvailableImageDecoder(last[-1])
            yield CommandType.ON_AVAILABLE_IMAGE, announced(last[-1], correlation_id=image.correlation_id + 1)

    return announce


def renumbered(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Announce an image to each subscription under an id of its own."""
    if type_id == CommandType.ON_AVAILABLE_IMAGE:
        body = announced(body, correlation_id=AvailableImageDecoder(body).subscription_registration_id)
    yield type_id, body


def another_source(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Announce images of another IPv6 address."""
    yield type_id, body.replace(b"::1]", b"::2]") if type_id == CommandType.ON_AVAILABLE_IMAGE else body


def counted_from_first(counter: CounterType) -> Count:
    """A counter that begins at 0."""
    return lambda kind, value, first: value - first if kind is counter else value


def admitting() -> dict[str, Any]:
    """Announce, with the next image, one of each session that asked for one and got none."""
    heard: list[tuple[int, int]] = []
    images: list[bytes] = []

    def hears(_: Link, datagram: bytes) -> Iterable[Passage]:
        if is_setup(datagram):
            heard.append((read(datagram).stream_id, read(datagram).session_id))
        return [(0.0, datagram)]

    def announces(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        yield type_id, body
        if type_id != CommandType.ON_AVAILABLE_IMAGE:
            return
        images.append(body)
        met = {(image.stream_id, image.session_id): each for each in images for image in [AvailableImageDecoder(each)]}
        for stream_id, session_id in heard:
            like = next((each for (stream, _), each in met.items() if stream == stream_id), None)
            if like is not None and (stream_id, session_id) not in met:
                yield type_id, announced(like, session_id=session_id)

    return {"hears": hears, "announces": announces}


ADMITTING = admitting()
