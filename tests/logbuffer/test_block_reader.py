"""Blocks of a log by position: whole frames up to a limit, padding alone, and nothing beyond the term whatever the frames say."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.block_reader import block_at
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.logbuffer.log import LogBuffers
from tests.logbuffer.test_hostile_terms import NUMBERS

TERM = 65_536
FIRST_TERM_ID = (1 << 31) - 1  # the second term's wraps
NONE, MALFORMED = 0, -1
NO_LIMIT = (1 << 63) - 1
PAD, DATA = 0, 1
SLOTS = 64  # at the end of the term


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogBuffers]:
    with LogBuffers.create(
        tmp_path / "log", term_length=TERM, mtu_length=1408, initial_term_id=FIRST_TERM_ID, session_id=2, stream_id=3, correlation_id=4
    ) as opened:
        yield opened


def put(log: LogBuffers, index: int, offset: int, length: int, kind: int = DATA) -> None:
    struct.pack_into("<iBBH", log.term_view(index), offset, length, 0, 0, kind)


def test_blocks_are_whole_frames_within_both_limits(log: LogBuffers) -> None:
    for offset, length in ((0, 32), (32, 100), (160, 64), (224, 33)):
        put(log, 1, offset, length)
    begin = TERM

    def found(position: int, limit: int = NO_LIMIT, most: int = TERM) -> tuple[int, int, int, bool] | int:
        block = block_at(log, begin + position, limit, most)
        return block if isinstance(block, int) else (len(block[0]), block[1] - begin, *block[2:])

    second = -(1 << 31)
    assert found(0) == (288, 0, second, False)
    assert found(32) == (256, 32, second, False)
    assert found(0, most=160) == (160, 0, second, False)
    assert found(0, most=191) == (160, 0, second, False)
    assert found(0, most=31) == NONE
    assert found(32, most=100) == NONE
    assert found(0, limit=begin + 160) == (160, 0, second, False)
    assert found(0, limit=begin + 159) == (32, 0, second, False)
    assert found(32, limit=begin + 159) == NONE
    assert found(160, limit=begin + 160) == NONE
    assert found(160, limit=0) == NONE
    assert found(288) == NONE
    assert found(5) == (288, 5, second, False)


def test_padding_comes_alone_and_not_beyond_the_limit(log: LogBuffers) -> None:
    put(log, 0, TERM - 4096, 32)
    put(log, 0, TERM - 4064, 4064, PAD)
    assert block_at(log, TERM - 4096, NO_LIMIT, TERM) == (bytes(log.term_view(0)[-4096:-4064]), TERM - 4096, FIRST_TERM_ID, False)
    padding = block_at(log, TERM - 4064, NO_LIMIT, 32)
    assert padding == (bytes(log.term_view(0)[-4064:]), TERM - 4064, FIRST_TERM_ID, True)
    assert block_at(log, TERM - 4064, TERM, 32) == padding
    assert block_at(log, TERM - 4064, TERM - 32, TERM) == NONE


def test_what_was_appended_is_read_in_blocks(log: LogBuffers, seed: int) -> None:
    rng = Random(seed)
    counters = CountersManager(bytearray(512), bytearray(128))
    counters.set_value(counters.allocate("limit"), 1 << 40)
    appender = ExclusiveAppender(log, counters, 0, 2, 3)
    position = 0
    for _ in range(300):
        end = appender.append(rng.randbytes(rng.randrange(3000)))
        while position < end:
            block = block_at(log, position, end, rng.choice((3200, 8192)))
            assert isinstance(block, tuple)
            octets, begin, term_id, _ = block
            assert begin == position
            assert term_id == (FIRST_TERM_ID + position // TERM + (1 << 31)) % (1 << 32) - (1 << 31)
            position += len(octets)
    assert position > 4 * TERM


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.one_of(NUMBERS, st.just(0), st.integers(32, 200)), st.sampled_from([PAD, DATA, 7])), min_size=SLOTS, max_size=SLOTS
    ),
    st.integers(0, 32 * SLOTS - 1),
    st.one_of(st.integers(0, TERM + 64), st.sampled_from([NO_LIMIT, -1, -(1 << 63)])),
    st.one_of(NUMBERS, st.integers(0, TERM)),
)
def test_nothing_beyond_the_term_is_read_whatever_the_frames_say(
    log: LogBuffers, slots: list[tuple[int, int]], offset: int, limit: int, most: int
) -> None:
    start = TERM - 32 * SLOTS
    for number, (length, kind) in enumerate(slots):
        put(log, 0, start + 32 * number, length, kind)
    position = start + offset
    begin = position // 32 * 32
    length = struct.unpack_from("<i", log.term_view(0), begin)[0]
    found = block_at(log, position, limit, most)
    if length > 0 and not 32 <= length <= TERM - begin:
        assert found == MALFORMED
    elif isinstance(found, tuple):
        octets, at, term_id, is_padding = found
        assert (at, term_id) == (position, FIRST_TERM_ID)
        assert position + len(octets) <= limit
        assert begin + len(octets) <= TERM
        assert is_padding or len(octets) <= most
        assert bytes(log.term_view(0)[begin : begin + len(octets)]) == octets
    else:
        step = -(-length // 32) * 32
        assert found == NONE
        assert length <= 0 or position + step > limit or step > most
