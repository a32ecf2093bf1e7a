"""Terms of a log, coherent as RecordingLog.ensureCoherent makes them."""

from __future__ import annotations

from aerowire.cluster.consensus.inputs import TermEntry
from aerowire.cluster.consensus.term_table import TermTable


def test_a_first_term_fills_those_before_it() -> None:
    table = TermTable()
    table.ensure_coherent(2, 0, -1)
    assert table.entries == (TermEntry(0, 0, 0), TermEntry(1, 0, 0), TermEntry(2, 0, -1))


def test_a_later_term_closes_the_last_one_and_fills_the_gap() -> None:
    table = TermTable([TermEntry(0, 0)])
    table.ensure_coherent(3, 96, -1)
    assert table.entries == (TermEntry(0, 0, 96), TermEntry(1, 96, 96), TermEntry(2, 96, 96), TermEntry(3, 96, -1))
    assert table.last_term_id == 3
    assert table.find(1) == TermEntry(1, 96, 96)
    assert table.find(4) is None


def test_a_term_is_given_its_end() -> None:
    table = TermTable([TermEntry(0, 0)])
    assert table.holds(0, -1)
    assert not table.holds(0, 64)
    table.ensure_coherent(0, 0, 64)
    assert table.holds(0, 64)
    assert table.ends_at(64)


def test_a_truncation_ends_a_term_and_removes_later_ones() -> None:
    table = TermTable([TermEntry(0, 0, 96), TermEntry(1, 96, 160), TermEntry(2, 160)])
    assert table.surviving(2, 128) == 1
    assert table.surviving(2, 64) == 0
    table.truncate(0, 64)
    assert table.entries == (TermEntry(0, 0, 64),)


def test_an_empty_table_has_no_last_term() -> None:
    assert TermTable().last_term_id == -1
    assert TermTable().last is None
    assert TermTable().surviving(0, 0) == -1
