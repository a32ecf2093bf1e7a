"""Positions, terms and tails against plain integers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aerowire.logbuffer import descriptor

TERM_LENGTHS = st.sampled_from([1 << bits for bits in range(16, 31)])
TERM_IDS = st.integers(-(1 << 31), (1 << 31) - 1)


def wrap(value: int) -> int:
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


@given(TERM_LENGTHS, TERM_IDS, st.integers(0, (1 << 31) - 1), st.data())
def test_positions_and_terms_are_inverse_and_wrap(term_length: int, initial: int, count: int, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, term_length - 1))
    position = count * term_length + offset
    term_id = wrap(initial + count)
    assert descriptor.position_of(term_id, offset, term_length, initial) == position
    assert descriptor.term_id_of(position, term_length, initial) == term_id
    assert descriptor.term_offset_of(position, term_length) == offset
    assert descriptor.partition_of(position, term_length) == descriptor.partition_of_term(initial, term_id) == count % 3
    assert position < descriptor.max_position(term_length) == term_length << 31


@given(TERM_IDS, st.integers(0, (1 << 31) - 1), TERM_LENGTHS)
def test_tails_hold_term_and_clamped_offset(term_id: int, offset: int, term_length: int) -> None:
    raw = descriptor.pack(term_id, offset)
    assert raw & 0xFFFFFFFF == offset
    assert raw >> 32 == term_id
    assert descriptor.unpack(raw, term_length) == (term_id, min(offset, term_length))


@given(st.integers(0, 100_000), st.integers(1, 65_472))
def test_framed_length_is_the_sum_of_its_frames(length: int, payload: int) -> None:
    total, rest = 0, length
    while True:
        piece = min(rest, payload)
        total += -(-(piece + 32) // 32) * 32
        rest -= piece
        if rest == 0:
            break
    assert descriptor.framed_length(length, payload) == total
