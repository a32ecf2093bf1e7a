"""Positions from terms: wrapping term ids, several SETUPs of one stream, what is not known."""

from __future__ import annotations

import time

import numpy as np

from aerowire.pcap.frames.terms import TermPlaces, Terms

TERM = 1 << 16


def positions(terms: Terms, *places: tuple[int, int, int, int, int]) -> list[int | None]:
    """Return the positions of (session, stream, term id, term offset, place in the capture)."""
    session, stream, term, offset, at = (np.array(column, dtype=np.int64) for column in zip(*places, strict=True))
    found, known = terms.positions(session, stream, TermPlaces(term, offset, np.ones(term.size, dtype=bool)), at)
    return [int(value) if there else None for value, there in zip(found.tolist(), known.tolist(), strict=True)]


def test_term_ids_wrap_around_as_32_bit_integers_do() -> None:
    terms = Terms()
    terms.note(-7, -1, (0, 2**31 - 1, TERM))
    assert positions(terms, (-7, -1, 2**31 - 1, 32, 9), (-7, -1, -(2**31), 64, 9), (-7, -1, -(2**31) + 5, 0, 9)) == [
        32,
        TERM + 64,
        6 * TERM,
    ]


def test_many_streams_cost_what_their_frames_do() -> None:
    times = []
    for count in (20_000, 80_000):
        streams, zeros = np.arange(count), np.zeros(count, dtype=np.int64)
        terms = Terms({(7, stream): [(0, 0, TERM)] for stream in range(count)})
        begin = time.process_time()
        found, known = terms.positions(zeros + 7, streams, TermPlaces(zeros + 1, streams % TERM, zeros == 0), zeros)
        times.append(time.process_time() - begin)
        assert known.all()
        assert (found == TERM + streams % TERM).all()
    assert times[1] < 8 * times[0] + 0.3  # 16 times as much, and seconds, where each stream looks at all frames


def test_a_stream_without_setup_has_no_positions() -> None:
    terms = Terms()
    terms.note(1, 2, (0, 0, TERM))
    assert positions(terms, (1, 3, 0, 0, 9), (2, 2, 0, 0, 9), (1, 2, 0, 0, 9)) == [None, None, 0]


def test_the_last_setup_before_a_frame_counts_else_the_first_behind_it() -> None:
    terms = Terms()
    for change in ((100, 5, TERM), (150, 5, TERM), (200, 9, 2 * TERM)):
        terms.note(1, 2, change)
    assert terms.changes == {(1, 2): [(100, 5, TERM), (200, 9, 2 * TERM)]}
    assert positions(terms, (1, 2, 6, 0, 50), (1, 2, 6, 0, 100), (1, 2, 6, 0, 199), (1, 2, 10, 32, 200), (1, 2, 10, 0, 900)) == [
        TERM,
        TERM,
        TERM,
        2 * TERM + 32,
        2 * TERM,
    ]


def test_what_parts_say_is_what_the_whole_says() -> None:
    said = [(place, place // 300, TERM) for place in range(0, 1000, 10)]
    whole, first, second = Terms(), Terms(), Terms()
    for change in said:
        whole.note(1, 2, change)
        (first if change[0] < 450 else second).note(1, 2, change)
    second.note(3, 4, (500, 0, TERM))
    merged = first.add(second)
    assert merged.changes == {**whole.changes, (3, 4): [(500, 0, TERM)]}
    assert Terms.from_json(merged.to_json()) == merged
