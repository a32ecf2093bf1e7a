"""What is missing of a stream, against a dumb twin that knows each slot of 32 bytes."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.protocol.missing_ranges import CAPACITY, CONFLICT, MISSING, NO_ROOM, PRESENT, MissingRanges

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=80)
START = 1 << 40


class Twin:
    def __init__(self) -> None:
        self.received: set[int] = set()
        self.end = 0

    def receive(self, begin: int, end: int) -> int:
        slots = set(range(begin, end))
        there = slots & self.received
        if there:
            return PRESENT if there == slots else CONFLICT
        self.received |= slots
        self.end = max(self.end, end)
        return MISSING

    def missing(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for slot in range(self.end):
            if slot not in self.received:
                begin = found.pop()[0] if found and found[-1][1] == slot else slot
                found.append((begin, slot + 1))
        return found


@settings(max_examples=600)
@given(RANGES)
def test_ranges_agree_with_a_set_of_slots(ranges: list[tuple[int, int]]) -> None:
    table, twin = MissingRanges(START), Twin()
    for begin, length in ranges:
        assert table.receive(START + begin, START + begin + length) == twin.receive(begin, begin + length)
        assert [(a - START, b - START) for a, b in table.ranges()] == twin.missing()
        assert (table.end - START, table.count) == (twin.end, len(twin.missing()))
        assert table.first() - START == (twin.missing()[0][0] if twin.missing() else twin.end)


def test_a_full_table_takes_what_needs_no_place_and_refuses_the_rest() -> None:
    table = MissingRanges(0)
    for i in range(CAPACITY):
        assert table.receive(64 * i + 32, 64 * i + 64) == MISSING
    end = 64 * CAPACITY
    assert table.receive(end + 32, end + 64) == NO_ROOM
    assert table.receive(0, 8) == MISSING
    assert table.receive(72, 80) == NO_ROOM
    assert (table.count, table.end) == (CAPACITY, end)
    assert table.receive(end, end + 32) == MISSING
    assert table.receive(8, 32) == MISSING
    assert table.receive(72, 80) == MISSING
    table.forget_before(end - 64)
    assert table.ranges() == [(end - 64, end - 32)]
    assert table.receive(end + 64, end + 96) == MISSING


def test_what_is_forgotten_is_not_waited_for() -> None:
    table = MissingRanges(0)
    table.receive(100, 200)
    table.receive(300, 400)
    table.forget_before(50)
    assert (table.first(), table.first_length(), table.ranges()) == (50, 50, [(50, 100), (200, 300)])
    table.forget_before(100)
    assert (table.first(), table.first_length()) == (200, 100)
    table.forget_before(1000)
    assert (table.first(), table.first_length(), table.ranges()) == (400, 0, [])


def test_a_long_random_stream_is_received_whole(seed: int) -> None:
    random = Random(seed)
    table = MissingRanges(0)
    pieces = [(32 * i, 32 * i + 32) for i in range(3000)]
    random.shuffle(pieces)
    lost = [piece for piece in pieces if table.receive(*piece) == NO_ROOM]
    for piece in lost:
        assert table.receive(*piece) == MISSING
    assert (table.first(), table.end, table.count) == (96_000, 96_000, 0)
    assert all(table.receive(*piece) == PRESENT for piece in pieces)
