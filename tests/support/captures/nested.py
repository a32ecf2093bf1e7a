"""Captures whose packets hold records of captures, made to mislead whoever looks for records in the middle of a file."""

from __future__ import annotations

import random
import struct
from pathlib import Path

from tests.support.captures.layouts import Link

LINK = Link(("10.9.0.1", 50_001), ("10.9.0.2", 50_002))
START_S = 1_700_000_000


def nested(rng: random.Random, path: Path, own: list[bytes], size: int) -> list[int]:
    """Write a capture of about so many bytes: packets of its own, and between them stretches of each kind of nesting.

    Returns the offsets of its records, and its length.
    """
    kinds = (_chains, _ending, _shifted, _parallel, _large)
    packets: list[bytes] = []
    total = 0
    for turn in range(1 << 20):
        if total >= size:
            break
        fresh = [kinds[turn % len(kinds)](rng), *([[rng.choice(own) for _ in range(rng.randint(1, 30))]] if own else [])]
        for stretch in fresh:
            packets += stretch
            total += sum(16 + len(packet) for packet in stretch)
    offsets, out = [], bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
    for number, packet in enumerate(packets):
        offsets.append(len(out))
        out += record(number, packet)
    path.write_bytes(out)
    return [*offsets, len(out)]


def record(number: int, packet: bytes) -> bytes:
    return struct.pack("<IIII", START_S, number, len(packet), len(packet)) + packet


def _around(payload: bytes) -> bytes:
    return LINK.header(len(payload)) + payload


def _inner(rng: random.Random, count: int, largest: int = 300) -> bytes:
    return b"".join(record(rng.randrange(10**9), rng.randbytes(rng.randint(20, largest))) for _ in range(count))


def _chains(rng: random.Random) -> list[bytes]:
    """Pieces of a chain that begin and end anywhere."""
    inner = _inner(rng, 200)
    cuts = [sorted(rng.sample(range(len(inner)), 2)) for _ in range(30)]
    return [_around(inner[start:end][:20_000]) for start, end in cuts]


def _ending(rng: random.Random) -> list[bytes]:
    """Chains that end with the packet, and so go on as the true one."""
    return [_around(_inner(rng, rng.randint(1, 60))) for _ in range(20)]


def _shifted(rng: random.Random) -> list[bytes]:
    """Chains whose last record ends within the next packet, at the header of another one there."""
    out = []
    for _ in range(20):
        inner = _inner(rng, rng.randint(1, 40))
        offset = rng.randint(0, 40)
        # The next packet is made alike: this one's last record leads over its record header, link header and `offset` bytes.
        last = struct.pack("<IIII", START_S, 5, 16 + LINK.length + offset, 16 + LINK.length + offset)
        out += [_around(inner + last), _around(rng.randbytes(offset) + _inner(rng, rng.randint(1, 40)))]
    return out


def _parallel(rng: random.Random) -> list[bytes]:
    """A second chain beside the true one, from packet to packet, for as long as it takes to fill any window that is looked at."""
    out = []
    for _ in range(rng.randint(2, 1500)):
        before, behind = rng.randint(0, 50), rng.randint(0, 1200)
        out.append((before, behind))
    packets = []
    for (before, behind), (following, _) in zip(out, [*out[1:], (0, 0)], strict=True):
        length = behind + 16 + LINK.length + following
        packets.append(_around(rng.randbytes(before) + struct.pack("<IIII", START_S, 7, length, length) + rng.randbytes(behind)))
    return packets


def _large(rng: random.Random) -> list[bytes]:
    """The largest packets that UDP has, full of records, and one that only a capture's own limit bounds."""
    return [_around(_inner(rng, 400)[:60_000]), LINK.header(8) + _inner(rng, 1500, 200)[:200_000]]
