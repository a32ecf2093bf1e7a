"""One pass over a capture: from its file to the frames of the datagrams that count, with everything that was left out counted.

File -> blocks of packets -> UDP datagrams -> verdicts and frames
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap.arrays.blocks import Gather, Integers, Mask, PacketBlock
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.captures import packet_blocks
from aerowire.pcap.files.places import Extent, Place
from aerowire.pcap.frames import frames
from aerowire.pcap.frames.evidence import BREACH_SHARE, Evidence
from aerowire.pcap.frames.frames import LAYOUTS, REASONS, Frames, Verdict
from aerowire.pcap.frames.retransmissions import Asking
from aerowire.pcap.frames.selection import Selection
from aerowire.pcap.frames.terms import StreamKey, Terms
from aerowire.pcap.packets import link_layers
from aerowire.pcap.packets.datagrams import Datagrams
from aerowire.pcap.packets.flows import FlowTable, Link
from aerowire.pcap.packets.fragments import Reassembler
from aerowire.pcap.reading.facts import Facts, Findings
from aerowire.pcap.reading.resolved import ResolvedPart
from aerowire.pcap.statistics import Statistics

NOT_AERON = "flow is not Aeron"
OTHER_PORT = "port not selected"
TERM_FIELDS_OF_SETUP = ("session_id", "stream_id", "initial_term_id", "term_length")


def primed(part: ResolvedPart) -> Reassembler:
    """Return a reassembler that has seen the fragments before a part, as many as can count in it."""
    reassembler, extent = Reassembler(), part.extent
    if extent is not None and extent.before is not None:
        earlier = Extent(extent.before, extent.start.position)
        for block in packet_blocks(part.file, Statistics(), extent=earlier, chunk_length=part.request.chunk_length):
            link_layers.prime(block, Gather(block.buffer), reassembler)
    return reassembler


class Pass:
    """One pass over a part of a capture; counts per link, so that flows can be accounted for when their verdict is known."""

    def __init__(self, part: ResolvedPart, *, cut_spacing: int | None = None, asking: bool = False, keeps_history: bool = False) -> None:
        """cut_spacing: note places in the file, at least this many bytes from each other, in `cuts`.  asking: note what NAKs ask for."""
        self._part = part
        self._cut_spacing = cut_spacing
        self.cuts: list[Place] = []
        self.position = 0  # in the capture, behind the last block
        self.statistics = Statistics()
        self.flows = FlowTable()
        self._terms: dict[int, Terms] = {}  # of each link
        self.seen: Integers = np.zeros(0, dtype=np.int64)  # datagrams of each link
        self.decoded: Integers = np.zeros(0, dtype=np.int64)  # of these, good ones
        self.cut: Integers = np.zeros(0, dtype=np.int64)  # of the good ones, those captured in part
        self.framed: Integers = np.zeros(0, dtype=np.int64)  # frames in them
        self._port_mask: Mask = np.zeros(0, dtype=bool)
        self.breaches: Integers = np.zeros(0, dtype=np.int64)  # datagrams of each link that no sender sends
        self._refused: dict[int, Integers] = {}  # of each verdict but good: datagrams of each link
        self.evidence = Evidence(keeps_history=keeps_history)
        self._asking = Asking() if asking else None

    def selections(self) -> Iterator[Selection]:
        """Yield what each block contributes; where the verdict on flows comes at the end, all that may count."""
        part, request = self._part, self._part.request
        reassembler = primed(part)
        blocks = packet_blocks(
            part.file, self.statistics, extent=part.extent, fail_fast=request.fail_fast, chunk_length=request.chunk_length
        )
        for block in blocks:
            self.position = block.stop
            if self._cut_spacing is not None:
                self._note_cuts(block, self._cut_spacing)
            gather = Gather(block.buffer)
            datagrams = link_layers.decode(block, gather, self.statistics, reassembler)
            numbers = self.flows.number(datagrams)
            if self._part.is_certain:
                datagrams, numbers = self._select(datagrams, numbers)
            found = frames.decode(gather, datagrams)
            self._count(numbers, found)
            chosen = np.arange(found.offsets.size)
            if not self._part.is_certain:
                self.evidence.note(gather, found, numbers, self.flows.flow_of)
            if chosen.size:
                selection = Selection(block, gather, datagrams, numbers, self.flows, found, chosen, part.file.path)
                self._note_terms(selection)
                if self._asking is not None:
                    self._asking.note(_naks(selection))
                yield selection
        if part.is_cut and part.extent is not None and self.statistics.truncated_bytes:
            name, extent = part.file.path, part.extent
            raise CaptureError(
                f"{name}: the part from byte {extent.start.position} does not end where the next one begins, at byte {extent.end}; "
                f"write an index of the file: aerowire pcap index {name}"
            )

    def _note_cuts(self, block: PacketBlock, spacing: int) -> None:
        goal = self.cuts[-1].position + spacing if self.cuts else 0
        while block.count and goal <= int(block.positions[-1]):
            row = int(block.positions.searchsorted(goal))
            position = int(block.positions[row])
            index = None if block.first_index is None else block.first_index + row
            self.cuts.append(Place(position, index, block.described_at(position)))
            goal = position + spacing

    def _note_terms(self, selection: Selection) -> None:
        """Note what SETUP frames say, each stream's once for each block in which it says the same."""
        setups = selection.chosen[selection.frames.types[selection.chosen] == FrameType.SETUP]
        if not setups.size:
            return
        owners = selection.frames.datagrams[setups]
        records = selection.gather.structs(LAYOUTS[FrameType.SETUP], selection.frames.offsets[setups])
        said = np.stack([selection.links[owners], *(records[name].astype(np.int64) for name in TERM_FIELDS_OF_SETUP)], axis=1)
        changed = np.ones(said.shape[0], dtype=bool)
        changed[1:] = (said[1:] != said[:-1]).any(axis=1)
        at = selection.block.positions[selection.datagrams.rows[owners]]
        for (link, session, stream, initial, length), place in zip(said[changed].tolist(), at[changed].tolist(), strict=True):
            self._terms.setdefault(link, Terms()).note(session, stream, (place, initial, length))

    def _select(self, datagrams: Datagrams, numbers: Integers) -> tuple[Datagrams, Integers]:
        """Keep the datagrams of selected ports or links; count the others."""
        ports, facts = self._part.request.ports, self._part.facts
        keys = frozenset() if facts is None else facts.keys
        known = self._port_mask.size
        if known < self.flows.link_count:
            if ports is not None:
                fresh = [any(end[1] in ports for end in self.flows.endpoints(number)) for number in range(known, self.flows.link_count)]
            else:
                fresh = [key in keys for key in self.flows.keys_from(known)]
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
        self.framed = _added(self.framed, numbers[found.datagrams], count)
        if not self._part.is_certain:
            self.breaches = _added(self.breaches, numbers[found.broken], count)
        for verdict in np.flatnonzero(np.bincount(found.verdicts)).tolist():
            if verdict != Verdict.GOOD:
                before = self._refused.get(verdict, np.zeros(0, dtype=np.int64))
                self._refused[verdict] = _added(before, numbers[found.verdicts == verdict], count)

    def findings(self) -> Findings:
        """Return what the whole pass tells of the capture."""
        keys, verdict = self.flows.keys_from(0), self.verdict().tolist()
        counted = frozenset(key for key, chosen in zip(keys, verdict, strict=True) if chosen)
        asked = None if self._asking is None else self._asking.asked()
        return Findings.of(counted, {keys[link]: said for link, said in self._terms.items()}, keys, asked)

    def facts(self) -> Facts:
        """Return what counts of it for the request of this pass."""
        return self.findings().facts()

    def links(self) -> list[Link]:
        """Return the links of which something is in the result."""
        verdict = self.verdict()
        return [self.flows.endpoints(number) for number in np.flatnonzero(verdict & (self.decoded > 0)).tolist()]

    def verdict(self) -> Mask:
        """Return, per link number, whether its datagrams are in the result."""
        if self._part.is_certain:
            return np.ones(self.flows.link_count, dtype=bool)
        streams = {stream for said in self._terms.values() for stream in said.changes}
        return counting(self.flows, self.evidence, (self.decoded, self.breaches), streams)

    def account(self) -> None:
        """Complete the counts once every flow's verdict is known."""
        verdict = self.verdict()
        self.statistics.datagrams = int(self.decoded[verdict].sum())
        self.statistics.truncated_datagrams = int(self.cut[verdict].sum())
        self.statistics.frames = int(self.framed[verdict].sum())
        if not self._part.is_certain:
            self.statistics.skip(NOT_AERON, int(self.seen[~verdict].sum()))
        for kind, times in sorted(self._refused.items()):
            self.statistics.skip(REASONS[Verdict(kind)], int(times[verdict[: times.size]].sum()))


