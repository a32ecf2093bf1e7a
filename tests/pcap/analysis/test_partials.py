"""The summaries of a stream's parts, joined, tell what all its frames together do: for goldens, a large corpus and streams in disorder."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderEncoder, NakEncoder, SetupEncoder, StatusMessageEncoder
from aerowire.pcap import read_frames
from aerowire.pcap.analysis.columns import COLUMNS, SENT, by_stream
from aerowire.pcap.analysis.loss import losses
from aerowire.pcap.analysis.partial import Partial
from aerowire.pcap.analysis.reconciling import reconcile
from aerowire.pcap.analysis.stream import Stream, analyse, lay_out
from aerowire.pcap.analysis.summarising import summarise_part
from tests.support.captures.corpus import build as build_corpus

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
MARGINS = (0, 0, 100, 2000, 128 << 10)
TERM = 65536
Parts = dict[tuple[int, int], list[Partial]]


def key(stream: Stream) -> tuple[int, int]:
    return int(stream.frames["session_id"][0]), int(stream.frames["stream_id"][0])


def streams_of(table: pa.Table) -> list[Stream]:
    """Return the streams that senders named, laid out with all their frames."""
    return [lay_out(Partial.whole(frames)) for frames in by_stream(table) if frames.of_type(*SENT).any()]


def told(stream: Stream) -> tuple[dict[str, Any], list[Any]]:
    return analyse(stream), list(losses(stream))


def cut(table: pa.Table, rng: random.Random, count: int, margin: int) -> Parts:
    """Return the summaries of some random parts of a capture, by stream."""
    cuts = sorted(rng.randrange(table.num_rows + 1) for _ in range(count - 1))
    found: Parts = {}
    for low, high in zip([0, *cuts], [*cuts, table.num_rows], strict=True):
        for frames in by_stream(table.slice(low, high - low)):
            if len(frames):
                found.setdefault((int(frames["session_id"][0]), int(frames["stream_id"][0])), []).append(summarise_part(frames, margin))
    return found


def joined(parts: list[Partial], rng: random.Random) -> Partial:
    """Join neighbours first, in random order: it must not matter."""
    parts = list(parts)
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1)
        parts[at : at + 2] = [Partial.joined(parts[at : at + 2])]
    return parts[0]


def check(table: pa.Table, seed: int, turns: int) -> None:
    rng = random.Random(seed)
    expected = {key(stream): told(stream) for stream in streams_of(table)}
    for turn in range(turns):
        count, margin = rng.choice((1, 2, 3, 7, 20)), rng.choice(MARGINS)
        parts = cut(table, rng, count, margin)
        for name, report in expected.items():
            assert told(reconcile(joined(parts[name], rng))) == report, f"seed {seed}, turn {turn}: {count} parts, margin {margin}, {name}"


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_parts_of_a_golden_tell_what_the_whole_does(path: Path, seed: int) -> None:
    table = read_frames(path, columns=COLUMNS)
    if table.num_rows:
        check(table, seed, 6)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    path = tmp_path_factory.mktemp("corpus") / "corpus.pcap"
    build_corpus(path, 60_000)
    return read_frames(path, columns=COLUMNS)


def test_parts_of_a_large_lossy_capture_tell_what_the_whole_does(corpus: pa.Table, seed: int) -> None:
    check(corpus, seed, 5)


def test_most_frames_of_a_large_capture_become_runs_that_stand(corpus: pa.Table) -> None:
    parts = cut(corpus, random.Random(3), 4, 16 << 10)
    kept = sum(len(part.frames) for some in parts.values() for part in some)
    assert kept < corpus.num_rows / 3
    reconciled = [reconcile(Partial.joined(some)) for some in parts.values()]
    assert sum(bool(stream.is_run.any()) for stream in reconciled) >= len(reconciled) - 1, "parts were unpacked"


def test_parts_that_lie_among_each_other_are_unpacked(corpus: pa.Table) -> None:
    odd = pa.array([row % 2 == 1 for row in range(corpus.num_rows)])
    even = pa.array([row % 2 == 0 for row in range(corpus.num_rows)])
    parts: Parts = {}
    for half in (corpus.filter(odd), corpus.filter(even)):
        for frames in by_stream(half):
            parts.setdefault((int(frames["session_id"][0]), int(frames["stream_id"][0])), []).append(summarise_part(frames, 0))
    for stream in streams_of(corpus):
        assert told(reconcile(Partial.joined(parts[key(stream)]))) == told(stream)


def disorder(build: SimpleNamespace, rng: random.Random) -> list[bytes]:
    """Return packets of a stream that does all that spoils a run: overtaking, repeats, overlaps, fragments, dropped frames, windows."""
    offset, term, consumed, packets = 0, 3, 0, []
    sent: list[tuple[int, int, bytes, int]] = []

    def add(data: bytes, *, back: bool = False, dropped: bool = False, second: bool = False) -> None:
        ends = (build.RECEIVER, build.SENDER) if back else (build.SENDER, ("10.0.0.3", 40003) if second else build.RECEIVER)
        packets.append(build.ethernet(build.ip4(data, *ends), source=bytes.fromhex("02000000000d" if dropped else "020000000001")))

    def data_at(where: tuple[int, int, bytes, int]) -> bytes:
        frame: bytes = build.data_frame(where[1], where[2], term_id=where[0], flags=where[3])
        return frame

    if rng.random() < 0.7:
        add(SetupEncoder.encode(session_id=7, stream_id=1001, initial_term_id=3, active_term_id=3, term_length=TERM, mtu=1408))
    for _ in range(400):
        kind = rng.random()
        if kind < 0.8 or not sent:
            body = bytes(rng.choice((0, 32, 33, 96)))
            length = -(-(32 + len(body)) // 32) * 32
            if offset + length > TERM:
                term, offset, consumed = term + 1, 0, 0
            flags = rng.choice((DataFlags.UNFRAGMENTED,) * 6 + (DataFlags.BEGIN, DataFlags.END, DataFlags(0)))
            where = (term, offset, body, int(flags))
            sent.append(where)
            if rng.random() < 0.95:
                add(data_at(where), dropped=rng.random() < 0.03)
            if rng.random() < 0.3:
                add(data_at(where), second=True)
            offset += length
        elif kind < 0.84:
            add(data_at(rng.choice(sent[-30:])), second=rng.random() < 0.3)
        elif kind < 0.87:
            at = rng.choice(sent[-10:])
            add(NakEncoder.encode(session_id=7, stream_id=1001, term_id=at[0], term_offset=at[1], length=64), back=True)
        elif kind < 0.88:
            heartbeat = DataHeaderEncoder.encode(frame_length=0, session_id=7, stream_id=1001, term_id=term, term_offset=offset)
            add(heartbeat + bytes(-len(heartbeat) % 32))
        else:
            consumed = max(consumed, offset - rng.randrange(0, 2000)) if rng.random() < 0.9 else offset
            fields = {"consumption_term_id": term, "consumption_term_offset": max(0, consumed), "receiver_id": rng.choice((5, 5, 6))}
            window = rng.choice((4096, 4096, 4096, 1024))
            add(StatusMessageEncoder.encode(session_id=7, stream_id=1001, receiver_window=window, **fields), back=True)
    return packets


@pytest.mark.parametrize("turn", range(12))
def test_parts_of_a_stream_in_disorder_tell_what_the_whole_does(build: SimpleNamespace, tmp_path: Path, seed: int, turn: int) -> None:
    rng = random.Random(seed * 100 + turn)
    path = tmp_path / "disorder.pcap"
    path.write_bytes(build.classic(disorder(build, rng)))
    check(read_frames(path, ports=[40001], columns=COLUMNS), seed * 100 + turn, 6)
