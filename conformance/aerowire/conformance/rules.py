"""What a driver must make of a datagram by its bytes alone: the two layers of acceptance, as pure functions.

The first layer asks whether the datagram is a frame at all, the second whether the frame's values can be. What
fails either is an invalid packet: counted once, never answered. The rest is the protocol's business.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from aerowire.codecs.flyweights.transport import (
    ERROR_TEXT_LENGTH_MAX,
    FRAME_ALIGNMENT,
    FRAME_VERSION,
    MAX_UDP_PAYLOAD,
    RESOLUTION_FRAME_LENGTH_MIN,
    SETUP_MTU_MIN,
    TERM_LENGTH_MAX,
    TERM_LENGTH_MIN,
    DataHeaderDecoder,
    ErrorFrameDecoder,
    FrameHeaderDecoder,
    FrameType,
    NakDecoder,
    ResponseSetupDecoder,
    RttmDecoder,
    SetupDecoder,
    StatusMessageDecoder,
)
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.ring import align

LENGTH_MIN: dict[int, int] = {
    FrameType.NAK: NakDecoder.ENCODED_LENGTH,
    FrameType.SM: StatusMessageDecoder.ENCODED_LENGTH,
    FrameType.ERR: ErrorFrameDecoder.ENCODED_LENGTH,
    FrameType.SETUP: SetupDecoder.ENCODED_LENGTH,
    FrameType.RTTM: RttmDecoder.ENCODED_LENGTH,
    FrameType.RES: RESOLUTION_FRAME_LENGTH_MIN,
    FrameType.RSP_SETUP: ResponseSetupDecoder.ENCODED_LENGTH,
}
DATA_TYPES = (FrameType.PAD, FrameType.DATA)
# Types of a data frame differ in the lowest bit only.
DATA_TYPE_MASK = 0xFFFE


class Endpoint(enum.Enum):
    """Which end of a driver a datagram arrives at."""

    RECEIVE = "receive"
    SEND = "send"


class Effect(enum.Enum):
    """What a datagram does to a driver."""

    INVALID = "invalid"
    IGNORED = "ignored"
    HANDLED = "handled"


@dataclass(frozen=True, slots=True)
class KnownStream:
    """A live image (for a receive endpoint) or publication (for a send endpoint)."""

    session_id: int
    stream_id: int
    initial_term_id: int
    term_length: int

    def has(self, session_id: int, stream_id: int) -> bool:
        """Say whether ids are this stream's."""
        return (self.session_id, self.stream_id) == (session_id, stream_id)


def is_valid_frame(datagram: bytes) -> bool:
    """First layer: length, version, type, and a frame length that the type allows."""
    # A bare header is no frame of any type.
    if len(datagram) <= FrameHeaderDecoder.ENCODED_LENGTH:
        return False
    header = FrameHeaderDecoder(datagram)
    if header.frame_length < 0 or header.version != FRAME_VERSION:
        return False
    if header.type in DATA_TYPES:
        return len(datagram) >= DataHeaderDecoder.ENCODED_LENGTH and len(datagram) % FRAME_ALIGNMENT == 0
    shortest = LENGTH_MIN.get(header.type)
    return shortest is not None and len(datagram) >= shortest and header.frame_length <= len(datagram)


def is_valid_setup(setup: SetupDecoder) -> bool:
    """Second layer of a SETUP."""
    term_length = setup.term_length
    return (
        TERM_LENGTH_MIN <= term_length <= TERM_LENGTH_MAX
        and term_length & (term_length - 1) == 0
        and is_offset(setup.term_offset, term_length)
        and SETUP_MTU_MIN <= setup.mtu <= MAX_UDP_PAYLOAD
        and setup.mtu % FRAME_ALIGNMENT == 0
    )


def is_valid_status(message: StatusMessageDecoder, term_length: int) -> bool:
    """Second layer of a status message."""
    return is_offset(message.consumption_term_offset, term_length) and 0 <= message.receiver_window <= term_length // 2


def is_valid_nak(nak: NakDecoder, term_length: int) -> bool:
    """Second layer of a NAK."""
    return is_offset(nak.term_offset, term_length) and nak.length >= 0 and nak.term_offset + nak.length <= term_length


def is_valid_error(error: ErrorFrameDecoder) -> bool:
    """Second layer of an ERR."""
    length = error.error_length
    return 0 <= length <= ERROR_TEXT_LENGTH_MAX and ErrorFrameDecoder.ENCODED_LENGTH + length <= error.frame_length


