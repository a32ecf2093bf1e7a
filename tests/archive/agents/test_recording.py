"""Recordings of streams of a driver, compared byte by byte with what the log held."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.archive.agents.agent_events import RecordingEnd
from tests.archive.agents.archive_host import TERM, ArchiveHost, expected_segments, files_of, random_messages


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
