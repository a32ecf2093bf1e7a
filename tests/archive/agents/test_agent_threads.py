"""Recorder and replayer in threads of their own, beside those of the driver and of the files port."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.archive.agents.agent_events import RecordingEnd, ReplayEnd
from aerowire.base.agent import Agent
from aerowire.base.idle import BackoffIdleStrategy
from aerowire.base.runner import AgentRunner, NativeAgent
from aerowire.system.file_system import FileSystem, FileWorkers
from tests.archive.agents.archive_host import ArchiveHost, expected_segments, files_of, random_messages

Archives = Callable[..., ArchiveHost]


@pytest.mark.threads
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("is_shared", [False, True])
def test_streams_are_recorded_and_followed_by_threads(archives: Archives, tmp_path: Path, workers: int, is_shared: bool) -> None:
    files = FileWorkers(FileSystem(), workers) if workers else FileSystem()
    archive = archives(files=files, sync_level=1)
    agents: list[NativeAgent | Agent] = [archive.recorder, archive.replayer]
    groups = [agents] if is_shared else [[agent] for agent in agents]
    runners = archive.run([AgentRunner(group, archive.clock, BackoffIdleStrategy()) for group in groups])
    recordings = [archive.record(number, stream_id=1001 + number) for number in range(3)]
    replays = [
        archive.replay(recorded.session.recording_id, stream_id=1001 + number, replay_stream_id=2001 + number, source=recorded.session)
        for number, recorded in enumerate(recordings)
    ]
    for number, recorded in enumerate(recordings):
        recorded.send(*random_messages(150, salt=number))
    for number, (recorded, replay) in enumerate(zip(recordings, replays, strict=True)):
        assert archive.stop(recorded).reason is RecordingEnd.STOPPED
        end = replay.ended()
        assert (end.reason, end.position) == (ReplayEnd.COMPLETE, recorded.session.position)
        assert replay.messages == recorded.messages
        assert files_of(tmp_path, number) == expected_segments(recorded)
    for runner in runners:
        assert runner.stop()
    files.close()


@pytest.mark.threads
def test_sessions_come_and_go_while_others_run(archives: Archives) -> None:
    archive = archives()
    runners = archive.run([AgentRunner([agent], archive.clock, BackoffIdleStrategy()) for agent in (archive.recorder, archive.replayer)])
    running = archive.record(0, stream_id=999)
    for turn in range(1, 15):
        recorded = archive.record(turn, stream_id=1000 + turn)
        running.send(b"meanwhile")
        recorded.send(*random_messages(5, salt=turn))
        replay = archive.replay(turn, stream_id=1000 + turn, replay_stream_id=3000 + turn, source=recorded.session)
        if turn % 2:
            archive.to_replayer.abort(replay.session)
        archive.stop(recorded)
        assert archive.replay_ended(replay.session).reason in (ReplayEnd.COMPLETE, ReplayEnd.ABORTED)
    assert running.session.position == running.publication.position
    assert archive.events.held_count == 1, "the recording that goes on"
    for runner in runners:
        assert runner.stop()
    assert archive.recorder.session_count == 1


@pytest.mark.threads
def test_a_call_that_keeps_the_interpreter_lock_stops_neither(archives: Archives) -> None:
    archive = archives(segment_length=16 * 1024 * 1024)
    recorded = archive.record(term_length=16 * 1024 * 1024)
    recorded.witness.recall()
    recorded.witness.return_now()
    for _ in range(4_000):
        assert recorded.publication.offer(b"x" * 1000) > 0
    blocks = recorded.publication.position // 65_536
    archive.run([AgentRunner([archive.recorder], archive.clock, BackoffIdleStrategy())])
    calls = 0
    while recorded.session.position < recorded.publication.position:
        sum(bytes(10_000_000))  # one call of the interpreter, which lets no other thread in
        calls += 1
    assert calls < blocks / 2, "a recorder that takes the lock for each block gets one between two calls"


def test_agents_that_stop_give_back_what_they_have(archives: Archives) -> None:
    archive = archives()
    recorded = archive.record()
    recorded.send(b"x")
    replay = archive.replay(source=recorded.session)
    archive.work()
    archive.close()
    assert recorded.session.image.is_returned
    assert recorded.session.position_counter.is_returned
    assert recorded.session.is_ended
    assert replay.session.publication.is_returned
