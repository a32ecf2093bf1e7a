"""The parts of a capture that tasks would read, by its index or found around the cuts."""

from __future__ import annotations

import itertools
from pathlib import Path

from aerowire.pcap import Capture
from aerowire.pcap.files.places import Extent
from aerowire.pcap.reading import index
from aerowire.pcap.spark.parts import cut, resolve


def by_index(path: Path, split_length: int) -> list[Extent]:
    """Return the parts that begin at places of the file's index."""
    return contiguous(index.build(path).extents(split_length))


def by_themselves(path: Path, split_length: int) -> list[Extent]:
    """Return the parts that a query gets which needs nothing of the whole file."""
    capture = Capture(path, ports=[1], columns=["type"])
    resolved = [resolve(part, capture) for part in cut(str(path), split_length)]
    return contiguous([found[0] for found in resolved if found is not None and found[0] is not None])


def contiguous(extents: list[Extent]) -> list[Extent]:
    assert extents[0].start.position <= 24
    assert all(left.end == right.start.position for left, right in itertools.pairwise(extents))
    return extents
