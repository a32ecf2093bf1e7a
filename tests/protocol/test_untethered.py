"""The states of a subscriber that a stream does not have to wait for, at literal times."""

from __future__ import annotations

import pytest

from aerowire.protocol.untethered import UntetheredState, UntetheredTimes

ACTIVE, LINGER, RESTING, ENDED = UntetheredState
TIMES = UntetheredTimes(window_limit_ns=500, linger_ns=300, resting_ns=1000)


def test_one_that_keeps_up_stays() -> None:
    assert TIMES.step(ACTIVE, 0, keeps_up=True, rejoins=True, now_ns=10_000) == (ACTIVE, 10_000)


@pytest.mark.parametrize(
    ("state", "since", "rejoins", "last_before", "after"),
    [
        (ACTIVE, 100, True, 599, LINGER),
        (LINGER, 100, True, 399, RESTING),
        (LINGER, 100, False, 399, ENDED),
        (RESTING, 100, True, 1099, ACTIVE),
    ],
)
def test_each_state_ends_with_its_timeout(
    state: UntetheredState, since: int, rejoins: bool, last_before: int, after: UntetheredState
) -> None:
    assert TIMES.step(state, since, keeps_up=False, rejoins=rejoins, now_ns=last_before) == (state, since)
    assert TIMES.step(state, since, keeps_up=False, rejoins=rejoins, now_ns=last_before + 1) == (after, last_before + 1)


def test_what_it_reads_while_lingering_or_resting_changes_nothing() -> None:
    assert TIMES.step(LINGER, 0, keeps_up=True, rejoins=True, now_ns=300) == (RESTING, 300)
    assert TIMES.step(RESTING, 0, keeps_up=True, rejoins=True, now_ns=999) == (RESTING, 0)


def test_an_ended_one_does_not_come_back() -> None:
    assert TIMES.step(ENDED, 0, keeps_up=True, rejoins=True, now_ns=10**12) == (ENDED, 0)
