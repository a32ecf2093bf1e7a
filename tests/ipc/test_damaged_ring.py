"""The command ring with bytes that none of its writers writes: the reader skips what it must, says so, and serves the next writer."""

from __future__ import annotations

import random

import pytest

from aerowire.codecs.flyweights.cnc import RingTrailerDecoder
from aerowire.ipc.damage import Damage
from aerowire.ipc.ring_buffer import ManyToOneRingBuffer
from aerowire.memory.region import Region

CAPACITY = 1024
TRAILER = RingTrailerDecoder.ENCODED_LENGTH
HEAD = CAPACITY + RingTrailerDecoder.HEAD_POSITION_OFFSET
HEAD_CACHE = CAPACITY + RingTrailerDecoder.HEAD_CACHE_POSITION_OFFSET
TAIL = CAPACITY + RingTrailerDecoder.TAIL_POSITION_OFFSET
TYPE = 7


def ring() -> tuple[ManyToOneRingBuffer, memoryview]:
    memory = memoryview(Region.anonymous(CAPACITY + TRAILER))[: CAPACITY + TRAILER]
    return ManyToOneRingBuffer(memory), memory


def put(memory: memoryview, at: int, value: int, size: int) -> None:
    memory[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def position(memory: memoryview, at: int) -> int:
    return int.from_bytes(memory[at : at + 8], "little", signed=True)


def assert_serves(buffer: ManyToOneRingBuffer, memory: memoryview) -> None:
    """One read brings the ring back; the next message comes through, and nothing is left over."""
    buffer.poll()
    assert buffer.offer(TYPE, b"next")
    assert buffer.poll() == [(TYPE, b"next")]
    assert position(memory, HEAD) == position(memory, TAIL)
    assert bytes(memory[:CAPACITY]) == bytes(CAPACITY)


@pytest.mark.parametrize("length", [2**31 - 1, 2**31 - 8, 1, 7, 100_000, 1025, 41, -1, -7, -(2**31), -(2**31) + 8, -2000])
@pytest.mark.parametrize("kind", [TYPE, -1])
def test_a_record_that_cannot_be_stepped_over_is_skipped_with_what_is_claimed_behind_it(length: int, kind: int) -> None:
    buffer, memory = ring()
    for body in (b"good", b"bad.", b"lost"):
        assert buffer.offer(TYPE, body)
    put(memory, 16, length, 4)
    put(memory, 20, kind, 4)
    assert buffer.poll() == [(TYPE, b"good")]
    assert buffer.take_damage() == Damage(16, "record length", "8 to 32", length)
    assert buffer.take_damage() is None
    assert buffer.damage_count == 1
    assert_serves(buffer, memory)


def test_what_stands_at_the_start_of_the_memory_is_not_lost_with_a_bad_record_at_its_end() -> None:
    buffer, memory = ring()
    for _ in range(31):
        buffer.write(TYPE, bytes(24))
    buffer.poll()
    buffer.write(TYPE, bytes(16))
    buffer.write(TYPE, b"begin")
    put(memory, 992, 2**31 - 1, 4)
    assert [*buffer.poll(), *buffer.poll()] == [(TYPE, b"begin")]
    assert buffer.damage_count == 1
    assert_serves(buffer, memory)


@pytest.mark.parametrize(
    "tail", [0, -8, 16, 2048 + 8, 40_000, 2**62, 2**63 - 8, -(2**63), 2**63 - 1, 1, 36, 40 + CAPACITY + 8, -1, 2**31, 2**32 + 40]
)
def test_a_tail_that_no_writer_leaves_is_set_back_to_the_head(tail: int) -> None:
    buffer, memory = ring()
    buffer.write(TYPE, bytes(24))
    buffer.poll()
    put(memory, TAIL, tail, 8)
    buffer.poll()
    damage = buffer.take_damage()
    assert damage is not None
    assert (damage.offset, damage.field, damage.actual) == (32, "tail position", tail)
    assert position(memory, HEAD) == position(memory, TAIL) == 32
    assert_serves(buffer, memory)


def test_whole_records_are_read_before_a_tail_is_set_back() -> None:
    buffer, memory = ring()
    buffer.write(TYPE, b"first")
    buffer.write(TYPE, b"second")
    put(memory, TAIL, 5 * CAPACITY, 8)
    assert buffer.poll() == [(TYPE, b"first"), (TYPE, b"second")]
    assert buffer.damage_count == 1
    assert_serves(buffer, memory)


@pytest.mark.parametrize("head", [0, 8, 33, -1, 36, 1 << 20, 2**63 - 1, -(2**63), 48, 2**63 - 8])
def test_a_head_that_is_not_the_readers_is_written_anew(head: int) -> None:
    buffer, memory = ring()
    buffer.write(TYPE, bytes(24))
    buffer.poll()
    buffer.write(TYPE, b"kept")
    put(memory, HEAD, head, 8)
    assert buffer.poll() == [(TYPE, b"kept")]
    damage = buffer.take_damage()
    assert damage is not None
    assert (damage.offset, damage.field, damage.actual) == (32, "head position", head)
    assert_serves(buffer, memory)


@pytest.mark.parametrize("head", [3, -8, -1, 2**63 - 1])
def test_a_head_that_is_bad_at_the_first_look_begins_anew(head: int) -> None:
    buffer, memory = ring()
    put(memory, HEAD, head, 8)
    buffer.poll()
    assert buffer.damage_count > 0
    assert_serves(buffer, memory)


def test_positions_at_the_end_of_the_numbers_wrap_and_begin_anew() -> None:
    buffer, memory = ring()
    for at in (HEAD, HEAD_CACHE, TAIL):
        put(memory, at, 2**63 - 32, 8)
    assert buffer.offer(TYPE, bytes(24))
    assert buffer.poll() == [(TYPE, bytes(24))]  # the sanitizer build reports a sum that overflows
    assert_serves(buffer, memory)


def test_a_head_cache_ahead_of_the_head_is_set_back_before_a_writer_believes_it() -> None:
    buffer, memory = ring()
    put(memory, HEAD_CACHE, 512, 8)
    buffer.poll()
    assert position(memory, HEAD_CACHE) == 0
    while buffer.offer(TYPE, bytes(24)):
        pass
    assert len(buffer.poll()) == CAPACITY // 32


def test_bytes_that_no_claim_covers_are_no_record() -> None:
    buffer, memory = ring()
    put(memory, 0, 24, 4)
    put(memory, 4, TYPE, 4)
    assert buffer.poll() == []
    assert buffer.take_damage() == Damage(0, "record length", "8 to 0", 24)
    assert_serves(buffer, memory)


@pytest.mark.parametrize("ahead", [CAPACITY, CAPACITY - 8, CAPACITY // 2 + 8])
@pytest.mark.parametrize("begin", [0, 256])
def test_claims_without_a_byte_that_leave_no_room_are_padded_when_their_time_is_over(ahead: int, begin: int) -> None:
    buffer, memory = ring()
    for _ in range(begin // 32):
        buffer.write(TYPE, bytes(24))
        buffer.poll()
    put(memory, TAIL, begin + ahead, 8)
    assert buffer.poll() == []
    assert buffer.damage_count == 0  # writers may have claimed so much
    assert buffer.unblock()
    assert buffer.poll() == []
    assert_serves(buffer, memory)


def test_claims_without_a_byte_beside_which_every_message_fits_wait_for_their_writer() -> None:
    buffer, memory = ring()
    put(memory, TAIL, CAPACITY // 2, 8)
    assert buffer.poll() == []
    assert not buffer.unblock()
    assert buffer.offer(TYPE, bytes(buffer.max_message_length))
    assert buffer.unblock()
    assert len(buffer.poll()) == 1


def test_a_writer_takes_no_room_by_positions_that_are_damaged() -> None:
    for tail, head in ((36, 0), (0, 64), (-8, 0), (1 << 40, 0), (0, 2**63 - 8)):
        buffer, memory = ring()
        put(memory, TAIL, tail, 8)
        put(memory, HEAD, head, 8)
        put(memory, HEAD_CACHE, head, 8)
        assert not buffer.offer(TYPE, b"x")
        assert position(memory, TAIL) == tail
        assert 0 <= buffer.size <= CAPACITY


@pytest.mark.parametrize("round_", range(20))
def test_random_damage_costs_neither_the_reader_nor_the_next_writer(seed: int, round_: int) -> None:
    draw = random.Random(f"{seed} {round_}")
    buffer, memory = ring()
    for _ in range(200):
        for _ in range(draw.randrange(4)):
            buffer.offer(draw.randrange(1, 20), draw.randbytes(draw.randrange(60)))
        for _ in range(draw.randrange(3)):
            at = draw.choice((HEAD, TAIL, HEAD_CACHE, draw.randrange(CAPACITY)))
            bits = draw.choice((4, 12, 31, 63))
            put(memory, at, draw.choice((-1, 1)) * draw.getrandbits(bits), draw.choice((1, 4, 8)) if at < CAPACITY else 8)
        for _, body in buffer.poll(draw.randrange(1, 20)):
            assert len(body) <= CAPACITY
        if draw.randrange(4) == 0:
            buffer.unblock()
    for _ in range(3 * CAPACITY // 8):  # what was taken for records at most
        buffer.poll()
        buffer.unblock()
    put(memory, 0, 0, 8)
    memory[:CAPACITY] = bytes(CAPACITY)  # bytes that no claim covers may still stand where the next record does not begin
    buffer.poll()
    assert buffer.offer(TYPE, b"next"), f"seed {seed} {round_}"
    assert buffer.poll() == [(TYPE, b"next")]