def counting(flows: FlowTable, evidence: Evidence, datagrams: tuple[Integers, Integers], streams: set[StreamKey]) -> Mask:
    """Return, per link number, whether its flow counts: it is proven, and few of its datagrams break a rule.

    datagrams: of each link, the good ones and those that break a rule.  streams: those that SETUPs told of.
    """
    flow_of = flows.flow_of
    proven = evidence.proven(int(flow_of.max(initial=-1)) + 1, streams)
    good_of, breaches_of = (_summed(counts, flow_of, proven.size) for counts in datagrams)
    verdict: Mask = (proven & (breaches_of * BREACH_SHARE <= good_of))[flow_of]
    return verdict


def _summed(counts: Integers, flow_of: Integers, flow_count: int) -> Integers:
    out = np.zeros(flow_count, dtype=np.int64)
    np.add.at(out, flow_of[: counts.size], counts)
    return out


def _naks(selection: Selection) -> list[Integers]:
    """Return what the NAKs among some frames ask for, but those that never were on the wire."""
    naks = selection.chosen[selection.frames.types[selection.chosen] == FrameType.NAK]
    owners = selection.frames.datagrams[naks]
    sent = ~selection.datagrams.dropped[owners]
    naks, owners = naks[sent], owners[sent]
    records = selection.gather.structs(LAYOUTS[FrameType.NAK], selection.frames.offsets[naks])
    starts = records["term_offset"].astype(np.int64)
    named = [records[name].astype(np.int64) for name in ("session_id", "stream_id", "term_id")]
    at = selection.block.positions[selection.datagrams.rows[owners]]
    return [selection.links[owners], *named, starts, starts + records["length"], at]


def _added(counts: Integers, numbers: Integers, length: int) -> Integers:
    out = np.bincount(numbers, minlength=length)
    out[: counts.size] += counts
    return out
