"""Shares of the sessions that may be new in a second, at literal times."""

from __future__ import annotations

import pytest

from aerowire.protocol.admission import SessionAdmission

MS = 1_000_000
SECOND = 1_000_000_000
START = 5 * SECOND


def admitted(admission: SessionAdmission, stream: int, sessions: range, now_ns: int) -> int:
    return sum(admission.admit(stream, session, now_ns) for session in sessions)


def test_without_a_rate_everything_is_admitted() -> None:
    assert admitted(SessionAdmission(rate=0), 1, range(100_000), START) == 100_000


def test_new_sessions_of_one_stream_get_a_quarter_of_the_rate() -> None:
    admission = SessionAdmission(rate=300)
    assert admitted(admission, 1, range(10_000), START) == 34
    later = sum(admitted(admission, 1, range(10_000 * turn, 10_000 * turn + 10), START + turn * MS) for turn in range(1, 1_001))
    assert 75 <= later <= 80  # the bucket of the stream fills up as that of all streams runs dry


def test_sessions_that_come_again_get_the_whole_rate() -> None:
    admission = SessionAdmission(rate=300)
    waiting = set(range(1_000))
    for turn in range(40):
        waiting -= {session for session in waiting if admission.admit(1, session, START + turn * 100 * MS)}
    assert not waiting


def test_another_stream_has_a_share_while_one_is_flooded() -> None:
    admission = SessionAdmission(rate=300)
    admitted(admission, 1, range(10_000), START)
    assert admitted(admission, 2, range(10), START) == 10


def test_a_session_that_comes_again_after_100_ms_goes_before_new_ones() -> None:
    admission = SessionAdmission(rate=300)
    admitted(admission, 1, range(10_000), START)
    assert not admission.admit(1, -1, START)
    assert not admission.admit(1, -1, START + 1 * MS)
    admitted(admission, 1, range(20_000, 21_000), START + 99 * MS)
    assert admission.admit(1, -1, START + 100 * MS)


def test_what_was_refused_long_ago_is_new_again() -> None:
    admission = SessionAdmission(rate=1)
    assert admission.admit(1, 7, START)
    assert not admission.admit(1, 8, START)
    assert not admission.is_repeated(1, 8, START + 2_001 * MS)
    assert admission.is_repeated(1, 8, START + 2_051 * MS)


def test_nobody_exceeds_the_rate_by_coming_again() -> None:
    admission = SessionAdmission(rate=100)
    count = sum(admitted(admission, stream, range(50), START + turn * 100 * MS) for turn in range(20) for stream in range(10))
    assert count <= 100 + 100 * 2


def test_the_share_of_a_stream_that_is_not_wanted_any_more_is_forgotten() -> None:
    admission = SessionAdmission(rate=300)
    first = admitted(admission, 1, range(10_000), START)
    admission.forget_stream(1)
    assert 0 < admitted(admission, 1, range(20_000, 30_000), START) < first + 200


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 0, actual -1"):
        SessionAdmission(rate=-1)
