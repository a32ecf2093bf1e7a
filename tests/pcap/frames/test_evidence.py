"""What proves that a flow speaks Aeron: each proof alone is enough, what falls short of it is not, and the twin agrees."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameType, NakEncoder, SetupEncoder, StatusMessageEncoder
from aerowire.pcap import Capture
from aerowire.pcap.frames import evidence
from aerowire.pcap.frames.evidence import ROWS, STEP_MAX, Evidence
from tests.support.captures.hostile import PROTOCOLS, Talk
from tests.support.captures.layouts import Link

Row = tuple[int, ...]
GROUP = (("10.0.0.2", 40005), ("239.1.1.2", 40001))
STREAM = {"session_id": 7, "stream_id": 1001}


def data(offset: int, body: int = 32, **fields: Any) -> bytes:
    return DataHeaderEncoder.encode(**{**STREAM, "term_id": 3, "term_offset": offset, **fields}, payload=bytes(body))


def heartbeat(offset: int, **fields: Any) -> bytes:
    return DataHeaderEncoder.encode(**{**STREAM, "term_id": 3, "term_offset": offset, "frame_length": 0, **fields})


def status(offset: int, **fields: int) -> bytes:
    known = {**STREAM, "consumption_term_id": 3, "consumption_term_offset": offset, "receiver_window": 65536, "receiver_id": 9}
    return StatusMessageEncoder.encode(**{**known, **fields})


def nak(offset: int, **fields: int) -> bytes:
    return NakEncoder.encode(**{**STREAM, "term_id": 3, "term_offset": offset, "length": 64, **fields})


SETUP = SetupEncoder.encode(**STREAM, initial_term_id=3, active_term_id=3, term_length=65536, mtu=1408)


def kept(build: SimpleNamespace, tmp_path: Path, *datagrams: bytes | tuple[bytes, str]) -> int:
    """Return how many frames the flow rule takes: `<` after the bytes means from the receiver, `*` to the group's control address."""
    ends = {">": (build.SENDER, build.RECEIVER), "<": (build.RECEIVER, build.SENDER), "*": GROUP}
    told = [one if isinstance(one, tuple) else (one, ">") for one in datagrams]
    path = tmp_path / "capture.pcap"
    path.write_bytes(build.classic([build.ethernet(build.ip4(payload, *ends[way])) for payload, way in told]))
    return int(Capture(path).read().num_rows)


@pytest.mark.parametrize(
    "datagrams",
    [
        (SETUP,),
        (data(0), data(64)),
        (data(0), data(128)),
        (data(0) + data(64),),
        (data(0), heartbeat(64)),
        (heartbeat(64), data(64)),
        (data(65536 - 64), data(0, term_id=4)),
        (heartbeat(64), heartbeat(64), heartbeat(64)),
        (data(64), (status(64), "<")),
        (heartbeat(64, term_id=4), (status(65536 - 64), "<")),
        ((nak(64), "<"), data(64)),
        ((status(0), "<"), (nak(0), "<")),
        ((status(64), "<"), (status(64), "<"), (status(128), "<")),
        (SETUP, (status(0), "*")),
    ],
)
def test_one_proof_is_enough(build: SimpleNamespace, tmp_path: Path, datagrams: tuple[bytes, ...]) -> None:
    assert kept(build, tmp_path, *datagrams) >= len(datagrams)


@pytest.mark.parametrize(
    "datagrams",
    [
        (data(64),),
        (data(64), data(64), data(64), data(64)),
        (data(64), data(0)),
        (data(0), data(64 + STEP_MAX + 32)),
        (data(0), data(64, session_id=8)),
        (data(0), data(64, stream_id=1002)),
        (data(0), data(64, term_id=5)),
        (data(65536 - 128), data(0, term_id=4)),
        (data(0, session_id=0), data(64, session_id=0)),
        (data(0), (data(64), "<")),
        (heartbeat(64), heartbeat(64)),
        (data(64), status(64)),
        (data(64), (status(64, consumption_term_id=5), "<")),
        (data(64), (status(64, session_id=8), "<")),
        (data(64), (status(64), "*")),
        ((status(64), "<"), (status(64), "<")),
        ((status(64), "<"), (status(64, receiver_id=8), "<"), (status(64), "<")),
        ((status(64), "<"), (status(128), "<"), (status(64), "<")),
    ],
)
def test_what_falls_short_of_a_proof_is_none(build: SimpleNamespace, tmp_path: Path, datagrams: tuple[bytes, ...]) -> None:
    assert kept(build, tmp_path, *datagrams) == 0


