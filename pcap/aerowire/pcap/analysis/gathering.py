"""From the frames that a pass over a capture finds to those of each stream, some tens of thousands at a time.

Goes straight from headers to arrays: no column is built of what the analysis does not look at, and none as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from aerowire.pcap.analysis.columns import Columns, PathName, endpoint, in_order, renumbered, undropped
from aerowire.pcap.analysis.numbers import Numbered
from aerowire.pcap.arrays.blocks import Integers, Mask
from aerowire.pcap.frames.frame_columns import TYPE_NAMES
from aerowire.pcap.frames.selection import Selection

try:
    from aerowire.pcap.arrays.keys import KeyTable
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.arrays.keys_fallback import KeyTable  # type: ignore[assignment]

STREAM_ROWS_MAX = 1 << 16  # of one stream, before they are given on: their columns still fit into a cache
ROWS_MAX = 1 << 19  # of all streams: what is pending of a slow one keeps whole blocks in memory
KEY_LENGTH = 8  # session and stream
Piece = tuple[Integers, dict[str, Integers], Mask, Integers]  # types, values, dropped, paths


class Gathering:
    """Sorts frames by their streams. Invariant: the pieces of a stream are in the order of the capture."""

    def __init__(self) -> None:
        self._streams = KeyTable(KEY_LENGTH)
        self._pending: dict[int, list[Piece]] = {}  # by number of the stream
        self._rows: Counter[int] = Counter()
        self._added = 0  # rows, since nothing was pending
        self._path_numbers: dict[tuple[int, str], int] = {}  # of link and interface
        self._path_names: list[PathName] = []
        self._counts: Counter[tuple[int, int, bool]] = Counter()  # of link, type, dropped

    def frames(self, blocks: Iterable[Numbered]) -> Iterator[Columns]:
        """Yield the frames that name a stream, each time some of one stream that are together in the capture as far as that goes."""
        for block in blocks:
            self._count(block.selection, block.dropped)
            if block.rows.size:
                self._add(block)
            least = STREAM_ROWS_MAX
            if self._added >= ROWS_MAX:
                least = self._added = 0
            yield from map(self._taken, [number for number, rows in self._rows.items() if rows >= least])
        yield from map(self._taken, list(self._rows))

    def counts(self, links: Mask | None = None) -> Counter[tuple[str, bool]]:
        """Return the number of frames of each (type, dropped), those of no stream among them; links: only of these."""
        out: Counter[tuple[str, bool]] = Counter()
        for (link, kind, dropped), count in self._counts.items():
            if links is None or links[link]:
                out[TYPE_NAMES[kind], dropped] += count
        return out

    def _count(self, selection: Selection, dropped: Mask) -> None:
        links = selection.links[selection.owners]
        width = 2 * len(TYPE_NAMES)
        counts = np.bincount(links * width + selection.frames.types[selection.chosen] * 2 + dropped)
        for key in np.flatnonzero(counts).tolist():
            self._counts[key // width, key % width // 2, bool(key % 2)] += int(counts[key])

    def _add(self, block: Numbered) -> None:
        selection, rows, values = block.selection, block.rows, block.values
        numbers = self._numbers(values["session_id"], values["stream_id"])
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers.astype(np.uint16) if len(self._streams) < 1 << 16 else numbers, kind="stable")
            numbers, rows = numbers[order], rows[order]
            values = {name: column[order] if column.strides[0] else column for name, column in values.items()}
        kinds, dropped, paths = selection.frames.types[selection.chosen[rows]], block.dropped[rows], self._paths(selection)[rows]
        self._added += rows.size
        borders = np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [rows.size]]).tolist()
        for low, high in pairwise(borders):
            number, mine = int(numbers[low]), slice(low, high)
            piece = kinds[mine], {name: column[mine] for name, column in values.items()}, dropped[mine], paths[mine]
            self._pending.setdefault(number, []).append(piece)
            self._rows[number] += high - low

    def _numbers(self, *ids: Integers) -> Integers:
        """Return the number of each frame's stream."""
        keys = np.empty((ids[0].size, len(ids)), dtype=np.int32)
        for place, column in enumerate(ids):
            keys[:, place] = column
        numbers: Integers = self._streams.number(keys.view(np.uint8))
        return numbers

    def _paths(self, selection: Selection) -> Integers:
        """Return the number of each frame's path."""
        names, numbers = selection.interfaces or ([None], None)
        seen_at = [undropped(name or "") for name in names]
        links = selection.links[selection.owners]
        keys = links if numbers is None else links * len(seen_at) + numbers
        table = KeyTable(keys.itemsize)
        rows = table.number(keys.view(np.uint8).reshape(keys.size, -1))
        distinct = np.frombuffer(b"".join(table.keys_from(0)), dtype=keys.dtype)
        paths = [self._path(selection, key // len(seen_at), seen_at[key % len(seen_at)]) for key in distinct.tolist()]
        return np.array(paths, dtype=np.int64)[rows]

    def _path(self, selection: Selection, link: int, interface: str) -> int:
        number = self._path_numbers.setdefault((link, interface), len(self._path_names))
        if number == len(self._path_names):
            source, destination = selection.flows.endpoints(link)
            self._path_names.append((endpoint(*source), endpoint(*destination), interface or None))
        return number

    def _taken(self, number: int) -> Columns:
        """Return what is there of a stream, in the order of the capture."""
        del self._rows[number]
        kinds, values, dropped, paths = zip(*self._pending.pop(number), strict=True)
        columns = {name: np.concatenate([one[name] for one in values]) for name in values[0]}
        local, names = renumbered(np.concatenate(paths), self._path_names)
        return in_order(Columns(TYPE_NAMES, np.concatenate(kinds), columns, np.concatenate(dropped), local, names))
