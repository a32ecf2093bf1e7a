"""IP fragments: datagrams that came in pieces are read as if they had come whole, whatever part of the file is read."""

from __future__ import annotations

import random
import socket
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import Capture, read_frames
from aerowire.pcap.packets import fragments
from tests.support.captures.parts import batches_of, by_index, by_themselves

LINK_MTU = 1500
WITHOUT = ["record_position", "packet_index", "ts_ns"]


def pieces4(packet: bytes, number: int, mtu: int = LINK_MTU) -> list[bytes]:
    """Return the fragments of an IPv4 packet."""
    header, body = packet[:20], packet[20:]
    step = (mtu - 20) & ~7
    out = []
    for at in range(0, len(body), step):
        part = body[at : at + step]
        field = at // 8 | (0x2000 if at + step < len(body) else 0)
        out.append(header[:2] + struct.pack(">HHH", 20 + len(part), number, field) + header[8:] + part)
    return out


def pieces6(packet: bytes, number: int, mtu: int = LINK_MTU) -> list[bytes]:
    """Return the fragments of an IPv6 packet without extension headers."""
    header, body = packet[:40], packet[40:]
    step = (mtu - 48) & ~7
    out = []
    for at in range(0, len(body), step):
        part = body[at : at + step]
        extension = struct.pack(">BBHI", header[6], 0, at | (1 if at + step < len(body) else 0), number)
        out.append(header[:4] + struct.pack(">HBB", len(part) + 8, 44, 64) + header[8:] + extension + part)
    return out


def large_stream(build: SimpleNamespace, count: int, *, six: bool = False) -> list[bytes]:
    """IP packets of DATA frames of up to 8 KiB, each packet on its own."""
    rng = random.Random(5)
    out, offset = [], 0
    ends = (("fd00::1", 40001), ("fd00::2", 40002)) if six else (build.SENDER, build.RECEIVER)
    for _ in range(count):
        frame = build.data_frame(offset, rng.randbytes(rng.choice([100, 4000, 8160])), term_id=0)
        offset += len(frame)
        out.append(build.ip6(frame, *ends) if six else build.ip4(frame, *ends))
    return out


def cut(packets: list[bytes], *, six: bool = False) -> list[list[bytes]]:
    pieces = pieces6 if six else pieces4
    return [pieces(packet, number) if len(packet) > LINK_MTU else [packet] for number, packet in enumerate(packets)]


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return list(table.drop_columns([*WITHOUT, "path"]).to_pylist())


@pytest.mark.parametrize("six", [False, True])
def test_reads_fragmented_datagrams_as_if_they_had_come_whole(build: SimpleNamespace, tmp_path: Path, six: bool) -> None:
    packets = large_stream(build, 60, six=six)
    whole = Capture(written(tmp_path / "whole", build.classic([build.ethernet(packet) for packet in packets])), payload=True).read()
    groups = cut(packets, six=six)
    capture = Capture(
        written(tmp_path / "cut", build.classic([build.ethernet(piece) for group in groups for piece in group])), payload=True
    )
    assert rows(capture.read()) == rows(whole)
    statistics = capture.statistics
    in_pieces = [group for group in groups if len(group) > 1]
    assert statistics.reassembled_datagrams == len(in_pieces) > 20
    assert statistics.reassembled_fragments == sum(map(len, in_pieces))
    assert statistics.skipped == {"IP fragment": sum(len(group) - 1 for group in in_pieces)}
    assert statistics.packets == statistics.datagrams + sum(statistics.skipped.values())


def test_a_datagram_is_of_the_packet_that_completed_it(build: SimpleNamespace, tmp_path: Path) -> None:
    (packet,) = (packet for packet in large_stream(build, 2) if len(packet) > 8000)
    group = pieces4(packet, 7)
    other = build.ip4(build.data_frame(0, b"x", session_id=8), build.SENDER, build.RECEIVER)
    order = [group[2], group[0], other, group[1], *group[3:], other]
    table = read_frames(written(tmp_path / "a.pcap", build.classic([build.ethernet(piece) for piece in order])), ports=[40001])
    assert table["packet_index"].to_pylist() == [2, len(order) - 2, len(order) - 1]
    assert table["session_id"].to_pylist() == [8, 7, 8]


