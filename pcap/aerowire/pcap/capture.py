"""A capture as a whole: choosing the reader for its format, the flows that count, and the frames as an Arrow table.

File -> blocks of packets -> UDP datagrams -> verdicts and frames -> columns
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.pcap import classic, frames, links, pcapng
from aerowire.pcap.blocks import Gather, Integers, Mask, PacketBlock
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.flows import FlowTable, Link
from aerowire.pcap.frames import REASONS, Frames, Verdict
from aerowire.pcap.links import Datagrams
from aerowire.pcap.source import CHUNK_LENGTH, PCAPNG_MAGIC, open_source
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.table import PAYLOAD, SCHEMA, Selection, build

NOT_AERON = "flow is not Aeron"
OTHER_PORT = "port not selected"
METADATA_KEY = b"aerowire.capture"


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a classic file that one task reads: records whose first byte lies in [start, end)."""

    start: int
    end: int
    first_index: int | None


def open_blocks(
    path: str | os.PathLike[str],
    statistics: Statistics,
    *,
    fail_fast: bool = False,
    extent: Extent | None = None,
    chunk_length: int = CHUNK_LENGTH,
) -> Iterator[PacketBlock]:
    """Yield a capture's packets, whatever its format; `extent` is for plain classic files only."""
    name = os.fspath(path)
    with open_source(path) as file:
        peeked = file.read(4)
        if peeked == PCAPNG_MAGIC:
            yield from pcapng.read_blocks(file, statistics, peeked=peeked, fail_fast=fail_fast, name=name, chunk_length=chunk_length)
            return
        header = classic.ClassicHeader.parse(peeked + file.read(classic.FILE_HEADER_LENGTH - 4), name)
        if extent is None:
            yield from classic.read_blocks(file, header, statistics, fail_fast=fail_fast, name=name, chunk_length=chunk_length)
            return
        file.seek(extent.start)
        yield from classic.read_blocks(
            file,
            header,
            statistics,
            start=extent.start,
            end=extent.end,
            first_index=extent.first_index,
            fail_fast=fail_fast,
            name=name,
            chunk_length=chunk_length,
        )


class Capture:
    """One capture file and what of it counts as Aeron.

    `ports` selects datagrams by either port.  Without it a flow counts when every one of its datagrams obeys the frame rules, and at least
    one is more than padding; that is known only at the end of the file.  `statistics` and `links` describe the last complete read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ports: Iterable[int] | None = None,
        columns: Iterable[str] | None = None,
        payload: bool = False,
        fail_fast: bool = False,
        chunk_length: int = CHUNK_LENGTH,
    ) -> None:
        self.path = os.fspath(path)
        self.ports = None if ports is None else frozenset(ports)
        self.schema = SCHEMA if columns is None else pa.schema([SCHEMA.field(name) for name in columns])
        self.payload = payload or (columns is not None and PAYLOAD in self.schema.names)
        self.fail_fast = fail_fast
        self.chunk_length = chunk_length
        self.statistics = Statistics()
        self.links: list[Link] = []

    def read(self) -> pa.Table:
        """Return all frames as one table, in the order of the capture.  Raises CaptureError for what is no capture."""
        reader = _Reader(self)
        batches, owners = [], []
        for selection in reader.selections(extent=None, keys=None):
            batches.append(build(selection, self.schema, payload=self.payload))
            owners.append(selection.links[selection.owners])
        kept = [self._settle(batch, owner, reader) for batch, owner in zip(batches, owners, strict=True)]
        self._finish(reader, sum(batch.num_rows for batch in kept))
        return pa.Table.from_batches(kept, self.schema).replace_schema_metadata(
            {METADATA_KEY: json.dumps(self.statistics.to_dict()).encode()}
        )

    @staticmethod
    def _settle(batch: pa.RecordBatch, owners: Integers, reader: _Reader) -> pa.RecordBatch:
        if reader.all_count:
            return batch
        keep = reader.verdict()[owners]
        return batch if keep.all() else batch.filter(pa.array(keep))

    def _finish(self, reader: _Reader, rows: int) -> None:
        reader.account()
        reader.statistics.frames = rows
        self.statistics = reader.statistics
        verdict = reader.verdict()
        self.links = [reader.flows.endpoints(number) for number in np.flatnonzero(verdict & (reader.decoded > 0)).tolist()]

    def scan(self) -> frozenset[bytes]:
        """Return the keys of the links whose flows count as Aeron, without building columns: the first of two passes."""
        reader = _Reader(self)
        for _ in reader.selections(extent=None, keys=None):
            pass
        self._finish(reader, 0)
        return reader.flows.aeron_keys()

    def batches(self, *, extent: Extent | None = None, keys: frozenset[bytes] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the frames in bounded batches; without `ports` this takes the `keys` that a scan returned, or makes that scan first."""
        if self.ports is None and keys is None:
            keys = self.scan()
        reader = _Reader(self)
        rows = 0
        for selection in reader.selections(extent=extent, keys=keys):
            rows += int(selection.chosen.size)
            yield build(selection, self.schema, payload=self.payload)
        self._finish(reader, rows)