def is_valid_data(datagram: bytes, term_length: int) -> bool:
    """Second layer of DATA for a live image: every frame follows from the one before, and the last ends the datagram."""
    expected_offset = DataHeaderDecoder(datagram).term_offset
    if not is_offset(expected_offset, term_length):
        return False
    if is_heartbeat(datagram):
        return True
    offset = 0
    kind = -1
    while offset <= len(datagram) - DataHeaderDecoder.ENCODED_LENGTH:
        header = DataHeaderDecoder(datagram, offset)
        kind = header.type & 0xFFFF
        if header.frame_length <= 0 or kind & DATA_TYPE_MASK or header.term_offset != expected_offset:
            return False
        length = align(header.frame_length, FRAME_ALIGNMENT)
        expected_offset += length
        if expected_offset > term_length:
            return False
        offset += length
    # Padding's bytes need not be there.
    return offset == len(datagram) or (offset > len(datagram) and kind == FrameType.PAD)


def end_in_window(frame_type: int, position: int, end: int) -> int:
    """Return up to which position a frame at a position has to fit into a window; of padding, the header alone is sent.

    Aeron: TermScanner.scanForAvailability.
    """
    return position + DataHeaderDecoder.ENCODED_LENGTH if frame_type == FrameType.PAD else end


def is_heartbeat(datagram: bytes) -> bool:
    """Say whether a DATA datagram is a heartbeat."""
    return len(datagram) == DataHeaderDecoder.ENCODED_LENGTH and DataHeaderDecoder(datagram).frame_length == 0


def is_offset(offset: int, term_length: int) -> bool:
    """Say whether a frame may begin at an offset of a term."""
    return 0 <= offset < term_length and offset % FRAME_ALIGNMENT == 0


def effect_of(datagram: bytes, endpoint: Endpoint, known: KnownStream) -> Effect:
    """Return what a driver does with a datagram at an endpoint whose only live stream is `known`."""
    if not is_valid_frame(datagram):
        return Effect.INVALID
    evaluation = EFFECTS[endpoint].get(FrameHeaderDecoder(datagram).type)
    # A good frame that belongs to the other direction.
    return Effect.IGNORED if evaluation is None else evaluation(datagram, known)


def _effect_of_data(datagram: bytes, known: KnownStream) -> Effect:
    header = DataHeaderDecoder(datagram)
    if header.stream_id != known.stream_id:
        return Effect.IGNORED
    # Drivers may drop data from before the stream's first term without looking into it: Java evaluates it, C does not.
    if wrap_i32(header.term_id - known.initial_term_id) < 0:
        return Effect.HANDLED
    # Data of a session without an image is never looked into: it asks for a SETUP.
    if header.session_id == known.session_id and not is_valid_data(datagram, known.term_length):
        return Effect.INVALID
    return Effect.HANDLED


def _effect_of_setup(datagram: bytes, known: KnownStream) -> Effect:
    setup = SetupDecoder(datagram)
    if not is_valid_setup(setup):
        return Effect.INVALID
    return Effect.HANDLED if setup.stream_id == known.stream_id else Effect.IGNORED


def _effect_of_status(datagram: bytes, known: KnownStream) -> Effect:
    status = StatusMessageDecoder(datagram)
    is_known = known.has(status.session_id, status.stream_id)
    if not is_valid_status(status, known.term_length if is_known else TERM_LENGTH_MAX):
        return Effect.INVALID
    return Effect.HANDLED if is_known else Effect.IGNORED


def _effect_of_nak(datagram: bytes, known: KnownStream) -> Effect:
    nak = NakDecoder(datagram)
    if not known.has(nak.session_id, nak.stream_id):
        return Effect.IGNORED
    return Effect.HANDLED if is_valid_nak(nak, known.term_length) else Effect.INVALID


def _effect_of_error(datagram: bytes, known: KnownStream) -> Effect:
    error = ErrorFrameDecoder(datagram)
    if not is_valid_error(error):
        return Effect.INVALID
    return Effect.HANDLED if known.has(error.session_id, error.stream_id) else Effect.IGNORED


def _effect_of_rttm(datagram: bytes, known: KnownStream) -> Effect:
    rttm = RttmDecoder(datagram)
    return Effect.HANDLED if known.has(rttm.session_id, rttm.stream_id) else Effect.IGNORED


def _effect_of_response(datagram: bytes, known: KnownStream) -> Effect:
    response = ResponseSetupDecoder(datagram)
    return Effect.HANDLED if known.has(response.session_id, response.stream_id) else Effect.IGNORED


EFFECTS: dict[Endpoint, dict[int, Callable[[bytes, KnownStream], Effect]]] = {
    Endpoint.RECEIVE: {
        FrameType.PAD: _effect_of_data,
        FrameType.DATA: _effect_of_data,
        FrameType.SETUP: _effect_of_setup,
        FrameType.RTTM: _effect_of_rttm,
    },
    Endpoint.SEND: {
        FrameType.SM: _effect_of_status,
        FrameType.NAK: _effect_of_nak,
        FrameType.ERR: _effect_of_error,
        FrameType.RTTM: _effect_of_rttm,
        FrameType.RSP_SETUP: _effect_of_response,
    },
}
