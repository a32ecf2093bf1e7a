"""Messages fall due with the time between them that their time stamps say, divided by a speed."""

from __future__ import annotations

import pytest

from aerowire.pcap.replay.pacing import BATCH_BYTES_MAX, BATCH_MAX, MAX, Clock, due_batches, parse_speed
from aerowire.pcap.replay.replaying import Message

S = 1_000_000_000


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.ns = 500
        self.slept: list[float] = []

    def clock(self) -> Clock:
        return Clock(lambda: self.ns, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ns += round(seconds * S)


def played(stamps: list[int], speed: float) -> list[tuple[int, list[int]]]:
    time = Time()
    batches = due_batches((Message(stamp, b"", 0) for stamp in stamps), speed, clock=time.clock())
    return [(time.ns - 500, [message.ts_ns for message in batch]) for batch in batches]


def test_keeps_the_time_between_messages() -> None:
    assert played([7 * S, 7 * S, 9 * S, 10 * S], 1.0) == [(0, [7 * S, 7 * S]), (2 * S, [9 * S]), (3 * S, [10 * S])]


@pytest.mark.parametrize(("speed", "at"), [(0.5, 4 * S), (10.0, S // 5), (1.0, 2 * S)])
def test_divides_it_by_the_speed(speed: float, at: int) -> None:
    assert played([0, 2 * S], speed) == [(0, [0]), (at, [2 * S])]


def test_sends_all_at_once_at_the_greatest_speed() -> None:
    assert played([0, 2 * S, 9 * S], MAX) == [(0, [0, 2 * S, 9 * S])]


def test_a_time_stamp_that_goes_back_keeps_the_order() -> None:
    assert played([0, 3 * S, 2 * S, 4 * S], 1.0) == [(0, [0]), (3 * S, [3 * S, 2 * S]), (4 * S, [4 * S])]


def test_batches_have_a_limit_of_messages_and_of_bytes() -> None:
    assert [len(batch) for _, batch in played([0] * (2 * BATCH_MAX + 1), 1.0)] == [BATCH_MAX, BATCH_MAX, 1]
    large = [Message(0, bytes(BATCH_BYTES_MAX), 0)] * 2
    assert [len(batch) for batch in due_batches(large, 1.0, clock=Time().clock())] == [1, 1]


def test_looks_around_while_it_sleeps_for_long() -> None:
    time, looks = Time(), list[int]()
    list(due_batches([Message(0, b"", 0), Message(S, b"", 0)], 1.0, clock=time.clock(), idle=lambda: looks.append(time.ns)))
    assert len(looks) == 10
    assert max(time.slept) <= 0.1


@pytest.mark.parametrize(("text", "speed"), [("1x", 1.0), ("0.5x", 0.5), ("10X", 10.0), ("2", 2.0), ("max", MAX)])
def test_reads_speeds(text: str, speed: float) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize("text", ["0x", "-1x", "fast", "", "inf", "nan"])
def test_refuses_speeds_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected a factor above 0"):
        parse_speed(text)
