"""Writes commands into the to-driver ring: many producers, one consumer."""

from __future__ import annotations

from aerowire.codecs.flyweights.cnc import (
    RING_MESSAGE_CAPACITY_SHIFT,
    RING_PADDING_TYPE,
    RingRecordDecoder,
    RingTrailerDecoder,
)
from aerowire.conformance.harness.memory import Mapping

HEADER_LENGTH = RingRecordDecoder.ENCODED_LENGTH


class RingFullError(Exception):
    """The consumer has not made room; a driver that reads its commands empties the ring at once."""


class RingWriter:
    """Producer side of the ring at `offset` (`length` with its trailer) of a mapping.

    Record states: length 0 free, negative while being written, positive published.
    """

    def __init__(self, mapping: Mapping, offset: int, length: int) -> None:
        self._mapping = mapping
        self._offset = offset
        self.capacity = length - RingTrailerDecoder.ENCODED_LENGTH
        if self.capacity <= 0 or self.capacity & (self.capacity - 1):
            raise ValueError(f"ring capacity {self.capacity} is not a power of two")
        self.message_length_max = self.capacity >> RING_MESSAGE_CAPACITY_SHIFT
        trailer = offset + self.capacity
        self._tail = trailer + RingTrailerDecoder.TAIL_POSITION_OFFSET
        self._head = trailer + RingTrailerDecoder.HEAD_POSITION_OFFSET
        self._correlation = trailer + RingTrailerDecoder.CORRELATION_COUNTER_OFFSET

    def next_correlation_id(self) -> int:
        """Return a number no other command or client of this driver has."""
        return self._mapping.fetch_add_i64(self._correlation, 1)

    def write(self, type_id: int, body: bytes) -> None:
        """Publish one command. Raises RingFullError when there is no room, ValueError when it is too long."""
        if len(body) > self.message_length_max:
            raise ValueError(f"command of {len(body)} bytes; the ring takes {self.message_length_max}")
        record_length = HEADER_LENGTH + len(body)
        index = self._claim(align(record_length, RingRecordDecoder.ALIGNMENT))
        start = self._offset + index
        length_at = start + RingRecordDecoder.LENGTH_OFFSET
        self._mapping.put_i32(length_at, -record_length)
        self._mapping.put_i32(start + RingRecordDecoder.TYPE_OFFSET, type_id)
        self._mapping.put_bytes(start + HEADER_LENGTH, body)
        # The positive length publishes the record; it must be stored last.
        self._mapping.put_i32(length_at, record_length)

    def _claim(self, required: int) -> int:
        mapping, capacity = self._mapping, self.capacity
        while True:
            head = mapping.i64(self._head)
            tail = mapping.i64(self._tail)
            index = tail & (capacity - 1)
            to_end = capacity - index
            padding = to_end if required > to_end else 0
            # A record that does not fit before the end starts at 0, so that part must be free as well.
            if tail + required + padding > head + capacity:
                raise RingFullError(f"{required} bytes asked, {capacity - (tail - head)} free")
            if mapping.compare_and_set_i64(self._tail, tail, tail + required + padding):
                break
        if padding:
            start = self._offset + index
            mapping.put_i32(start + RingRecordDecoder.LENGTH_OFFSET, -padding)
            mapping.put_i32(start + RingRecordDecoder.TYPE_OFFSET, RING_PADDING_TYPE)
            mapping.put_i32(start + RingRecordDecoder.LENGTH_OFFSET, padding)
            index = 0
        return index


def align(value: int, alignment: int) -> int:
    """Round `value` up to a multiple of `alignment`, a power of two."""
    return (value + alignment - 1) & -alignment
