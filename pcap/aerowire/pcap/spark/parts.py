"""Parts of captures that are read on their own, on whatever machine: cut by size alone, and resolved by who reads them.

Whoever cuts looks at no packet.  Whoever reads a part finds the records at its two cuts: in the file's index where the rows need what only
the whole file tells, else in the surroundings of the cuts.  Both neighbours of a cut look at the same bytes, and so find the same record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aerowire.pcap.capture import Capture
from aerowire.pcap.files.boundaries import find_boundaries, find_boundary
from aerowire.pcap.files.formats import FILE_HEADER_LENGTH, ClassicHeader
from aerowire.pcap.files.places import Extent, Place
from aerowire.pcap.files.source import is_classic, is_compressed
from aerowire.pcap.reading import index
from aerowire.pcap.reading.facts import Facts
from aerowire.pcap.table import PACKET_INDEX

SPLIT_LENGTH = 128 << 20  # as Spark's own file sources; beginning a part takes some tens of milliseconds
WHOLE_MAX = 64_000_000  # bytes that one task may read while others have nothing to do
PARTS_MAX = 100_000  # of one file: beyond it the list of parts costs more than the parts


@dataclass(frozen=True)
class Part:
    """The bytes [start, end) of a file of some length, cut every `step` bytes; a whole file has one part."""

    path: str
    start: int
    end: int
    step: int
    length: int

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end == self.length


def cut(path: str, split_length: int | None = None) -> Iterator[Part]:
    """Yield the parts of a file: one where it is short or compressed.

    split_length: bytes of each; without it SPLIT_LENGTH, but two parts at least where the file is longer than WHOLE_MAX.
    Raises CaptureError for a file that cannot be opened.
    """
    compressed = is_compressed(path)
    length = Path(path).stat().st_size
    if split_length is None:
        split_length = -(-length // 2) if WHOLE_MAX < length <= SPLIT_LENGTH else SPLIT_LENGTH
    step = max(split_length, -(-length // PARTS_MAX))
    if length <= split_length or compressed:
        yield Part(path, 0, length, max(length, 1), length)
        return
    for start in range(0, length, step):
        yield Part(path, start, min(start + step, length), step, length)


def resolve(part: Part, capture: Capture) -> tuple[Extent | None, Facts | None] | None:
    """Return what of a file a part is, and what the whole file tells, as far as `capture` needs it; None for a part without records."""
    if part.is_whole:
        found = index.find(part.path) if needs_whole_file(capture) else None
        return None, found.findings.facts(capture.ports) if found else None
    if needs_whole_file(capture) or not is_classic(part.path):
        return _by_index(part, capture)
    with Path(part.path).open("rb") as file:
        header = ClassicHeader.parse(file.read(FILE_HEADER_LENGTH), part.path)
        start = _boundary(file, part.start, header, part)
        # Where the chain of records is broken around a cut, the part before it goes on to the next one.
        ends = (_boundary(file, goal, header, part) for goal in range(part.end, part.length, part.step))
        end = next((end for end in ends if end is not None), part.length)
    return None if start is None or start >= end else (Extent(Place(start, None), end), None)


def _boundary(file: BinaryIO, goal: int, header: ClassicHeader, part: Part) -> int | None:
    """Return the first record from `goal` on, whoever asks; None where the chain of records is broken."""
    found = find_boundaries(file, goal, header, part.length)
    if len(found) < 2:
        return found[0] if found else None
    known = index.find_or_build(part.path).place_before(goal)
    return find_boundary(file, goal, header, part.length, known.position if known else FILE_HEADER_LENGTH)


def needs_whole_file(capture: Capture) -> bool:
    """Whether rows of a part tell what only the whole file does: which flows count, positions, retransmissions, packet numbers."""
    return capture.ports is None or capture.needs_survey or PACKET_INDEX in capture.named


def _by_index(part: Part, capture: Capture) -> tuple[Extent | None, Facts | None] | None:
    found = index.find_or_build(part.path)
    extent = found.extent(part.start, part.end)
    return None if extent is None else (extent, found.findings.facts(capture.ports))
