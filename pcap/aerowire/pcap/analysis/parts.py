"""Batches of frames, of any files and streams, as summaries of the streams' parts; and those as bytes, to be sent where they are joined."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from aerowire.pcap.analysis.columns import COLUMNS, SENT, Columns, by_stream
from aerowire.pcap.analysis.partial import Partial
from aerowire.pcap.analysis.reconciling import lay_out_whole, reconcile
from aerowire.pcap.analysis.stream import Stream
from aerowire.pcap.analysis.summarising import summarise_part
from aerowire.pcap.statistics import Statistics

PATH = "path"
# Without packet_index, which only names frames, and which a part of a file does not know by itself.
NEEDED = tuple(name for name in COLUMNS if name != "packet_index")
ROWS_MAX = 1 << 18  # of a part: its frames are in memory at once
SCHEMA = pa.schema([(PATH, pa.string()), ("session_id", pa.int32()), ("stream_id", pa.int32()), ("partial", pa.binary())])


@dataclass(slots=True)
class Totals:
    """What frames of all streams, and of none, add up to; and what a reader left out."""

    counts: Counter[tuple[str, bool]]  # frames of each (type, dropped)
    statistics: Statistics

    def add(self, other: Totals) -> None:
        """Add another's counts to these."""
        self.counts.update(other.counts)
        self.statistics.add([other.statistics])


def summarised(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of SCHEMA, a part of a stream in each. batches: with NEEDED and the column `path`."""
    for table in _gathered(batches):
        for name in pc.unique(table[PATH]).to_pylist():
            yield from rows_of(name, by_stream(table.filter(pc.equal(table[PATH], name))))


def rows_of(path: str, frames: Iterable[Columns]) -> Iterator[pa.RecordBatch]:
    """Yield rows of SCHEMA, for each stream's frames one."""
    yield from (_row(path, summarise_part(some)) for some in frames if len(some))


def totals_row(path: str, totals: Totals) -> pa.RecordBatch:
    """Return a row of SCHEMA that is of no stream."""
    return pa.RecordBatch.from_pylist([{PATH: path, "partial": to_bytes(totals)}], schema=SCHEMA)


def reconciled(rows: pa.Table, *, whole: bool = False) -> Stream | None:
    """Return the stream whose parts are in some rows; None where its sender sent nothing. whole: with all its frames."""
    joined = Partial.joined([from_bytes(value) for value in rows["partial"].to_pylist()])
    if not joined.frames.of_type(*SENT).any():
        return None
    return lay_out_whole(joined) if whole else reconcile(joined)


def to_bytes(found: Partial | Totals) -> bytes:
    """Return what an executor sends, and what is kept of a long capture."""
    return pickle.dumps(found, protocol=5)


def from_bytes(sent: bytes) -> Any:
    """Return what `to_bytes` gave, here or in an executor of our own."""
    return pickle.loads(sent)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_MAX:
            yield pa.Table.from_batches(pending)
            pending, rows = [], 0
    if rows:
        yield pa.Table.from_batches(pending)


def _row(path: str, partial: Partial) -> pa.RecordBatch:
    frames: Columns = partial.frames
    row = {
        PATH: path,
        "session_id": int(frames["session_id"][0]),
        "stream_id": int(frames["stream_id"][0]),
        "partial": to_bytes(partial),
    }
    return pa.RecordBatch.from_pylist([row], schema=SCHEMA)
