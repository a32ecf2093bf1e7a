"""A large capture of Aeron traffic, made by seed in seconds, and what every field of its frames adds up to.

Streams over IPv4, IPv6 and VLANs, unicast, multicast and to several destinations: messages alone, in batches and in fragments, term ends
with padding, heartbeats, loss with NAKs and retransmissions, duplicates, overtaking, status messages with and without a group tag, SETUP,
RTTM, ERR, RES, RSP_SETUP, the end and the revocation of streams.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType
from tests.support.captures.layouts import EVENT, RECORD, Layout, Link, Rows, control, data, pad_columns, tagged_status, unsigned

Integers = npt.NDArray[np.int64]
START_NS = 1_700_000_000 * 1_000_000_000
CHUNK = 100_000  # packets written at a time
GAP_NS = 1_000  # mean time between packets
MTU = 1408
BEGIN, END, WHOLE = int(DataFlags.BEGIN), int(DataFlags.END), int(DataFlags.UNFRAGMENTED)
# Units: datagrams that one offer or one batch makes, each of frames with (payload length, flags); and how often each is sent.
LARGEST = MTU - DataHeaderDecoder.ENCODED_LENGTH
UNITS: tuple[tuple[float, tuple[tuple[tuple[int, int], ...], ...]], ...] = (
    (22, (((32, WHOLE),),)),
    (20, (((100, WHOLE),),)),
    (14, (((200, WHOLE),),)),
    (8, (((1, WHOLE),),)),
    (8, (((288, WHOLE),),)),
    (5, (((735, WHOLE),),)),
    (1, (((LARGEST, WHOLE),),)),
    (4, (((64, WHOLE),) * 3,)),
    (2, (((20, WHOLE),) * 8,)),
    (2, (((100, WHOLE), (31, WHOLE), (0, WHOLE)),)),
    (1, (((LARGEST, BEGIN),), ((300, END),))),
    (0.6, (((LARGEST, BEGIN),), ((LARGEST, 0),), ((LARGEST, 0),), ((17, END),))),
)
TERMS_MAX = 1 << 16
ERROR_TEXT = "too slow: größer als das Fenster".encode()
# (kind, flags, port, age in milliseconds, address, name) of each entry of a RES frame.
ENTRIES: tuple[tuple[int, int, int, int, bytes, str], ...] = (
    (1, 0x80, 8050, 0, bytes((10, 0, 0, 7)), "node-A"),
    (2, 0, 8051, 250, bytes(range(16)), "node-BB"),
)


@dataclass(frozen=True)
class Stream:
    """A stream, the links that its data takes, and for each one the link on which its receiver answers."""

    session_id: int
    stream_id: int
    initial_term_id: int
    term_length: int
    weight: float
    data_links: tuple[Link, ...]
    answer_links: tuple[Link, ...]
    loss: float = 0.0
    first_offset: int = 0
    group_tag: int | None = None
    revoked: bool = False


def _pair(source: tuple[str, int], destination: tuple[str, int], tags: tuple[int, ...] = ()) -> tuple[Link, Link]:
    return Link(source, destination, tags), Link(destination, source, tags)


def streams() -> list[Stream]:
    """Return the streams of the corpus."""
    fast, slow = _pair(("10.0.0.1", 40001), ("10.0.0.2", 40101)), _pair(("10.0.0.1", 40002), ("10.0.0.3", 40102), (0x8100,))
    six = _pair(("fd00::1", 40003), ("fd00::2", 40103))
    stacked = _pair(("10.1.0.1", 40004), ("10.1.0.2", 40104), (0x88A8, 0x8100))
    group = Link(("10.0.0.1", 40005), ("224.20.30.41", 40105)), Link(("10.0.0.9", 40105), ("224.20.30.42", 40105))
    copies = [_pair(("10.0.0.1", 40106), (f"10.0.2.{last}", 40200 + last)) for last in (1, 2, 3)]
    return [
        Stream(7, 1001, 5, 1 << 26, 30, fast[:1], fast[1:]),
        Stream(-1_234_567_890, 1001, 0x7FFF_FFFE, 1 << 20, 25, slow[:1], slow[1:], loss=0.01),  # its term ids wrap
        Stream(99, -5, -3, 1 << 22, 12, six[:1], six[1:], loss=0.002),
        Stream(2**31 - 1, 10, -(2**31), 1 << 16, 6, stacked[:1], stacked[1:], first_offset=4096),
        Stream(424_242, 77, 1000, 1 << 24, 12, (group[0],), (group[1],), loss=0.003, group_tag=-101),
        Stream(55, 3, 0, 1 << 24, 5, tuple(a for a, _ in copies), tuple(b for _, b in copies), loss=0.005, group_tag=2**40, revoked=True),
    ]


@dataclass
class Sums:
    """Of one field: how many, what they add up to, and the same with each value times its packet's number, modulo 2 to the power of 64."""

    count: int = 0
    total: int = 0
    weighted: int = 0

    def add(self, values: npt.NDArray[np.uint64], packets: Integers) -> None:
        self.count += values.size
        self.total = (self.total + int(values.sum())) % 2**64
        self.weighted = (self.weighted + int((values * (packets + 1).astype(np.uint64)).sum())) % 2**64


