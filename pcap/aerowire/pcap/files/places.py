"""Places in a capture file at which reading can begin, and the parts of it between them.  It knows nothing of what stands there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record begins.

    blocks: of pcapng, where the section header and the interface descriptions stand that count here; empty for other formats.
    """

    position: int
    packet_index: int | None
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a file that one task reads: records whose first byte lies in [start.position, end).

    before: a place at least the span of IP fragments earlier, where one is known.
    """

    start: Place
    end: int
    before: Place | None = None
