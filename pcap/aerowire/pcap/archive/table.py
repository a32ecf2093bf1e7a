"""Recorded frames as Arrow columns, and the schemas of what is read from a recording."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.dtypes.transport import DATA_HEADER
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.archive.segments import FrameBlock

# session_id is what the file holds there: of an Archive that records checksums it is the frame's checksum, but for padding.
FRAME_SCHEMA = pa.schema(
    [
        pa.field("recording_id", pa.int64()),
        pa.field("position", pa.int64()),  # of the frame's first byte
        pa.field("end_position", pa.int64()),  # behind its alignment
        pa.field("term_id", pa.int32()),
        pa.field("term_offset", pa.int32()),
        pa.field("frame_length", pa.int32()),
        pa.field("flags", pa.int32()),
        pa.field("type", pa.string()),
        pa.field("session_id", pa.int32()),
        pa.field("stream_id", pa.int32()),
        pa.field("reserved_value", pa.int64()),
        pa.field("payload", pa.binary()),  # null of padding
    ]
)
# What is not a message's own is its first fragment's.
MESSAGE_SCHEMA = pa.schema(
    [
        pa.field("recording_id", pa.int64()),
        pa.field("position", pa.int64()),  # of the first fragment's first byte
        pa.field("end_position", pa.int64()),  # behind the last fragment
        pa.field("fragments", pa.int32()),
        pa.field("length", pa.int32()),  # bytes of payload
        pa.field("term_id", pa.int32()),
        pa.field("term_offset", pa.int32()),
        pa.field("session_id", pa.int32()),
        pa.field("stream_id", pa.int32()),
        pa.field("reserved_value", pa.int64()),
        pa.field("payload", pa.binary()),
    ]
)


def frame_batch(recording_id: int, block: FrameBlock, schema: pa.Schema) -> pa.RecordBatch:
    """Return frames with the columns of `schema`, a choice of those in FRAME_SCHEMA."""
    columns = []
    for field in schema:
        if field.name == "recording_id":
            columns.append(pa.repeat(pa.scalar(recording_id, field.type), block.offsets.size))
        elif field.name in COMPUTED:
            columns.append(COMPUTED[field.name](block))
        else:
            columns.append(pa.array(block.headers[field.name].astype(field.type.to_pandas_dtype())))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _type(block: FrameBlock) -> pa.Array:
    names = pa.array([FrameType.PAD.name, FrameType.DATA.name])
    return names.take(pa.array((block.headers["type"] == FrameType.DATA).astype(np.int32)))


def _payload(block: FrameBlock) -> pa.Array:
    """The bytes behind the headers of DATA frames, taken from an Arrow array over the block's own buffer.

    That array's offsets alternate between the payloads and what lies between them, so that nothing is copied twice.
    """
    is_data = block.headers["type"] == FrameType.DATA
    begins = block.offsets[is_data]
    bounds = np.empty(2 * begins.size + 1, dtype=np.int32)
    bounds[0:-1:2], bounds[1::2] = begins + DATA_HEADER.itemsize, begins + block.headers["frame_length"][is_data]
    bounds[-1] = block.buffer.size
    alternating = pa.Array.from_buffers(pa.binary(), 2 * begins.size, [None, pa.py_buffer(bounds), pa.py_buffer(block.buffer)])
    where = np.zeros(is_data.size, dtype=np.int64)
    where[is_data] = 2 * np.arange(begins.size)
    return alternating.take(pa.array(where, mask=~is_data))


COMPUTED: dict[str, Callable[[FrameBlock], pa.Array]] = {
    "position": lambda block: pa.array(block.positions),
    "end_position": lambda block: pa.array(block.end_positions),
    "type": _type,
    "payload": _payload,
}
