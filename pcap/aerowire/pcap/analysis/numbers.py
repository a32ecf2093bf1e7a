"""Frames that name a stream as arrays of numbers, straight from their headers: the columns that the analysis is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from aerowire.pcap.analysis.columns import NUMBERS
from aerowire.pcap.arrays.blocks import Integers, Mask
from aerowire.pcap.frames.frame_columns import PLACES, header_numbers
from aerowire.pcap.frames.selection import Selection

NAMES_STREAM = PLACES["stream_id"].offsets >= 0  # by type
OF_HEADERS = tuple(name for name in NUMBERS if name in PLACES)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Frames of one block of a capture. rows: those that name a stream, as indexes of the selected ones; values: of these."""

    selection: Selection
    dropped: Mask  # of all
    rows: Integers
    values: dict[str, Integers]


def numbered(selections: Iterable[Selection], *, packet_index: bool) -> Iterator[Numbered]:
    """Yield the frames of each selection.  packet_index: they need to tell theirs."""
    for selection in selections:
        kinds = selection.frames.types[selection.chosen]
        rows = np.flatnonzero(NAMES_STREAM[kinds])
        block, packets, chosen = selection.block, selection.packets[rows], selection.chosen[rows]
        first_index = block.first_index if packet_index else None
        values = {
            "record_position": block.positions[packets],
            "ts_ns": block.ts_ns[packets],
            "frame_index": selection.frames.indexes[chosen],
            "packet_index": np.broadcast_to(np.int64(0), rows.shape) if first_index is None else packets + first_index,
            **header_numbers(selection.gather.buffer, selection.frames.offsets[chosen], kinds[rows], OF_HEADERS),
        }
        yield Numbered(selection, selection.datagrams.dropped[selection.owners], rows, values)
