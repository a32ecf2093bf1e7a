"""The two counter buffers of cnc.dat with any bytes in them: all that tools, clients and the driver read there, and what they change."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights.cnc import CounterMetadataDecoder, CounterValueDecoder
from aerowire.ipc.counters import AtomicCounter, CountersManager, CountersReader
from aerowire.memory.region import Region
from tests.fuzz.fields import Fields, int32s

COUNT = 4
METADATA, VALUE = CounterMetadataDecoder.ENCODED_LENGTH, CounterValueDecoder.ENCODED_LENGTH
_HEAD = 64  # bytes of a metadata record that an input sets: state, type, deadline, the first of the key
_LABEL = 40


class CountersTarget:
    """For each counter the head of its metadata record, its label's length and text, and its value record's fields."""

    name = "counters"
    length_max = 1 + COUNT * (_HEAD + _LABEL + 32)
    words = (int32s(1), int32s(-1), int32s(380), int32s(381), int32s(2**31 - 1), b"\xff\xfe", b"sub-pos: ")
    traced = ()

    def __init__(self) -> None:
        self._metadata, self._values = Region.anonymous(COUNT * METADATA), Region.anonymous(COUNT * VALUE)
        self._views = memoryview(self._metadata), memoryview(self._values)
        self._blanks = bytes(COUNT * METADATA), bytes(COUNT * VALUE)

    def seeds(self) -> Iterable[bytes]:
        """Return buffers without a counter, with one, and with one that was freed."""
        yield b"\0"
        for state in (1, -1):
            yield b"\x0f" + int32s(state, 4) + bytes(_HEAD - 8) + int32s(5) + b"label".ljust(_LABEL - 4, b"\0") + bytes(32)

    def execute(self, data: bytes) -> None:
        """Read every counter in every way, then allocate, label and free."""
        fields = Fields(data)
        how = fields.unsigned(1)
        metadata, values = self._views
        metadata[:], values[:] = self._blanks
        for at in range(COUNT):
            for view, offset, length in (
                (metadata, at * METADATA, _HEAD),
                (metadata, at * METADATA + 128, _LABEL),
                (values, at * VALUE, 32),
            ):
                taken = fields.take(length)
                view[offset : offset + len(taken)] = taken
        reader = CountersReader(self._metadata, self._values)
        for counter in reader.for_each():
            for read in (reader.label, reader.key, reader.value, reader.state, reader.owner_id, reader.free_for_reuse_deadline_ms):
                read(counter.counter_id)
        reader._repr_html_()
        reader.find_by_type_and_registration(4, 0)
        manager = CountersManager(self._metadata, self._values, free_to_reuse_timeout_ms=how & 4, epoch_ms=lambda: 1_700_000_000_000)
        for counter_id in range(COUNT):
            with contextlib.suppress(AerowireError, ValueError):  # a counter that is not there
                manager.append_label(counter_id, " more")
                AtomicCounter(manager, counter_id).add(1)
                manager.set_label(counter_id, "x" * 400)
                if how & 1 << counter_id:
                    manager.free(counter_id)
        with contextlib.suppress(AerowireError):  # no room
            manager.allocate("a new one", 7, b"key")
