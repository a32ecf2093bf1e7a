"""A capture as a whole: its frames as an Arrow table or in batches, and what was left out of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap.arrays.blocks import Integers, Mask
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.source import CHUNK_LENGTH
from aerowire.pcap.frames.frame_columns import FramePlaces
from aerowire.pcap.frames.retransmissions import Marks
from aerowire.pcap.frames.selection import Selection
from aerowire.pcap.frames.terms import Terms
from aerowire.pcap.packets.flows import Link
from aerowire.pcap.reading.facts import Facts
from aerowire.pcap.reading.passes import Pass
from aerowire.pcap.reading.resolved import Request, ResolvedPart, opened
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.table import PACKET_INDEX, PAYLOAD, POSITION, RETRANSMISSION, SCHEMA, build, places
from aerowire.pcap.where import Where

OF_WHOLE_FILE = frozenset({POSITION, RETRANSMISSION})  # columns that only a whole capture tells
METADATA_KEY = b"aerowire.capture"


class Capture:
    """One capture file and what of it counts as Aeron.

    `ports` selects datagrams by either port.  Without it a flow counts that is proven to be Aeron (see `evidence`); that is known only at
    the end of the file.  `where` selects frames (see `where`).  `statistics`, `links` and `counted`
    describe the last complete read, whatever `where` left of it: counts, the links of what is in the result, and which of all links, by
    number, count.

    Raises ValueError for columns and conditions that have no meaning.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ports: Iterable[int] | None = None,
        columns: Iterable[str] | None = None,
        payload: bool = False,
        where: Sequence[Any] | None = None,
        fail_fast: bool = False,
        chunk_length: int = CHUNK_LENGTH,
    ) -> None:
        self.path = os.fspath(path)
        self.ports = None if ports is None else frozenset(ports)
        self.schema = SCHEMA if columns is None else pa.schema([_field(name) for name in columns])
        self.where = Where.parse(where, SCHEMA) if where else None
        self.payload = payload or (columns is not None and PAYLOAD in self.schema.names)
        self.fail_fast = fail_fast
        self.chunk_length = chunk_length
        self.statistics = Statistics()
        self.links: list[Link] = []
        self.counted: Mask = np.zeros(0, dtype=bool)
        self._reading: Pass | None = None

    @property
    def position(self) -> int:
        """Bytes of the capture, decompressed, that the pass over it has behind it."""
        return self._reading.position if self._reading else 0

    @property
    def named(self) -> frozenset[str]:
        """The columns that are asked for, in the result or by a condition."""
        return frozenset(self.schema.names) | (self.where.columns if self.where is not None else frozenset())

    @property
    def needs_survey(self) -> bool:
        """Whether something is asked for that frames anywhere in the file tell: positions, which SETUPs do, or what NAKs asked for."""
        return bool(OF_WHOLE_FILE & self.named)

    @property
    def request(self) -> Request:
        """What is asked of the packets and frames of a part."""
        needs_whole_file = self.ports is None or self.needs_survey or PACKET_INDEX in self.named
        return Request(self.ports, needs_whole_file, self.fail_fast, self.chunk_length)

    def read(self, limit: int = sys.maxsize) -> pa.Table:
        """Return the frames as one table, in the order of the capture.  Raises CaptureError for what is no capture.

        limit: only the first ones.  Columns are built, and kept, of no more of each link: which links count is known at the end only.
        """
        if self.where is not None and OF_WHOLE_FILE & self.where.columns:
            return self._with_metadata(pa.Table.from_batches(self.batches(), self.schema).slice(0, limit))
        seen: Integers = np.zeros(0, dtype=np.int64)  # frames of each link
        kept: list[tuple[pa.RecordBatch, Integers, FramePlaces | None]] = []
        with opened(self.path, self.request) as part:
            reading = self._pass(part)
            for selection in reading.selections():
                chosen = self._chosen(selection, None, None)
                owners = chosen.links[chosen.owners]
                counts: Integers = np.bincount(owners, minlength=reading.flows.link_count)
                seen = np.concatenate([seen, np.zeros(counts.size - seen.size, dtype=np.int64)])
                first = _firsts(owners, counts, limit - seen)
                seen += counts
                if first.any():
                    chosen = chosen if first.all() else chosen.take(first)
                    points = places(chosen) if OF_WHOLE_FILE & frozenset(self.schema.names) else None
                    kept.append((build(chosen, self.schema, payload=self.payload), owners[first], points))
        self._finish(reading)
        facts, verdict = reading.facts(), reading.verdict()
        marks = _marks(facts)
        batches = []
        for batch, owners, points in kept:
            completed = batch if points is None else _completed(batch, points, facts.terms, marks)
            keep = verdict[owners]
            batches.append(completed if keep.all() else completed.filter(pa.array(keep)))
        return self._with_metadata(pa.Table.from_batches(batches, self.schema).slice(0, limit))

    def survey(self) -> Facts:
        """Return what only the whole capture tells, without building columns: the first of two passes."""
        for _ in self.selections():
            pass
        assert self._reading is not None
        return self._reading.facts()

    def batches(self, part: ResolvedPart | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the frames in bounded batches, those of a part only where one is given.

        What only the whole capture tells is taken from the part's facts, else there is a first pass over the file when that is needed:
        without `ports`, and for positions and marks of retransmissions.
        """
        facts = None if part is None else part.facts
        if facts is None and (self.ports is None or self.needs_survey):
            facts = self.survey()
        marks = _marks(facts) if facts is not None and RETRANSMISSION in self.named else None
        terms = facts.terms if facts else None
        with self._opened(part) as opened_part:
            for selection in self.selections(replace(opened_part, facts=facts)):
                chosen = self._chosen(selection, terms, marks)
                if chosen.chosen.size:
                    yield build(chosen, self.schema, payload=self.payload, terms=terms, marks=marks)

    def selections(self, part: ResolvedPart | None = None) -> Iterator[Selection]:
        """Yield the frames of each block, whatever `where` says of them, before columns are built.

        Without `ports` and facts those are all that may count; `counted` tells at the end which do.
        """
        with self._opened(part) as opened_part:
            reading = self._pass(opened_part)
            yield from reading.selections()
        self._finish(reading)

    def count(self, part: ResolvedPart) -> Statistics:
        """Return the counts of a part, without building columns."""
        for _ in self.selections(part):
            pass
        return self.statistics

    def _opened(self, part: ResolvedPart | None) -> AbstractContextManager[ResolvedPart]:
        return opened(self.path, self.request) if part is None else nullcontext(part)

    def _pass(self, part: ResolvedPart) -> Pass:
        self._reading = Pass(part, asking=part.facts is None and RETRANSMISSION in self.named)
        return self._reading

    def _chosen(self, selection: Selection, terms: Terms | None, marks: Marks | None) -> Selection:
        """Return the frames that satisfy the conditions."""
        if self.where is None:
            return selection
        named = pa.schema([SCHEMA.field(name) for name in sorted(self.where.columns)])
        keep = self.where.mask(build(selection, named, payload=True, terms=terms, marks=marks)).to_numpy(zero_copy_only=False)
        return selection if keep.all() else selection.take(keep)

    def _finish(self, reading: Pass) -> None:
        reading.account()
        self.statistics = reading.statistics
        self.links = reading.links()
        self.counted = reading.verdict()

    def _with_metadata(self, table: pa.Table) -> pa.Table:
        return table.replace_schema_metadata({METADATA_KEY: json.dumps(self.statistics.to_dict()).encode()})


def _field(name: str) -> pa.Field:
    if name not in SCHEMA.names:
        raise ValueError(f"no column is called {name!r}; there are {', '.join(SCHEMA.names)}")
    return SCHEMA.field(name)


def _firsts(owners: Integers, counts: Integers, limits: Integers) -> Mask:
    """Return which rows are among the first of their owner.  counts, limits: of each owner, its rows and how many may be chosen."""
    out = np.ones(owners.size, dtype=bool)
    if (counts > limits).any():
        order = np.argsort(owners, kind="stable")
        out[order] = np.arange(owners.size) - np.repeat(np.cumsum(counts) - counts, counts) < limits[owners[order]]
    return out


def _marks(facts: Facts) -> Marks | None:
    return None if facts.asked is None else Marks(facts.asked)


def _completed(batch: pa.RecordBatch, points: FramePlaces, terms: Terms, marks: Marks | None) -> pa.RecordBatch:
    """Return a batch with the columns that only the whole capture tells."""
    for name in sorted(OF_WHOLE_FILE & frozenset(batch.schema.names)):
        column = points.column(terms) if name == POSITION else points.marked(marks)
        batch = batch.set_column(batch.schema.get_field_index(name), name, column)
    return batch


def read_frames(
    path: str | os.PathLike[str],
    ports: Iterable[int] | None = None,
    *,
    columns: Iterable[str] | None = None,
    payload: bool = False,
    where: Sequence[Any] | None = None,
    fail_fast: bool = False,
) -> pa.Table:
    """Return the Aeron frames of a capture, one row a frame, in the order of the capture.

    path: a pcap (four magics) or pcapng file, plain, gzip or zstd.  ports: take datagrams from or to these; without it, flows that are
    proven to be Aeron (see `evidence`).  columns: only these.  payload: fill the column of that name with the bytes of DATA frames (it is
    null unless this is true, or `columns` names it).  where: only frames that satisfy conditions, such as `[("type", "==", "NAK")]` (see
    `aerowire.pcap.where`).  fail_fast: raise for a damaged file instead of counting.  What was left out, and why,
    stands in the schema's metadata under `aerowire.capture` as JSON.
    Raises CaptureError for what is no capture, ValueError for columns and conditions that have no meaning.
    """
    return Capture(path, ports=ports, columns=columns, payload=payload, where=where, fail_fast=fail_fast).read()


def parse_ports(text: str) -> frozenset[int]:
    """Return the ports of a comma-separated list.  Raises CaptureError for anything else."""
    try:
        ports = frozenset(int(part) for part in text.replace(" ", ",").split(",") if part)
    except ValueError:
        ports = frozenset()
    if not ports or not all(0 < port < 65536 for port in ports):
        raise CaptureError(f"ports: expected numbers from 1 to 65535 with commas between, found {text!r}")
    return ports
