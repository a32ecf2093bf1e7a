"""Bounded waits: the one place by which ordinary tests look at a clock or sleep (tests/house/test_wall_clocks.py lists the exceptions).

A test that can choose its time uses a ManualClock or the simulated world instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LIMIT_S = 60.0  # long enough for any machine: only a failure takes it
REST_S = 0.001


def wait_until(condition: Callable[[], object], what: object, *, work: Callable[[], object] | None = None) -> None:
    """Look again and again until `condition()` is true, and fail with `what` after a minute.

    Between two looks `work` is called, or the thread rests; a callable `what` says at the end what was there instead.
    """
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what() if callable(what) else what
        if work is None:
            rest()
        else:
            work()


@contextmanager
def no_longer_than(seconds: float, what: str) -> Iterator[None]:
    """Fail if a block takes longer: it ended by a limit that should not have been reached."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds, what


@contextmanager
def busy_no_longer_than(seconds: float, what: str) -> Iterator[None]:
    """Fail if a block takes more of the thread's processor time, whatever else the machine has to do."""
    begin = time.thread_time()
    yield
    assert time.thread_time() - begin < seconds, what


@contextmanager
def no_shorter_than(seconds: float, what: str) -> Iterator[None]:
    """Fail if a block takes less time than what it waits for."""
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin >= seconds, what


def rest() -> None:
    """Let threads that do the work run for a moment, where a loop that is bounded otherwise waits for them."""
    time.sleep(REST_S)


def epoch_ms() -> int:
    """Return the system's time as drivers and clients write it into their files."""
    return time.time_ns() // 1_000_000
