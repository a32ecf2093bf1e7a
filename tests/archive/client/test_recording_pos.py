"""Counters of recordings: found by recording and by session, of one archive or of any, and no others."""

from __future__ import annotations

import pytest

from aerowire.archive import (
    RecordingPosition,
    describe_recording_counter,
    find_counter_id_by_recording,
    find_counter_id_by_session,
    is_recording_active,
    recording_positions,
)
from aerowire.codecs.flyweights.cnc import ArchiveCounterKeyEncoder, RecordingPositionKeyEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.counters import CountersManager

POSITION = CounterType.ARCHIVE_RECORDING_POSITION


def key(recording_id: int, session_id: int, archive_id: int) -> bytes:
    archive = ArchiveCounterKeyEncoder.encode(archive_id=archive_id)
    return RecordingPositionKeyEncoder.encode(
        recording_id=recording_id, session_id=session_id, source_identity="10.0.0.1:40123", archive=[archive]
    )


@pytest.fixture
def counters() -> CountersManager:
    made = CountersManager(bytearray(512 * 16), bytearray(128 * 16))
    made.allocate("another", 5, key(3, 77, 9))
    made.allocate("rec-pos: 3 77", POSITION, key(3, 77, 9))
    made.allocate("rec-pos: 4 -78", POSITION, key(4, -78, 9))
    made.allocate("rec-pos: 3 79", POSITION, key(3, 79, 10))
    return made


def test_finds_a_recording_of_one_archive_or_of_any(counters: CountersManager) -> None:
    assert find_counter_id_by_recording(counters, 3) == 1
    assert find_counter_id_by_recording(counters, 3, 10) == 3
    assert find_counter_id_by_recording(counters, 4, 10) == -1
    assert find_counter_id_by_recording(counters, 5) == -1


def test_finds_the_recording_of_a_session(counters: CountersManager) -> None:
    assert find_counter_id_by_session(counters, -78) == 2
    assert find_counter_id_by_session(counters, 77, 10) == -1


def test_describes_whose_position_a_counter_is(counters: CountersManager) -> None:
    assert describe_recording_counter(counters, 2) == RecordingPosition(2, 4, -78, "10.0.0.1:40123", 9, 0)
    assert describe_recording_counter(counters, 0) is None
    assert [one.recording_id for one in recording_positions(counters)] == [3, 4, 3]


def test_the_counter_that_was_allocated_last_is_that_of_an_archive_that_runs_again(counters: CountersManager) -> None:
    later = counters.allocate("rec-pos: 3 80", POSITION, key(3, 80, 9), registration_id=8)
    counters.allocate("rec-pos: 3 81", POSITION, key(3, 81, 9), registration_id=7)
    assert find_counter_id_by_recording(counters, 3, 9) == find_counter_id_by_recording(counters, 3) == later
    assert [one.counter_id for one in recording_positions(counters, 9)] == [2, later]


def test_a_recording_is_active_as_long_as_the_counter_is_its_own(counters: CountersManager) -> None:
    assert is_recording_active(counters, 1, 3)
    assert not is_recording_active(counters, 1, 4)
    counters.free(1)
    assert not is_recording_active(counters, 1, 3)
    assert find_counter_id_by_recording(counters, 3) == 3


@pytest.mark.parametrize("length", [-1, 90, 1000])
def test_a_key_with_lengths_that_no_archive_writes_is_none(counters: CountersManager, length: int) -> None:
    bad = key(8, 8, 8)[:12] + length.to_bytes(4, "little", signed=True)
    counter_id = counters.allocate("rec-pos: bad", POSITION, bad)
    assert describe_recording_counter(counters, counter_id) is None
    assert find_counter_id_by_recording(counters, 8) == -1
