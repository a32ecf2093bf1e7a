"""Replays begun, bounded, followed, stopped and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.archive import REPLAY_ALL_AND_STOP, ArchiveErrorCode, ReplayParams
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.requests import Replay
from aerowire.client import Subscription
from aerowire.codecs.tables.counters import CounterType
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, PAYLOAD, STREAM_ID, Rig
from tests.archive.conductor.test_recordings import refusal

REPLAY_CHANNEL = "aeron:ipc?alias=replay"
REPLAY_STREAM_ID = 2002


def replay(rig: Rig, recording_id: int, params: ReplayParams | None = None) -> Subscription:
    return rig.client.replay(recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID, params or ReplayParams())


def read(rig: Rig, subscription: Subscription, count: int) -> list[bytes]:
    """Read messages of a replay."""
    found: list[bytes] = []

    def poll() -> bool:
        subscription.poll(lambda buffer, offset, length, _: found.append(bytes(buffer[offset : offset + length])))
        return len(found) >= count

    rig.run(poll)
    return found


def has_ended(subscription: Subscription) -> bool:
    """Return whether a replay's image has gone, or ended, with all read."""
    subscription.poll(lambda *_: None)
    return subscription.image_count == 0 or all(image.is_end_of_stream for image in subscription.images)


def replay_count(rig: Rig) -> int:
    return next(found.value for found in rig.aeron.counters_reader.for_each() if found.type_id == CounterType.ARCHIVE_REPLAY_SESSION_COUNT)


def test_replays_a_recording_to_its_end(rig: Rig) -> None:
    recording_id, _ = rig.record(100)
    subscription = replay(rig, recording_id)
    assert read(rig, subscription, 100) == [PAYLOAD] * 100
    rig.run(lambda: has_ended(subscription))
    rig.run(lambda: replay_count(rig) == 0)
    assert rig.errors() == []


def test_replays_a_part(rig: Rig) -> None:
    recording_id, _ = rig.record(10)
    subscription = replay(rig, recording_id, ReplayParams(position=2 * FRAME_LENGTH, length=3 * FRAME_LENGTH))
    assert read(rig, subscription, 3) == [PAYLOAD] * 3
    rig.run(lambda: replay_count(rig) == 0)
    assert subscription.poll(lambda *_: None) == 0


