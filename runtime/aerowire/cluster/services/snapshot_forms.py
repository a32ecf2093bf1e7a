"""Forms of a service's snapshot besides a stream that it writes itself: an object, or records of a schema. Step by step, as streams.

Both end with an END marker, so that a replay that breaks off is not taken for a whole state:

    object:   length of the state (8 bytes) and its CRC-32 (4 bytes) | parts of it | END marker
    records:  each record with its message header | END marker
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from aerowire.base.errors import ClusterSnapshotError, ConfigurationError
from aerowire.cluster.services.clustered_service import ClusteredService
from aerowire.cluster.services.message_handlers import RESTORED, MessageTable, has_marked_methods
from aerowire.cluster.snapshots.state_codec import StateCodec
from aerowire.cluster.snapshots.stream import read_messages
from aerowire.codecs.flyweights.cluster.enums import SnapshotMark
from aerowire.codecs.flyweights.cluster.messages.snapshot_marker import SnapshotMarker, SnapshotMarkerDecoder
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from collections.abc import Generator

    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.snapshots.markers import SnapshotDetails

_STATE_HEADER: Final = Struct("<QI")
_PART_LENGTH: Final = 64 * 1024
_MARKER_HEAD: Final = SnapshotMarker(type_id=0, log_position=0, leadership_term_id=0, index=0, mark=SnapshotMark.END).encode()[
    : -SnapshotMarkerDecoder.SBE_BLOCK_LENGTH
]


class SnapshotForm(Protocol):
    """A way to write a service's state, and to read it."""

    def messages(self, details: SnapshotDetails) -> Iterator[bytes]:
        """Yield the messages of the state as it is now."""
        ...

    def load(self, image: Image, check: Callable[[], object]) -> Generator[None, None, None]:
        """Read the state, and give it to the service. Raises ClusterSnapshotError."""
        ...


class StateForm:
    """The state as an object: `service.snapshot_state()` returns it, `service.restore_state(state)` takes it.

    It consists of plain values, and of the data classes and enumerations in `service.state_types`.
    """

    def __init__(self, service: Any) -> None:
        self._service = service
        self._codec = StateCodec(getattr(service, "state_types", ()))

    def messages(self, details: SnapshotDetails) -> Iterator[bytes]:
        """Yield the state's length, its parts, and the END marker."""
        state = self._codec.encode(self._service.snapshot_state())
        yield _STATE_HEADER.pack(len(state), zlib.crc32(state))
        for start in range(0, len(state), _PART_LENGTH):
            yield state[start : start + _PART_LENGTH]
        yield details.encode(SnapshotMark.END)

    def load(self, image: Image, check: Callable[[], object]) -> Generator[None, None, None]:
        """Read the state, and restore the service's."""
        parts: list[bytes] = []

        def on_message(message: bytes) -> bool:
            is_end = _is_end(message)
            if not is_end:
                parts.append(message)
            return is_end

        yield from read_messages(image, on_message, check)
        state, where = b"".join(parts[1:]), f"stream {image.stream_id} position {image.position}"
        if not parts or len(parts[0]) != _STATE_HEADER.size:
            raise ClusterSnapshotError("the state of a service has no length", where=where, expected=f"{_STATE_HEADER.size} bytes")
        length, checksum = _STATE_HEADER.unpack(parts[0])
        if (len(state), zlib.crc32(state)) != (length, checksum):
            raise ClusterSnapshotError(
                "the state of a service is damaged",
                where=where,
                expected=f"{length} bytes with checksum {checksum:#x}",
                actual=f"{len(state)} bytes with {zlib.crc32(state):#x}",
            )
        self._service.restore_state(self._codec.decode(state))


class RecordsForm:
    """The state as records: `service.snapshot_records()` returns them, and each goes to the method with `@restores` of its kind."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self._table = MessageTable(service, RESTORED)

    def messages(self, details: SnapshotDetails) -> Iterator[bytes]:
        """Yield the records, and the END marker."""
        for record in self._service.snapshot_records():
            yield record if isinstance(record, bytes) else record.encode()
        yield details.encode(SnapshotMark.END)

    def load(self, image: Image, check: Callable[[], object]) -> Generator[None, None, None]:
        """Read the records, and give each to the service."""

        def on_message(message: bytes) -> bool:
            if _is_end(message):
                return True
            found = self._table.find(message)
            if found is None:
                raise self._table.missing(message)
            found[0](found[1])
            return False

        yield from read_messages(image, on_message, check)


def form_of(service: object) -> SnapshotForm | None:
    """Return the form of a service's snapshots; None for a stream that it writes itself. Raises ConfigurationError for two, or a half."""
    has_state = _has_pair(service, "snapshot_state", hasattr(service, "restore_state"), "restore_state")
    has_records = _has_pair(service, "snapshot_records", has_marked_methods(service, RESTORED), "methods with @restores")
    writes = getattr(type(service), "on_take_snapshot", None) not in (None, ClusteredService.on_take_snapshot)
    if has_state + has_records + writes > 1:
        raise ConfigurationError(
            "a service has snapshots of two forms",
            where=type(service).__name__,
            expected="on_take_snapshot, or snapshot_state, or snapshot_records",
        )
    return StateForm(service) if has_state else RecordsForm(service) if has_records else None


def _has_pair(service: object, name: str, has_other: bool, other: str) -> bool:
    if hasattr(service, name) != has_other:
        raise ConfigurationError(
            "a service writes snapshots that it cannot read, or the other way round",
            where=type(service).__name__,
            expected=f"both {name} and {other}",
            actual=name if hasattr(service, name) else other,
        )
    return has_other


def _is_end(message: bytes) -> bool:
    if message[2:6] != _MARKER_HEAD[2:6]:  # template and schema
        return False
    try:
        return SnapshotMarker.decode(message).mark == SnapshotMark.END
    except SbeError:
        return False
