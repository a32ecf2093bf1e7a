"""Scanners, rebuilding, filling, unblocking and cleaning against dumb twins on random terms."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, DataHeaderEncoder
from aerowire.logbuffer import rebuild, scan
from aerowire.logbuffer.log import LogBuffers

LENGTH = 4096  # of a term in the twins' tests: scanners do not care
TERM = 65_536

# A term as a list of slots: ("data" | "pad" | "hole" | "claim", aligned length)
SLOTS = st.lists(st.tuples(st.sampled_from(["data", "data", "data", "pad", "hole", "claim"]), st.integers(1, 200)), max_size=60)


def aligned(length: int) -> int:
    return -(-length // 32) * 32


def header(kind: str, length: int, offset: int) -> bytes:
    return DataHeaderEncoder.encode(
        frame_length=-length if kind == "claim" else length, type=0 if kind == "pad" else 1, term_offset=offset, term_id=9
    )[:32]


def build(slots: list[tuple[str, int]]) -> tuple[bytearray, dict[int, tuple[str, int]]]:
    """Lay slots out in a term; return it and what stands at each offset."""
    term, at, offset = bytearray(LENGTH), {}, 0
    for kind, body in slots:
        length = 32 + body
        if offset + aligned(length) > LENGTH:
            break
        if kind != "hole":
            term[offset : offset + 32] = header(kind, length, offset)
            at[offset] = (kind, length)
        offset += aligned(length)
    return term, at


def boundaries(at: dict[int, tuple[str, int]]) -> list[int]:
    return [0, *(offset for offset in at), *(offset + aligned(length) for offset, (_, length) in at.items())]


def committed(at: dict[int, tuple[str, int]], offset: int) -> tuple[str, int] | None:
    slot = at.get(offset)
    return slot if slot and slot[0] != "claim" else None


@settings(max_examples=300, deadline=None)
@given(SLOTS, st.integers(1, 1500), st.data())
def test_scanners_agree_with_walks_over_a_dict(slots: list[tuple[str, int]], limit: int, data: st.DataObject) -> None:
    term, at = build(slots)
    offset = data.draw(st.sampled_from(sorted(set(boundaries(at)) - {LENGTH})))

    available, padding, position = 0, 0, offset
    while (slot := committed(at, position)) and available < min(limit, LENGTH - offset):
        if slot[0] == "pad":
            if available + 32 <= limit:
                available, padding = available + 32, aligned(slot[1]) - 32
            else:
                available = available or -32
            break
        if available + aligned(slot[1]) > min(limit, LENGTH - offset):
            available = available or -aligned(slot[1])
            break
        available += aligned(slot[1])
        position += aligned(slot[1])
    assert scan.availability(term, offset, limit) == (available, padding)

    end = min(LENGTH, offset + limit // 32 * 32)
    position = offset
    while position < end and (slot := committed(at, position)):
        if slot[0] == "pad":
            position += aligned(slot[1]) if position == offset else 0
            break
        if position + aligned(slot[1]) > end:
            break
        position += aligned(slot[1])
    assert scan.block_end(term, offset, end) == position

    found, position = [], offset
    while position < LENGTH and (slot := committed(at, position)):
        found.append((position, slot[1], slot[0] == "pad"))
        position += aligned(slot[1])
    assert scan.frames(term, offset, LENGTH) == found
    assert scan.contiguous_end(term, offset, LENGTH) == position
    hole_end = position
    if position < LENGTH:
        hole_end += 32
        while hole_end < LENGTH and hole_end not in at:
            hole_end += 32
    assert scan.gap(term, offset, LENGTH) == (position, hole_end - position)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_any_order_of_datagrams_rebuilds_the_term(bodies: list[int], random: Random) -> None:
    source, packets, offset = bytearray(LENGTH * 4), [], 0
    for number, body in enumerate(bodies):
        frame = (header("data", 32 + body, offset) + bytes([number + 1]) * body).ljust(aligned(32 + body), b"\0")
        source[offset : offset + len(frame)] = frame
        packets.append((offset, bytes(frame)))
        offset += len(frame)
    twice = packets * 2
    random.shuffle(twice)
    term, seen = bytearray(LENGTH * 4), set()
    for at, packet in twice:
        assert rebuild.insert(term, at, packet) == (at not in seen)
        seen.add(at)
    assert term == source


def test_scanners_stay_within_the_term() -> None:
    term = bytearray(1024)
    for look in (scan.block_end, scan.contiguous_end, scan.gap, scan.frames):
        for bounds in ((-32, 1024), (0, 1025), (1025, 1025), (64, 32)):
            with pytest.raises(ValueError, match=r"\[-?\d+, \d+\) is no part of a term of 1024 bytes"):
                look(term, *bounds)
    for offset in (-32, 1025):
        with pytest.raises(ValueError, match="is no part of a term"):
            scan.availability(term, offset, 32)


def test_inserted_datagram_may_hold_several_frames_and_must_fit() -> None:
    term = bytearray(1024)
    packet = header("data", 40, 0) + bytes(32) + header("data", 33, 64) + bytes(32)
    assert rebuild.insert(term, 0, packet)
    assert scan.frames(term, 0, 1024) == [(0, 40, False), (64, 33, False)]
    assert not rebuild.insert(term, 64, packet[64:])
    for offset, bad in ((0, bytes(31)), (1024 - 32, packet), (-32, packet)):
        with pytest.raises(ValueError, match="fit"):
            rebuild.insert(term, offset, bad)


@pytest.fixture
def log(tmp_path: Path) -> LogBuffers:
    return LogBuffers.create(
        tmp_path / "log", term_length=TERM, mtu_length=1408, initial_term_id=9, session_id=3, stream_id=4, correlation_id=1, sparse=True
    )


def claim(log: LogBuffers, offset: int, length: int) -> None:
    log.term_view(0)[offset : offset + 32] = header("claim", length, offset)


def commit(log: LogBuffers, offset: int, length: int) -> None:
    log.term_view(0)[offset : offset + 32] = header("data", length, offset)


def test_gap_is_filled_only_while_it_is_empty(log: LogBuffers) -> None:
    commit(log, 0, 64)
    commit(log, 192, 64)
    assert not rebuild.fill(log, 0, 9, 64, 192)
    assert rebuild.fill(log, 0, 9, 64, 128)
    assert scan.frames(log.term_view(0), 0, TERM) == [(0, 64, False), (64, 128, True), (192, 64, False)]
    padding = DataHeaderDecoder(log.term_view(0), 64)
    assert (padding.term_id, padding.term_offset, padding.session_id, padding.stream_id, padding.flags) == (9, 64, 3, 4, 0xC0)
    assert not rebuild.fill(log, 0, 9, 64, 128)


def test_claim_with_a_length_is_unblocked_by_it(log: LogBuffers) -> None:
    claim(log, 0, 100)
    assert rebuild.unblock_in_term(log, 0, 0, 128, 9) == "unblocked"
    assert scan.frames(log.term_view(0), 0, TERM) == [(0, 100, True)]
    assert rebuild.unblock_in_term(log, 0, 0, 128, 9) == "none"


def test_claim_without_a_length_is_unblocked_up_to_the_next_frame(log: LogBuffers) -> None:
    assert rebuild.unblock_in_term(log, 0, 0, 256, 9) == "none"
    claim(log, 192, 64)
    assert rebuild.unblock_in_term(log, 0, 0, 256, 9) == "unblocked"
    assert scan.frames(log.term_view(0), 0, TERM) == [(0, 192, True)]


def test_claim_at_the_end_of_the_term_is_unblocked_to_the_end(log: LogBuffers) -> None:
    assert rebuild.unblock_in_term(log, 0, TERM - 96, TERM, 9) == "unblocked to end"
    assert scan.frames(log.term_view(0), TERM - 96, TERM) == [(TERM - 96, 96, True)]


def set_tail(log: LogBuffers, index: int, term_id: int, offset: int) -> None:
    log.metadata_view()[index * 8 : index * 8 + 8] = (term_id << 32 | offset).to_bytes(8, "little", signed=True)


def test_unblocking_a_log_rotates_when_the_term_is_done(log: LogBuffers) -> None:
    set_tail(log, 0, 9, TERM + 64)
    assert rebuild.unblock(log, TERM - 64)  # a dead claim to the end: padding, and on to the next term
    assert log.term_count == 1
    assert log.tails[1] == (10, 0)
    assert not rebuild.unblock(log, TERM)


def test_unblocking_a_full_term_whose_writer_never_rotated(log: LogBuffers) -> None:
    set_tail(log, 0, 9, TERM)
    assert rebuild.unblock(log, TERM)
    assert (log.term_count, log.tails[1]) == (1, (10, 0))


def test_unblocking_in_the_middle(log: LogBuffers) -> None:
    set_tail(log, 0, 9, 256)
    claim(log, 64, 100)
    assert rebuild.unblock(log, 64)
    assert log.term_count == 0
    assert scan.frames(log.term_view(0), 64, TERM) == [(64, 100, True)]


@given(st.integers(0, 500), st.integers(8, 500))
def test_cleaning_zeroes_exactly_its_range(begin: int, length: int) -> None:
    begin = begin // 8 * 8
    term = bytearray(b"\xff" * 1024)
    length = min(length, 1024 - begin)
    rebuild.clean(term, begin, length)
    assert term == b"\xff" * begin + bytes(length) + b"\xff" * (1024 - begin - length)
    for bad in ((0, 7), (-8, 16), (1020, 8)):
        with pytest.raises(ValueError, match="clean"):
            rebuild.clean(term, *bad)
