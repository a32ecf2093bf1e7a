"""The markers of a snapshot, and the rules by which they stand in its stream. Aeron: SnapshotTaker, ServiceSnapshotLoader.

Sans I/O: a message in, its meaning out. `stream` moves the messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerowire.base.errors import ClusterSnapshotError
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit, SnapshotMark
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.snapshot_marker import SnapshotMarker, SnapshotMarkerDecoder
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Whose state a snapshot holds. Aeron: ConsensusModule.Configuration, ClusteredServiceContainer.Configuration.
CONSENSUS_MODULE_SNAPSHOT_TYPE_ID: Final = 1
SERVICE_SNAPSHOT_TYPE_ID: Final = 2

_SCHEMA_ID: Final = SnapshotMarkerDecoder.SBE_SCHEMA_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDetails:
    """What the markers of a snapshot tell of it. Positions are those of the log, `app_version` is the application's, 0 without one."""

    type_id: int
    log_position: int
    leadership_term_id: int
    time_unit: ClusterTimeUnit = ClusterTimeUnit.MILLIS
    app_version: int = 0

    def encode(self, mark: SnapshotMark, index: int = 0) -> bytes:
        """Return a marker as a message; `index` counts the sections of a snapshot that has some."""
        return SnapshotMarker(
            type_id=self.type_id,
            log_position=self.log_position,
            leadership_term_id=self.leadership_term_id,
            index=index,
            mark=mark,
            time_unit=self.time_unit,
            app_version=self.app_version,
        ).encode()


class SnapshotRecords:
    """The messages of a snapshot up to its END marker, as they are read. Changed by `on_message` only.

    `details` is what the BEGIN marker told, None before it; `index` that of the last section. Invariant: a record is returned between
    BEGIN and END only.
    """

    def __init__(self, type_id: int, where: str) -> None:
        """`type_id` is that of the snapshots that can be read, `where` names the stream in errors."""
        self.details: SnapshotDetails | None = None
        self.index = 0
        self.is_done = False
        self._type_id = type_id
        self._where = where

    def on_message(self, message: Buffer) -> int | None:
        """Take a whole message and return its template id where it is a record, None for a marker. Raises ClusterSnapshotError."""
        view = memoryview(message)
        if view.nbytes < HEADER.size:
            raise self._wrong("a message of a snapshot is too short", f"{HEADER.size} bytes of header", f"{view.nbytes} bytes")
        _, template_id, schema_id, _ = HEADER.unpack(view, 0)
        if schema_id != _SCHEMA_ID:
            raise self._wrong("a message of a snapshot is of another schema", f"schema {_SCHEMA_ID}", f"schema {schema_id}")
        if template_id == SnapshotMarkerDecoder.SBE_TEMPLATE_ID:
            self._on_marker(view)
            return None
        if self.details is None:
            raise self._wrong("a snapshot does not begin with its marker", "a BEGIN marker", f"template {template_id}")
        return int(template_id)

    def _on_marker(self, message: memoryview) -> None:
        try:
            marker = SnapshotMarker.decode(message)
        except SbeError as error:
            raise self._wrong("a marker of a snapshot is damaged", "a SnapshotMarker", str(error)) from None
        if marker.type_id != self._type_id:
            raise self._wrong("a snapshot is of another kind", f"type {self._type_id}", f"type {marker.type_id}")
        is_begun = self.details is not None
        if (marker.mark == SnapshotMark.BEGIN) == is_begun:
            raise self._wrong(
                "the markers of a snapshot are out of order", "SECTION or END" if is_begun else "BEGIN", f"marker {marker.mark.name}"
            )
        if marker.mark == SnapshotMark.BEGIN:
            self.details = SnapshotDetails(
                type_id=marker.type_id,
                log_position=marker.log_position,
                leadership_term_id=marker.leadership_term_id,
                time_unit=ClusterTimeUnit.MILLIS if marker.time_unit is None else marker.time_unit,
                app_version=marker.app_version or 0,
            )
        self.index = marker.index
        self.is_done = marker.mark == SnapshotMark.END

    def _wrong(self, what: str, expected: str, actual: str) -> ClusterSnapshotError:
        return ClusterSnapshotError(what, where=self._where, expected=expected, actual=actual)
