"""Replays of recordings, compared message by message with what was published."""

from __future__ import annotations

from aerowire.archive.agents.agent_events import ReplayEnd
from tests.archive.agents.archive_host import ArchiveHost


def test_a_replay_brings_what_was_published(archive: ArchiveHost) -> None:
    recorded = archive.record()
    messages = [bytes([number % 251]) * (number * 7 % 1300) for number in range(1_000)]
    recorded.send(*messages)
    end = archive.stop(recorded)
    replay = archive.replay(stop_position=end.position)
    assert replay.ended().reason is ReplayEnd.COMPLETE
    assert archive.has_started(replay.session)
    assert replay.messages == messages
