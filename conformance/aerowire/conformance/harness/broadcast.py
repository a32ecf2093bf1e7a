"""Reads the driver's broadcast of responses and news."""

from __future__ import annotations

from collections.abc import Iterator

from aerowire.codecs.flyweights.cnc import (
    BROADCAST_PADDING_TYPE,
    BroadcastRecordDecoder,
    BroadcastTrailerDecoder,
)
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.harness.ring import align

HEADER_LENGTH = BroadcastRecordDecoder.ENCODED_LENGTH


class BroadcastLappedError(Exception):
    """The transmitter overwrote what this reader had not read yet."""


class BroadcastReader:
    """One reader of the broadcast buffer at `offset` (`length` with its trailer); starts at the present end."""

    def __init__(self, mapping: Mapping, offset: int, length: int) -> None:
        self._mapping = mapping
        self._offset = offset
        self._capacity = length - BroadcastTrailerDecoder.ENCODED_LENGTH
        trailer = offset + self._capacity
        self._tail_intent = trailer + BroadcastTrailerDecoder.TAIL_INTENT_OFFSET
        self._tail = trailer + BroadcastTrailerDecoder.TAIL_OFFSET
        self._cursor = mapping.i64(self._tail)

    def poll(self) -> Iterator[tuple[int, bytes]]:
        """Yield (type, body) of every record that is new. Raises BroadcastLappedError when some were lost."""
        while self._cursor < self._mapping.i64(self._tail):
            start = self._offset + (self._cursor & (self._capacity - 1))
            length = self._mapping.i32(start + BroadcastRecordDecoder.LENGTH_OFFSET)
            type_id = self._mapping.i32(start + BroadcastRecordDecoder.TYPE_OFFSET)
            body = self._mapping.bytes_at(start + HEADER_LENGTH, max(0, length - HEADER_LENGTH))
            # Copy first, then check: what was copied is whole only if the transmitter has not come round.
            if self._cursor + self._capacity <= self._mapping.i64(self._tail_intent):
                raise BroadcastLappedError("the driver's broadcast overtook the harness")
            self._cursor += align(length, BroadcastRecordDecoder.ALIGNMENT)
            if type_id != BROADCAST_PADDING_TYPE:
                yield type_id, body
