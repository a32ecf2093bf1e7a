"""The columns that frames themselves have: the fields of every kind side by side, null where a kind does not have one.

Knows the layouts only through the generated codecs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.flyweights import transport as codecs
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.arrays import arrow_memory
from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask
from aerowire.pcap.frames.frames import LAYOUTS, TYPES_MAX
from aerowire.pcap.frames.retransmissions import Marks
from aerowire.pcap.frames.selection import Selection
from aerowire.pcap.frames.terms import TermPlaces, Terms

try:
    from aerowire.pcap.arrays.columns import copy_headers, spread_field
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.arrays.columns_fallback import copy_headers, spread_field

TYPE_NAMES = [FrameType(code).name if code in LAYOUTS else "" for code in range(TYPES_MAX)]
HEADER_LENGTH_MAX = max(layout.itemsize for layout in LAYOUTS.values())
# Frame kind -> its fields of a term and of an offset in it.
TERM_FIELDS = {
    FrameType.PAD: ("term_id", "term_offset"),
    FrameType.DATA: ("term_id", "term_offset"),
    FrameType.NAK: ("term_id", "term_offset"),
    FrameType.SM: ("consumption_term_id", "consumption_term_offset"),
    FrameType.SETUP: ("active_term_id", "term_offset"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field stands in the headers of each kind of frame, by its code; -1 in those that do not have it."""

    dtype: np.dtype[Any]
    offsets: Integers


def _place(name: str) -> Place:
    """Return the place of a field, which has one type in all layouts."""
    offsets = np.full(TYPES_MAX, -1, dtype=np.int64)
    dtypes: set[np.dtype[Any]] = set()
    for kind, layout in LAYOUTS.items():
        fields: Mapping[str, Any] = layout.fields or {}
        if name in fields:
            offsets[kind] = fields[name][1]
            dtypes.add(fields[name][0])
    if len(dtypes) != 1:
        raise TypeError(f"field {name} has {len(dtypes)} types in the layouts of frames; a column has one: {dtypes}")
    return Place(dtypes.pop(), offsets)


PLACES = {name: _place(name) for name in sorted({name for layout in LAYOUTS.values() for name in layout.names or ()})}


def header_numbers(buffer: Bytes, offsets: Integers, types: Integers, names: Iterable[str]) -> dict[str, Integers]:
    """Return fields of the frames at some offsets, zero where frames do not have them.  Raises IndexError for an offset outside."""
    headers = copy_headers(buffer, offsets, HEADER_LENGTH_MAX)
    kinds = np.flatnonzero(np.bincount(types))
    numbers: dict[str, Integers] = {}
    for name in names:
        place = PLACES[name]
        numbers[name] = np.broadcast_to(np.int64(0), types.shape)
        if (place.offsets[kinds] >= 0).any():
            out = np.empty(types.size, dtype=place.dtype)
            spread_field(headers, types, place.offsets, place.dtype.itemsize, out.view(np.uint8))
            numbers[name] = out.astype(np.int64)
    return numbers


@dataclass(slots=True)
class FramePlaces:
    """The streams of some frames, where in their terms they point, and where they stood in the capture."""

    sessions: Integers
    streams: Integers
    places: TermPlaces
    at: Integers
    carries: Mask  # data and padding that have a length

    def column(self, terms: Terms) -> pa.Array:
        """Return the frames' positions."""
        positions, known = terms.positions(self.sessions, self.streams, self.places, self.at)
        return arrow_memory.copied(positions, pa.int64(), arrow_memory.bitmap(known))

    def marked(self, marks: Marks | None) -> pa.Array:
        """Return which frames answer a NAK; null where NAKs are not known."""
        count = self.at.size
        if marks is None:
            return pa.nulls(count, pa.bool_())
        out, rows = np.zeros(count, dtype=bool), np.flatnonzero(self.carries) if marks else np.empty(0, dtype=np.int64)
        if rows.size:
            terms = self.places.term_ids[rows], self.places.term_offsets[rows]
            out[rows] = marks.of(self.sessions[rows], self.streams[rows], *terms, self.at[rows])
        return pa.Array.from_buffers(pa.bool_(), count, [None, arrow_memory.bitmap(out)])


