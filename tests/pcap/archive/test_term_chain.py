"""The native walk along recorded frames does as the one in Python, on sound and on broken chains."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from aerowire.pcap.archive import term_chain_fallback

term_chain = pytest.importorskip("aerowire.pcap.archive.term_chain")


def chain(rng: random.Random) -> bytes:
    out = b""
    for _ in range(rng.randrange(40)):
        length = rng.choice((32, 33, 64, 100, 1408, 1409, rng.randrange(32, 1500)))
        kind = rng.choice((0, 1, 1, 1, 1))
        body = b"" if kind == 0 and rng.random() < 0.5 else rng.randbytes(length - 32)
        out += struct.pack("<iBBH", length, 0, 0xC0, kind) + bytes(24) + body
        out += bytes(-len(out) % 32)
    data = bytearray(out + bytes(rng.randrange(3) * 32))
    for _ in range(rng.choice((0, 0, 1, 3))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def test_both_walks_give_the_same(seed: int) -> None:
    rng = random.Random(seed)
    reasons = set()
    for turn in range(2000):
        buffer = np.frombuffer(chain(rng), dtype=np.uint8)
        end = rng.randint(0, buffer.size)
        term_end = rng.choice((end, buffer.size, buffer.size + 4096))
        native = term_chain.walk_frames(buffer, 0, end, term_end, 1408)
        python = term_chain_fallback.walk_frames(buffer, 0, end, term_end, 1408)
        assert native[1:] == python[1:], f"seed {seed}, turn {turn}"
        assert native[0].tolist() == python[0].tolist(), f"seed {seed}, turn {turn}"
        reasons.add(native[2])
    assert reasons == {term_chain_fallback.MORE, term_chain_fallback.EMPTY, term_chain_fallback.IMPLAUSIBLE}


@pytest.mark.parametrize("walk", [term_chain, term_chain_fallback])
def test_refuses_to_leave_the_buffer(walk: object) -> None:
    with pytest.raises(ValueError, match="leaves a buffer of 32 bytes"):
        walk.walk_frames(np.zeros(32, np.uint8), 0, 64, 64, 1408)  # type: ignore[attr-defined]