def test_follows_a_recording_that_goes_on_until_it_stops(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    rig.offer(publication, 5)
    subscription = replay(rig, recording_id)
    assert len(read(rig, subscription, 5)) == 5
    rig.offer(publication, 5)
    assert len(read(rig, subscription, 5)) == 5
    assert replay_count(rig) == 1
    rig.client.stop_recording(CHANNEL, STREAM_ID)
    rig.run(lambda: replay_count(rig) == 0)


def test_a_replay_that_is_to_stop_ends_where_the_recording_was(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    subscription = replay(rig, recording_id, ReplayParams(length=REPLAY_ALL_AND_STOP))
    rig.offer(publication, 5)
    assert len(read(rig, subscription, 5)) == 5
    rig.run(lambda: replay_count(rig) == 0)
    assert subscription.poll(lambda *_: None) == 0


def test_a_counter_of_the_client_bounds_a_replay(rig: Rig) -> None:
    recording_id, _ = rig.record(10)
    counter = rig.aeron.add_counter(10_001, "limit")
    counter.value = 4 * FRAME_LENGTH
    rig.cycle()
    subscription = replay(rig, recording_id, ReplayParams(bounding_limit_counter_id=counter.counter_id, length=10 * FRAME_LENGTH))
    assert len(read(rig, subscription, 4)) == 4
    for _ in range(100):
        rig.cycle()
    assert subscription.poll(lambda *_: None) == 0
    counter.value = 10 * FRAME_LENGTH
    assert len(read(rig, subscription, 6)) == 6
    rig.run(lambda: replay_count(rig) == 0)


@pytest.mark.parametrize("counter_id", [-1, 1 << 30, 8000])
def test_refuses_a_bound_that_is_no_counter(rig: Rig, counter_id: int) -> None:
    recording_id, _ = rig.record(1)
    session = rig.archive.conductor.control_sessions.adapter.sessions[0]
    request = Replay(
        correlation_id=1,
        recording_id=recording_id,
        position=0,
        length=-1,
        limit_counter_id=counter_id,
        stream_id=5,
        file_io_max_length=-1,
        replay_token=-1,
        channel=REPLAY_CHANNEL,
    )
    with pytest.raises(RequestRefusedError, match="unable to create replay limit counter id= "):
        rig.archive.conductor.replays.start(session, request)


def test_an_empty_recording_that_is_to_stop_is_refused_once(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    rig.publication()
    recording_id = rig.started()
    assert refusal(replay, rig, recording_id, ReplayParams(length=REPLAY_ALL_AND_STOP))[1] is ArchiveErrorCode.EMPTY_RECORDING
    for _ in range(50):
        rig.cycle()
    assert rig.failures == []
    assert replay_count(rig) == 0


def test_refuses_what_cannot_be_replayed(rig: Rig) -> None:
    recording_id, end = rig.record(5)
    assert refusal(replay, rig, 1234)[1] is ArchiveErrorCode.UNKNOWN_RECORDING
    text, code = refusal(replay, rig, recording_id, ReplayParams(position=17))
    assert code is ArchiveErrorCode.INVALID_POSITION
    assert f"requested replay start position=17 is not a multiple of FRAME_ALIGNMENT (32) for recording {recording_id}" in text
    assert refusal(replay, rig, recording_id, ReplayParams(position=end))[1] is ArchiveErrorCode.INVALID_POSITION
    text, code = refusal(replay, rig, recording_id, ReplayParams(position=64))
    assert code is ArchiveErrorCode.INVALID_POSITION
    assert "replayPosition=64 does not point to a valid frame" in text
    assert "segmentFile=0-0.rec" in text
    assert "failed to process replayChannel" in refusal(rig.client.start_replay, recording_id, "aeron:udp?endpoint=h:1|linger=long", 5)[0]
    rig.run(lambda: replay_count(rig) == 0)
    assert rig.archive.conductor.replays.count == 0


def test_refuses_more_replays_than_are_allowed(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", max_concurrent_replays=2)
    recording_id, _ = rig.record(100)
    subscriptions = [replay(rig, recording_id) for _ in range(2)]
    text, code = refusal(replay, rig, recording_id)
    assert code is ArchiveErrorCode.MAX_REPLAYS
    assert "max concurrent replays reached 2" in text
    for subscription in subscriptions:
        read(rig, subscription, 100)
    rig.run(lambda: rig.archive.conductor.replays.count == 0)
    assert len(read(rig, replay(rig, recording_id), 100)) == 100
    rig.close()


def test_a_stopped_replay_is_revoked(rig: Rig) -> None:
    recording_id, _ = rig.record(200)
    subscription = rig.aeron.add_subscription(REPLAY_CHANNEL, REPLAY_STREAM_ID)
    replay_session_id = rig.client.start_replay(recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID)
    rig.run(lambda: subscription.is_connected)
    [image] = subscription.images
    rig.client.stop_replay(replay_session_id)
    rig.run(lambda: image.is_publication_revoked or image.is_closed)
    rig.run(lambda: replay_count(rig) == 0)
    rig.client.stop_replay(replay_session_id)
    rig.client.stop_all_replays()
    assert rig.errors() == []


def test_stops_all_replays_of_a_recording(rig: Rig) -> None:
    first, second = (rig.record(200)[0] for _ in range(2))
    for recording_id in (first, first, second):
        replay(rig, recording_id)
    rig.client.stop_all_replays(first)
    rig.run(lambda: replay_count(rig) == 1)
    rig.client.stop_all_replays()
    rig.run(lambda: replay_count(rig) == 0)


def test_a_replay_that_nothing_receives_ends_with_an_error(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "archive", connect_timeout_ns=300_000_000)
    recording_id, _ = rig.record(5)
    rig.client.start_replay(recording_id, REPLAY_CHANNEL, REPLAY_STREAM_ID)
    rig.run(lambda: rig.failures, cycles=20_000_000)
    assert "no connection established for replayChannel=" in str(rig.failures[0])
    assert rig.archive.conductor.replays.count == 0
    rig.close()


def test_a_missing_segment_ends_a_replay_with_an_error_that_names_it(rig: Rig) -> None:
    recording_id, _ = rig.record(100)
    (rig.directory / f"{recording_id}-65536.rec").unlink()
    subscription = replay(rig, recording_id)
    rig.run(lambda: subscription.poll(lambda *_: None) == 0 and rig.failures)
    assert f"segmentFile={recording_id}-65536.rec" in str(rig.failures[0])


def test_replays_by_a_response_channel(rig: Rig) -> None:
    recording_id, _ = rig.record(5)
    token = rig.client.request_replay_token(recording_id)
    assert rig.client.request_replay_token(recording_id) not in {token, -1}
