"""A ledger is kept when every seed has passed, and in the order of its seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.tools.simulate.ledger import FAILED, PASSED, Entry, Ledger
from tests.soak.worlds.keep_ledger import entries_of_run

ENTRY = Entry("one", 0, "1+a", PASSED, 10, 1.0, 2, 3, "00")
COUNTS = {"one": 2, "two": 1}


def written(path: Path, *entries: Entry) -> Path:
    with Ledger(path, "1+a") as ledger:
        for entry in entries:
            ledger.add(entry)
    return path


def test_a_whole_run_is_in_the_order_of_its_seeds(tmp_path: Path) -> None:
    later, other = replace(ENTRY, seed=1), replace(ENTRY, scenario="two")
    path = written(tmp_path / "ledger", other, replace(ENTRY, version="1+b", outcome=FAILED), later, replace(ENTRY, seed=2), ENTRY)
    assert entries_of_run(path, "1+a", COUNTS) == [ENTRY, later, other]


@pytest.mark.parametrize("change", [{"outcome": FAILED}, {"version": "1+b"}, {"seed": 2}])
def test_a_run_of_which_a_seed_has_not_passed_is_refused(tmp_path: Path, change: dict[str, str | int]) -> None:
    last = replace(ENTRY, **{"seed": 1, **change})  # type: ignore[arg-type]
    path = written(tmp_path / "ledger", ENTRY, last, replace(ENTRY, scenario="two"))
    with pytest.raises(ValueError, match="1 of 3 seeds have not passed, the first is one 1"):
        entries_of_run(path, "1+a", COUNTS)


def test_a_partial_run_may_lack_seeds_but_has_none_that_failed(tmp_path: Path) -> None:
    other = replace(ENTRY, scenario="two")
    assert entries_of_run(written(tmp_path / "lacks", other, ENTRY), "1+a", COUNTS, is_partial=True) == [ENTRY, other]
    with pytest.raises(ValueError, match="1 of 3 seeds have not passed, the first is one 1"):
        entries_of_run(written(tmp_path / "failed", ENTRY, replace(ENTRY, seed=1, outcome=FAILED)), "1+a", COUNTS, is_partial=True)
