"""Replays of recordings, compared message by message with what was published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aerowire.archive.agents.agent_events import ReplayEnd
from aerowire.archive.agents.position_bound import PositionBound
from aerowire.archive.files.checksum import checksum_named
from aerowire.client import Aeron
from aerowire.system.clock import ManualClock
from tests.archive.agents.archive_host import SECOND_NS, TERM, ArchiveHost, Recorded, random_messages

Archives = Callable[..., ArchiveHost]
MESSAGES = [bytes([number % 251]) * (number * 7 % 1300) for number in range(1_000)]


def recorded_of(archive: ArchiveHost, messages: list[bytes] = MESSAGES, **options: Any) -> Recorded:
    """Record messages, and stop."""
    recorded = archive.record(**options)
    recorded.send(*messages)
    archive.stop(recorded)
    return recorded


def test_a_replay_brings_what_was_published(archive: ArchiveHost) -> None:
    stop = recorded_of(archive).session.position
    replay = archive.replay(stop_position=stop)
    end = replay.ended()
    assert (end.reason, end.position, end.error) == (ReplayEnd.COMPLETE, stop, 0)
    assert archive.has_started(replay.session)
    assert replay.messages == MESSAGES


def test_a_replay_has_the_frames_of_the_recording_and_the_ids_of_its_publication(archive: ArchiveHost) -> None:
    recorded = recorded_of(archive, position=3 * TERM + 4096, initial_term_id=2**31 - 2)
    positions: dict[str, Any] = {"position": 3 * TERM + 4096, "start_position": 3 * TERM + 4096, "stop_position": recorded.session.position}
    replay = archive.replay(**positions, initial_term_id=2**31 - 2)
    assert replay.ended().reason is ReplayEnd.COMPLETE
    assert replay.messages == MESSAGES
    assert replay.headers == [(replay.publication.session_id, 2001)] * len(MESSAGES)


def test_a_replay_may_begin_at_any_frame(archive: ArchiveHost) -> None:
    recorded = archive.record()
    begins = []
    for message in MESSAGES[:300]:
        begins.append(recorded.publication.position)
        recorded.send(message)
    stop = archive.stop(recorded).position
    for number in (1, 57, 299):
        replay = archive.replay(position=begins[number], stop_position=stop)
        assert replay.ended().reason is ReplayEnd.COMPLETE
        assert replay.messages == MESSAGES[number:300]


def test_frames_that_begin_before_the_limit_are_sent_whole(archive: ArchiveHost) -> None:
    stop = recorded_of(archive, [b"x" * 1000] * 100).session.position
    for limit, count in ((1, 1), (1056, 1), (1057, 2), (62 * 1056, 62), (62 * 1056 + 1, 62), (TERM + 1, 63)):
        replay = archive.replay(limit_position=limit, stop_position=stop)
        assert replay.ended().reason is ReplayEnd.COMPLETE
        assert len(replay.messages) == count, limit


def test_a_replay_of_nothing_is_complete(archive: ArchiveHost) -> None:
    replay = archive.replay(stop_position=0)
    end = replay.ended()
    assert (end.reason, end.position) == (ReplayEnd.COMPLETE, 0)
    assert archive.has_started(replay.session)


def test_a_follower_gets_what_is_recorded_meanwhile_and_ends_with_the_recording(archive: ArchiveHost) -> None:
    recorded = archive.record()
    replay = archive.replay(source=recorded.session)
    archive.work()
    assert archive.has_started(replay.session), "there is no file yet"
    for number in range(0, 1_000, 50):
        recorded.send(*MESSAGES[number : number + 50])
        replay.receive(number + 50)
    assert replay.messages == MESSAGES
    assert not replay.is_over
    stop = archive.stop(recorded).position
    end = replay.ended()
    assert (end.reason, end.position) == (ReplayEnd.COMPLETE, stop)


def test_a_follower_never_goes_beyond_what_is_counted(archives: Archives, files: Any) -> None:
    archive = archives(files=files, clock=ManualClock(now_ns=SECOND_NS), sync_level=1)
    recorded = archive.record()
    recorded.send(b"first")
    replay = archive.replay(source=recorded.session)
    replay.receive(1)
    files.holds = True
    recorded.publication.offer(b"second")
    archive.work()
    files.release()  # the write; its sync is under way
    for _ in range(10):
        replay.poll()
    assert (len(replay.messages), recorded.session.position) == (1, 64)
    assert files.held_count == 1
    files.release()
    files.holds = False
    replay.receive(2)


def test_a_bound_holds_a_replay_and_its_last_value_stays(archive: ArchiveHost, client: Aeron) -> None:
    stop = recorded_of(archive, [b"x" * 1000] * 100).session.position
    counter = client.add_counter(1_000, "bound")
    counter.value = 1056
    replay = archive.replay(stop_position=stop, bound=PositionBound(client.counters_reader, counter.counter_id))
    replay.receive(1)
    counter.value = 3 * 1056 + 17
    replay.receive(3)
    for _ in range(10):
        replay.poll()
    assert (len(replay.messages), replay.is_over) == (3, False)
    counter.value = 5 * 1056
    counter.close()
    end = replay.ended()
    assert (end.reason, end.position, len(replay.messages)) == (ReplayEnd.COMPLETE, 5 * 1056, 5)


def test_a_bound_amid_a_frame_that_stays_ends_the_replay_before_it(archive: ArchiveHost, client: Aeron) -> None:
    stop = recorded_of(archive, [b"x" * 1000] * 10).session.position
    counter = client.add_counter(1_000, "bound")
    counter.value = 2 * 1056 + 500
    replay = archive.replay(stop_position=stop, bound=PositionBound(client.counters_reader, counter.counter_id))
    replay.receive(2)
    counter.close()
    end = replay.ended()
    assert (end.reason, end.position) == (ReplayEnd.COMPLETE, 2 * 1056)


def test_a_bound_needs_a_counter_in_use(client: Aeron) -> None:
    with pytest.raises(IndexError):
        PositionBound(client.counters_reader, 1 << 30)
    with pytest.raises(ValueError, match="expected one in use"):
        PositionBound(client.counters_reader, client.counters_reader.max_count - 1)


def test_a_subscriber_that_does_not_read_holds_the_replay(archive: ArchiveHost) -> None:
    stop = recorded_of(archive, [b"x" * 1000] * 300).session.position
    replay = archive.replay(stop_position=stop)
    for _ in range(50):
        archive.work()
    held_at = replay.publication.position
    assert TERM // 2 <= held_at < 2 * TERM
    for _ in range(50):
        archive.work()
    assert replay.publication.position == held_at
    assert replay.ended().reason is ReplayEnd.COMPLETE
    assert len(replay.messages) == 300


def test_padding_of_any_length_is_replayed(archive: ArchiveHost) -> None:
    recorded = archive.record()
    recorded.send(b"a")
    for length in (0, 1, 500, 8000):
        assert recorded.publication.append_padding(length) > 0
    recorded.send(*[b"b" * 8000] * 8, b"c")  # the rest of the term is padding that is longer than a message
    stop = archive.stop(recorded).position
    replay = archive.replay(stop_position=stop)
    assert replay.ended().position == stop > TERM
    assert replay.messages == recorded.messages


def test_a_replay_is_aborted_where_it_is(archive: ArchiveHost) -> None:
    stop = recorded_of(archive).session.position
    replay = archive.replay(stop_position=stop)
    for _ in range(20):
        archive.work()
    archive.to_replayer.abort(replay.session)
    end = archive.replay_ended(replay.session)
    assert end.reason is ReplayEnd.ABORTED
    assert 0 < end.position == replay.publication.position < stop
    assert replay.session.publication.is_returned
    archive.to_replayer.abort(replay.session)
    archive.work()
    assert len([event for event in archive.seen if event is not end]) == 2, "that it has started, and the recording"


def test_a_replay_without_a_subscriber_ends_in_time(archives: Archives) -> None:
    clock = ManualClock(now_ns=SECOND_NS)
    archive = archives(clock=clock)
    stop = recorded_of(archive, [b"x"]).session.position
    replay = archive.replay(stop_position=stop, subscribe=False, connect_timeout_ns=5 * SECOND_NS)
    archive.work()
    assert archive.replayer_deadline_ns() == 6 * SECOND_NS
    clock.advance(5 * SECOND_NS - 1)
    archive.work()
    assert not replay.is_over
    clock.advance(1)
    assert archive.replay_ended(replay.session).reason is ReplayEnd.NOT_CONNECTED
    assert archive.has_started(replay.session)


def test_a_replay_ends_with_its_subscriber(archive: ArchiveHost) -> None:
    stop = recorded_of(archive).session.position
    replay = archive.replay(stop_position=stop)
    archive.work()
    archive.work()
    replay.subscription.close()
    assert archive.replay_ended(replay.session).reason is ReplayEnd.DISCONNECTED


def test_a_replay_ends_with_its_publication(archive: ArchiveHost) -> None:
    stop = recorded_of(archive).session.position
    replay = archive.replay(stop_position=stop)
    archive.work()
    replay.session.publication.recall()
    assert archive.replay_ended(replay.session).reason is ReplayEnd.PUBLICATION_CLOSED


def test_replays_at_once_do_not_mix(archive: ArchiveHost) -> None:
    messages = [random_messages(100, salt=number) for number in range(4)]
    stops = [
        recorded_of(archive, own, recording_id=number, stream_id=1001 + number).session.position for number, own in enumerate(messages)
    ]
    replays = [
        archive.replay(number, stream_id=1001 + number, replay_stream_id=2001 + number, stop_position=stop)
        for number, stop in enumerate(stops)
    ]
    for recorded, replay in zip(archive.recordings, replays, strict=True):
        assert replay.ended().reason is ReplayEnd.COMPLETE
        assert replay.messages == recorded.messages


@pytest.mark.parametrize("name", ["CRC-32", "CRC-32C"])
def test_a_recording_with_checksums_is_replayed_with_them(archives: Archives, name: str) -> None:
    archive = archives(checksum=checksum_named(name))
    stop = recorded_of(archive).session.position
    replay = archive.replay(stop_position=stop)
    assert replay.ended().reason is ReplayEnd.COMPLETE
    assert replay.messages == MESSAGES


def test_reads_that_fall_short_go_on(archives: Archives, files: Any) -> None:
    archive = archives(files=files)
    stop = recorded_of(archive).session.position
    files.most = 999
    replay = archive.replay(stop_position=stop)
    assert replay.ended().reason is ReplayEnd.COMPLETE
    assert replay.messages == MESSAGES
