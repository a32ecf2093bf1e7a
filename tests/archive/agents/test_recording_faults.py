"""How recordings end when files fail: what they report, what they leave, and that the counter stays behind what is durable."""

from __future__ import annotations

import errno
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.agents.agent_events import RecordingEnd
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from aerowire.system.files import allocated_length
from tests.archive.agents.archive_host import SEGMENT, TERM, ArchiveHost, Recorded, expected_segments, files_of, random_messages
from tests.conftest import SEED
from tests.simulation.disk.ports import disk_of

Archives = Callable[..., ArchiveHost]
MESSAGE = b"m" * 1000  # 1,056 bytes in the log, so that 62 of them and padding fill a term
SECOND_NS = 1_000_000_000


@pytest.fixture
def host(archives: Archives, files: Any) -> ArchiveHost:
    """Agents at sync level 1, on files that fail as a test says."""
    return archives(files=files, clock=ManualClock(now_ns=SECOND_NS), sync_level=1)


def counter_of(recorded: Recorded) -> int:
    counter: Any = recorded.session.position_counter.handle
    return int(counter.value)


def test_a_block_is_written_and_synced_before_it_is_counted_and_released(host: ArchiveHost, files: Any) -> None:
    recorded = host.record()
    recorded.send(MESSAGE)
    assert [name for name, _, _ in files.notes] == ["open", "truncate", "sync_directory", "write", "sync"]
    image: Any = recorded.session.image.handle
    host.work()  # a look at the segment, of which there is one in a second
    files.holds = True
    recorded.publication.offer(MESSAGE)
    for expected in ("write", "sync"):
        for _ in range(3):
            host.work()
        assert (counter_of(recorded), recorded.session.position, image.position) == (1056, 1056, 1056)
        assert files.release() == 1
        assert files.notes[-1][0] == expected
    host.work()
    assert (counter_of(recorded), recorded.session.position, image.position) == (2112, 2112, 2112)
    files.holds = False


@pytest.mark.parametrize(
    ("operation", "number", "reason"),
    [
        ("open", errno.EACCES, RecordingEnd.WRITE_FAILED),
        ("truncate", errno.EDQUOT, RecordingEnd.STORAGE_FULL),
        ("preallocate", errno.ENOSPC, RecordingEnd.STORAGE_FULL),
        ("sync_directory", errno.EIO, RecordingEnd.SYNC_FAILED),
        ("write", errno.EIO, RecordingEnd.WRITE_FAILED),
        ("write", errno.ENOSPC, RecordingEnd.STORAGE_FULL),
        ("sync", errno.EIO, RecordingEnd.SYNC_FAILED),
    ],
)
def test_a_failure_in_the_first_segment_leaves_nothing(
    archives: Archives, files: Any, tmp_path: Path, operation: str, number: int, reason: RecordingEnd
) -> None:
    host = archives(files=files, clock=ManualClock(now_ns=SECOND_NS), sync_level=1, is_preallocated=operation == "preallocate")
    recorded = host.record()
    files.fail(operation, number)
    recorded.send(MESSAGE)
    end = host.ended(recorded.session)
    assert (end.reason, end.error, end.position, end.segment_position) == (reason, number, 0, 0)
    assert counter_of(recorded) == 0
    assert list(tmp_path.iterdir()) == []
    assert recorded.session.image.is_returned
    assert recorded.session.position_counter.is_returned
    assert [name for name, _, _ in files.notes].count(operation) == 1, "no second try"


@pytest.mark.parametrize("operation", ["open", "truncate", "sync_directory", "write", "sync", "close"])
def test_a_failure_in_a_later_segment_keeps_those_before(host: ArchiveHost, files: Any, tmp_path: Path, operation: str) -> None:
    recorded = host.record()
    recorded.send(*[MESSAGE] * 62)
    assert counter_of(recorded) == 62 * 1056
    recorded.host.to_recorder.flush()
    files.fail(operation, errno.EIO)
    recorded.send(MESSAGE)
    end = host.ended(recorded.session)
    assert end.error == errno.EIO
    # The block of padding that ends the segment is counted, unless it was that one that failed.
    assert end.position == counter_of(recorded) == (62 * 1056 if operation in ("write", "sync", "close") else SEGMENT)
    found = files_of(tmp_path, 1)
    assert list(found) == [0]
    assert found[0][: end.position] == expected_segments(recorded)[0][: end.position]


def test_an_operation_that_takes_nothing_is_no_success(host: ArchiveHost, files: Any) -> None:
    recorded = host.record()
    recorded.send(MESSAGE)
    files.fail("write", 0)
    recorded.send(MESSAGE)
    end = host.ended(recorded.session)
    assert (end.reason, end.error, end.position) == (RecordingEnd.WRITE_FAILED, errno.EIO, 1056)


def test_writes_that_fall_short_go_on(host: ArchiveHost, files: Any, tmp_path: Path) -> None:
    files.most = 700
    recorded = host.record()
    recorded.send(*random_messages(40))
    host.stop(recorded)
    assert files_of(tmp_path, 1) == expected_segments(recorded)


def test_a_segment_that_is_there_already_is_not_written(host: ArchiveHost, tmp_path: Path) -> None:
    recorded = host.record()
    (tmp_path / f"1-{SEGMENT}.rec").write_bytes(b"another's")
    recorded.send(*[MESSAGE] * 63)
    end = host.ended(recorded.session)
    assert (end.reason, end.error, end.position) == (RecordingEnd.SEGMENT_EXISTS, errno.EEXIST, SEGMENT)
    assert (tmp_path / f"1-{SEGMENT}.rec").read_bytes() == b"another's"


