"""Errors of one kind at one place are one entry of the log; each is counted, and none is silent where the log is full."""

from __future__ import annotations

import pytest

from aerowire.agents.error_recorder import ErrorRecorder
from aerowire.base.errors import SocketError
from aerowire.ipc.error_log import DistinctErrorLog, read_errors
from aerowire.system.clock import ManualClock


class Counter:
    """The counter of errors."""

    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        self.value += 1


class Recorded:
    """A recorder, what it writes, and its clock."""

    def __init__(self, length: int = 4096) -> None:
        self.clock = ManualClock(now_ns=1_000, epoch_ms=1_700_000_000_000)
        self.counter = Counter()
        self.buffer = bytearray(length)
        self.recorder = ErrorRecorder(DistinctErrorLog(self.buffer), self.counter, self.clock, owner="aerowire archive")

    def entries(self) -> list[tuple[int, str]]:
        return [(entry.observation_count, entry.text) for entry in read_errors(self.buffer)]


def test_errors_that_differ_in_their_numbers_are_one_entry() -> None:
    recorded = Recorded()
    for port in (1, 2, 3):
        recorded.recorder.record(SocketError("no such port", where="here", actual=port))
    recorded.recorder.record(SocketError("no such port", where="there", actual=1))
    assert recorded.entries() == [(3, "SocketError: no such port; at here; got 1"), (1, "SocketError: no such port; at there; got 1")]
    assert recorded.counter.value == 4


def test_a_key_makes_one_entry_of_texts_that_differ() -> None:
    recorded = Recorded()
    recorded.recorder.record("session 1", key="sessions")
    recorded.recorder.record("session 2", key="sessions")
    recorded.recorder.warn("session 3")
    assert recorded.entries() == [(2, "session 1"), (1, "WARN - session 3")]


def test_an_entry_has_the_times_of_its_first_and_its_last_error() -> None:
    recorded = Recorded()
    recorded.recorder.record("lost")
    first_ms = recorded.clock.now_ms()
    recorded.clock.advance(7_000_000)
    recorded.recorder.record("lost")
    (entry,) = read_errors(recorded.buffer)
    assert (entry.first_timestamp_ms, entry.last_timestamp_ms) == (first_ms, first_ms + 7)


def test_what_a_full_log_cannot_take_is_counted_and_printed_with_its_owner(capsys: pytest.CaptureFixture[str]) -> None:
    recorded = Recorded(length=256)
    texts = [f"error {number} {'x' * 60}" for number in range(5)]
    for text in texts:
        recorded.recorder.record(text)
    kept = [text for _, text in recorded.entries()]
    assert 0 < len(kept) < 5
    assert recorded.counter.value == 5
    printed = capsys.readouterr().err.splitlines()
    assert printed == [f"aerowire archive: the error log is full; lost: {text}" for text in texts[len(kept) :]]
