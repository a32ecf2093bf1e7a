"""The parts of a capture that tasks would read, by its index or found around the cuts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap import Capture
from aerowire.pcap.files.places import Extent
from aerowire.pcap.reading import index
from aerowire.pcap.reading.facts import Facts
from aerowire.pcap.reading.parts import cut, resolve
from aerowire.pcap.reading.resolved import opened


def by_index(path: Path, split_length: int) -> list[Extent]:
    """Return the parts that begin at places of the file's index."""
    return contiguous(index.build(path).extents(split_length))


def by_themselves(path: Path, split_length: int) -> list[Extent]:
    """Return the parts that a query gets which needs nothing of the whole file."""
    request = Capture(path, ports=[1], columns=["type"]).request
    extents = []
    for part in cut(str(path), split_length):
        with resolve(part, request) as found:
            extents += [found.extent] if found is not None and found.extent is not None else []
    return contiguous(extents)


def batches_of(capture: Capture, extents: Iterable[Extent], facts: Facts | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the frames of some parts."""
    for extent in extents:
        with opened(capture.path, capture.request, extent=extent, facts=facts) as part:
            yield from capture.batches(part)


def contiguous(extents: list[Extent]) -> list[Extent]:
    assert extents[0].start.position <= 24
    assert all(left.end == right.start.position for left, right in itertools.pairwise(extents))
    return extents
