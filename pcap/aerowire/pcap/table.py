"""Frames as Arrow columns: the fields of every frame kind side by side, and where in the capture the frame stood.

A field that a kind of frame does not have is null there.  Knows the layouts only through the generated codecs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.arrow.transport import FRAME_SCHEMA
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.arrays import arrow_memory
from aerowire.pcap.frames.frame_columns import FrameColumns, FramePlaces
from aerowire.pcap.frames.frames import LAYOUTS
from aerowire.pcap.frames.retransmissions import Marks
from aerowire.pcap.frames.selection import Selection
from aerowire.pcap.frames.terms import Terms

# Where a frame stood.  record_position is where its packet's record begins in the capture, decompressed; ts_ns is nanoseconds since the
# epoch; dropped is true for what the capture marks as never having been on the wire; position is the frame's place in its stream, or the
# place that it points at, and null where no SETUP of the stream was captured; is_retransmission is null where NAKs are not known.
CAPTURE_FIELDS = (
    pa.field("position", pa.int64()),
    pa.field("is_heartbeat", pa.bool_()),
    pa.field("is_retransmission", pa.bool_()),
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
RETRANSMISSION = "is_retransmission"
PACKET_INDEX = "packet_index"
PAYLOAD = "payload"  # by far the largest column: null unless it is asked for


def build(
    selection: Selection, schema: pa.Schema, *, payload: bool, terms: Terms | None = None, marks: Marks | None = None
) -> pa.RecordBatch:
    """Return the selected frames with the columns of `schema`, a choice of those in SCHEMA.

    The payload is null without `payload`, positions are without `terms`, and marks of retransmissions without `marks`.
    """
    frame_columns = FrameColumns(selection)
    columns = []
    for field in schema:
        if field.name == PAYLOAD and not payload:
            columns.append(pa.nulls(selection.chosen.size, field.type))
        elif field.name == POSITION:
            columns.append(frame_columns.places().column(terms or Terms()))
        elif field.name == RETRANSMISSION:
            columns.append(frame_columns.places().marked(marks))
        elif field.name in CAPTURE_COLUMNS:
            columns.append(CAPTURE_COLUMNS[field.name](selection))
        else:
            column = frame_columns.column(field)
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def places(selection: Selection) -> FramePlaces:
    """Return what the positions of the selected frames are made of, once the stream's terms are known."""
    return FrameColumns(selection).places()


def _packet_index(selection: Selection) -> pa.Array:
    first = selection.block.first_index
    return pa.nulls(selection.chosen.size, pa.int64()) if first is None else arrow_memory.copied(selection.packets + first, pa.int64())


def _address(end: int) -> Callable[[Selection], pa.Array]:
    def column(selection: Selection) -> pa.Array:
        links, numbers = selection.distinct_links
        return arrow_memory.texts([link[end][0] for link in links], numbers)

    return column


def _port(end: int) -> Callable[[Selection], pa.Array]:
    def column(selection: Selection) -> pa.Array:
        links, numbers = selection.distinct_links
        return arrow_memory.taken(np.array([link[end][1] for link in links], dtype=np.int32), numbers, pa.int32())

    return column


def _of_packets(name: str) -> Callable[[Selection], pa.Array]:
    def column(selection: Selection) -> pa.Array:
        return arrow_memory.taken(getattr(selection.block, name), selection.packets, pa.int64())

    return column


def _dropped(selection: Selection) -> pa.Array:
    dropped = arrow_memory.bitmap(selection.datagrams.dropped[selection.owners])
    return pa.Array.from_buffers(pa.bool_(), selection.chosen.size, [None, dropped])


def _interface(selection: Selection) -> pa.Array:
    if selection.interfaces is None:
        return pa.nulls(selection.chosen.size, pa.string())
    names, numbers = selection.interfaces
    return pa.array(names, type=pa.string()).take(pa.array(numbers))


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
    "record_position": _of_packets("positions"),
    "packet_index": _packet_index,
    "frame_index": lambda selection: arrow_memory.taken(selection.frames.indexes, selection.chosen, pa.int32()),
    "ts_ns": _of_packets("ts_ns"),
    "src_address": _address(0),
    "src_port": _port(0),
    "dst_address": _address(1),
    "dst_port": _port(1),
    "dropped": _dropped,
    "interface": _interface,
    "comment": _comment,
    PAYLOAD: _payload,
}
