"""Messages put together from recorded frames, without a loop over frames.

A message is what lies from a frame that begins one to the next that ends one; Aeron writes no message over the end of a term, nor others
between its fragments.  Fragments without their beginning or end are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from aerowire.codecs.flyweights.transport import MAX_MESSAGE_LENGTH, DataFlags, FrameType
from aerowire.pcap.archive.damage import Report
from aerowire.pcap.arrays.blocks import Integers, Mask


def messages_of(frames: Iterable[pa.RecordBatch], start: int, end: int, schema: pa.Schema, report: Report) -> Iterator[pa.RecordBatch]:
    """Yield the messages that begin in [start, end), with the columns of `schema`, a choice of those in MESSAGE_SCHEMA.

    frames: all frames in order, with the columns of FRAME_SCHEMA.
    """
    rest: pa.RecordBatch | None = None
    for read in frames:
        has_rest = rest is not None and rest.num_rows
        batch = pa.Table.from_batches([rest, read]).combine_chunks().to_batches()[0] if has_rest else read
        found, rest, incomplete = _complete(batch, start, end, schema)
        if rest.num_rows and rest.column("end_position")[-1].as_py() - rest.column("position")[0].as_py() > 2 * MAX_MESSAGE_LENGTH:
            rest, incomplete = None, incomplete + 1
        report.incomplete_messages += incomplete
        report.messages += found.num_rows
        if found.num_rows:
            yield found
    # The beginning of a message that belongs to the next part is not this one's to count.
    if rest is not None and rest.num_rows and start <= rest.column("position")[0].as_py() < end:
        report.incomplete_messages += 1


def _complete(batch: pa.RecordBatch, start: int, end: int, schema: pa.Schema) -> tuple[pa.RecordBatch, pa.RecordBatch, int]:
    """Return (whole messages, frames at the end of one that has not ended, groups of fragments that are none)."""
    flags = batch.column("flags").to_numpy()
    positions, ends = batch.column("position").to_numpy(), batch.column("end_position").to_numpy()
    padding = np.asarray(pc.equal(batch.column("type"), FrameType.PAD.name).to_numpy(zero_copy_only=False), dtype=bool)
    begins: Mask = (flags & DataFlags.BEGIN != 0) | padding
    last_ones: Mask = (flags & DataFlags.END != 0) | padding
    # A group of fragments begins with a flag that says so, with a term, behind a gap, or behind the end of another.
    group_begins = begins | (batch.column("term_offset").to_numpy() == 0)
    group_begins[0] = True
    group_begins[1:] |= (positions[1:] != ends[:-1]) | last_ones[:-1]
    firsts: Integers = np.flatnonzero(group_begins)
    lasts = np.append(firsts[1:], batch.num_rows) - 1
    whole = begins[firsts] & last_ones[lasts]
    owned = (positions[firsts] >= start) & (positions[firsts] < end)
    open_ended = bool(begins[firsts[-1]] and not last_ones[lasts[-1]])
    rest = batch.slice(firsts[-1]) if open_ended else batch.slice(batch.num_rows)
    incomplete = int((~whole & owned).sum()) - int(open_ended and owned[-1])
    chosen = whole & owned & ~padding[firsts]
    return _batch(batch, firsts[chosen], lasts[chosen], schema), rest, incomplete


def _batch(batch: pa.RecordBatch, firsts: Integers, lasts: Integers, schema: pa.Schema) -> pa.RecordBatch:
    """Return the messages that lie from each first to each last row."""
    marks = np.zeros(batch.num_rows + 1, dtype=np.int64)
    marks[firsts] += 1
    marks[lasts + 1] -= 1
    member = np.cumsum(marks[:-1]) > 0
    counts = lasts - firsts + 1
    # The fragments' bytes lie one after the other in a filtered array: a message's are those from its first fragment's to the next one's.
    payload = batch.column("payload").filter(pa.array(member))
    bounds = np.frombuffer(payload.buffers()[1], np.int32, payload.offset + len(payload) + 1)[payload.offset :] if len(payload) else None
    at = np.append(0, np.cumsum(counts))
    offsets = bounds[at].astype(np.int32) if bounds is not None else np.zeros(1, np.int32)
    columns = []
    for field in schema:
        if field.name == "payload":
            data = payload.buffers()[2] if len(payload) else None
            columns.append(pa.Array.from_buffers(pa.binary(), firsts.size, [None, pa.py_buffer(offsets), data or pa.py_buffer(b"")]))
        elif field.name == "length":
            columns.append(pa.array(np.diff(offsets), type=field.type))
        elif field.name == "fragments":
            columns.append(pa.array(counts.astype(np.int32)))
        else:
            columns.append(batch.column(field.name).take(pa.array(lasts if field.name == "end_position" else firsts)))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