@pytest.mark.parametrize("talk", PROTOCOLS.values(), ids=lambda talk: talk.__name__)
def test_no_false_frame_in_a_thousand_conversations(
    tmp_path: Path, build: SimpleNamespace, talk: Callable[[random.Random], Talk], seed: int
) -> None:
    rng = random.Random(seed)
    packets = []
    for number in range(1000):
        client = (f"192.168.{number >> 8}.{number & 255}", 50_000)
        there, back = Link(client, ("192.168.9.1", 9000)), Link(("192.168.9.1", 9000), client)
        packets += [(there if is_client else back).header(len(payload)) + payload for payload, is_client in talk(rng)]
    path = tmp_path / "hostile.pcap"
    path.write_bytes(build.classic(packets))
    assert Capture(path).read().num_rows == 0, f"seed {seed}"


def drawn(rng: random.Random, count: int) -> list[Row]:
    """Frames whose numbers are few, so that they are often alike."""
    rows: list[Row] = []
    for _ in range(count):
        flow, kind = rng.randrange(4), rng.choice([0, 1, 1, 1, 2, 3, 3, 4, 6])
        start, length = rng.randrange(3) * 65536 // 2, rng.choice([0, 32768])
        term = rng.choice([3, 3, 3, 4, 2**31 - 1, -(2**31)])
        end = start + length if kind in (0, 1) else 0
        rows.append((flow, rng.choice([0, 7]) << 32 | 5, flow * 2 + rng.randrange(2), kind, term, start, end, rng.randrange(2)))
    return rows


def plainly_proven(rows: list[Row]) -> set[int]:
    """Say the same with a loop."""
    streams: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows:
        streams[row[0], row[1]].append(row)
    proven = set()
    for (flow, pair), found in streams.items():
        halves = [False] + [pair >> 32 != 0 and plainly_half(one, two) for one, two in pairwise(found)]
        for at in range(1, len(found)):
            if pair >> 32 and (plainly_whole(found[at - 1], found[at]) or (halves[at] and halves[at - 1])):
                proven.add(flow)
    return proven


def term_step(one: Row, two: Row) -> int:
    return (two[4] - one[4] + 2**31) % 2**32 - 2**31


def plainly_whole(one: Row, two: Row) -> bool:
    _, _, link1, kind1, _, _, end1, _ = one
    _, _, link2, kind2, _, start2, end2, _ = two
    if kind1 in (0, 1) and kind2 in (0, 1):
        if link1 != link2 or 1 not in (kind1, kind2):
            return False
        if term_step(one, two) == 1:
            return start2 == 0 and end1 in (1 << bits for bits in range(16, 31))
        return term_step(one, two) == 0 and 0 <= start2 - end1 <= STEP_MAX and not (one[5] == end1 == start2 == end2)
    if kind1 == kind2 or ((kind1 in (0, 1)) != (kind2 in (0, 1)) and link1 == link2):
        return False
    return not ({kind1, kind2} <= {0, 1, 2, 3}) or abs(term_step(one, two)) <= 1


def plainly_half(one: Row, two: Row) -> bool:
    if one[2] != two[2] or one[3] != two[3]:
        return False
    if one[3] == 1:
        return one[4] == two[4] and one[5] == one[6] == two[5] == two[6]
    if one[3] == 3:
        on = term_step(one, two) == 0 and one[5] <= two[5]
        return one[7] == two[7] and (on or (term_step(one, two) == 1 and one[5] > two[5]))
    return False


def test_finds_the_proofs_that_a_loop_finds_in_blocks_of_any_length(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        rows = drawn(rng, rng.randrange(25))
        found, at = Evidence(), 0
        while at < len(rows):
            count = rng.randint(1, 8)
            found.note_rows(np.array(rows[at : at + count], dtype=np.int64).T)
            at += count
        expected, named = plainly_proven(rows), {row[0] for row in rows if row[1] >> 32}
        assert set(np.flatnonzero(found.proven(4)).tolist()) == expected, f"seed {seed}: {rows}"
        assert set(np.flatnonzero(found.proven(4, {(7, 5), (0, 5)})).tolist()) == expected | named


def test_what_is_carried_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "CARRIED_MAX", 50)
    monkeypatch.setattr(evidence, "HISTORY_MAX", 60)
    found = Evidence(keeps_history=True)
    for first in range(0, 400, 20):
        rows = np.zeros((ROWS, 20), dtype=np.int64)
        rows[0], rows[1], rows[3] = np.arange(first, first + 20), np.arange(first, first + 20) << 32, int(FrameType.DATA)
        found.note_rows(rows)
        assert found._carried.shape[1] <= 50
        assert found.history().is_whole == (first < 60)
    assert not found.proven(400).any()
