"""The index of one large capture, made by all who wait for it: each takes slices of the file, and what they found is put together.

Only for plain classic files without damage, in which records are found at any byte: whoever cannot tell says so, and the file is read in
one go.  What comes out is what one pass finds, but for the places to begin at, of which each slice has its own.
"""

from __future__ import annotations

import base64
import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from aerowire.pcap.arrays.blocks import Integers
from aerowire.pcap.files.boundaries import find_boundaries, walk_to, with_earlier_place
from aerowire.pcap.files.formats import FILE_HEADER_LENGTH, RECORD_HEADER_LENGTH
from aerowire.pcap.files.places import Extent, Place
from aerowire.pcap.files.source import CHUNK_LENGTH, CaptureFile, open_capture
from aerowire.pcap.frames.evidence import FLOW as FLOW_ROW
from aerowire.pcap.frames.evidence import LINK, ROWS, Evidence
from aerowire.pcap.frames.retransmissions import RANGES_MAX, Asked, together
from aerowire.pcap.frames.terms import Terms
from aerowire.pcap.packets.flows import FlowTable
from aerowire.pcap.packets.fragments import SPAN
from aerowire.pcap.reading.facts import Findings
from aerowire.pcap.reading.passes import Pass, counting
from aerowire.pcap.reading.resolved import Request, ResolvedPart

SLICE_LENGTH_MIN = 1 << 30  # finding the records at a cut costs as much as looking at some 300 MB
SLICES_MAX = 64


@dataclass(frozen=True, slots=True)
class Slice:
    """What a pass over the records in [first, stop) of a file found, each link for itself.

    cuts: their packet indexes count from the slice's beginning.  counts: good datagrams of each link, those that break a rule, and whether
    its flow is proven.  history: frames of flows that are not.
    """

    first: int
    stop: int
    packets: int
    cuts: tuple[Place, ...]
    keys: tuple[bytes, ...]
    counts: Integers
    history: Integers
    findings: Findings

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "extent": [self.first, self.stop, self.packets],
            "cuts": [[cut.position, cut.packet_index] for cut in self.cuts],
            "keys": [key.hex() for key in self.keys],
            "counts": _text(self.counts),
            "history": _text(self.history),
            "findings": self.findings.to_json(),
        }

    @classmethod
    def from_json(cls, values: Any) -> Slice:
        """Return what `to_json` gave."""
        keys = tuple(map(bytes.fromhex, values["keys"]))
        cuts = tuple(Place(position, index) for position, index in values["cuts"])
        rows = (_numbers(values["counts"], 3), _numbers(values["history"], ROWS))
        first, stop, packets = values["extent"]
        return cls(first, stop, packets, cuts, keys, *rows, Findings.from_json(values["findings"]))


def look(path: str, start: int, end: int, cut_spacing: int, *, chunk_length: int = CHUNK_LENGTH) -> Slice | None:
    """Return what the records of a file find whose first byte lies in [start, end).

    None where the file is no plain classic one, or where they are not sure, or damaged.
    """
    with open_capture(path) as file:
        extent = with_earlier_place(file, _extent(file, start, end), SPAN)
        if extent is None:
            return None
        part = ResolvedPart(file, Request(chunk_length=chunk_length), extent)
        reading = Pass(part, cut_spacing=cut_spacing, asking=True, keeps_history=True)
        for _ in reading.selections():
            pass
    history = reading.evidence.history()
    if reading.statistics.is_damaged or not history.is_whole:
        return None
    flow_of = reading.flows.flow_of
    proven = reading.evidence.proven(int(flow_of.max(initial=-1)) + 1)[flow_of]
    counts = np.zeros((3, reading.flows.link_count), dtype=np.int64)
    counts[0, : reading.decoded.size], counts[1, : reading.breaches.size], counts[2] = reading.decoded, reading.breaches, proven
    keys = tuple(reading.flows.keys_from(0))
    return Slice(
        extent.start.position, extent.end, reading.statistics.packets, tuple(reading.cuts), keys, counts, history.rows, reading.findings()
    )


def _extent(file: CaptureFile, start: int, end: int) -> Extent | None:
    """Return the records whose first byte lies in [start, end), found from one far enough before for the fragments that count."""
    header, stream, length = file.header, file.stream, Path(file.path).stat().st_size
    if header is None or file.is_compressed:
        return None
    found = find_boundaries(stream, start - SPAN - RECORD_HEADER_LENGTH - header.record_length_max, header, length)
    if len(found) != 1:
        return None
    first = walk_to(stream, found[0], max(start, FILE_HEADER_LENGTH), header, length)
    stop = None if first is None else walk_to(stream, first, end, header, length) if end < length else length
    if first is None or stop is None or first >= stop:
        return None
    return Extent(Place(first, 0), stop, Place(found[0], None) if found[0] < first else None)


