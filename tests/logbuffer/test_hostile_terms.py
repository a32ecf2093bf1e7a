"""Any bytes in a term: every walk agrees with a dumb twin, stays in the term, and ends before a frame that cannot be stepped over."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.logbuffer import rebuild, scan
from aerowire.logbuffer.log import LogBuffers

LENGTH = 2048  # of a term: scanners do not care
TERM = 65_536
MIN, MAX = -(2**31), 2**31 - 1
NONE, MALFORMED = 0, -1
PAD = 0

EDGES = [
    MIN,
    MIN + 1,
    -LENGTH - 1,
    -LENGTH,
    -33,
    -32,
    -31,
    -1,
    0,
    1,
    31,
    32,
    33,
    64,
    LENGTH - 1,
    LENGTH,
    LENGTH + 1,
    1 << 30,
    MAX - 31,
    MAX,
]
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(MIN, MAX), st.integers(0, LENGTH))
TERMS = st.lists(st.tuples(st.one_of(NUMBERS, st.just(0), st.integers(32, 200)), st.sampled_from([PAD, 1, 7])), min_size=64, max_size=64)


def build(slots: list[tuple[int, int]]) -> bytearray:
    """A term in which every 32 bytes begin with a frame length and a type."""
    return bytearray(b"".join(struct.pack("<iBBH24x", length, 0, 0, kind) for length, kind in slots))


def length_at(term: bytearray, offset: int) -> int:
    return int(struct.unpack_from("<i", term, offset)[0])


def step(term: bytearray, offset: int) -> int:
    length, room = length_at(term, offset), len(term) - offset
    if length <= 0:
        return NONE
    aligned = -(-length // 32) * 32
    return aligned if length >= 32 and aligned <= room else MALFORMED


def is_padding(term: bytearray, offset: int) -> bool:
    return struct.unpack_from("<H", term, offset + 6) == (PAD,)


def walk(term: bytearray, offset: int, limit: int) -> tuple[list[int], int]:
    """The offsets of the frames from `offset`, and where the walk ends."""
    found = []
    while offset < limit and step(term, offset) > 0:
        found.append(offset)
        offset += step(term, offset)
    return found, offset


@settings(max_examples=500)
@given(NUMBERS, st.integers(1, 1 << 25))
def test_a_step_is_taken_only_within_the_room(length: int, room_in_slots: int) -> None:
    room = 32 * room_in_slots
    aligned = -(-length // 32) * 32
    expected = NONE if length <= 0 else aligned if length >= 32 and aligned <= room else MALFORMED
    assert scan.step(length, room) == expected


@settings(max_examples=400)
@given(TERMS, st.integers(0, LENGTH // 32 - 1), st.integers(0, LENGTH // 32))
def test_walks_agree_with_their_twin_on_any_bytes(slots: list[tuple[int, int]], begin: int, end: int) -> None:
    term, offset = build(slots), 32 * begin
    limit = max(32 * end, offset)
    found, stop = walk(term, offset, limit)
    assert scan.frames(term, offset, limit) == [(at, length_at(term, at), is_padding(term, at)) for at in found]
    assert scan.contiguous_end(term, offset, limit) == stop
    gap_begin, gap_length = scan.gap(term, offset, limit)
    assert gap_begin == stop
    if stop >= limit:
        assert gap_length == 0
    elif step(term, stop) == MALFORMED:
        assert gap_length == -1
    else:
        assert 32 <= gap_length <= limit - stop
    block_end = scan.block_end(term, offset, limit)
    assert offset <= block_end <= LENGTH
    assert block_end in {offset, *(at + step(term, at) for at in found)}


@pytest.mark.parametrize(("most", "found"), [(32, 32), (64, 64), (65, 96), (1984, 1984), (1 << 30, 1984), (0, 32)])
def test_of_a_long_gap_only_as_much_is_looked_at_as_is_asked_for(most: int, found: int) -> None:
    term = build([(64, 1), (0, 1), *[(0, 1)] * 62])
    assert scan.gap(term, 0, LENGTH, most) == (64, found)


@settings(max_examples=400)
@given(TERMS, st.integers(0, LENGTH // 32 - 1), st.integers(32, 3000))
def test_what_is_sent_lies_within_the_term(slots: list[tuple[int, int]], begin: int, most: int) -> None:
    term, offset = build(slots), 32 * begin
    available, padding = scan.availability(term, offset, most)
    if step(term, offset) == MALFORMED:
        assert (available, padding) == (MIN, 0)
        return
    assert available > MIN
    assert padding >= 0
    assert offset + abs(available) + padding <= LENGTH
    assert available <= most


@pytest.mark.parametrize("claim", [MIN, MIN + 1, -31, -1, -(TERM - 64) - 1, -TERM])
def test_a_claim_that_cannot_be_stepped_over_is_not_made_padding(claim: int, tmp_path: Path) -> None:
    with LogBuffers.create(
        tmp_path / "log", term_length=TERM, mtu_length=1408, initial_term_id=1, session_id=2, stream_id=3, correlation_id=4
    ) as log:
        term = log.term_view(0)
        struct.pack_into("<i", term, 64, claim)
        before = bytes(term)
        assert rebuild.unblock_in_term(log, 0, 64, 4096, 1) == "malformed"
        assert not rebuild.unblock(log, 64)
        assert bytes(term) == before


@pytest.mark.parametrize("length", [1, 31, TERM - 64 + 1, MAX])
def test_a_frame_that_cannot_be_stepped_over_blocks_for_good(length: int, tmp_path: Path) -> None:
    with LogBuffers.create(
        tmp_path / "log", term_length=TERM, mtu_length=1408, initial_term_id=1, session_id=2, stream_id=3, correlation_id=4
    ) as log:
        struct.pack_into("<i", log.term_view(0), 64, length)
        assert rebuild.unblock_in_term(log, 0, 64, 4096, 1) == "malformed"


def test_unblocking_leaves_metadata_of_any_bytes_in_order_of_memory(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    with LogBuffers.create(
        tmp_path / "log", term_length=TERM, mtu_length=1408, initial_term_id=1, session_id=2, stream_id=3, correlation_id=4
    ) as log:
        metadata = log.metadata_view()
        for _ in range(3000):
            metadata[:28] = random.randbytes(28)  # the tails and the count of terms
            for index in range(3):
                struct.pack_into("<i", log.term_view(index), 32 * random.randrange(TERM // 32), random.choice([MIN, -1, 1, 64, MAX]))
            rebuild.unblock(log, random.choice([random.getrandbits(63), random.randrange(3 * TERM), -1, MIN]))
