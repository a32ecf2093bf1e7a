"""Positions of a recording lead to the segment file and the term that hold them."""

from __future__ import annotations

import pytest

from aerowire.recordings.geometry import (
    aligned_frame_length,
    frame_offset_in_segment,
    is_frame_aligned,
    segment_base_position,
    term_base_position,
    term_id_at,
)

TERM = 64 << 10


@pytest.mark.parametrize(
    ("position", "start", "term", "segment", "base"),
    [
        (0, 0, TERM, TERM, 0),
        (TERM - 32, 0, TERM, TERM, 0),
        (TERM, 0, TERM, TERM, TERM),
        (3 * TERM, 0, TERM, 2 * TERM, 2 * TERM),
        # Segments are counted from the term of the start position, which need not be a multiple of their length.
        (200704, 200704, TERM, TERM, 3 * TERM),
        (5 * TERM + 32, 3 * TERM + 64, TERM, 4 * TERM, 3 * TERM),
        (7 * TERM, 3 * TERM + 64, TERM, 4 * TERM, 7 * TERM),
        # A term that is longer than a segment is a segment.
        (3 * TERM, 0, 2 * TERM, TERM, 2 * TERM),
    ],
)
def test_a_segment_begins_at_a_whole_number_of_segments_from_the_first_term(
    position: int, start: int, term: int, segment: int, base: int
) -> None:
    assert segment_base_position(position, start, term, segment) == base


def test_only_the_first_segment_may_begin_within_its_file() -> None:
    assert term_base_position(200704, TERM) == 3 * TERM
    assert frame_offset_in_segment(3 * TERM, 200704, TERM) == 4096
    assert frame_offset_in_segment(4 * TERM, 200704, TERM) == 0
    assert frame_offset_in_segment(2 * TERM, 200704, TERM) == 0


@pytest.mark.parametrize(
    ("position", "initial", "term_id"), [(0, 7, 7), (TERM - 1, 7, 7), (3 * TERM, 100, 103), (TERM, (1 << 31) - 1, -(1 << 31)), (0, -5, -5)]
)
def test_term_ids_wrap_around_as_32_bit_integers(position: int, initial: int, term_id: int) -> None:
    assert term_id_at(position, initial, TERM) == term_id


def test_frames_are_aligned_to_32_bytes() -> None:
    assert [aligned_frame_length(length) for length in (32, 33, 64, 100)] == [32, 64, 64, 128]
    assert is_frame_aligned(96)
    assert not is_frame_aligned(100)
