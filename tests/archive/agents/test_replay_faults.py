"""Replays of files that are damaged, missing or unreadable: each ends with what is wrong and where, after all that is before it."""

from __future__ import annotations

import errno
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.agents.agent_events import FrameFault, ReplayEnd
from aerowire.archive.files.checksum import checksum_named
from tests.archive.agents.archive_host import SEGMENT, TERM, ArchiveHost
from tests.conftest import SEED

Archives = Callable[..., ArchiveHost]
FRAME = 1056  # of each message
COUNT = 100
STOP = TERM + 38 * FRAME  # 62 of them fill a term with padding
MESSAGES = [bytes([number]) * 1000 for number in range(COUNT)]


@pytest.fixture
def recording(archive: ArchiveHost) -> ArchiveHost:
    """Agents with a recording of two segments."""
    record(archive)
    return archive


def record(archive: ArchiveHost) -> None:
    recorded = archive.record()
    recorded.send(*MESSAGES)
    assert archive.stop(recorded).position == STOP


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.mark.parametrize("number", [0, 7])
@pytest.mark.parametrize(
    ("field", "value", "fault", "expected", "found"),
    [
        (0, struct.pack("<i", 0), FrameFault.LENGTH, 32, 0),
        (0, struct.pack("<i", -1032), FrameFault.LENGTH, 32, -1032),
        (0, struct.pack("<i", 31), FrameFault.LENGTH, 32, 31),
        (0, struct.pack("<i", 2**31 - 1), FrameFault.LENGTH, 32, 2**31 - 1),
        (0, struct.pack("<i", 8000), FrameFault.LENGTH, 1408, 8000),
        (4, b"\x01", FrameFault.TYPE, 0x100, 0x101),
        (6, b"\x05", FrameFault.TYPE, 0x100, 0x500),
        (8, struct.pack("<i", 12345), FrameFault.TERM_OFFSET, None, 12345),
        (16, struct.pack("<i", -7), FrameFault.STREAM_ID, 1001, -7),
        (20, struct.pack("<i", 99), FrameFault.TERM_ID, 7, 99),
    ],
)
def test_a_damaged_header_ends_the_replay_behind_what_is_before_it(
    recording: ArchiveHost, tmp_path: Path, number: int, field: int, value: bytes, fault: FrameFault, expected: int | None, found: int
) -> None:
    overwrite(tmp_path / "1-0.rec", number * FRAME + field, value)
    replay = recording.replay(stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.fault, end.position) == (ReplayEnd.CORRUPT_FRAME, fault, number * FRAME)
    assert (end.segment_position, end.offset) == (0, number * FRAME)
    assert (end.expected, end.found) == (number * FRAME if expected is None else expected, found)
    assert replay.messages == MESSAGES[:number]
    assert recording.has_started(replay.session) == (number > 0)


def test_zeros_in_place_of_what_was_never_written_are_no_stall(recording: ArchiveHost, tmp_path: Path) -> None:
    overwrite(tmp_path / f"1-{SEGMENT}.rec", 10 * FRAME, bytes(5 * FRAME))
    replay = recording.replay(stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.fault, end.found) == (ReplayEnd.CORRUPT_FRAME, FrameFault.LENGTH, 0)
    assert (end.position, end.segment_position, end.offset) == (SEGMENT + 10 * FRAME, SEGMENT, 10 * FRAME)
    assert replay.messages == MESSAGES[:72]


def test_a_frame_behind_the_end_of_the_recording_is_damage(recording: ArchiveHost) -> None:
    replay = recording.replay(stop_position=STOP - 32)
    end = replay.ended()
    assert (end.reason, end.fault, end.expected, end.found) == (ReplayEnd.CORRUPT_FRAME, FrameFault.LENGTH, FRAME - 32, 1032)
    assert replay.messages == MESSAGES[:-1]


@pytest.mark.parametrize("position", [32, FRAME + 32, TERM + 64])
def test_a_position_amid_a_frame_is_told_from_damage(recording: ArchiveHost, position: int) -> None:
    replay = recording.replay(position=position, stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.position, end.offset) == (ReplayEnd.INVALID_POSITION, position, position % SEGMENT)
    assert not recording.has_started(replay.session)


