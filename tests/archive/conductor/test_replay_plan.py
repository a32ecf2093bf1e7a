"""Which part of a recording a replay sends, by literal positions."""

from __future__ import annotations

import pytest

from aerowire.archive.conductor.replay_plan import ReplayPlan, plan_replay
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import Replay
from aerowire.base.units import INT64_MAX
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.catalog_entry import RecordingEntry


def entry(start: int = 64, stop: int = 1024) -> RecordingEntry:
    return RecordingEntry(
        recording_id=3,
        start_timestamp_ms=0,
        start_position=start,
        stop_position=stop,
        initial_term_id=0,
        segment_file_length=65536,
        term_buffer_length=65536,
        mtu_length=1408,
        session_id=1,
        stream_id=2,
        stripped_channel="aeron:ipc",
        original_channel="aeron:ipc",
        source_identity="aeron:ipc",
    )


def request(position: int = -1, length: int = -1, file_io_max_length: int = -1) -> Replay:
    return Replay(
        correlation_id=1,
        recording_id=3,
        position=position,
        length=length,
        limit_counter_id=None,
        stream_id=5,
        file_io_max_length=file_io_max_length,
        replay_token=-1,
        channel="aeron:ipc",
    )


@pytest.mark.parametrize(
    ("position", "length", "plan"),
    [
        (-1, -1, ReplayPlan(64, 960, 1024)),
        (-1, -2, ReplayPlan(64, 960, 1024)),
        (64, 32, ReplayPlan(64, 32, 1024)),
        (992, 5000, ReplayPlan(992, 32, 1024)),
        (96, 0, ReplayPlan(96, 0, 1024)),
        (96, INT64_MAX, ReplayPlan(96, 928, 1024)),
    ],
)
def test_a_stopped_recording_is_replayed_up_to_its_end(position: int, length: int, plan: ReplayPlan) -> None:
    assert plan_replay(entry(), request(position, length), None, 65536) == plan


@pytest.mark.parametrize(
    ("position", "length", "plan"),
    [
        (-1, -1, ReplayPlan(64, INT64_MAX - 64, 512)),
        (-1, -2, ReplayPlan(64, 448, 512)),
        (512, -1, ReplayPlan(512, INT64_MAX - 512, 512)),
        (96, 5000, ReplayPlan(96, 5000, 512)),
    ],
)
def test_a_recording_that_goes_on_is_followed_unless_the_replay_is_to_stop(position: int, length: int, plan: ReplayPlan) -> None:
    assert plan_replay(entry(stop=-1), request(position, length), 512, 65536) == plan


@pytest.mark.parametrize(
    ("position", "code"),
    [(17, "INVALID_POSITION"), (32, "INVALID_POSITION"), (1024, "INVALID_POSITION"), (-2, "INVALID_POSITION"), (-32, "INVALID_POSITION")],
)
def test_refuses_a_position_that_a_replay_cannot_begin_at(position: int, code: str) -> None:
    with pytest.raises(RequestRefusedError) as caught:
        plan_replay(entry(), request(position), None, 65536)
    assert caught.value.code is ArchiveErrorCode[code]


def test_refuses_a_position_beyond_the_counter_that_bounds_the_replay() -> None:
    with pytest.raises(RequestRefusedError, match="must be less than the limit position=512") as caught:
        plan_replay(entry(stop=-1), request(544), 512, 65536)
    assert caught.value.code is ArchiveErrorCode.INVALID_POSITION


def test_an_empty_recording_that_is_to_stop_is_one_error() -> None:
    with pytest.raises(RequestRefusedError) as caught:
        plan_replay(entry(stop=64), request(length=-2), None, 65536)
    assert caught.value.code is ArchiveErrorCode.EMPTY_RECORDING
    assert plan_replay(entry(stop=64), request(), None, 65536) == ReplayPlan(64, 0, 64)


@pytest.mark.parametrize("length", [-3, -(1 << 63)])
def test_refuses_a_length_below_nothing(length: int) -> None:
    with pytest.raises(RequestRefusedError, match="replay length must be positive") as caught:
        plan_replay(entry(), request(length=length), None, 65536)
    assert caught.value.code is ArchiveErrorCode.GENERIC


def test_refuses_reads_that_are_shorter_than_a_datagram() -> None:
    with pytest.raises(RequestRefusedError, match="fileIoMaxLength=1407 < mtuLength=1408"):
        plan_replay(entry(), request(file_io_max_length=1407), None, 65536)
    with pytest.raises(RequestRefusedError, match="replayBufferCapacity=1024 < mtuLength=1408"):
        plan_replay(entry(), request(), None, 1024)
    assert plan_replay(entry(), request(file_io_max_length=0), None, 65536).position == 64
