"""Recordings of streams of a driver, compared byte by byte with what the log held."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.archive.agents.agent_events import RecordingEnd
from aerowire.archive.agents.cycle_counters import CycleCounters
from aerowire.archive.agents.transfer_counters import TransferCounters
from aerowire.archive.files.checksum import checksum_named
from aerowire.client import Aeron
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.system.clock import ManualClock
from tests.archive.agents.archive_host import HEADER, SEGMENT, TERM, ArchiveHost, expected_segments, files_of, random_messages

Archives = Callable[..., ArchiveHost]


def test_a_recording_holds_what_the_log_held(archive: ArchiveHost, tmp_path: Path) -> None:
    recorded = archive.record()
    recorded.send(*random_messages(400))
    end = archive.stop(recorded)
    assert (end.reason, end.error) == (RecordingEnd.STOPPED, 0)
    assert end.position == recorded.session.position == recorded.publication.position > 3 * TERM
    assert files_of(tmp_path, 1) == expected_segments(recorded)


@pytest.mark.parametrize("position", [TERM - 32, 5 * TERM, 5 * TERM + 4096])
def test_a_recording_begins_and_ends_anywhere(archive: ArchiveHost, tmp_path: Path, position: int) -> None:
    recorded = archive.record(position=position, initial_term_id=2**31 - 2)
    recorded.send(*random_messages(60, salt=position))
    archive.stop(recorded)
    assert files_of(tmp_path, 1) == expected_segments(recorded)


def test_streams_recorded_at_once_do_not_mix(archive: ArchiveHost, tmp_path: Path) -> None:
    recordings = [archive.record(number, stream_id=1001 + number, position=number * 4096) for number in range(5)]
    messages = [random_messages(50, salt=number) for number in range(5)]
    for turn in range(50):
        for recorded, own in zip(recordings, messages, strict=True):
            while recorded.publication.offer(own[turn]) < 0:
                archive.work()
    for number, recorded in enumerate(recordings):
        recorded.settle()
        archive.stop(recorded)
        assert files_of(tmp_path, number) == expected_segments(recorded)


def test_each_recording_gets_its_turn_in_each_cycle(archive: ArchiveHost) -> None:
    recordings = [archive.record(number, stream_id=1001 + number) for number in range(3)]
    for recorded in recordings:
        for _ in range(20):
            assert recorded.publication.offer(b"x" * 1000) > 0
    archive.work()
    assert [recorded.session.position for recorded in recordings] == [20 * 1056] * 3


def test_a_recording_that_ends_with_a_segment_leaves_no_other(archive: ArchiveHost, tmp_path: Path) -> None:
    recorded = archive.record()
    recorded.send(*[b"x" * 992] * 64)
    assert recorded.session.position == SEGMENT
    end = archive.stop(recorded)
    assert (end.position, end.segment_position) == (SEGMENT, SEGMENT)
    assert [path.name for path in tmp_path.iterdir()] == ["1-0.rec"]
    again = archive.record(stream_id=1002, position=SEGMENT, start_position=0)
    again.send(b"y" * 992)
    archive.stop(again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-0.rec", f"1-{SEGMENT}.rec"]


def test_an_extended_recording_goes_on_in_its_segment(archive: ArchiveHost, tmp_path: Path) -> None:
    first = archive.record(position=4096)
    first.send(*random_messages(20))
    end = archive.stop(first)
    second = archive.record(stream_id=1002, position=end.position, start_position=4096)
    second.send(*random_messages(20, salt=1))
    archive.stop(second)
    expected = expected_segments(first)
    for begin, content in expected_segments(second).items():
        split = max(end.position - begin, 0)
        expected[begin] = expected.get(begin, bytes(SEGMENT))[:split] + content[split:]
    assert files_of(tmp_path, 1) == expected


def test_a_stream_is_recorded_to_its_end(archive: ArchiveHost, tmp_path: Path) -> None:
    recorded = archive.record()
    recorded.send(b"first")
    for _ in range(30):
        recorded.publication.offer(b"x" * 1000)
    last = recorded.publication.position
    recorded.publication.close()
    end = archive.ended(recorded.session)
    assert (end.reason, end.position) == (RecordingEnd.IMAGE_CLOSED, last)
    recorded.watch()
    assert files_of(tmp_path, 1) == expected_segments(recorded)


def test_a_recording_ends_with_its_subscription(archive: ArchiveHost) -> None:
    recorded = archive.record()
    recorded.send(b"x")
    recorded.session.image.recall()
    end = archive.ended(recorded.session)
    assert (end.reason, end.position) == (RecordingEnd.IMAGE_CLOSED, 64)


def test_a_recording_ends_with_its_counter(archive: ArchiveHost) -> None:
    recorded = archive.record()
    recorded.send(b"x")
    recorded.session.position_counter.recall()
    assert archive.ended(recorded.session).reason is RecordingEnd.COUNTER_CLOSED


@pytest.mark.parametrize("name", ["CRC-32", "CRC-32C"])
def test_each_data_frame_has_its_checksum_for_a_session_id(archives: Archives, tmp_path: Path, name: str) -> None:
    checksum = checksum_named(name)
    assert checksum is not None
    archive = archives(checksum=checksum)
    recorded = archive.record()
    recorded.send(*random_messages(120))
    archive.stop(recorded)
    found = files_of(tmp_path, 1)
    for begin, content in expected_segments(recorded).items():
        expected = bytearray(content)
        offset = 0
        while offset < SEGMENT and (length := struct.unpack_from("<i", expected, offset)[0]) > 0:
            aligned = -(-length // 32) * 32
            if expected[offset + 6] == 1:
                struct.pack_into("<i", expected, offset + 12, checksum.compute(expected[offset + HEADER : offset + aligned]))
            offset += aligned
        assert found[begin] == expected


def test_the_counters_of_the_recorder_tell_bytes_and_times(archives: Archives, client: Aeron) -> None:
    counters = [client.add_counter(type_id, "recorder") for type_id in (106, 107, 105)]
    archive = archives(recorder_totals=TransferCounters(*map(LentCounter, counters)))
    recorded = archive.record()
    recorded.send(*[b"x" * 1000] * 62, b"y" * 1000)
    archive.stop(recorded)
    written, total_ns, longest_ns = (counter.value for counter in counters)
    assert written == 63 * 1056 + HEADER, "of padding the header alone"
    assert 0 < longest_ns <= total_ns


def test_the_counters_of_a_cycle_tell_the_longest_and_those_over_the_threshold(archives: Archives, client: Aeron) -> None:
    counters = [client.add_counter(type_id, "recorder") for type_id in (103, 104)]
    longest, exceeded = map(LentCounter, counters)
    clock = ManualClock(now_ns=1_000)
    archive = archives(clock=clock, recorder_cycles=CycleCounters(longest, exceeded, 500))
    clock.advance(700)
    archive.work()
    clock.advance(700)
    archive.work()
    assert [counter.value for counter in counters] == [0, 0], "the thread of a recorder without recordings sleeps until it is woken"
    recorded = archive.record()
    for elapsed in (0, 100, 600, 500, 501):
        clock.advance(elapsed)
        archive.work()
    assert [counter.value for counter in counters] == [600, 2]
    archive.stop(recorded)
    longest.recall()
    archive.work()
    assert longest.is_returned
    assert exceeded.is_returned