class FrameColumns:
    """Gathers each kind's frames once, then spreads their fields over the columns that share the name."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._offsets = selection.frames.offsets[selection.chosen]
        self._types = selection.frames.types[selection.chosen]
        self._kinds = [FrameType(kind) for kind in np.flatnonzero(np.bincount(self._types)).tolist()]
        self._validities: dict[tuple[FrameType, ...], pa.Buffer] = {}
        self._rows: dict[FrameType, Integers] = {}
        self._places: FramePlaces | None = None

    @cached_property
    def _headers(self) -> Bytes:
        return copy_headers(self._selection.gather.buffer, self._offsets, HEADER_LENGTH_MAX)

    def column(self, field: pa.Field) -> pa.Array:
        """Return the column of a field of frames."""
        if field.name == "type":
            return arrow_memory.texts(TYPE_NAMES, self._types)
        if field.name in SPECIAL_COLUMNS:
            return SPECIAL_COLUMNS[field.name](self, field)
        count, place = self._offsets.size, PLACES.get(field.name)
        having = [] if place is None else [kind for kind in self._kinds if place.offsets[kind] >= 0]
        if place is None or not having or field.type not in arrow_memory.FILLED:
            return pa.nulls(count, field.type)
        buffer, values = arrow_memory.room(place.dtype, count)
        spread_field(self._headers, self._types, place.offsets, place.dtype.itemsize, values.view(np.uint8))
        validity = self._validity(tuple(having))
        if place.dtype.itemsize == np.dtype(arrow_memory.FILLED[field.type]).itemsize:
            return pa.Array.from_buffers(field.type, count, [validity, buffer])
        return arrow_memory.copied(values, field.type, validity)

    def rows(self, kind: FrameType) -> Integers:
        """Return the indexes of the frames of a kind."""
        if kind not in self._rows:
            self._rows[kind] = np.flatnonzero(self._types == kind)
        return self._rows[kind]

    def records(self, kind: FrameType) -> npt.NDArray[np.void]:
        """Return the headers of the frames of a kind."""
        layout = LAYOUTS[kind]
        out: npt.NDArray[np.void] = np.ascontiguousarray(self._headers[self.rows(kind), : layout.itemsize]).view(layout).reshape(-1)
        return out

    def _validity(self, having: tuple[FrameType, ...]) -> pa.Buffer | None:
        """Return the bitmap of the rows of some kinds, made once for all columns that only they have; None where that is all rows."""
        if len(having) == len(self._kinds):
            return None
        if having not in self._validities:
            among = np.zeros(len(TYPE_NAMES), dtype=bool)
            among[list(having)] = True
            self._validities[having] = arrow_memory.bitmap(among[self._types])
        return self._validities[having]

    def places(self) -> FramePlaces:
        """Return where the frames point, made once for all columns that tell it."""
        if self._places is None:
            self._places = self._found_places()
        return self._places

    def _found_places(self) -> FramePlaces:
        count = self._offsets.size
        sessions, streams, term_ids, term_offsets = (np.zeros(count, dtype=np.int64) for _ in range(4))
        present, carries = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        for kind in self._kinds:
            if kind in (FrameType.DATA, FrameType.PAD):
                carries[self.rows(kind)] = self.records(kind)["frame_length"] > 0
            if kind in TERM_FIELDS:
                rows, records = self.rows(kind), self.records(kind)
                term, offset = TERM_FIELDS[kind]
                sessions[rows], streams[rows] = records["session_id"], records["stream_id"]
                term_ids[rows], term_offsets[rows], present[rows] = records[term], records[offset], True
        at = self._selection.block.positions[self._selection.packets]
        return FramePlaces(sessions, streams, TermPlaces(term_ids, term_offsets, present), at, carries)

    def is_heartbeat(self, field: pa.Field) -> pa.Array:
        """DATA frames without a length, which keep a stream alive."""
        values = np.zeros(self._offsets.size, dtype=bool)
        if FrameType.DATA in self._kinds:
            values[self.rows(FrameType.DATA)] = self.records(FrameType.DATA)["frame_length"] == 0
        return pa.Array.from_buffers(field.type, values.size, [None, arrow_memory.bitmap(values)])

    def group_tag(self, field: pa.Field) -> pa.Array:
        """ERR frames have the tag in their fixed part, status messages behind it when they are long enough."""
        count = self._offsets.size
        if not {FrameType.SM, FrameType.ERR} & set(self._kinds):
            return pa.nulls(count, field.type)
        values, absent = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
        if FrameType.ERR in self._kinds:
            rows = self.rows(FrameType.ERR)
            values[rows], absent[rows] = self.records(FrameType.ERR)["group_tag"], False
        if FrameType.SM in self._kinds:
            rows = self.rows(FrameType.SM)
            where = self._offsets[rows] + codecs.StatusMessageDecoder.GROUP_TAG_OFFSET
            end = self._selection.datagrams.captured_ends[self._selection.owners[rows]]
            long_enough = (
                self.records(FrameType.SM)["frame_length"] >= codecs.StatusMessageDecoder.GROUP_TAG_OFFSET + codecs.GROUP_TAG_LENGTH
            )
            long_enough &= where + codecs.GROUP_TAG_LENGTH <= end
            rows, where = rows[long_enough], where[long_enough]
            values[rows], absent[rows] = self._selection.gather.integers("<i8", where), False
        return arrow_memory.copied(values, pa.int64(), arrow_memory.bitmap(~absent))

    def error_text(self, field: pa.Field) -> pa.Array:
        if FrameType.ERR not in self._kinds:
            return pa.nulls(self._offsets.size, field.type)
        texts: list[str | None] = [None] * self._offsets.size
        rows = self.rows(FrameType.ERR)
        ends = self._selection.datagrams.captured_ends[self._selection.owners[rows]].tolist()
        lengths = self.records(FrameType.ERR)["error_length"].tolist()
        header_length = LAYOUTS[FrameType.ERR].itemsize
        for row, end, length in zip(rows.tolist(), ends, lengths, strict=True):
            start = int(self._offsets[row]) + header_length
            text = self._selection.gather.buffer[start : min(end, start + length)]
            texts[row] = text.tobytes().decode("utf-8", "replace")
        return pa.array(texts, type=field.type)

    def entries(self, field: pa.Field) -> pa.Array:
        if FrameType.RES not in self._kinds:
            return pa.nulls(self._offsets.size, field.type)
        values: list[list[dict[str, Any]] | None] = [None] * self._offsets.size
        rows = self.rows(FrameType.RES)
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


SPECIAL_COLUMNS: dict[str, Callable[[FrameColumns, pa.Field], pa.Array]] = {
    "group_tag": FrameColumns.group_tag,
    "error_text": FrameColumns.error_text,
    "entries": FrameColumns.entries,
    "is_heartbeat": FrameColumns.is_heartbeat,
}
