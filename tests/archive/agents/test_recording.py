"""Recordings of streams of a driver, compared byte by byte with what the log held."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from aerowire.archive.agents.agent_events import RecordingEnd
from tests.archive.agents.archive_host import SEGMENT, TERM, ArchiveHost, Recorded
from tests.conftest import SEED

HEADER = 32


def expected_segments(recorded: Recorded, segment_length: int = SEGMENT) -> dict[int, bytes]:
    """Return what the segment files hold by what the log held: of padding the header alone, and zeros where nothing was."""
    base = recorded.start_position - recorded.start_position % TERM
    segments: dict[int, bytearray] = {}
    for position, block in recorded.content.items():
        begin = base + (position - base) // segment_length * segment_length
        segment = segments.setdefault(begin, bytearray(segment_length))
        is_padding = struct.unpack_from("<H", block, 6)[0] == 0
        data = block[:HEADER] if is_padding else block
        segment[position - begin : position - begin + len(data)] = data
    return {begin: bytes(content) for begin, content in segments.items()}


def files_of(directory: Path, recording_id: int) -> dict[int, bytes]:
    """Return the segment files of a recording."""
    return {int(path.stem.split("-")[1]): path.read_bytes() for path in directory.glob(f"{recording_id}-*.rec")}


def random_messages(count: int, *, salt: int = 0) -> list[bytes]:
    """Return messages of lengths around every kind of boundary."""
    draw = random.Random(SEED + salt)
    lengths = [draw.choice((0, 1, 31, 32, 33, 100, 1000, 1376, 1377, 5000, draw.randrange(8000))) for _ in range(count)]
    return [draw.randbytes(length) for length in lengths]


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
