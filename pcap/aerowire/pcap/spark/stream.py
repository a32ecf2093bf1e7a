"""Captures that grow, in a folder to which files are added, as a stream of Spark: each frame exactly once, over restarts too.

An offset says of each file up to where its whole records were read.  Planning follows the record headers of what is new; executors parse
it.  What only a whole file tells is not known while it grows: flows must be chosen by ports, and positions and
marks of retransmissions are null.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.captures import packet_blocks
from aerowire.pcap.files.pcapng import ends_within_header
from aerowire.pcap.files.places import Extent, Place
from aerowire.pcap.files.source import CaptureFile, is_capture, is_compressed, open_capture
from aerowire.pcap.frames.terms import Terms
from aerowire.pcap.reading.facts import Facts
from aerowire.pcap.reading.parts import SPLIT_LENGTH
from aerowire.pcap.reading.resolved import opened
from aerowire.pcap.spark.offsets import BEGINNING, Reached
from aerowire.pcap.spark.source import CaptureReader
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.workers import keep_what_is_loaded

FILES = "files"
NOTHING_KNOWN = Facts(frozenset(), Terms())


@dataclass
class GrownPart(InputPartition):
    """What a file has grown by; all of a compressed file."""

    path: str
    extent: Extent | None


class CaptureStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows files and folders."""

    def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
        self._reader = CaptureReader(options, schema)
        self._settings = self._reader.settings
        self._ends: dict[str, int] | None = None  # lengths that a query does not read beyond
        if self._settings.ports is None:
            raise CaptureError("a stream needs option ports: which flows are Aeron is known only after a whole file was read")

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {FILES: {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        if self._settings.files_per_trigger is not None:
            return ReadMaxFiles(self._settings.files_per_trigger)
        if self._settings.bytes_per_trigger is not None:
            return ReadMaxBytes(self._settings.bytes_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._ends = {path: Path(path).stat().st_size for path in self._files()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return up to where there are whole records, as far as a limit lets."""
        known = {path: Reached.from_value(value) for path, value in start[FILES].items()}
        files_left = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        bytes_left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        for path in self._files():
            if files_left == 0 or (bytes_left is not None and bytes_left <= 0):
                break
            before = known.get(path)
            after = self._advanced(path, before, bytes_left)
            if after is None or after == before:
                continue
            known[path] = after
            files_left = None if files_left is None else files_left - 1
            bytes_left = None if bytes_left is None else bytes_left - (after.place.position - (before.place.position if before else 0))
        return {FILES: {path: reached.to_value() for path, reached in known.items()}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[GrownPart]:
        """Return what lies between two offsets, cut into parts of splitSize."""
        found = []
        for path, value in end[FILES].items():
            last = Reached.from_value(value)
            first = Reached.from_value(start[FILES][path]) if path in start[FILES] else None
            if first is not None and first.place == last.place:
                continue
            if is_compressed(path):
                found.append(GrownPart(path, None))
                continue
            begin = first or Reached(BEGINNING)
            with open_capture(path) as file:
                cuts = [begin, *_cuts(file, begin, last.place.position, self._settings.split_length or SPLIT_LENGTH), last]
            # In a classic file, whoever reads a part finds a place before it.
            is_found = file.header is not None
            extents = (Extent(one.place, other.place.position, None if is_found else one.before) for one, other in pairwise(cuts))
            found += [GrownPart(path, extent) for extent in extents]
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the frames of what a file has grown by."""
        keep_what_is_loaded()
        assert isinstance(partition, GrownPart)
        capture = self._reader.capture(partition.path)
        with opened(partition.path, capture.request, extent=partition.extent, facts=NOTHING_KNOWN) as part:
            yield from self._reader.as_asked(capture.batches(part))

    def _files(self) -> list[str]:
        return [path for path in self._settings.files() if is_capture(path)]

    def _advanced(self, path: str, known: Reached | None, bytes_left: int | None) -> Reached | None:
        """Return what is reached behind the last whole record of a file."""
        length = Path(path).stat().st_size
        if self._ends is not None:
            length = min(length, self._ends.get(path, 0))
        start = known.place.position if known else 0
        if length < start and self._ends is None:
            raise CaptureError(f"{path}: is shorter than what was read of it: {length} bytes, expected {start} at least")
        if is_compressed(path):
            if known is not None and start < length:
                raise CaptureError(f"{path}: has grown since it was read; move compressed captures into the folder when they are whole")
            return Reached(Place(length, None)) if length else None
        if length <= start:
            return known
        if known is None and ends_within_header(path, length):
            return None
        reached = known or Reached(BEGINNING)
        with open_capture(path) as file:
            for on in _walk(file, reached, length):
                reached = on
                if bytes_left is not None and reached.place.position - start >= bytes_left:
                    break
        return reached if reached.place.position else None


def _walk(file: CaptureFile, start: Reached, end: int) -> Iterator[Reached]:
    """Yield what is reached behind each block of a file from a place on, up to an end."""
    extent = Extent(start.place, end) if start.place.position else None
    reached = start
    for block in packet_blocks(file, Statistics(), extent=extent):
        if block.stop > end:
            return
        index = None if block.first_index is None else block.first_index + block.count
        reached = reached.on(Place(block.stop, index, block.described_at(block.stop)))
        yield reached


def _cuts(file: CaptureFile, start: Reached, end: int, spacing: int) -> Iterator[Reached]:
    """Yield places between two, at least `spacing` bytes from each other."""
    last = start.place.position
    for reached in _walk(file, start, end - 1):
        if reached.place.position - last >= spacing:
            yield reached
            last = reached.place.position
