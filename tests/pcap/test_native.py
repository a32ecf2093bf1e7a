"""The native modules against what they are short cuts for: the same datagrams, frames and columns from the same bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.pcap import Capture
from aerowire.pcap.arrays import arrow_memory, columns, columns_fallback, keys, keys_fallback
from aerowire.pcap.arrays.blocks import Gather, PacketBlock
from aerowire.pcap.files import chain, chain_fallback
from aerowire.pcap.frames import frame_columns, frames, plain_frames_fallback
from aerowire.pcap.packets import link_layers, plain_datagrams_fallback
from aerowire.pcap.packets.datagrams import Datagrams
from aerowire.pcap.packets.fragments import Reassembler
from aerowire.pcap.statistics import Statistics

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
SEED = 20_261
ROUNDS = 300


def block_of(packets: list[bytes], link_type: int) -> PacketBlock:
    """Packets one behind the other, as a reader hands them on."""
    lengths = np.array([len(packet) for packet in packets], dtype=np.int64)
    ends = np.cumsum(lengths)
    return PacketBlock(
        buffer=np.frombuffer(b"".join(packets), dtype=np.uint8),
        starts=ends - lengths,
        ends=ends,
        originals=lengths,
        ts_ns=np.zeros(lengths.size, dtype=np.int64),
        first_index=0,
        link_types=np.full(lengths.size, link_type, dtype=np.int64),
        positions=ends - lengths,
        stop=int(ends[-1]) if packets else 0,
    )


def random_packet(rng: random.Random, link_type: int) -> bytes:
    """A packet that may be whole, of several kinds, and may be damaged anywhere."""
    payload = rng.randbytes(rng.randrange(0, 80))
    udp = rng.randbytes(4) + (8 + len(payload)).to_bytes(2, "big") + b"\0\0" + payload
    if rng.random() < 0.5:
        options = bytes(4 * rng.choice((0, 0, 0, 1, 10)))
        total = 20 + len(options) + len(udp)
        fragment = rng.choice((0, 0, 0, 0, 0x4000, 0x2000, 0x0005))
        header = bytes([0x45 + len(options) // 4, 0]) + total.to_bytes(2, "big") + b"\0\1" + fragment.to_bytes(2, "big") + b"\x40\x11\0\0"
        network, ethertype = header + rng.randbytes(8) + options + udp, b"\x08\x00"
    else:
        network, ethertype = b"\x60\0\0\0" + len(udp).to_bytes(2, "big") + b"\x11\x40" + rng.randbytes(32) + udp, b"\x86\xdd"
    tags = b"".join(
        rng.choice((b"\x81\0", b"\x88\xa8", b"\x91\0", b"\x92\0")) + b"\0\x07" for _ in range(rng.choice((0, 0, 0, 1, 2, 4, 5)))
    )
    if link_type == 1:
        packet = rng.choice((link_layers.DROPPED_SOURCE, bytes(6))).join((rng.randbytes(6), tags + ethertype + network))
    elif link_type == 113:
        packet = bytes(14) + ethertype + network
    else:
        packet = ethertype + bytes(18) + network
    damaged = bytearray(packet)
    if rng.random() < 0.3:
        damaged[rng.randrange(min(70, len(damaged)))] = rng.randrange(256)
    return bytes(damaged[: rng.randrange(len(damaged) + 1)]) if rng.random() < 0.2 else bytes(damaged)


def decoded(block: PacketBlock) -> tuple[Datagrams, dict[str, Any]]:
    statistics = Statistics()
    return link_layers.decode(block, Gather(block.buffer), statistics, Reassembler()), statistics.to_dict()


def same(one: Any, other: Any, names: tuple[str, ...]) -> None:
    for name in names:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


DATAGRAM_COLUMNS = ("rows", "starts", "lengths", "captured_ends", "keys4", "keys6", "is_ip6", "dropped")
FRAME_COLUMNS = ("datagrams", "offsets", "indexes", "types", "verdicts", "broken", "truncated")


@pytest.mark.parametrize("link_type", [1, 113, 276])
def test_simple_packets_are_decoded_as_all_packets_are(monkeypatch: pytest.MonkeyPatch, link_type: int) -> None:
    rng = random.Random(SEED + link_type)
    found = 0
    for _ in range(ROUNDS):
        packets = [random_packet(rng, link_type) for _ in range(rng.randrange(1, 12))]
        quick, quick_counts = decoded(block_of(packets, link_type))
        with monkeypatch.context() as patch:
            patch.setattr(link_layers, "find_plain_datagrams", plain_datagrams_fallback.find_plain_datagrams)
            slow, slow_counts = decoded(block_of(packets, link_type))
        same(quick, slow, DATAGRAM_COLUMNS)
        assert quick_counts == slow_counts
        found += quick.count
    assert found > ROUNDS, "the generator makes packets that are datagrams"


def random_control(rng: random.Random) -> bytes:
    """A control frame with fields in their ranges, at their edges, or beyond."""
    kind = rng.choice(sorted(frames.LAYOUTS))
    layout = frames.LAYOUTS[kind]
    record = np.zeros(1, dtype=layout)
    for name in layout.names or ():
        if record.dtype[name].kind in "iu":
            bits = 8 * record.dtype[name].itemsize
            record[name] = rng.choice((0, 0, 32, 64, 1408, 33, 1 << 16, 1 << 20, 1 << 30, (1 << 30) - 32, -1, -32)) % (1 << bits - 1)
            if bits == 32 and rng.random() < 0.05:
                record[name] = -rng.choice((1, 32))
    body = rng.randbytes(rng.choice((0, 0, 0, 8, 40)))
    record["frame_length"] = layout.itemsize + len(body) if rng.random() < 0.9 else rng.randrange(100)
    record["version"], record["type"] = 0 if rng.random() < 0.95 else 1, int(kind)
    return (record.tobytes() + body)[: 1000 if rng.random() < 0.9 else rng.randrange(50)]


def random_datagram(rng: random.Random) -> bytes:
    """Frames that follow each other, or nearly."""
    if rng.random() < 0.5:
        return random_control(rng)
    out, offset = b"", 32 * rng.randrange(100)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        length = rng.choice((0, 32, 33, 64, 100, 1408, rng.randrange(-40, 200)))
        kind = rng.choice((1, 1, 1, 1, 0, 2, 3, 5))
        body = bytes(max(0, (length + 31 & -32) - 32)) if kind == 1 else b""
        out += length.to_bytes(4, "little", signed=True) + bytes([0, 0xC0]) + kind.to_bytes(2, "little")
        out += offset.to_bytes(4, "little") + rng.randbytes(20) + body
        offset += (length + 31 & -32) if rng.random() < 0.97 else 32
    damaged = bytearray(out)
    if rng.random() < 0.2:
        damaged[rng.randrange(min(40, len(damaged)))] = rng.randrange(256)
    return bytes(damaged)


def test_frames_of_simple_datagrams_are_found_as_those_of_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(SEED)
    found = left = 0
    kinds: set[int] = set()
    for _ in range(ROUNDS):
        data = [random_datagram(rng) for _ in range(rng.randrange(1, 12))]
        lengths = np.array([len(one) for one in data], dtype=np.int64)
        ends = np.cumsum(lengths)
        cut = np.array([rng.randrange(length + 1) if rng.random() < 0.1 else length for length in lengths.tolist()], dtype=np.int64)
        none = np.zeros(lengths.size, dtype=bool)
        keys4, keys6 = np.zeros((lengths.size, 12), dtype=np.uint8), np.zeros((0, 36), dtype=np.uint8)
        datagrams = Datagrams(np.arange(lengths.size), ends - lengths, lengths, ends - lengths + cut, keys4, keys6, none, none)
        gather = Gather(np.frombuffer(b"".join(data), dtype=np.uint8))
        quick = frames.decode(gather, datagrams)
        with monkeypatch.context() as patch:
            patch.setattr(frames, "find_plain_frames", plain_frames_fallback.find_plain_frames)
            slow = frames.decode(gather, datagrams)
        same(quick, slow, FRAME_COLUMNS)
        found += quick.offsets.size
        kinds |= set(quick.types.tolist())
        left += int((quick.verdicts != 0).sum())
    assert found > ROUNDS
    assert kinds == set(map(int, frames.LAYOUTS)) - {int(FrameType.RES)}, "the generator makes good frames of all kinds but RES"
    assert left > ROUNDS, "the generator makes datagrams that break rules"


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.glob("*.pcap")))
def test_a_capture_gives_the_same_table_without_native_modules(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    quick = Capture(CAPTURES / name, payload=True).read()
    monkeypatch.setattr(link_layers, "find_plain_datagrams", plain_datagrams_fallback.find_plain_datagrams)
    monkeypatch.setattr(frames, "find_plain_frames", plain_frames_fallback.find_plain_frames)
    monkeypatch.setattr(frame_columns, "copy_headers", columns_fallback.copy_headers)
    monkeypatch.setattr(frame_columns, "spread_field", columns_fallback.spread_field)
    monkeypatch.setattr(arrow_memory, "spread_texts", columns_fallback.spread_texts)
    monkeypatch.setattr(arrow_memory, "spread_texts_length", columns_fallback.spread_texts_length)
    slow = Capture(CAPTURES / name, payload=True).read()
    assert quick.equals(slow, check_metadata=True)
    assert quick.num_rows
    quick.validate(full=True)


def test_records_and_their_headers_are_read_alike() -> None:
    rng = random.Random(SEED)
    for _ in range(ROUNDS):
        data = b"".join(
            rng.randbytes(8) + length.to_bytes(4, "little") + rng.randbytes(4) + bytes(length)
            for length in (rng.choice((0, 60, 61, 600, 3000, 70_000)) for _ in range(rng.randrange(8)))
        )
        buffer = np.frombuffer(data + rng.randbytes(rng.randrange(40)), dtype=np.uint8)
        end = rng.randrange(buffer.size + 1)
        for little in (True, False):
            native = chain.read_records(buffer, 0, end, little, 60_000)
            python = chain_fallback.read_records(buffer, 0, end, little, 60_000)
            assert [part.tolist() for part in native[:2]] == [part.tolist() for part in python[:2]]
            assert native[2:] == python[2:]


@pytest.mark.parametrize("copy", [columns.copy_headers, columns_fallback.copy_headers])
def test_a_header_at_the_end_of_the_buffer_is_filled_up_with_zeros(copy: Callable[..., Any]) -> None:
    buffer = np.arange(10, dtype=np.uint8)
    assert copy(buffer, np.array([0, 7, 10]), 4).tolist() == [[0, 1, 2, 3], [7, 8, 9, 0], [0, 0, 0, 0]]
    for offset in (-1, 11):
        with pytest.raises(IndexError, match=rf"header at {offset} is outside of a buffer of 10 bytes"):
            copy(buffer, np.array([0, offset]), 4)


@pytest.mark.parametrize("spread", [columns.spread_field, columns_fallback.spread_field])
def test_a_field_is_spread_from_where_each_kind_has_it(spread: Callable[..., Any]) -> None:
    headers = np.arange(24, dtype=np.uint8).reshape(3, 8)
    kinds, out = np.array([0, 1, 2]), np.full(6, 99, dtype=np.uint8)
    spread(headers, kinds, np.array([6, -1, 0]), 2, out)
    assert out.tolist() == [6, 7, 0, 0, 16, 17]
    for size in (1, 4, 8):
        wide = np.full(3 * size, 99, dtype=np.uint8)
        spread(headers, kinds, np.array([0, -1, 8 - size]), size, wide)
        assert wide.reshape(3, size).tolist() == [headers[0, :size].tolist(), [0] * size, headers[2, 8 - size :].tolist()]
    with pytest.raises(ValueError, match="field of 2 bytes at 7 leaves a header of 8 bytes"):
        spread(headers, kinds, np.array([7, -1, 0]), 2, out)
    with pytest.raises(ValueError, match="kind 2 has no place among 2"):
        spread(headers, kinds, np.array([0, 0]), 2, out)
    with pytest.raises(ValueError, match="3 headers, 3 kinds, 6 bytes for fields of 4"):
        spread(headers, kinds, np.array([0, 0, 0]), 4, out)


@pytest.mark.parametrize("module", [columns, columns_fallback])
def test_texts_are_spread_by_their_numbers(module: Any) -> None:
    texts, numbers = [b"one", b"", b"three"], np.array([2, 0, 1, 2])
    length = module.spread_texts_length(texts, numbers)
    offsets, out = np.empty(5, dtype=np.int32), np.empty(length, dtype=np.uint8)
    module.spread_texts(texts, numbers, offsets, out)
    assert (offsets.tolist(), out.tobytes()) == ([0, 5, 8, 8, 13], b"threeonethree")
    with pytest.raises(ValueError, match="text 3 of 3"):
        module.spread_texts_length(texts, np.array([0, 3]))
    with pytest.raises(ValueError, match=r"texts of [0-9]+ bytes for a room of 12"):
        module.spread_texts(texts, numbers, offsets, out[:12].copy())
    with pytest.raises(ValueError, match="4 offsets for 4 texts"):
        module.spread_texts(texts, numbers, offsets[:4].copy(), out)


def test_columns_stand_in_the_memory_of_arrow() -> None:
    """Arrow's own threads may drop them while the interpreter ends: whoever holds memory of NumPy's needs the interpreter for that."""
    table = Capture(CAPTURES / "unicast_simple.pcap", payload=True).read()
    import pyarrow as pa  # type: ignore[import-untyped]

    before = pa.total_allocated_bytes()
    size = sum(buffer.size for column in table.columns for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None)
    del table
    assert before - pa.total_allocated_bytes() >= size


@pytest.mark.parametrize("width", [1, 7, 12, 36])
def test_keys_are_numbered_as_they_are_met(width: int) -> None:
    rng = random.Random(SEED + width)
    native, python = keys.KeyTable(width), keys_fallback.KeyTable(width)
    some = [rng.randbytes(width) for _ in range(5000)]
    for count in (0, 1, 10, 4000, 9000):
        chosen = b"".join(rng.choice(some[: count + 1]) for _ in range(count))
        data = np.frombuffer(chosen, dtype=np.uint8).reshape(-1, width)
        assert native.number(data).tolist() == python.number(data).tolist()
        assert native.keys_from(0) == python.keys_from(0)
        assert (len(native), native.keys_from(len(native) - 1)) == (len(python), python.keys_from(len(python) - 1))
    assert len(native) > 3000 if width > 1 else len(native) == 256
    for table in (native, python):
        with pytest.raises(ValueError, match=rf"keys of 3 bytes; expected {width}"):
            table.number(np.zeros((1, 3), dtype=np.uint8))


@pytest.mark.parametrize("kind", [keys.KeyTable, keys_fallback.KeyTable])
def test_keys_have_a_width(kind: Any) -> None:
    with pytest.raises(ValueError, match="keys of 0 bytes; expected at least 1"):
        kind(0)