def merged(slices: Sequence[Slice]) -> tuple[tuple[Place, ...], Findings] | None:
    """Return the places to begin at and the findings of a whole file, of which `slices` are the parts in order.

    None where neighbours do not agree which record is the first behind their cut.
    """
    if any(one.stop != other.first for one, other in pairwise(slices)):
        return None
    flows, evidence, numbers = FlowTable(), Evidence(), []
    for part in slices:
        numbers.append(flows.number_keys(part.keys))
    counts = np.zeros((2, flows.link_count), dtype=np.int64)
    histories, cuts, packets = [], [], 0
    terms: dict[bytes, Terms] = {}
    for part, links in zip(slices, numbers, strict=True):
        counts[:, links] += part.counts[:2]
        evidence.prove(flows.flow_of[links[part.counts[2] > 0]])
        rows = part.history.copy()
        rows[LINK] = links[rows[LINK]]
        rows[FLOW_ROW] = flows.flow_of[rows[LINK]]
        histories.append(rows)
        cuts += [Place(cut.position, packets + (cut.packet_index or 0)) for cut in part.cuts]
        packets += part.packets
        for key, said in part.findings.terms.items():
            terms.setdefault(key, Terms()).add(said)
    evidence.note_rows(np.concatenate([np.empty((ROWS, 0), dtype=np.int64), *histories], axis=1))
    streams = {stream for said in terms.values() for stream in said.changes}
    keys, verdict = flows.keys_from(0), counting(flows, evidence, (counts[0], counts[1]), streams)
    counted = frozenset(keys[link] for link in np.flatnonzero(verdict).tolist())
    return tuple(cuts), Findings.of(counted, terms, keys, _asked(slices, keys))


def _asked(slices: Sequence[Slice], keys: Sequence[bytes]) -> Asked | None:
    number_of = {key: number for number, key in enumerate(keys)}
    parts = []
    for part in slices:
        if part.findings.asked is None:
            return None
        parts.append((part.findings.asked, np.array([number_of[key] for key in part.findings.links], dtype=np.int64)))
    asked = together(parts)
    return asked if asked.ranges.shape[1] <= RANGES_MAX else None


class SharedIndexBuilder:
    """Builds one file's index together with other processes: each takes slices, and leaves their results in a folder of their own."""

    def __init__(self, folder: Path, mark: str, path: str, cut_spacing: int) -> None:
        length = Path(path).stat().st_size
        step = max(SLICE_LENGTH_MIN, -(-length // SLICES_MAX))
        self._ends = [(start, min(start + step, length)) for start in range(0, length, step)]
        self._folder, self._mark, self._path, self._cut_spacing = folder, mark, path, cut_spacing
        self.is_useful = len(self._ends) > 1

    def help(self, finished: Path) -> None:
        """Examine the slices that no other process examines, then wait for those.

        Returns early where the index is `finished`, or cannot be made so.  A slice whose maker died is examined again.
        """
        for waits in (False, True):
            for number in range(len(self._ends)):
                if finished.exists():
                    return
                with _lock(self._file(number, "lock"), waits=waits) as is_mine:
                    if is_mine and not finished.exists() and not self._made(number):
                        self._make(number)
                if self._made(number) and self._read(number) is None:
                    return

    def result(self) -> tuple[tuple[Place, ...], Findings] | None:
        """Return what all slices say together; None where one is missing or not sure."""
        slices = []
        for number in range(len(self._ends)):
            found = self._read(number) if self._made(number) else None
            if found is None:
                return None
            slices.append(found)
        return merged(slices)

    def clear(self) -> None:
        """Remove the slices, once the index is written."""
        for number in range(len(self._ends)):
            self._file(number, "slice").unlink(missing_ok=True)

    def _make(self, number: int) -> None:
        found = look(self._path, *self._ends[number], self._cut_spacing)
        partial = self._file(number, "partial")
        partial.write_text(json.dumps(None if found is None else found.to_json()), encoding="utf-8")
        partial.rename(self._file(number, "slice"))

    def _made(self, number: int) -> bool:
        return self._file(number, "slice").exists()

    def _read(self, number: int) -> Slice | None:
        try:
            values = json.loads(self._file(number, "slice").read_text(encoding="utf-8"))
            return None if values is None else Slice.from_json(values)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _file(self, number: int, kind: str) -> Path:
        return self._folder / f"{self._mark}.{number}.{kind}"


@contextmanager
def _lock(path: Path, *, waits: bool) -> Iterator[bool]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def _text(rows: Integers) -> str:
    return base64.b64encode(np.ascontiguousarray(rows, dtype="<i8").tobytes()).decode()


def _numbers(text: str, row_count: int) -> Integers:
    return np.frombuffer(base64.b64decode(text), dtype="<i8").astype(np.int64).reshape(row_count, -1)
