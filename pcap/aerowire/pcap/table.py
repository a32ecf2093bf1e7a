"""Frames as Arrow columns: the fields of every frame kind side by side, and where in the capture the frame stood.

A field that a kind of frame does not have is null there.  Knows the layouts only through the generated codecs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.arrow.transport import FRAME_SCHEMA
from aerowire.codecs.flyweights import transport as codecs
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.blocks import Gather, Integers, Mask, PacketBlock
from aerowire.pcap.flows import FlowTable, Link
from aerowire.pcap.frames import LAYOUTS, Frames
from aerowire.pcap.links import DIRECTIONS, Datagrams, driver_directions
from aerowire.pcap.terms import TermPlaces, Terms

# Where a frame stood.  record_position is where its packet's record begins in the capture, decompressed; ts_ns is nanoseconds since the
# epoch; dropped is true for what the capture marks as never having been on the wire; position is the frame's place in its stream, or the
# place that it points at, and null where no SETUP of the stream was captured.
CAPTURE_FIELDS = (
    pa.field("position", pa.int64()),
    pa.field("is_heartbeat", pa.bool_()),
    pa.field("path", pa.string()),
    pa.field("record_position", pa.int64()),
    pa.field("packet_index", pa.int64()),
    pa.field("frame_index", pa.int32()),
    pa.field("ts_ns", pa.int64()),
    pa.field("src_address", pa.string()),
    pa.field("src_port", pa.int32()),
    pa.field("dst_address", pa.string()),
    pa.field("dst_port", pa.int32()),
    pa.field("dropped", pa.bool_()),
    pa.field("interface", pa.string()),
    pa.field("comment", pa.string()),
)
SCHEMA = pa.schema([*FRAME_SCHEMA, *CAPTURE_FIELDS])
POSITION = "position"
PAYLOAD = "payload"  # by far the largest column: null unless it is asked for
TYPE_NAMES = {kind: kind.name for kind in LAYOUTS}
# Arrow type -> NumPy type of the column while it is filled.
FILLED: dict[pa.DataType, Any] = {
    pa.int8(): np.int8,
    pa.uint8(): np.uint8,
    pa.int16(): np.int16,
    pa.uint16(): np.uint16,
    pa.int32(): np.int32,
    pa.uint32(): np.uint32,
    pa.int64(): np.int64,
    pa.uint64(): np.uint64,
}


# Frame kind -> its fields of a term and of an offset in it.
TERM_FIELDS = {
    FrameType.PAD: ("term_id", "term_offset"),
    FrameType.DATA: ("term_id", "term_offset"),
    FrameType.NAK: ("term_id", "term_offset"),
    FrameType.SM: ("consumption_term_id", "consumption_term_offset"),
    FrameType.SETUP: ("active_term_id", "term_offset"),
}


@dataclass(eq=False)
class Selection:
    """Frames of one block that go into the result, and all that their columns are made of."""

    block: PacketBlock
    gather: Gather
    datagrams: Datagrams
    links: Integers  # link number of each datagram
    flows: FlowTable
    frames: Frames
    chosen: Integers  # indexes of the frames
    path: str

    def take(self, keep: Mask) -> Selection:
        """Return the selection of some of its frames."""
        return replace(self, chosen=self.chosen[keep])

    @cached_property
    def owners(self) -> Integers:
        return self.frames.datagrams[self.chosen]

    @cached_property
    def packets(self) -> Integers:
        return self.datagrams.rows[self.owners]

    @cached_property
    def distinct_links(self) -> tuple[list[Link], pa.Array]:
        """The links of the selected frames, and each frame's index among them."""
        numbers = self.links[self.owners]
        present = np.flatnonzero(np.bincount(numbers))
        places = np.zeros(self.flows.link_count, dtype=np.int32)
        places[present] = np.arange(present.size)
        return [self.flows.endpoints(number) for number in present.tolist()], pa.array(places[numbers])