@pytest.mark.parametrize("is_preallocated", [False, True])
def test_a_segment_takes_what_is_written_or_its_whole_length(archives: Archives, tmp_path: Path, *, is_preallocated: bool) -> None:
    host = archives(is_preallocated=is_preallocated)
    recorded = host.record()
    recorded.send(MESSAGE)
    facts = (tmp_path / "1-0.rec").stat()
    assert facts.st_size == SEGMENT
    assert (allocated_length(facts) >= SEGMENT) == is_preallocated
    host.stop(recorded)


def test_a_disk_that_is_full_amid_a_segment_ends_the_recording_at_what_is_counted(host: ArchiveHost, files: Any, tmp_path: Path) -> None:
    recorded = host.record()
    recorded.send(MESSAGE, MESSAGE)
    files.fail("write", errno.ENOSPC)
    recorded.send(MESSAGE)
    end = host.ended(recorded.session)
    assert (end.reason, end.error, end.position) == (RecordingEnd.STORAGE_FULL, errno.ENOSPC, 2112)
    assert counter_of(recorded) == 2112
    assert files_of(tmp_path, 1)[0][:2112] == expected_segments(recorded)[0][:2112]


def test_recordings_go_on_when_there_is_space_again(host: ArchiveHost, files: Any, tmp_path: Path) -> None:
    full, running = host.record(1), host.record(2, stream_id=1002)
    running.send(MESSAGE)
    files.fail("truncate", errno.ENOSPC)
    full.send(MESSAGE)
    assert host.ended(full.session).reason is RecordingEnd.STORAGE_FULL
    running.send(MESSAGE)
    files.mend()
    again = host.record(3, stream_id=1003)
    again.send(MESSAGE)
    for recorded, length in ((running, 2112), (again, 1056)):
        assert host.stop(recorded).position == length
    assert {path.name for path in tmp_path.iterdir()} == {"2-0.rec", "3-0.rec"}


@pytest.mark.parametrize("what", ["removed", "shortened"])
def test_a_segment_that_loses_its_name_or_its_end_is_noticed(archives: Archives, tmp_path: Path, what: str) -> None:
    clock = ManualClock(now_ns=SECOND_NS)
    host = archives(clock=clock)
    recorded = host.record()
    recorded.send(MESSAGE)
    host.work()
    segment = tmp_path / "1-0.rec"
    if what == "removed":
        segment.unlink()
    else:
        with segment.open("r+b") as file:
            file.truncate(5000)
    clock.advance(SECOND_NS // 2)
    recorded.send(MESSAGE)
    assert not recorded.session.is_ended
    clock.advance(SECOND_NS)
    end = host.ended(recorded.session)
    assert end.position == 2112
    if what == "removed":
        assert end.reason is RecordingEnd.SEGMENT_MISSING
    else:
        assert (end.reason, end.expected, end.found) == (RecordingEnd.SEGMENT_SHORTENED, SEGMENT, 5000)


def test_a_slow_disk_holds_up_one_recording_alone(archives: Archives, files: Any) -> None:
    host = archives(files=files)
    slow, quick = host.record(1), host.record(2, stream_id=1002)
    quick.send(MESSAGE)
    files.holds = True
    slow.publication.offer(MESSAGE)
    host.work()
    files.holds = False
    quick.send(*random_messages(50))
    assert slow.session.position == 0
    host.to_recorder.stop(slow.session)
    host.work()
    assert not slow.session.image.is_returned, "its memory is being written"
    files.release()
    assert host.ended(slow.session).position == 1056


@pytest.mark.parametrize("turn", range(25))
def test_no_power_failure_loses_what_was_counted(archives: Archives, turn: int) -> None:
    seed = SEED + turn
    draw = random.Random(seed)
    faults: dict[str, Any] = {name: draw.choice((0.0, 0.02)) for name in ("write_error", "sync_error", "short_write")}
    disk, files, clock = disk_of(seed)
    files.make_directory("/archive")
    files.sync_directory("/")
    disk.faults = DiskFaults(writeback=draw.random(), latency_ns=1000, jitter_ns=draw.choice((0, 100_000)), **faults)

    def go_on() -> None:
        clock.advance(draw.randrange(200_000))
        disk.complete_due()

    host = archives("/archive", files=files, clock=clock, sync_level=draw.choice((1, 2)), before_work=go_on)
    recorded = host.record(position=draw.choice((0, TERM - 4096, 3 * TERM)))
    lasts = draw.randrange(1, 200)
    for message in itertools.islice(random_messages(200, salt=turn), lasts):
        while not recorded.session.is_ended and recorded.publication.offer(message) < 0:
            host.work()
        for _ in range(draw.randrange(12)):
            host.work()
    recorded.watch()
    counted = counter_of(recorded)
    disk.lose_power()
    survivor = SimulatedFiles(disk)
    for begin, content in expected_segments(recorded).items():
        first, last = max(recorded.start_position - begin, 0), min(counted - begin, SEGMENT)
        if first < last:
            with survivor.open(f"/archive/1-{begin}.rec") as file:
                assert file.read(0, SEGMENT)[first:last] == content[first:last], f"seed {seed}: segment {begin}, counted {counted}"
