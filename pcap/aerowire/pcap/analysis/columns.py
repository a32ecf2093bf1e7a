"""Frames of a capture as arrays for the analysis: those of all streams together, and of each one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.analysis.packing import Packed
from aerowire.pcap.arrays.blocks import Integers, Mask

# What the analysis needs of a frame; packet_index only names it.
COLUMNS = (
    "type",
    "frame_length",
    "flags",
    "session_id",
    "stream_id",
    "term_id",
    "term_offset",
    "length",
    "initial_term_id",
    "term_length",
    "mtu",
    "consumption_term_id",
    "consumption_term_offset",
    "receiver_window",
    "receiver_id",
    "echo_timestamp_ns",
    "record_position",
    "packet_index",
    "frame_index",
    "ts_ns",
    "src_address",
    "src_port",
    "dst_address",
    "dst_port",
    "dropped",
    "interface",
)
OF_PATHS = ("src_address", "src_port", "dst_address", "dst_port", "interface")
NUMBERS = tuple(name for name in COLUMNS if name not in (*OF_PATHS, "type", "dropped"))
ORDER = ("record_position", "frame_index")  # of the capture
FEW = 16  # paths of a stream
SENT = ("DATA", "PAD", "SETUP")  # what makes a stream: frames of its sender

PathName = tuple[str, str, str | None]  # source, destination, interface
Place = tuple[int, int]  # of a frame in the capture: its record, and which of the datagram's frames


@dataclass(slots=True)
class Columns:
    """Frames in capture order, as arrays; nulls are zero. Invariant: paths are numbered as they appear."""

    type_names: list[str]
    type_codes: Integers  # index into type_names
    values: dict[str, Integers]
    dropped: Mask
    paths: Integers  # index into path_names
    path_names: list[PathName]

    def __getitem__(self, name: str) -> Integers:
        return self.values[name]

    def __len__(self) -> int:
        return int(self.paths.size)

    def of_type(self, *names: str) -> Mask:
        """Return which frames are of one of some types."""
        chosen = np.array([name in names for name in self.type_names], dtype=bool)
        return chosen[self.type_codes] if chosen.size else np.zeros(0, dtype=bool)

    @property
    def appearance(self) -> Place:
        """The place of the first frame that the stream's sender sent."""
        row = int(self.of_type(*SENT).argmax())
        return int(self["record_position"][row]), int(self["frame_index"][row])

    def __reduce__(self) -> tuple[Any, ...]:
        """Executors send few bytes: most columns of most frames are zero."""
        columns = [self.type_codes, self.dropped.astype(np.int64), self.paths, *self.values.values()]
        return _unpacked, (self.type_names, list(self.values), self.path_names, Packed.of(columns))

    def take(self, rows: Integers | Mask) -> Columns:
        """Return some of the frames, in the order of `rows`."""
        paths, path_names = renumbered(self.paths[rows], self.path_names)
        values = {name: column[rows] for name, column in self.values.items()}
        return Columns(self.type_names, self.type_codes[rows], values, self.dropped[rows], paths, path_names)

    @staticmethod
    def joined(parts: Sequence[Columns]) -> Columns:
        """Return the frames of some parts one behind the other."""
        if len(parts) == 1:
            return parts[0]
        type_names = sorted({name for part in parts for name in part.type_names})
        path_names = list(dict.fromkeys(name for part in parts for name in part.path_names))
        type_codes = [_translated(part.type_codes, part.type_names, type_names) for part in parts]
        paths = [_translated(part.paths, part.path_names, path_names) for part in parts]
        values = {name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values}
        dropped = np.concatenate([part.dropped for part in parts])
        numbered, path_names = renumbered(np.concatenate(paths), path_names)
        return Columns(type_names, np.concatenate(type_codes), values, dropped, numbered, path_names)


def _unpacked(type_names: list[str], names: list[str], path_names: list[PathName], packed: Packed) -> Columns:
    type_codes, dropped, paths, *values = packed.columns()
    return Columns(type_names, type_codes, dict(zip(names, values, strict=True)), dropped != 0, paths, path_names)


def _translated(codes: Integers, names: Sequence[Any], among: Sequence[Any]) -> Integers:
    if names == among:
        return codes
    places = {name: place for place, name in enumerate(among)}
    return np.array([places[name] for name in names] or [0], dtype=np.int64)[codes]


