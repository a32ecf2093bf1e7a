"""Reads counters of a driver: system counters by number, stream counters by type and key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from aerowire.codecs.flyweights.cnc import CounterMetadataDecoder, CounterState, CounterValueDecoder, LocalSockaddrKeyDecoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.harness.memory import Mapping

VALUE_LENGTH = CounterValueDecoder.ENCODED_LENGTH
METADATA_LENGTH = CounterMetadataDecoder.ENCODED_LENGTH


class Counter(NamedTuple):
    """A counter's description; its value is read with `CountersReader.value`."""

    id: int
    type_id: int
    key: bytes
    label: str
    registration_id: int
    owner_id: int
    reference_id: int


class CountersReader:
    """Counters in a mapping; `metadata` and `values` are (offset, length)."""

    def __init__(self, mapping: Mapping, metadata: tuple[int, int], values: tuple[int, int]) -> None:
        self._mapping = mapping
        self._metadata, metadata_length = metadata
        self._values, values_length = values
        self.count_max = min(metadata_length // METADATA_LENGTH, values_length // VALUE_LENGTH)

    def value(self, counter_id: int) -> int:
        """Return the value of a counter."""
        return self._mapping.i64(self._values + counter_id * VALUE_LENGTH + CounterValueDecoder.VALUE_OFFSET)

    def set_value(self, counter_id: int, value: int) -> None:
        """Store the value of a counter that the harness owns."""
        self._mapping.put_i64(self._values + counter_id * VALUE_LENGTH + CounterValueDecoder.VALUE_OFFSET, value)

    def state(self, counter_id: int) -> int:
        """Return the state of a counter's record."""
        return self._mapping.i32(self._metadata + counter_id * METADATA_LENGTH + CounterMetadataDecoder.STATE_OFFSET)

    def describe(self, counter_id: int) -> Counter:
        """Return what a counter's record says of it."""
        metadata = self._metadata + counter_id * METADATA_LENGTH
        value = self._values + counter_id * VALUE_LENGTH
        mapping = self._mapping
        label_length = mapping.i32(metadata + CounterMetadataDecoder.LABEL_LENGTH_OFFSET)
        key_offset = metadata + CounterMetadataDecoder.KEY_OFFSET
        return Counter(
            counter_id,
            mapping.i32(metadata + CounterMetadataDecoder.TYPE_ID_OFFSET),
            mapping.bytes_at(key_offset, CounterMetadataDecoder.LABEL_LENGTH_OFFSET - CounterMetadataDecoder.KEY_OFFSET),
            mapping.bytes_at(metadata + CounterMetadataDecoder.LABEL_OFFSET, label_length).decode("ascii", "replace"),
            mapping.i64(value + CounterValueDecoder.REGISTRATION_ID_OFFSET),
            mapping.i64(value + CounterValueDecoder.OWNER_ID_OFFSET),
            mapping.i64(value + CounterValueDecoder.REFERENCE_ID_OFFSET),
        )

    def all(self) -> Iterator[Counter]:
        """Yield every counter in use."""
        for counter_id in range(self.count_max):
            state = self.state(counter_id)
            if state == CounterState.UNUSED:
                return
            if state == CounterState.ALLOCATED:
                yield self.describe(counter_id)

    def bound_to(self, channel_status_id: int) -> list[str]:
        """Return the addresses, as text, that the endpoint with a status counter is bound to."""
        keys = [LocalSockaddrKeyDecoder(counter.key) for counter in self.all() if counter.type_id == CounterType.LOCAL_SOCKADDR]
        return [key.local_sockaddr for key in keys if key.channel_status_id == channel_status_id]

    def find(self, type_id: CounterType, *, registration_id: int) -> Counter | None:
        """Return the counter of a type with a registration."""
        for counter in self.all():
            if counter.type_id == type_id and counter.registration_id == registration_id:
                return counter
        return None
