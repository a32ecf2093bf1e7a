"""Frames that answer a NAK: what the marks say, against a loop over NAKs, in one piece and in parts."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.codecs.flyweights.transport import NakEncoder, SetupEncoder
from aerowire.pcap import Capture, read_frames, scan
from aerowire.pcap.analysis.summary import summarise
from aerowire.pcap.frames import retransmissions
from aerowire.pcap.frames.retransmissions import ROWS, Asked, Asking, Marks
from aerowire.pcap.reading import index
from aerowire.pcap.reading.facts import Findings
from aerowire.pcap.reading.parts import cut, resolve

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
MARK = "is_retransmission"


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(index, "CUT_SPACING_MIN", 5_000)


def drawn(rng: random.Random, count: int) -> list[list[int]]:
    """NAKs as seven numbers, of few streams and terms, so that they overlap; places as in a capture."""
    terms = [3, 4, -(2**31), 2**31 - 1]
    rows = []
    for number in range(count):
        start = rng.randrange(40) * 32
        key = [rng.randrange(3), rng.choice([7, -7]), rng.choice([1001, -1]), rng.choice(terms)]
        rows.append([*key, start, start + rng.choice([0, 32, 64, 320, 4096]), 24 + 100 * number])
    return rows


def plainly(naks: list[list[int]], frame: list[int]) -> bool:
    session, stream, term, offset, at = frame
    return any(nak[1:4] == [session, stream, term] and nak[4] <= offset < nak[5] and nak[6] < at for nak in naks)


def test_marks_what_a_loop_over_naks_marks(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        naks = drawn(rng, rng.randrange(60))
        asking, at = Asking(pending_max=rng.choice([0, 7, 100])), 0
        while at < len(naks):
            count = rng.randint(1, 20)
            asking.note(list(np.array(naks[at : at + count], dtype=np.int64).T))
            at += count
        asked = asking.asked()
        assert asked is not None
        owners = np.array([True, rng.random() < 0.5, rng.random() < 0.5])
        marks = Marks(Asked.from_json(asked.to_json(), 3).chosen(owners))
        frames = [
            [rng.choice([7, -7, 8]), rng.choice([1001, -1]), rng.choice([3, 4, 5, 2**31 - 1]), rng.randrange(150) * 32, rng.randrange(7000)]
            for _ in range(100)
        ]
        heard = [nak for nak in naks if owners[nak[0]]]
        expected = [plainly(heard, frame) for frame in frames]
        assert marks.of(*np.array(frames, dtype=np.int64).T).tolist() == expected, f"seed {seed}"
        assert bool(marks) or not any(expected)


def lossy(build: SimpleNamespace, path: Path, rng: random.Random, *, count: int = 1500) -> list[bool]:
    """Write a capture of two streams over three terms with NAKs and repeats anywhere; return the marks, in the order of its frames."""
    naks: list[list[int]] = []
    packets, marks, at = [], [], 24

    def add(payload: bytes, ends: tuple[tuple[str, int], tuple[str, int]], mark: bool) -> None:
        nonlocal at
        packets.append(build.ethernet(build.ip4(payload, *ends)))
        marks.append(mark)
        at += 16 + len(packets[-1])

    for session in (7, -8):
        fields = {"session_id": session, "stream_id": 1001, "initial_term_id": 3, "active_term_id": 3}
        add(SetupEncoder.encode(**fields, term_length=65536, mtu=1408), (build.SENDER, build.RECEIVER), False)
    for _ in range(count):
        session, term, offset = rng.choice([7, -8]), rng.choice([3, 4, 5]), rng.randrange(400) * 64
        if rng.random() < 0.2:
            length = rng.choice([64, 640, 6400])
            frame = NakEncoder.encode(session_id=session, stream_id=1001, term_id=term, term_offset=offset, length=length)
            naks.append([0, session, 1001, term, offset, offset + length, at])
            add(frame, (build.RECEIVER, build.SENDER), False)
        elif rng.random() < 0.1:
            beat = build.data_frame(offset, b"", session_id=session, term_id=term, frame_length=0)
            add(beat, (build.SENDER, build.RECEIVER), False)
        else:
            frame = build.data_frame(offset, bytes(32), session_id=session, term_id=term)
            add(frame, (build.SENDER, build.RECEIVER), plainly(naks, [session, 1001, term, offset, at]))
    path.write_bytes(build.classic(packets))
    return marks


def in_parts(path: Path, split_length: int, **how: object) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    for part in cut(str(path), split_length):
        capture = Capture(path, chunk_length=70_000, **how)  # type: ignore[arg-type]
        with resolve(part, capture.request) as resolved:
            batches += [] if resolved is None else capture.batches(resolved)
    return pa.Table.from_batches(batches, Capture(path, **how).schema)  # type: ignore[arg-type]


def test_every_way_to_read_a_capture_gives_the_same_marks(build: SimpleNamespace, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "capture.pcap"
    expected = lossy(build, path, random.Random(seed))
    assert 100 < sum(expected) < len(expected) - 300
    assert read_frames(path)[MARK].to_pylist() == expected, f"seed {seed}"
    assert scan(path, columns=[MARK]).to_table()[MARK].to_pylist() == expected
    length = path.stat().st_size
    for ports in (None, [40001]):
        assert read_frames(path, ports=ports, columns=[MARK])[MARK].to_pylist() == expected
        marked = read_frames(path, ports=ports, where=[(MARK, "==", True)], columns=["type"])
        assert marked.num_rows == sum(expected)
        for count in (1, 2, 7, 64):
            found = in_parts(path, -(-length // count), ports=ports, columns=[MARK, "record_position"])
            assert found[MARK].to_pylist() == expected, f"seed {seed}: {count} parts"


def test_the_index_keeps_what_naks_asked_for_by_link(build: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    lossy(build, path, random.Random(1))
    found = index.build(path)
    again = index.Index.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert found.findings.facts(frozenset([40001])).asked == found.facts.asked
    nothing = found.findings.facts(frozenset([9])).asked
    assert nothing is not None
    assert nothing.ranges.shape == (ROWS, 0)
    links, text = found.to_json()["asked"]["links"], found.to_json()["asked"]["ranges"]
    for damaged in (text[:-8], "AAAA" + text[4:], text[: len(text) // 8 * 4], "", "!"):
        with pytest.raises(ValueError, match=r"ranges that NAKs asked for|base64"):
            index.Index.from_json({**found.to_json(), "asked": {"links": links, "ranges": damaged}})
    with pytest.raises(ValueError, match="expected less than 0"):
        index.Index.from_json({**found.to_json(), "asked": {"links": [], "ranges": text}})


def test_marks_are_null_where_naks_are_not_known(build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "capture.pcap"
    lossy(build, path, random.Random(2), count=300)
    monkeypatch.setattr(retransmissions, "RANGES_MAX", 3)
    assert set(read_frames(path)[MARK].to_pylist()) == {None}
    found = index.build(path)
    assert found.findings.asked is None
    assert Findings.from_json(found.findings.to_json()) == found.findings


@pytest.mark.parametrize("name", ["loss_data_receiver_side", "loss_setup_sm_nak", "loss_multicast", "loss_fixed"])
def test_marks_all_that_the_analysis_calls_retransmissions_in_golden_captures(name: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    marked = read_frames(path, where=[(MARK, "==", True)])
    (report,) = summarise(path)["streams"]
    assert marked.num_rows >= report["retransmissions"] > 0
    assert set(marked["type"].to_pylist()) <= {"DATA", "PAD"}
    assert not any(marked["is_heartbeat"].to_pylist())


def test_a_million_naks_cost_seconds_and_a_bounded_file() -> None:
    rng = np.random.default_rng(5)
    count = 1_000_000
    ranges = np.empty((ROWS, count), dtype=np.int64)
    ranges[0], ranges[1], ranges[2], ranges[3] = 0, 7, 1001, rng.integers(3, 20, count)
    ranges[4] = rng.integers(0, 1 << 20, count) * 32
    ranges[5], ranges[6] = ranges[4] + 32 * rng.integers(1, 60, count), np.arange(count) * 100
    started = time.process_time()
    asking = Asking()
    for first in range(0, count, 20_000):
        asking.note(list(ranges[:, first : first + 20_000]))
    asked = asking.asked()
    assert asked is not None
    text = asked.to_json()
    marks = Marks(Asked.from_json(text, 1))
    spent = time.process_time() - started
    assert asked.ranges.shape[1] <= 2 * count
    assert len(text) < 40 * count
    at = rng.integers(0, 100 * count, 1000)
    terms, offsets = rng.integers(3, 20, 1000), rng.integers(0, 1 << 20, 1000) * 32
    found = marks.of(np.full(1000, 7), np.full(1000, 1001), terms, offsets, at)
    for row in range(0, 1000, 50):
        hit = (ranges[3] == terms[row]) & (ranges[4] <= offsets[row]) & (offsets[row] < ranges[5]) & (ranges[6] < at[row])
        assert found[row] == hit.any()
    assert spent < 30, f"{spent:.1f} s"  # some seconds; a loop over pairs would take hours
