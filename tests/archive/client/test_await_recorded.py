"""The wait for a recorded position: which counter it believes, and what it asks the archive for where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.cnc import ArchiveCounterKeyEncoder, RecordingPositionKeyEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.counters import CountersManager
from tests.archive.client.fake_session import FakeArchive

ARCHIVE_ID = 42  # of the fake
ACTIVE = -1  # stop position of a recording that goes on


class Waiting:
    """A wait for position 1,000 of recording 3, and the counters of the client's driver."""

    def __init__(self, **options: Any) -> None:
        self.fake = FakeArchive(**options)
        self.counters = CountersManager(bytearray(512 * 16), bytearray(128 * 16))
        self.fake.aeron.counters_reader = self.counters  # type: ignore[attr-defined]
        self.pending = self.fake.client.async_await_recorded(3, 1_000)
        self.is_over = False
        self._answered = 0

    def counter(self, value: int, registration_id: int, *, archive_id: int = ARCHIVE_ID, recording_id: int = 3) -> int:
        """Allocate a recording's counter."""
        inner = ArchiveCounterKeyEncoder.encode(archive_id=archive_id)
        key = RecordingPositionKeyEncoder.encode(recording_id=recording_id, session_id=7, source_identity="aeron:ipc", archive=[inner])
        counter_id = self.counters.allocate("rec-pos", CounterType.ARCHIVE_RECORDING_POSITION, key, registration_id=registration_id)
        self.counters.set_value(counter_id, value)
        return counter_id

    def answered(self, *answers: int) -> bool:
        """Let the archive answer one request after another; return whether the wait is over."""
        for answer in answers:
            self.poll_until_it_asks()
            self.fake.answer(answer)
            self.is_over = self.pending.poll()
        return self.is_over

    def poll_until_it_asks(self) -> None:
        while len(self.fake.sent) == self._answered:
            assert not self.pending.poll()
        self._answered = len(self.fake.sent)

    @property
    def asked(self) -> list[str]:
        return [type(archive.decode(message)).__name__ for message in self.fake.sent]


@pytest.fixture
def waiting() -> Waiting:
    return Waiting(control_request_channel="aeron:ipc", control_response_channel="aeron:ipc")


def test_follows_the_counter_of_a_recording_that_goes_on(waiting: Waiting) -> None:
    counter_id = waiting.counter(100, 5)
    assert not waiting.answered(100, ACTIVE)
    requests = len(waiting.asked)
    assert not waiting.pending.poll()
    waiting.counters.set_value(counter_id, 1_024)
    assert waiting.pending.poll()
    assert waiting.pending.result() == 1_024
    assert len(waiting.asked) == requests == 2


def test_believes_no_counter_that_an_archive_left_when_it_was_killed(waiting: Waiting) -> None:
    waiting.counter(9_000, 5)
    waiting.counter(100, 6)
    waiting.counter(9_000, 4)
    assert not waiting.answered(100, ACTIVE)
    assert not waiting.pending.poll()


def test_believes_no_counter_of_a_recording_that_has_stopped(waiting: Waiting) -> None:
    waiting.counter(9_000, 5)
    assert waiting.answered(500, 500)
    with pytest.raises(Exception, match="has stopped before the position that is waited for"):
        waiting.pending.result()


def test_believes_no_counter_of_another_archive(waiting: Waiting) -> None:
    waiting.counter(9_000, 5, archive_id=43)
    waiting.counter(9_000, 6, recording_id=4)
    assert not waiting.answered(100, ACTIVE, 200, ACTIVE)
    assert waiting.answered(1_000)
    assert waiting.pending.result() == 1_000


def test_believes_no_counter_where_the_archive_may_be_on_another_driver() -> None:
    waiting = Waiting()
    waiting.counter(9_000, 5)
    assert not waiting.answered(100, ACTIVE, 200, ACTIVE)


def test_asks_again_when_the_counter_has_become_that_of_another_recording(waiting: Waiting) -> None:
    counter_id = waiting.counter(100, 5)
    assert not waiting.answered(100, ACTIVE)
    waiting.counters.free(counter_id)
    assert waiting.counter(9_000, 6) == counter_id
    assert not waiting.answered(700)