@dataclass
class Corpus:
    """A capture and the truth about it."""

    path: Path
    packets: int
    ports: list[int]
    size: int = 0
    sums: dict[tuple[str, str], Sums] = field(default_factory=dict)  # of (type, field)


class _Layouts:
    """The kinds of datagrams, each built once, and their numbers."""

    def __init__(self, rng: np.random.Generator) -> None:
        body = rng.integers(0, 256, 65536, dtype=np.uint8).tobytes()
        self.all: list[Layout] = []
        datagrams = sorted({datagram for _, unit in UNITS for datagram in unit})
        self.of_data = {datagram: self.add(data(datagram, body[index * 100 :])) for index, datagram in enumerate(datagrams)}
        self.pad = self.add(control(FrameType.PAD, pad_columns(), flags=WHOLE))
        beat = {**pad_columns(), "reserved_value": "a"} | {"flags": "b"}
        del beat["frame_length"]
        self.heartbeat = self.add(control(FrameType.DATA, beat, length=0))
        self.nak = self.add(control(FrameType.NAK, {"term_id": "term_id", "term_offset": "offset", "length": "a"}))
        status = {"consumption_term_id": "term_id", "consumption_term_offset": "offset", "receiver_window": "a", "receiver_id": "b"}
        self.status = self.add(control(FrameType.SM, {**status, "flags": "c"}))
        self.tagged = self.add(tagged_status(status, "c"))
        setup = {"active_term_id": "term_id", "term_offset": "offset", "initial_term_id": "a", "term_length": "b"}
        self.setup = self.add(control(FrameType.SETUP, setup, mtu=MTU, ttl=4))
        rttm = {"echo_timestamp_ns": "a", "reception_delta_ns": "b", "receiver_id": "c"}
        self.question = self.add(control(FrameType.RTTM, rttm, flags=0x80))
        self.answer = self.add(control(FrameType.RTTM, rttm))
        error = {"receiver_id": "a", "group_tag": "b"}
        self.error = self.add(control(FrameType.ERR, error, tail=ERROR_TEXT, flags=8, error_code=-9, error_length=len(ERROR_TEXT)))
        self.resolution = self.add(control(FrameType.RES, {}, tail=_resolution()))
        self.response = self.add(control(FrameType.RSP_SETUP, {"response_session_id": "a"}))
        self.units, self.chances, self.advances = self._units()

    def add(self, layout: Layout) -> int:
        self.all.append(layout)
        return len(self.all) - 1

    def _units(self) -> tuple[list[list[tuple[int, int]]], Integers, Integers]:
        """Return for each unit its datagrams' (layout, bytes of term), how often it is sent, and its bytes of term."""
        units = [[(self.of_data[datagram], len(self.all[self.of_data[datagram]].body)) for datagram in unit] for _, unit in UNITS]
        weights = np.array([weight for weight, _ in UNITS])
        return units, weights / weights.sum(), np.array([sum(length for _, length in unit) for unit in units])