def renumbered(paths: Integers, names: list[PathName]) -> tuple[Integers, list[PathName]]:
    """Return path numbers in order of appearance, without those that do not appear."""
    if len(names) > paths.size:
        # A stream may have few of very many paths: what follows makes arrays as long as the list of names.
        present, paths = np.unique(paths, return_inverse=True)
        names = [names[number] for number in present.tolist()]
    present = np.flatnonzero(np.bincount(paths))
    if present.size <= FEW:
        first = np.array([(paths == number).argmax() for number in present.tolist()], dtype=np.int64)
    else:
        present, first = np.unique(paths, return_index=True)
    order = present[np.argsort(first)].tolist()
    if order == list(range(len(names))):
        return paths, names
    numbers = np.zeros(max(1, len(names)), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[paths], [names[number] for number in order]


def columns_of(table: pa.Table) -> Columns:
    """Return frames, of any streams, as arrays in capture order. table: with COLUMNS; a packet_index that is missing is zero."""
    numbers = {name: _numbers(table, name) for name in NUMBERS}
    type_names, type_codes = _encoded(table["type"])
    sources, source_codes = _encoded(table["src_address"])
    destinations, destination_codes = _encoded(table["dst_address"])
    interfaces, interface_codes = _encoded(table["interface"].fill_null(""))
    seen_at = [undropped(name) for name in interfaces]
    interface_codes = np.array([seen_at.index(name) for name in seen_at] or [0], dtype=np.int64)[interface_codes]
    source_ports, destination_ports = _numbers(table, "src_port"), _numbers(table, "dst_port")
    # One number for a path; codes and ports are small.
    keys = (((source_codes << 16 | source_ports) * max(1, len(destinations)) + destination_codes) << 16) | destination_ports
    path_keys, paths = _encoded(pa.chunked_array([pa.array(keys * max(1, len(seen_at)) + interface_codes)]))
    first = np.zeros(len(path_keys), dtype=np.int64)
    first[paths[::-1]] = np.arange(paths.size)[::-1]
    path_names = [
        (
            endpoint(sources[source_codes[row]], int(source_ports[row])),
            endpoint(destinations[destination_codes[row]], int(destination_ports[row])),
            seen_at[interface_codes[row]] or None,
        )
        for row in first.tolist()
    ]
    dropped = table["dropped"].fill_null(False).to_numpy().astype(bool)
    return in_order(Columns(type_names, type_codes, numbers, dropped, paths, path_names))


def undropped(interface: str) -> str:
    """Return the interface that a frame would have been seen at without induced loss: it would have gone the way of the rest."""
    return interface.removesuffix("-dropped")


def in_order(frames: Columns) -> Columns:
    """Return frames in capture order."""
    major, minor = (frames[name] for name in ORDER)
    step = np.diff(major)
    if bool(((step > 0) | ((step == 0) & (np.diff(minor) > 0))).all()):
        return frames
    return frames.take(np.lexsort((minor, major)))


def by_stream(table: pa.Table) -> Iterator[Columns]:
    """Yield the frames of each stream, in order of appearance; those that name no stream are of none."""
    chosen = table.filter(table["stream_id"].is_valid()) if table["stream_id"].null_count else table
    frames = columns_of(chosen)
    keys = (frames["session_id"] << 32) | (frames["stream_id"] & 0xFFFF_FFFF)
    names, numbers = _encoded(pa.chunked_array([pa.array(keys)]))
    if len(names) == 1:
        yield frames
        return
    order = np.argsort(numbers.astype(np.uint16) if len(names) < 1 << 16 else numbers, kind="stable")
    borders = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(names)))]).tolist()
    for low, high in pairwise(borders):
        yield frames.take(order[low:high])


def _numbers(table: pa.Table, name: str) -> Integers:
    if name not in table.column_names:
        return np.zeros(table.num_rows, dtype=np.int64)
    column = table[name]
    return np.asarray((column.fill_null(0) if column.null_count else column).to_numpy(), dtype=np.int64)


def _encoded(column: pa.ChunkedArray) -> tuple[list[Any], Integers]:
    """Return a column's distinct values, in order of appearance, and each row's index among them."""
    encoded = pa.concat_arrays(column.chunks or [pa.array([], type=column.type)]).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def endpoint(address: str, port: int) -> str:
    """Return an address and a port as people write them."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