def build(selection: Selection, schema: pa.Schema, *, payload: bool, terms: Terms | None = None) -> pa.RecordBatch:
    """Return the selected frames with the columns of `schema`, a choice of those in SCHEMA.

    The payload is null without `payload`, and positions are without `terms`.
    """
    frame_columns = _FrameColumns(selection)
    columns = []
    for field in schema:
        if field.name == PAYLOAD and not payload:
            columns.append(pa.nulls(selection.chosen.size, field.type))
        elif field.name == POSITION:
            columns.append(frame_columns.places().column(terms or Terms()))
        elif field.name in CAPTURE_COLUMNS:
            columns.append(CAPTURE_COLUMNS[field.name](selection))
        else:
            columns.append(frame_columns.column(field).cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def places(selection: Selection) -> FramePlaces:
    """Return what the positions of the selected frames are made of, once the stream's terms are known."""
    return _FrameColumns(selection).places()


@dataclass(slots=True)
class FramePlaces:
    """The streams of some frames, where in their terms they point, and where they stood in the capture."""

    sessions: Integers
    streams: Integers
    places: TermPlaces
    at: Integers

    def column(self, terms: Terms) -> pa.Array:
        """Return the frames' positions."""
        positions, known = terms.positions(self.sessions, self.streams, self.places, self.at)
        return pa.array(positions, mask=~known)


class _FrameColumns:
    """Gathers each kind's frames once, then spreads their fields over the columns that share the name."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._offsets = selection.frames.offsets[selection.chosen]
        self._types = selection.frames.types[selection.chosen]
        self._kinds = [FrameType(kind) for kind in np.flatnonzero(np.bincount(self._types)).tolist()]
        self._whole = len(self._kinds) == 1
        self._validities: dict[tuple[FrameType, ...], pa.Buffer] = {}
        self._rows = {kind: np.flatnonzero(self._types == kind) for kind in self._kinds}
        self._records = {kind: selection.gather.structs(LAYOUTS[kind], self._offsets[rows]) for kind, rows in self._rows.items()}

    def column(self, field: pa.Field) -> pa.Array:
        count = self._offsets.size
        if field.name == "type":
            names = pa.array([TYPE_NAMES.get(FrameType(code), "") for code in range(max(TYPE_NAMES) + 1)])
            return pa.DictionaryArray.from_arrays(pa.array(self._types.astype(np.int32)), names).dictionary_decode()
        if field.name in SPECIAL_COLUMNS:
            return SPECIAL_COLUMNS[field.name](self, field)
        having = [kind for kind in self._kinds if field.name in (LAYOUTS[kind].names or ())]
        if not having or field.type not in FILLED:
            return pa.nulls(count, field.type)
        if self._whole:
            return pa.array(np.ascontiguousarray(self._records[having[0]][field.name]))
        values = np.zeros(count, dtype=FILLED[field.type])
        for kind in having:
            values[self._rows[kind]] = self._records[kind][field.name]
        return pa.Array.from_buffers(field.type, count, [self._validity(tuple(having)), pa.py_buffer(values)])

    def _validity(self, having: tuple[FrameType, ...]) -> pa.Buffer | None:
        """Return the bitmap of the rows of some kinds, made once for all columns that only they have; None where that is all rows."""
        if len(having) == len(self._kinds):
            return None
        if having not in self._validities:
            self._validities[having] = pa.py_buffer(np.packbits(np.isin(self._types, having), bitorder="little"))
        return self._validities[having]

    def places(self) -> FramePlaces:
        count = self._offsets.size
        sessions, streams, term_ids, term_offsets = (np.zeros(count, dtype=np.int64) for _ in range(4))
        present = np.zeros(count, dtype=bool)
        for kind in self._kinds:
            if kind in TERM_FIELDS:
                rows, records = self._rows[kind], self._records[kind]
                term, offset = TERM_FIELDS[kind]
                sessions[rows], streams[rows] = records["session_id"], records["stream_id"]
                term_ids[rows], term_offsets[rows], present[rows] = records[term], records[offset], True
        at = self._selection.block.positions[self._selection.packets]
        return FramePlaces(sessions, streams, TermPlaces(term_ids, term_offsets, present), at)

    def is_heartbeat(self, field: pa.Field) -> pa.Array:
        """DATA frames without a length, which keep a stream alive."""
        values = np.zeros(self._offsets.size, dtype=bool)
        if FrameType.DATA in self._rows:
            values[self._rows[FrameType.DATA]] = self._records[FrameType.DATA]["frame_length"] == 0
        return pa.array(values, type=field.type)

    def group_tag(self, field: pa.Field) -> pa.Array:
        """ERR frames have the tag in their fixed part, status messages behind it when they are long enough."""
        count = self._offsets.size
        if not {FrameType.SM, FrameType.ERR} & set(self._kinds):
            return pa.nulls(count, field.type)
        values, absent = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
        if FrameType.ERR in self._rows:
            rows = self._rows[FrameType.ERR]
            values[rows], absent[rows] = self._records[FrameType.ERR]["group_tag"], False
        if FrameType.SM in self._rows:
            rows = self._rows[FrameType.SM]
            where = self._offsets[rows] + codecs.StatusMessageDecoder.GROUP_TAG_OFFSET
            end = self._selection.datagrams.captured_ends[self._selection.owners[rows]]
            long_enough = (
                self._records[FrameType.SM]["frame_length"] >= codecs.StatusMessageDecoder.GROUP_TAG_OFFSET + codecs.GROUP_TAG_LENGTH
            )
            long_enough &= where + codecs.GROUP_TAG_LENGTH <= end
            rows, where = rows[long_enough], where[long_enough]
            values[rows], absent[rows] = self._selection.gather.integers("<i8", where), False
        return pa.array(values, mask=absent)

    def error_text(self, field: pa.Field) -> pa.Array:
        if FrameType.ERR not in self._rows:
            return pa.nulls(self._offsets.size, field.type)
        texts: list[str | None] = [None] * self._offsets.size
        rows = self._rows[FrameType.ERR]
        ends = self._selection.datagrams.captured_ends[self._selection.owners[rows]].tolist()
        lengths = self._records[FrameType.ERR]["error_length"].tolist()
        header_length = LAYOUTS[FrameType.ERR].itemsize
        for row, end, length in zip(rows.tolist(), ends, lengths, strict=True):
            start = int(self._offsets[row]) + header_length
            text = self._selection.gather.buffer[start : min(end, start + length)]
            texts[row] = text.tobytes().decode("utf-8", "replace")
        return pa.array(texts, type=field.type)

    def entries(self, field: pa.Field) -> pa.Array:
        if FrameType.RES not in self._rows:
            return pa.nulls(self._offsets.size, field.type)
        values: list[list[dict[str, Any]] | None] = [None] * self._offsets.size
        rows = self._rows[FrameType.RES]
        ends = self._selection.datagrams.captured_ends[self._selection.owners[rows]].tolist()
        for row, end in zip(rows.tolist(), ends, strict=True):
            frame = codecs.ResolutionDecoder(self._selection.gather.buffer[int(self._offsets[row]) : end].data)
            values[row] = [_entry(entry, field.type.value_type) for entry in frame.entries]
        return pa.array(values, type=field.type)


def _entry(entry: Any, kind: pa.StructType) -> dict[str, Any]:
    out = {}
    for member in kind:
        value = getattr(entry, member.name)
        out[member.name] = bytes(value) if pa.types.is_binary(member.type) or pa.types.is_fixed_size_binary(member.type) else value
    return out


SPECIAL_COLUMNS: dict[str, Callable[[_FrameColumns, pa.Field], pa.Array]] = {
    "group_tag": _FrameColumns.group_tag,
    "error_text": _FrameColumns.error_text,
    "entries": _FrameColumns.entries,
    "is_heartbeat": _FrameColumns.is_heartbeat,
}


def _packet_index(selection: Selection) -> pa.Array:
    first = selection.block.first_index
    return pa.nulls(selection.chosen.size, pa.int64()) if first is None else pa.array(selection.packets + first)


def _end_column(end: int, part: int) -> Callable[[Selection], pa.Array]:
    def column(selection: Selection) -> pa.Array:
        links, indices = selection.distinct_links
        return pa.array([link[end][part] for link in links], type=pa.int32() if part else pa.string()).take(indices)

    return column


def _interface(selection: Selection) -> pa.Array:
    block = selection.block
    if block.interfaces is None:
        directions, own = driver_directions(block, selection.gather, selection.packets)
        if not own.any():
            return pa.nulls(selection.chosen.size, pa.string())
        return pa.array(DIRECTIONS, type=pa.string()).take(pa.array(directions, mask=~own))
    return pa.array([name or None for name in block.interface_names], type=pa.string()).take(pa.array(block.interfaces[selection.packets]))


def _comment(selection: Selection) -> pa.Array:
    if not selection.block.comments:
        return pa.nulls(selection.chosen.size, pa.string())
    return pa.array([selection.block.comments.get(row) for row in selection.packets.tolist()], type=pa.string())


def _payload(selection: Selection) -> pa.Array:
    """The bytes behind the header of DATA frames, taken from an Arrow array over the block's own buffer.

    That array's offsets alternate between the payloads and what lies between them, so that nothing is copied twice.
    """
    frames, chosen = selection.frames, selection.chosen
    kinds, offsets = frames.types[chosen], frames.offsets[chosen]
    is_data = kinds == FrameType.DATA
    header = selection.gather.structs(LAYOUTS[FrameType.DATA], offsets[is_data])
    starts = offsets[is_data] + LAYOUTS[FrameType.DATA].itemsize
    ends = np.minimum(offsets[is_data] + header["frame_length"], selection.datagrams.captured_ends[selection.owners[is_data]])
    bounds = np.empty(2 * starts.size + 1, dtype=np.int32)
    bounds[0:-1:2], bounds[1::2], bounds[-1] = starts, np.maximum(starts, ends), selection.block.buffer.size
    alternating = pa.Array.from_buffers(pa.binary(), 2 * starts.size, [None, pa.py_buffer(bounds), pa.py_buffer(selection.block.buffer)])
    where = np.zeros(chosen.size, dtype=np.int64)
    where[is_data] = 2 * np.arange(starts.size)
    return alternating.take(pa.array(where, mask=~is_data))


CAPTURE_COLUMNS: dict[str, Callable[[Selection], pa.Array]] = {
    "path": lambda selection: pa.repeat(selection.path, selection.chosen.size),
    "record_position": lambda selection: pa.array(selection.block.positions[selection.packets]),
    "packet_index": _packet_index,
    "frame_index": lambda selection: pa.array(selection.frames.indexes[selection.chosen].astype(np.int32)),
    "ts_ns": lambda selection: pa.array(selection.block.ts_ns[selection.packets]),
    "src_address": _end_column(0, 0),
    "src_port": _end_column(0, 1),
    "dst_address": _end_column(1, 0),
    "dst_port": _end_column(1, 1),
    "dropped": lambda selection: pa.array(selection.datagrams.dropped[selection.owners]),
    "interface": _interface,
    "comment": _comment,
    PAYLOAD: _payload,
}
