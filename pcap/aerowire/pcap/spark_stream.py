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
from aerowire.pcap.facts import Facts
from aerowire.pcap.passes import Choice, open_blocks
from aerowire.pcap.places import Extent, Place
from aerowire.pcap.source import is_capture, is_compressed
from aerowire.pcap.spark import CHUNK_LENGTH, CaptureReader
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.terms import Terms

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
        known = {path: _place(value) for path, value in start[FILES].items()}
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
            bytes_left = None if bytes_left is None else bytes_left - (after.position - (before.position if before else 0))
        return {FILES: {path: _value(place) for path, place in known.items()}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[GrownPart]:
        """Return what lies between two offsets, cut into parts of splitSize."""
        found = []
        for path, value in end[FILES].items():
            last = _place(value)
            first = _place(start[FILES][path]) if path in start[FILES] else None
            if first == last:
                continue
            if is_compressed(path):
                found.append(GrownPart(path, None))
                continue
            begin = first or Place(0, 0)
            cuts = [begin, *_cuts(path, begin, last.position, self._settings.split_length), last]
            found += [GrownPart(path, Extent(one, other.position)) for one, other in pairwise(cuts)]
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the frames of what a file has grown by."""
        assert isinstance(partition, GrownPart)
        capture = self._reader.capture(partition.path)
        yield from self._reader.as_asked(capture.batches(extent=partition.extent, facts=NOTHING_KNOWN))

    def _files(self) -> list[str]:
        return [path for path in self._settings.files() if is_capture(path)]

    def _advanced(self, path: str, known: Place | None, bytes_left: int | None) -> Place | None:
        """Return the place behind the last whole record of a file."""
        length = Path(path).stat().st_size
        if self._ends is not None:
            length = min(length, self._ends.get(path, 0))
        if known is not None and length < known.position and self._ends is None:
            raise CaptureError(f"{path}: is shorter than what was read of it: {length} bytes, expected {known.position} at least")
        if is_compressed(path):
            if known is not None and known.position < length:
                raise CaptureError(f"{path}: has grown since it was read; move compressed captures into the folder when they are whole")
            return Place(length, None) if length else None
        place = known or Place(0, 0)
        if length <= place.position:
            return known
        choice = Choice(path, extent=Extent(place, length) if known else None, chunk_length=CHUNK_LENGTH)
        for block in open_blocks(choice, Statistics()):
            if block.stop > length:
                break
            index = None if block.first_index is None else block.first_index + block.count
            place = Place(block.stop, index, block.described)
            if bytes_left is not None and place.position - (known.position if known else 0) >= bytes_left:
                break
        return place if place.position else None


def _cuts(path: str, start: Place, end: int, spacing: int) -> Iterator[Place]:
    """Yield places between two, at least `spacing` bytes from each other."""
    last = start.position
    for block in open_blocks(Choice(path, extent=Extent(start, end) if start.position else None, chunk_length=CHUNK_LENGTH), Statistics()):
        if block.stop >= end:
            return
        if block.stop - last >= spacing:
            index = None if block.first_index is None else block.first_index + block.count
            yield Place(block.stop, index, block.described)
            last = block.stop


def _value(place: Place) -> dict[str, Any]:
    """Return a place as Spark keeps offsets: numbers and texts."""
    found: dict[str, Any] = {"position": place.position, "blocks": ",".join(map(str, place.blocks))}
    return found if place.packet_index is None else {**found, "packets": place.packet_index}


def _place(value: dict[str, Any]) -> Place:
    blocks = tuple(int(block) for block in value["blocks"].split(",") if block)
    return Place(value["position"], value.get("packets"), blocks)
