"""The ways in which a publisher of the interop suite can send a message; the twin of Offering.java.

Every frame that goes out by another way than `plain` carries a checksum of its payload as reserved value.
"""

from __future__ import annotations

import struct
import zlib
from typing import Protocol

from aerowire.client import ExclusivePublication, Publication
from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType

HEADER = struct.Struct("<iBBHiiiiq")
HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
CLAIM_ABORTED_EVERY = 5
PADDED_EVERY = 3
PADDING_LENGTH_MAX = 1000


Message = bytes | memoryview


class Offering(Protocol):
    """Sends one message; results as `offer`."""

    def __call__(self, message: Message, index: int, /) -> int: ...


def checksum(buffer: bytes | memoryview, offset: int, length: int) -> int:
    """Return the reserved value of a frame of `length` bytes, header included."""
    return zlib.crc32(buffer[offset + HEADER_LENGTH : offset + length]) | length << 32


def offering(way: str, publication: Publication | ExclusivePublication) -> Offering:
    """Return the way of that name; `padding` and `block` take an exclusive publication."""
    if way in ("padding", "block"):
        assert isinstance(publication, ExclusivePublication), f"{way} needs exclusive=true"
        return Padding(publication) if way == "padding" else Blocks(publication)
    if way == "parts":
        return Parts(publication)
    if way == "claim":
        return Claims(publication)
    return lambda message, _index: publication.offer(message)


class Parts:
    """Two or three buffers, which together are the message, and a function for the reserved value."""

    def __init__(self, publication: Publication | ExclusivePublication) -> None:
        self._publication = publication

    def __call__(self, message: Message, index: int) -> int:
        third = len(message) // 3
        view = memoryview(message)
        pieces = (view[:third], view[third:]) if index % 2 else (view[:third], view[third : 2 * third], view[2 * third :])
        return self._publication.offer_parts(*pieces, reserved_value=checksum)


class Claims:
    """Claims that are written in place, some after one that is given up; what is longer than a frame is offered."""

    def __init__(self, publication: Publication | ExclusivePublication) -> None:
        self._publication = publication
        self._given_up = -1

    def __call__(self, message: Message, index: int) -> int:
        if len(message) > self._publication.max_payload_length:
            return self._publication.offer(message, reserved_value=checksum)
        claim = self._publication.try_claim(len(message))
        if claim and index % CLAIM_ABORTED_EVERY == 0 and self._given_up != index:
            self._given_up = index
            claim.put_bytes(message)
            claim.abort()
            claim = self._publication.try_claim(len(message))
        if claim:
            claim.put_bytes(message)
            claim.reserved_value = zlib.crc32(message) | (HEADER_LENGTH + len(message)) << 32
            claim.commit()
        return claim.result


class Padding:
    """Padding of some length before every third message."""

    def __init__(self, publication: ExclusivePublication) -> None:
        self._publication = publication
        self._padded = -1

    def __call__(self, message: Message, index: int) -> int:
        if index % PADDED_EVERY == 0 and self._padded != index:
            result = self._publication.append_padding(index * 37 % PADDING_LENGTH_MAX)
            if result < 0:
                return result
            self._padded = index
        return self._publication.offer(message, reserved_value=checksum)


class Blocks:
    """Frames that are made here and offered whole; what does not fit the term is offered as a message."""

    def __init__(self, publication: ExclusivePublication) -> None:
        self._publication = publication

    def __call__(self, message: Message, _index: int) -> int:
        publication = self._publication
        payload_max = publication.max_payload_length
        pieces = [message[start : start + payload_max] for start in range(0, max(len(message), 1), payload_max)]
        block = bytearray()
        for number, piece in enumerate(pieces):
            flags = (DataFlags.BEGIN if number == 0 else 0) | (DataFlags.END if number == len(pieces) - 1 else 0)
            length = HEADER_LENGTH + len(piece)
            reserved = zlib.crc32(piece) | length << 32
            offset = publication.term_offset % publication.term_buffer_length + len(block)
            at_end = publication.term_offset == publication.term_buffer_length
            term_id = publication.term_id + at_end
            block += HEADER.pack(length, 0, flags, FrameType.DATA, offset, publication.session_id, publication.stream_id, term_id, reserved)
            block += piece
            block += bytes(-len(block) % HEADER_LENGTH)
        if publication.term_offset % publication.term_buffer_length + len(block) > publication.term_buffer_length:
            return publication.offer(message, reserved_value=checksum)
        return publication.offer_block(block)