def _resolution() -> bytes:
    """Return the entries of a resolution frame, each to a multiple of eight bytes."""
    out = b""
    for kind, flags, port, age_ms, address, name in ENTRIES:
        entry = struct.pack("<bBHi", kind, flags, port, age_ms) + address + struct.pack("<h", len(name)) + name.encode()
        out += entry + bytes(-len(entry) % 8)
    return out


def build(path: Path, packets: int, seed: int = 1) -> Corpus:
    """Write a capture of so many packets (1,000 at least) to `path`; nanosecond timestamps, little-endian."""
    rng = np.random.default_rng(seed)
    layouts, links = _Layouts(rng), _Links()
    all_streams = streams()
    total = sum(stream.weight * len(stream.data_links) for stream in all_streams)
    parts = []
    for stream in all_streams:
        share = int(packets * 0.97 * stream.weight / total) + 20
        parts.append(_Sending(stream, layouts, links, rng, packets * GAP_NS).events(share))
    parts.append(_resolutions(layouts, links, packets))
    events = np.concatenate(parts)
    events = events[np.argsort(events["time"], kind="stable")]
    while events.size < packets:  # more of what nobody asked for: duplicates
        again = rng.choice(events.size, min(packets - events.size, events.size), replace=False)
        events = np.insert(events, again + 1, events[again])
    if events.size > packets:  # fewer of what a stream can lose
        lost = rng.choice(np.flatnonzero(np.isin(events["layout"], list(layouts.of_data.values()))), events.size - packets, replace=False)
        events = np.delete(events, lost)
    ports = sorted({stream.data_links[0].destination[1] for stream in all_streams} | {link.destination[1] for link in links.all})
    corpus = Corpus(path, packets, ports)
    _write(corpus, events, layouts.all, links.all)
    return corpus


class _Links:
    def __init__(self) -> None:
        self.all: list[Link] = []

    def number(self, link: Link) -> int:
        if link not in self.all:
            self.all.append(link)
        return self.all.index(link)