def test_pieces_that_came_twice_or_never_make_no_datagram_of_their_own(build: SimpleNamespace, tmp_path: Path) -> None:
    packets = [packet for packet in large_stream(build, 30) if len(packet) > 8000]
    twice, lost, apart = (pieces4(packet, number) for number, packet in enumerate(packets[:3]))
    order = [piece for piece in twice for _ in range(2)] + lost[:2] + lost[3:] + [apart[0]]
    order += [build.ip4(b"not a frame" * 100, ("10.8.8.8", 1), ("10.8.8.9", 2))] * (fragments.SPAN // 1000) + apart[1:]
    capture = Capture(written(tmp_path / "a.pcap", build.classic([build.ethernet(piece) for piece in order])), ports=[40001])
    assert capture.read().num_rows == 1
    assert capture.statistics.reassembled_datagrams == 1
    assert capture.statistics.reassembled_fragments == len(twice)
    assert capture.statistics.skipped["IP fragment"] == 2 * len(twice) - 1 + len(lost) - 1 + len(apart)


def test_a_fragment_that_was_captured_in_part_ends_what_is_known_of_its_datagram(build: SimpleNamespace, tmp_path: Path) -> None:
    frame = build.data_frame(0, bytes(range(256)) * 10)
    group = [build.ethernet(piece) for piece in pieces4(build.ip4(frame, build.SENDER, build.RECEIVER), 1)]
    capture = Capture(written(tmp_path / "a.pcap", build.classic(group, snap=1000)), ports=[40001], payload=True)
    table = capture.read()
    captured = 1000 - 14 - 20 - 8 - 32  # of the first fragment's payload
    assert table["payload"].to_pylist() == [(bytes(range(256)) * 10)[:captured]]
    assert capture.statistics.truncated_datagrams == 1


@pytest.mark.parametrize("split", [by_index, by_themselves])
def test_fragments_on_both_sides_of_a_cut_are_put_together(
    build: SimpleNamespace, tmp_path: Path, split: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aerowire.pcap.packets.fragments.SPAN", 64 << 10)
    monkeypatch.setattr("aerowire.pcap.reading.resolved.SPAN", 64 << 10)
    monkeypatch.setattr("aerowire.pcap.reading.parts.SPAN", 64 << 10)
    monkeypatch.setattr("aerowire.pcap.reading.index.SPAN", 64 << 10)
    monkeypatch.setattr("aerowire.pcap.reading.index.CUT_SPACING_MIN", 10_000)
    rng = random.Random(3)
    groups = cut(large_stream(build, 400))
    waiting, order = list(groups), []
    while waiting:  # several datagrams are on their way at a time, in order each
        group = rng.choice(waiting[:4])
        order.append(group.pop(0))
        waiting = [group for group in waiting if group]
    path = written(tmp_path / "a.pcap", build.classic([build.ethernet(piece) for piece in order]))
    whole = Capture(path).read()
    facts = Capture(path).survey()
    capture = Capture(path)
    extents = split(path, 50_000)
    assert len(extents) > 10
    batches: list[pa.RecordBatch] = []
    reassembled = 0
    for extent in extents:
        batches += batches_of(capture, [extent], facts)
        reassembled += capture.statistics.reassembled_datagrams
    table = pa.Table.from_batches(batches, whole.schema.remove_metadata())
    unknown = ["packet_index"] if split is by_themselves else []
    assert table.drop_columns(unknown).equals(whole.replace_schema_metadata(None).drop_columns(unknown))
    assert reassembled > 200


class Twin:
    """Reassembly, fragment by fragment: what stands in RFC 791, and the limit of this reader."""

    def __init__(self, span: int) -> None:
        self.span = span
        self.pending: dict[bytes, tuple[int, dict[int, tuple[bytes, bool]]]] = {}

    def add(self, key: bytes, at: int, offset: int, data: bytes, *, more: bool) -> bytes | None:
        first, parts = self.pending.get(key, (at, {}))
        if at - first > self.span:
            first, parts = at, {}
        if offset in parts:
            return None
        parts[offset] = (data, more)
        self.pending[key] = (first, parts)
        body, end = b"", False
        while not end:
            if len(body) not in parts:
                return None
            data, more = parts[len(body)]
            body, end = body + data, not more
        if len(body) != sum(len(part) for part, _ in parts.values()):
            return None
        del self.pending[key]
        return body


def test_fragments_without_a_length_are_not_put_in_order_again_and_again(
    build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    look = fragments._Pending._is_tiled

    def counting(pending: Any) -> bool:
        looked.append(len(pending.parts))
        return look(pending)

    monkeypatch.setattr(fragments._Pending, "_is_tiled", counting)
    header = build.ip4(b"", build.SENDER, build.RECEIVER)[:20]
    fields = [(1, 8), (0x2002, 8), *((0x2000 | 4 + number, 0) for number in range(500))]
    packets = [header[:2] + struct.pack(">HHH", 20 + size, 9, field) + header[8:] + bytes(size) for field, size in fields]
    path = written(tmp_path / "a.pcap", build.classic([build.ethernet(packet) for packet in packets]))
    assert Capture(path, ports=[40001]).read().num_rows == 0
    assert looked == [2]


@pytest.mark.parametrize("turn", range(6))
def test_gives_what_its_dumb_twin_gives(
    build: SimpleNamespace, tmp_path: Path, seed: int, turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{seed} {turn}")
    span = rng.choice([4000, 20_000, 1 << 20])
    monkeypatch.setattr("aerowire.pcap.packets.fragments.SPAN", span)
    pool: list[bytes] = []
    for number in range(120):
        frame = build.data_frame(0, rng.randbytes(rng.randint(40, 3000)))
        pool += [build.ip4(frame, build.SENDER, build.RECEIVER)] if rng.random() < 0.2 else []
        pool += pieces4(build.ip4(frame, build.SENDER, build.RECEIVER), number % 40, mtu=rng.choice([200, 576, 1500]))
    for _ in range(rng.randint(0, 300)):
        at, to = rng.randrange(len(pool)), rng.randrange(len(pool))
        near = max(0, min(len(pool) - 1, at + rng.randint(-5, 5)))
        to = near if rng.random() < 0.9 else to
        pool[at], pool[to] = pool[to], pool[at]
    pool = [packet for packet in pool for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 1, 2]))]
    twin, expected, at = Twin(span), [], 24
    for packet in pool:
        (field,) = struct.unpack(">H", packet[6:8])
        body: bytes | None = packet[20:]
        if field:
            assert socket.inet_ntoa(packet[12:16]) == build.SENDER[0]
            body = twin.add(packet[4:6], at, (field & 0x1FFF) * 8, packet[20:], more=bool(field & 0x2000))
        if body is not None:
            expected.append(body)
        at += 16 + 14 + len(packet)
    path = written(tmp_path / "a.pcap", build.classic([build.ethernet(packet) for packet in pool]))
    table = Capture(path, ports=[40001], payload=True, chunk_length=rng.choice([70_000, 8 << 20])).read()
    found = [payload for payload in table["payload"].to_pylist() if payload]
    assert found == [datagram[32:length] for datagram, length in map(sent, expected) if length], f"seed {seed}, turn {turn}"


def sent(body: bytes) -> tuple[bytes, int]:
    """Return a datagram's payload and the length of the frame in it, 0 where two datagrams of one id were taken for one."""
    (udp_length,) = struct.unpack(">H", body[4:6])
    datagram = body[8:udp_length]
    (length,) = struct.unpack("<i", datagram[:4])
    return datagram, length if udp_length <= len(body) and -(-length // 32) * 32 == len(datagram) else 0
