"""Parts of captures that are read on their own, on whatever machine: cut by size alone, and resolved by who reads them.

Cutting reads no packet.  Reading a part starts by finding the records at its two cuts: in the file's index where the rows need what only
the whole file tells, else in the surroundings of the cuts.  Both neighbours of a cut look at the same bytes, and so find the same record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aerowire.pcap.files.boundaries import extent_near, with_earlier_place
from aerowire.pcap.files.source import is_compressed, open_capture
from aerowire.pcap.packets.fragments import SPAN
from aerowire.pcap.reading import index
from aerowire.pcap.reading.resolved import Request, ResolvedPart

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


@contextmanager
def resolve(part: Part, request: Request) -> Iterator[ResolvedPart | None]:
    """Open a part's file; settle which records are the part's, and what the whole file tells as far as that is asked for.

    None for a part without records.
    """
    with open_capture(part.path) as file:
        # Where the chain of records is broken around a cut, the part before it goes on to the next one.
        ends = range(part.end, part.length, part.step)
        is_near = not part.is_whole and not request.needs_whole_file and file.header is not None
        extent, is_sure = extent_near(file, part.start, ends, part.length) if is_near else (None, part.is_whole)
        found = index.find(part.path) if part.is_whole and request.needs_whole_file else None
        if not is_sure:
            found = index.find_or_build(part.path)
            if not is_near:
                extent = found.extent(part.start, part.end)
            else:
                extent, _ = extent_near(file, part.start, ends, part.length, found.cuts)
        facts = None if found is None else found.findings.facts(request.ports)
        is_cut = is_near and extent is not None and extent.end < part.length
        settled = ResolvedPart(file, request, with_earlier_place(file, extent, SPAN), facts, is_cut)
        yield settled if part.is_whole or extent is not None else None