class _Sending:
    """What one stream puts on the wire, as rows of EVENT in no order."""

    def __init__(self, stream: Stream, layouts: _Layouts, links: _Links, rng: np.random.Generator, span_ns: int) -> None:
        self.stream, self.layouts, self.links, self.rng, self.span_ns = stream, layouts, links, rng, span_ns

    def events(self, count: int) -> Rows:
        """Return about `count` events for each of the stream's links."""
        sent = self._data(max(8, int(count * 0.9)))
        out = []
        for number, (way, back) in enumerate(zip(self.stream.data_links, self.stream.answer_links, strict=True)):
            here, there = self.links.number(way), self.links.number(back)
            ours = sent.copy()
            ours["time"] += 100 * number
            ours["link"] = here
            out += [*self._travelled(ours, there), *self._answers(ours, there), *self._control(ours, here, there)]
        return np.concatenate(out)

    def _data(self, count: int) -> Rows:
        """Return the datagrams of data, in order of position; padding ends each term."""
        chosen = self.rng.choice(len(UNITS), count, p=self.layouts.chances)
        starts, pads = _packed(self.layouts.advances[chosen], self.stream.term_length, self.stream.first_offset)
        per_unit = np.array([len(unit) for unit in self.layouts.units])[chosen]
        which = np.repeat(chosen, per_unit)
        inside = np.arange(which.size) - np.repeat(np.cumsum(per_unit) - per_unit, per_unit)
        width = max(map(len, self.layouts.units))
        table = np.array([[*unit, *[(0, 0)] * (width - len(unit))] for unit in self.layouts.units])
        before = np.cumsum(table[:, :, 1], axis=1) - table[:, :, 1]
        positions = np.concatenate([np.repeat(starts, per_unit) + before[which, inside], pads])
        out = self._at(positions)
        out["layout"] = np.concatenate([table[which, inside, 0], np.full(pads.size, self.layouts.pad)])
        out["a"] = self.rng.integers(-(2**63), 2**62, out.size)
        is_pad = out["layout"] == self.layouts.pad
        out["a"][is_pad] = self.stream.term_length - out["offset"][is_pad]
        out = out[np.argsort(positions, kind="stable")]
        out["time"] = np.sort(self.rng.integers(GAP_NS * 40, max(GAP_NS * 80, self.span_ns - GAP_NS * 200), out.size))
        return out

    def _at(self, positions: Integers) -> Rows:
        stream = self.stream
        out = np.zeros(positions.size, dtype=EVENT)
        out["session_id"], out["stream_id"] = stream.session_id, stream.stream_id
        out["term_id"] = (stream.initial_term_id + positions // stream.term_length).astype(np.int32)
        out["offset"] = positions % stream.term_length
        return out

    def _travelled(self, sent: Rows, there: int) -> Iterator[Rows]:
        """Yield what of the data arrived, and what loss, duplication and overtaking add."""
        is_lost = self.rng.random(sent.size) < self.stream.loss
        lost = sent[is_lost]
        nak = lost.copy()
        nak["layout"], nak["link"], nak["a"] = self.layouts.nak, there, self._lengths(lost)
        nak["time"] += self.rng.integers(20_000, 90_000, nak.size)
        again = lost.copy()
        again["time"] = nak["time"] + self.rng.integers(5_000, 50_000, nak.size)
        arrived = sent[~is_lost]
        arrived["time"] += np.where(self.rng.random(arrived.size) < 0.002, 4 * GAP_NS, 0)
        twice = arrived[self.rng.random(arrived.size) < 0.001]
        twice["time"] += 3 * GAP_NS
        yield from (arrived, nak, again, twice)

    def _lengths(self, rows: Rows) -> Integers:
        """Return the bytes of term that some datagrams of data take."""
        sizes = np.array([len(layout.body) for layout in self.layouts.all])[rows["layout"]]
        return np.where(rows["layout"] == self.layouts.pad, rows["a"], sizes)

    def _answers(self, sent: Rows, there: int) -> Iterator[Rows]:
        """Yield status messages and answers of the receiver."""
        stream = self.stream
        status = sent[8::16].copy()
        status["link"], status["a"], status["b"], status["time"] = there, 131_072, 0x1234_5678_9ABC_DEF0 + there, status["time"] + 1500
        status["layout"], status["c"] = self.layouts.status, 0
        status["c"][:1], status["c"][-1:] = 0x80, 0x40
        if stream.group_tag is not None:
            status["layout"], status["c"] = self.layouts.tagged, stream.group_tag
        yield status
        question = sent[5::500].copy()
        question["layout"], question["link"], question["a"], question["b"] = self.layouts.question, there, question["time"], 0
        question["c"] = -there
        yield question
        if stream.loss:
            error = sent[77::5000].copy()
            error["layout"], error["link"], error["a"], error["b"] = self.layouts.error, there, -7, stream.group_tag or 0
            yield error

    def _control(self, sent: Rows, here: int, there: int) -> Iterator[Rows]:
        """Yield what the sender says beside the data: SETUP, heartbeats, the end, answers to RTTM, the session of a response."""
        stream = self.stream
        setup = sent[:: max(1, sent.size // 5)].copy()
        setup["layout"], setup["a"], setup["b"] = self.layouts.setup, stream.initial_term_id, stream.term_length
        setup["time"] -= 500
        yield setup
        beat = sent[31::97].copy()
        beat["layout"], beat["time"], beat["b"] = self.layouts.heartbeat, beat["time"] - 1, WHOLE
        yield beat
        end = np.repeat(sent[-1:], 3)
        end["layout"], end["time"] = self.layouts.heartbeat, end["time"] + np.array([1, 2, 3]) * GAP_NS * 5
        end["b"] = WHOLE | int(DataFlags.EOS) | (int(DataFlags.REVOKED) if stream.revoked else 0)
        yield end
        answer = sent[5::500].copy()
        answer["layout"], answer["a"], answer["b"], answer["c"] = self.layouts.answer, answer["time"], 777, -there
        answer["time"] += 2 * GAP_NS
        yield answer
        response = sent[:2].copy()
        response["layout"], response["link"], response["a"] = self.layouts.response, here, -stream.session_id
        yield response


def _packed(advances: Integers, term_length: int, first_offset: int) -> tuple[Integers, Integers]:
    """Return the positions of units that each stay within a term, and of the padding where the next one did not fit."""
    ends = np.cumsum(advances)
    starts = np.empty_like(ends)
    pads: list[int] = []
    index = done = 0
    base = first_offset
    for _ in range(TERMS_MAX):
        room = term_length - base % term_length
        stop = int(np.searchsorted(ends, done + room, "right"))
        starts[index:stop] = base + ends[index:stop] - advances[index:stop] - done
        if stop == ends.size:
            return starts, np.array(pads, dtype=np.int64)
        used = int(ends[stop - 1]) - done if stop > index else 0
        if used < room:
            pads.append(base + used)
        base, done, index = base + room, done + used, stop
    raise AssertionError(f"{advances.size} units need more than {TERMS_MAX} terms of {term_length} bytes")


def _resolutions(layouts: _Layouts, links: _Links, packets: int) -> Rows:
    out = np.zeros(max(2, packets // 5000), dtype=EVENT)
    out["layout"] = layouts.resolution
    out["link"] = links.number(Link(("10.0.0.7", 8050), ("10.0.0.8", 8050)))
    out["time"] = np.linspace(GAP_NS, packets * GAP_NS * 0.9, out.size)
    return out


def _write(corpus: Corpus, events: Rows, layouts: list[Layout], links: list[Link]) -> None:
    sizes = np.array([len(layout.body) for layout in layouts])
    heads = np.array([link.length for link in links])
    with corpus.path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
        for first in range(0, events.size, CHUNK):
            chunk = events[first : first + CHUNK]
            lengths = RECORD.itemsize + heads[chunk["link"]] + sizes[chunk["layout"]]
            places = np.cumsum(lengths) - lengths
            out = np.empty(int(lengths.sum()), dtype=np.uint8)
            keys = chunk["layout"].astype(np.int64) * len(links) + chunk["link"]
            order = np.argsort(keys, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
                matrix = _records(corpus, chunk[rows], first + rows, (layouts, links))
                target: Rows = np.ndarray((out.size - matrix.shape[1] + 1,), f"V{matrix.shape[1]}", out.data, 0, (1,))
                target[places[rows]] = matrix.view(f"V{matrix.shape[1]}")[:, 0]
            file.write(out.data)
        corpus.size = file.tell()


def _records(corpus: Corpus, rows: Rows, packets: Integers, of: tuple[list[Layout], list[Link]]) -> npt.NDArray[np.uint8]:
    """Return the records of some events of one layout and link, one a row; add their fields to the sums."""
    layout, link = of[0][rows["layout"][0]], of[1][rows["link"][0]]
    whole = link.header(len(layout.body)) + layout.body
    matrix = np.empty((rows.size, RECORD.itemsize + len(whole)), dtype=np.uint8)
    matrix[:, RECORD.itemsize :] = np.frombuffer(whole, dtype=np.uint8)
    record: Rows = np.ndarray((rows.size,), RECORD, matrix.data, 0, (matrix.shape[1],))
    time_ns = START_NS + rows["time"]
    record["seconds"], record["fraction"] = time_ns // 1_000_000_000, time_ns % 1_000_000_000
    record["captured"] = record["original"] = len(whole)
    for part, view in layout.fill(matrix, RECORD.itemsize + link.length, rows):
        for name in part.dtype.names or ():
            values = unsigned(np.ascontiguousarray(view[name]))
            corpus.sums.setdefault((part.kind.name, name), Sums()).add(values, packets)
    return matrix