@pytest.mark.parametrize("begin", [0, SEGMENT])
def test_a_segment_that_is_missing_is_named(recording: ArchiveHost, tmp_path: Path, begin: int) -> None:
    (tmp_path / f"1-{begin}.rec").unlink()
    replay = recording.replay(stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.error, end.position, end.segment_position) == (ReplayEnd.SEGMENT_MISSING, errno.ENOENT, begin, begin)
    assert replay.messages == MESSAGES[: 62 if begin else 0]


@pytest.mark.parametrize(("length", "whole"), [(0, 0), (20, 0), (FRAME, 1), (5 * FRAME + 500, 5), (38 * FRAME - 32, 37)])
def test_a_segment_that_is_too_short_is_told_where_it_ends(recording: ArchiveHost, tmp_path: Path, length: int, whole: int) -> None:
    with (tmp_path / f"1-{SEGMENT}.rec").open("r+b") as file:
        file.truncate(length)
    replay = recording.replay(stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.position, end.segment_position) == (ReplayEnd.SEGMENT_SHORT, SEGMENT + whole * FRAME, SEGMENT)
    assert (end.expected, end.found) == (38 * FRAME, length)
    assert replay.messages == MESSAGES[: 62 + whole]


@pytest.mark.parametrize("operation", ["open", "read"])
def test_a_file_that_cannot_be_read_ends_the_replay(archives: Archives, files: Any, operation: str) -> None:
    archive = archives(files=files)
    record(archive)
    files.fail(operation, errno.EIO, before=1)
    replay = archive.replay(stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.error, end.position) == (ReplayEnd.READ_FAILED, errno.EIO, SEGMENT)
    assert replay.messages == MESSAGES[:62]


@pytest.mark.parametrize("offset", [32, 500, 1040, 12])
def test_a_checksum_finds_each_damaged_byte(archives: Archives, tmp_path: Path, offset: int) -> None:
    archive = archives(checksum=checksum_named("CRC-32C"))
    record(archive)
    at = 20 * FRAME + offset
    content = (tmp_path / "1-0.rec").read_bytes()
    overwrite(tmp_path / "1-0.rec", at, bytes([content[at] ^ 4]))
    replay = archive.replay(stop_position=STOP)
    end = replay.ended()
    assert (end.reason, end.fault, end.position, end.offset) == (ReplayEnd.CORRUPT_FRAME, FrameFault.CHECKSUM, 20 * FRAME, 20 * FRAME)
    assert end.expected != end.found
    assert replay.messages == MESSAGES[:20]


@pytest.mark.parametrize("is_header_damaged", [False, True])
def test_random_damage_never_touches_what_is_before_it(archives: Archives, tmp_path: Path, is_header_damaged: bool) -> None:
    archive = archives(checksum=checksum_named("CRC-32"))
    record(archive)
    draw = random.Random(SEED)
    path = tmp_path / "1-0.rec"
    content = path.read_bytes()
    for turn in range(30):
        damaged = bytearray(content)
        frames = sorted(draw.sample(range(62), draw.randrange(1, 4)))
        for frame in frames:
            begin = frame * FRAME + (draw.randrange(29) if is_header_damaged else draw.randrange(32, 1028))
            damaged[begin : begin + 4] = draw.choice((b"\xee" * 4, b"\xff" * 4, draw.randbytes(4)))
        path.write_bytes(damaged)
        replay = archive.replay(stop_position=STOP, replay_stream_id=3000 + turn)
        end = replay.ended()
        where = f"seed {SEED}, turn {turn}: {end}"
        assert replay.messages[: frames[0]] == MESSAGES[: frames[0]], where
        if is_header_damaged:  # some of it no file can tell: lengths within the alignment, flags, the reserved value
            assert end.reason in (ReplayEnd.COMPLETE, ReplayEnd.CORRUPT_FRAME), where
            assert end.position >= frames[0] * FRAME, where
        else:
            assert (end.reason, end.fault, end.position) == (ReplayEnd.CORRUPT_FRAME, FrameFault.CHECKSUM, frames[0] * FRAME), where
        replay.subscription.close()