class _Reader:
    """One pass over a capture; counts per link, so that flows can be accounted for when their verdict is known."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._keys: frozenset[bytes] | None = None
        self.statistics = Statistics()
        self.flows = FlowTable()
        self.seen: Integers = np.zeros(0, dtype=np.int64)  # datagrams of each link
        self.decoded: Integers = np.zeros(0, dtype=np.int64)  # of these, good ones
        self.cut: Integers = np.zeros(0, dtype=np.int64)  # of the good ones, those captured in part
        self._port_mask: Mask = np.zeros(0, dtype=bool)

    @property
    def all_count(self) -> bool:
        return self._capture.ports is not None or self._keys is not None

    def selections(self, *, extent: Extent | None, keys: frozenset[bytes] | None) -> Iterator[Selection]:
        """Yield what each block contributes; flows that are already known not to count contribute nothing."""
        self._keys = keys
        capture = self._capture
        for block in open_blocks(
            capture.path, self.statistics, fail_fast=capture.fail_fast, extent=extent, chunk_length=capture.chunk_length
        ):
            gather = Gather(block.buffer)
            datagrams = links.decode(block, gather, self.statistics)
            numbers = self.flows.number(datagrams)
            if self.all_count:
                datagrams, numbers = self._select(datagrams, numbers)
            found = frames.decode(gather, datagrams)
            self._count(numbers, found)
            chosen = np.arange(found.offsets.size)
            if not self.all_count:
                self.flows.judge(numbers, found.broken, found.proven)
                chosen = chosen[~self.flows.broken_links()[numbers[found.datagrams]]]
            if chosen.size:
                yield Selection(block, gather, datagrams, numbers, self.flows, found, chosen)

    def _select(self, datagrams: Datagrams, numbers: Integers) -> tuple[Datagrams, Integers]:
        """Keep the datagrams of selected ports or links; count the others."""
        ports = self._capture.ports
        known = self._port_mask.size
        if known < self.flows.link_count:
            if ports is not None:
                fresh = [any(end[1] in ports for end in self.flows.endpoints(number)) for number in range(known, self.flows.link_count)]
            else:
                fresh = [key in (self._keys or ()) for key in self.flows.keys_from(known)]
            self._port_mask = np.concatenate([self._port_mask, np.array(fresh, dtype=bool)])
        keep = self._port_mask[numbers]
        self.statistics.skip(NOT_AERON if ports is None else OTHER_PORT, int((~keep).sum()))
        return (datagrams, numbers) if keep.all() else (datagrams.take(keep), numbers[keep])

    def _count(self, numbers: Integers, found: Frames) -> None:
        count = self.flows.link_count
        good = found.verdicts == Verdict.GOOD
        self.seen = _added(self.seen, numbers, count)
        self.decoded = _added(self.decoded, numbers[good], count)
        self.cut = _added(self.cut, numbers[found.truncated], count)
        if self.all_count:
            for verdict, times in enumerate(np.bincount(found.verdicts).tolist()):
                if verdict != Verdict.GOOD:
                    self.statistics.skip(REASONS[Verdict(verdict)], times)

    def verdict(self) -> npt.NDArray[np.bool_]:
        """Return, per link number, whether its datagrams are in the result."""
        return np.ones(self.flows.link_count, dtype=bool) if self.all_count else self.flows.aeron_links()

    def account(self) -> None:
        """Settle the counts once every flow's verdict is known."""
        verdict = self.verdict()
        self.statistics.datagrams = int(self.decoded[verdict].sum())
        self.statistics.truncated_datagrams = int(self.cut[verdict].sum())
        if not self.all_count:
            self.statistics.skip(NOT_AERON, int(self.seen[~verdict].sum()))
            self.statistics.skip(REASONS[Verdict.UNJUDGED], int((self.seen - self.decoded)[verdict].sum()))


def _added(counts: Integers, numbers: Integers, length: int) -> Integers:
    out = np.bincount(numbers, minlength=length)
    out[: counts.size] += counts
    return out


def read_frames(
    path: str | os.PathLike[str],
    ports: Iterable[int] | None = None,
    *,
    columns: Iterable[str] | None = None,
    payload: bool = False,
    fail_fast: bool = False,
) -> pa.Table:
    """Return the Aeron frames of a capture, one row a frame, in the order of the capture.

    path: a pcap (four magics) or pcapng file, plain, gzip or zstd.  ports: take datagrams from or to these; without it, flows all of whose
    datagrams obey the frame rules.  columns: only these.  payload: fill the column of that name with the bytes of DATA frames (it is null
    unless this is true, or `columns` names it).  fail_fast: raise for a damaged file instead of counting.  What was left out, and why,
    stands in the schema's metadata under `aerowire.capture` as JSON.
    Raises CaptureError for what is no capture.
    """
    return Capture(path, ports=ports, columns=columns, payload=payload, fail_fast=fail_fast).read()


def parse_ports(text: str) -> frozenset[int]:
    """Return the ports of a comma-separated list.  Raises CaptureError for anything else."""
    try:
        ports = frozenset(int(part) for part in text.replace(" ", ",").split(",") if part)
    except ValueError:
        ports = frozenset()
    if not ports or not all(0 < port < 65536 for port in ports):
        raise CaptureError(f"ports: expected numbers from 1 to 65535 with commas between, found {text!r}")
    return ports
