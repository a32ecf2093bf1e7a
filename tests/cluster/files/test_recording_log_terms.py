"""Terms in the recording log: where they end, which are added to make it coherent, and when that is synced."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.base.errors import RecordingLogError
from aerowire.cluster.files.recording_log import RecordingLog
from tests.cluster.files.official_text import shown
from tests.cluster.files.recording_logs import CM, opened


def coherent(log: RecordingLog, initial_term: int, initial_base: int, term: int, base: int, position: int) -> None:
    log.ensure_coherent(
        1,
        initial_log_leadership_term_id=initial_term,
        initial_term_base_log_position=initial_base,
        leadership_term_id=term,
        term_base_log_position=base,
        log_position=position,
        timestamp=77,
    )


def terms(log: RecordingLog) -> list[tuple[int, int, int, int]]:
    return [(one.leadership_term_id, one.term_base_log_position, one.log_position, one.timestamp) for one in log.entries]


def test_a_term_ends_the_one_before_it_and_where_the_next_one_begins(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(3, 5, 0, 1)
    log.append_term(3, 7, 900, 3)
    assert [one.log_position for one in log.entries] == [-1, -1]
    log.append_term(3, 6, 500, 2)
    assert [one.log_position for one in log.entries] == [500, 900, -1]
    assert [one.entry_index for one in log.entries] == [0, 2, 1]
    log.commit_log_position(7, 1200)
    again = opened(tmp_path)
    assert shown(again) == shown(log)
    assert again.get_term_entry(7).log_position == 1200
    assert (again.get_term_timestamp(6), again.get_term_timestamp(8), again.is_unknown(8), again.is_unknown(5)) == (2, -1, True, False)
    assert (again.find_last_term_recording_id(), again.find_term_entry(8)) == (3, None)


def test_nothing_is_forced_but_on_demand_and_by_making_the_log_coherent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path)
    forced: list[int] = []
    force = log._file.force

    def noted() -> None:
        forced.append(1)
        force()

    monkeypatch.setattr(log._file, "force", noted)
    log.append_term(1, 0, 0, 0)
    log.append_snapshot(2, 0, 0, 64, 0, CM)
    log.commit_log_position(0, 64)
    assert forced == []
    log.force()
    assert forced == [1]
    coherent(log, 0, 0, 1, 64, 128)
    assert forced == [1, 1]


@pytest.mark.parametrize(("first", "base", "term"), [(0, 0, 4), (2, 500, 4), (100, 1_000_000, 200), (-1, 0, 3)])
def test_empty_terms_are_added_before_the_first_one(tmp_path: Path, first: int, base: int, term: int) -> None:
    log = opened(tmp_path)
    coherent(log, first, base, term, base, base + 500)
    assert terms(log) == [*((one, base, base, 77) for one in range(max(first, 0), term)), (term, base, base + 500, 77)]


def test_empty_terms_are_added_behind_the_last_one(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(1, 2, 500, 5)
    coherent(log, 2, 500, 5, 600, 1000)
    assert terms(log) == [(2, 500, 600, 5), (3, 600, 600, 77), (4, 600, 600, 77), (5, 600, 1000, 77)]


def test_a_term_that_is_there_is_completed(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(1, 4, 100, 5)
    coherent(log, 0, 0, 4, 100, -1)
    assert terms(log) == [(4, 100, -1, 5)]
    coherent(log, 0, 0, 4, 100, 900)
    assert terms(log) == [(4, 100, 900, 5)]


def test_a_term_far_beyond_the_last_one_is_refused(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(1, 4, 100, 5)
    with pytest.raises(RecordingLogError, match=r"too many terms are missing; at .*; expected 131072 at most; got 4611686018427387899"):
        coherent(log, 0, 0, 1 << 62, 100, -1)
    assert terms(log) == [(4, 100, -1, 5)]


def test_the_term_before_ends_where_a_new_one_begins(tmp_path: Path) -> None:
    log = opened(tmp_path)
    coherent(log, 0, 0, 1, 10_000, -1)
    assert terms(log) == [(0, 0, 10_000, 77), (1, 10_000, -1, 77)]


def test_a_term_without_a_beginning_does_not_follow_one_without_an_end(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(1, 3, 0, 5)
    with pytest.raises(RecordingLogError, match="the last term has no end, and the next one no beginning"):
        coherent(log, 0, 0, 4, -1, 500)
    assert terms(log) == [(3, 0, -1, 5)]
