"""From the frames that a pass over a capture finds to those of each stream, some tens of thousands at a time.

Goes straight from headers to arrays: no column is built of what the analysis does not look at, and none as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.analysis.columns import NUMBERS, Columns, PathName, endpoint, in_order, renumbered, undropped
from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask
from aerowire.pcap.frames.frame_columns import PLACES, TYPE_NAMES, header_field, headers_at
from aerowire.pcap.frames.selection import Selection

try:
    from aerowire.pcap.arrays.keys import KeyTable
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.arrays.keys_fallback import KeyTable  # type: ignore[assignment]

STREAM_ROWS_MAX = 1 << 16  # of one stream, before they are given on: their columns still fit into a cache
ROWS_MAX = 1 << 19  # of all streams: what is pending of a slow one keeps whole blocks in memory
NAMES_STREAM = PLACES["stream_id"].offsets >= 0  # by type
KEY_LENGTH = 8  # session and stream
OF_HEADERS = tuple(name for name in NUMBERS if name in PLACES)
Piece = tuple[Integers, dict[str, Integers], Mask, Integers]  # types, values, dropped, paths


class Gathering:
    """Sorts frames by their streams. Invariant: the pieces of a stream are in the order of the capture."""

    def __init__(self, *, packet_index: bool = False) -> None:
        """packet_index: the frames need to tell theirs."""
        self._packet_index = packet_index
        self._streams = KeyTable(KEY_LENGTH)
        self._pending: dict[int, list[Piece]] = {}  # by number of the stream
        self._rows: Counter[int] = Counter()
        self._added = 0  # rows, since nothing was pending
        self._path_numbers: dict[tuple[int, str], int] = {}  # of link and interface
        self._path_names: list[PathName] = []
        self._counts: Counter[tuple[int, int, bool]] = Counter()  # of link, type, dropped

    def frames(self, selections: Iterable[Selection]) -> Iterator[Columns]:
        """Yield the frames that name a stream, each time some of one stream that are together in the capture as far as that goes."""
        for selection in selections:
            dropped = selection.datagrams.dropped[selection.owners]
            self._count(selection, dropped)
            self._add(selection, dropped)
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

    def _add(self, selection: Selection, dropped: Mask) -> None:
        kinds = selection.frames.types[selection.chosen]
        naming = np.flatnonzero(NAMES_STREAM[kinds])
        if not naming.size:
            return
        headers = headers_at(selection.gather.buffer, selection.frames.offsets[selection.chosen[naming]])
        kinds = kinds[naming]
        numbers = self._numbers(headers, kinds)
        order = np.argsort(numbers.astype(np.uint16) if len(self._streams) < 1 << 16 else numbers, kind="stable")
        headers, kinds, rows = headers[order], kinds[order], naming[order]
        values = _values(selection, headers, kinds, rows, self._packet_index)
        dropped, paths = dropped[rows], self._paths(selection)[rows]
        self._added += rows.size
        borders = np.concatenate([[0], np.flatnonzero(np.diff(numbers[order])) + 1, [rows.size]]).tolist()
        for low, high in pairwise(borders):
            number, mine = int(numbers[order[low]]), slice(low, high)
            piece = kinds[mine], {name: column[mine] for name, column in values.items()}, dropped[mine], paths[mine]
            self._pending.setdefault(number, []).append(piece)
            self._rows[number] += high - low

    def _numbers(self, headers: Bytes, kinds: Integers) -> Integers:
        """Return the number of each frame's stream."""
        keys = np.empty((kinds.size, 2), dtype=np.int32)
        for place, name in enumerate(("session_id", "stream_id")):
            keys[:, place] = header_field(headers, kinds, name)
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


def _values(selection: Selection, headers: Bytes, kinds: Integers, rows: Integers, packet_index: bool) -> dict[str, Integers]:
    packets = selection.packets[rows]
    block, nothing = selection.block, np.zeros(rows.size, dtype=np.int64)
    values = {
        "record_position": block.positions[packets],
        "ts_ns": block.ts_ns[packets],
        "frame_index": selection.frames.indexes[selection.chosen[rows]],
        "packet_index": packets + block.first_index if packet_index and block.first_index is not None else nothing,
    }
    present = [FrameType(kind) for kind in np.flatnonzero(np.bincount(kinds)).tolist()]
    for name in OF_HEADERS:
        told = any(PLACES[name].offsets[kind] >= 0 for kind in present)
        values[name] = header_field(headers, kinds, name).astype(np.int64) if told else nothing
    return values
