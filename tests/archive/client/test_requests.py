"""Every request of a client, byte for byte as the official client sent it; and the answers that official archives gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, ReplayParams, ReplicationParams, SourceLocation
from aerowire.base.errors import ArchiveError, ConfigurationError
from aerowire.client import Pending
from aerowire.codecs.flyweights import archive
from aerowire.pcap import read_frames
from tests.archive.client.fake_session import FakeArchive

CAPTURES = Path(__file__).parents[2] / "data" / "captures-archive-cluster"
COLUMNS = ["type", "flags", "session_id", "stream_id", "term_id", "term_offset", "dst_port", "payload"]
BEGIN = 0x80
SCHEMA_ID = 101
# The requests of a client's operations; those of opening and closing a session are in test_async_connect.py.
SENT: dict[str, Callable[[AeronArchive, Any], Any]] = {
    "StartRecordingRequest": lambda client, m: client.async_start_recording(m.channel, m.stream_id, m.source_location),
    "ExtendRecordingRequest": lambda client, m: client.async_extend_recording(m.recording_id, m.channel, m.stream_id, m.source_location),
    "StopRecordingRequest": lambda client, m: client.async_stop_recording(m.channel, m.stream_id),
    "StopRecordingSubscriptionRequest": lambda client, m: client.async_stop_recording(m.subscription_id),
    "StopRecordingByIdentityRequest": lambda client, m: client.async_try_stop_recording_by_identity(m.recording_id),
    "ReplayRequest": lambda client, m: client.async_start_replay(m.recording_id, m.replay_channel, m.replay_stream_id, params(m)),
    "BoundedReplayRequest": lambda client, m: client.async_start_replay(
        m.recording_id, m.replay_channel, m.replay_stream_id, params(m, bounding_limit_counter_id=m.limit_counter_id)
    ),
    "StopReplayRequest": lambda client, m: client.async_stop_replay(m.replay_session_id),
    "StopAllReplaysRequest": lambda client, m: client.async_stop_all_replays(m.recording_id),
    "ReplayTokenRequest": lambda client, m: client.async_request_replay_token(m.recording_id),
    "ListRecordingsRequest": lambda client, m: client.async_list_recordings(m.from_recording_id, m.record_count),
    "ListRecordingsForUriRequest": lambda client, m: client.async_list_recordings_for_uri(
        m.channel, m.stream_id, from_recording_id=m.from_recording_id, count=m.record_count
    ),
    "ListRecordingRequest": lambda client, m: client.async_list_recording(m.recording_id),
    "ListRecordingSubscriptionsRequest": lambda client, m: client.async_list_recording_subscriptions(
        m.channel, m.stream_id, apply_stream_id=bool(m.apply_stream_id), pseudo_index=m.pseudo_index, count=m.subscription_count
    ),
    "FindLastMatchingRecordingRequest": lambda client, m: client.async_find_last_matching_recording(
        m.min_recording_id, m.channel, m.stream_id, m.session_id
    ),
    "StartPositionRequest": lambda client, m: client.async_get_start_position(m.recording_id),
    "RecordingPositionRequest": lambda client, m: client.async_get_recording_position(m.recording_id),
    "StopPositionRequest": lambda client, m: client.async_get_stop_position(m.recording_id),
    "MaxRecordedPositionRequest": lambda client, m: client.async_get_max_recorded_position(m.recording_id),
    "TruncateRecordingRequest": lambda client, m: client.async_truncate_recording(m.recording_id, m.position),
    "PurgeRecordingRequest": lambda client, m: client.async_purge_recording(m.recording_id),
    "UpdateChannelRequest": lambda client, m: client.async_update_channel(m.recording_id, m.channel),
    "DetachSegmentsRequest": lambda client, m: client.async_detach_segments(m.recording_id, m.new_start_position),
    "DeleteDetachedSegmentsRequest": lambda client, m: client.async_delete_detached_segments(m.recording_id),
    "PurgeSegmentsRequest": lambda client, m: client.async_purge_segments(m.recording_id, m.new_start_position),
    "AttachSegmentsRequest": lambda client, m: client.async_attach_segments(m.recording_id),
    "MigrateSegmentsRequest": lambda client, m: client.async_migrate_segments(m.src_recording_id, m.dst_recording_id),
    "ReplicateRequest2": lambda client, m: client.async_replicate(
        m.src_recording_id, m.src_control_stream_id, m.src_control_channel, replication(m)
    ),
    "StopReplicationRequest": lambda client, m: client.async_stop_replication(m.replication_id),
    "KeepAliveRequest": lambda client, _: client.keep_alive(),
}


def params(message: Any, **bound: int) -> ReplayParams:
    return ReplayParams(
        position=message.position,
        length=message.length,
        file_io_max_length=message.file_io_max_length,
        replay_token=message.replay_token,
        **bound,
    )


def replication(message: Any) -> ReplicationParams:
    return ReplicationParams(
        dst_recording_id=message.dst_recording_id,
        stop_position=message.stop_position,
        channel_tag_id=message.channel_tag_id,
        subscription_tag_id=message.subscription_tag_id,
        file_io_max_length=message.file_io_max_length,
        replication_session_id=message.replication_session_id,
        live_destination=message.live_destination,
        replication_channel=message.replication_channel,
        encoded_credentials=message.encoded_credentials,
        src_response_channel=message.src_response_channel,
    )


def captured(name: str) -> Iterator[tuple[bytes, Any]]:
    """Yield each message of the archive's schema in a capture, once, as bytes and as the record that they hold."""
    seen = set()
    for row in read_frames(CAPTURES / f"{name}.pcap.gz", columns=COLUMNS).to_pylist():
        if row["type"] != "DATA" or not row["payload"] or not row["flags"] & BEGIN or len(row["payload"]) < 8:
            continue
        place = tuple(row[column] for column in ("dst_port", "session_id", "stream_id", "term_id", "term_offset"))
        if place not in seen and int.from_bytes(row["payload"][4:6], "little") == SCHEMA_ID:
            seen.add(place)
            yield row["payload"], archive.decode(row["payload"])


@pytest.fixture(scope="module")
def requests() -> list[tuple[bytes, Any]]:
    """The requests of both captures that a client sends for its user; a source archive's replays by its replicating one among them."""
    found = [*captured("archive_control"), *captured("archive_replicate")]
    return [(message, record) for message, record in found if type(record).__name__ in SENT]


def test_sends_every_request_as_the_official_client_did(requests: list[tuple[bytes, Any]]) -> None:
    for message, record in requests:
        fake = FakeArchive()
        if "control-mode=response" in getattr(record, "replay_channel", "") or (record.correlation_id == 10 and "Alive" in repr(record)):
            continue  # the one goes out on a publication of its own (test_replays.py), the other was numbered by the test that was captured
        fake.session.session_id = record.control_session_id
        fake.aeron.correlation_id = record.correlation_id - 1
        SENT[type(record).__name__](fake.client, record)
        assert fake.sent == [message], record
    assert {type(record).__name__ for _, record in requests} == set(SENT)


def test_understands_every_answer_of_an_official_archive_to_these_requests() -> None:
    fake = FakeArchive()
    pending: dict[int, Pending[Any]] = {}
    for message, record in captured("archive_control"):
        name = type(record).__name__
        if name in SENT and name != "KeepAliveRequest" and "control-mode=response" not in getattr(record, "replay_channel", ""):
            fake.session.session_id = record.control_session_id
            fake.aeron.correlation_id = record.correlation_id - 1
            pending[record.correlation_id] = SENT[name](fake.client, record)
        elif "Request" not in name and name not in {"RecordingStarted", "RecordingProgress", "RecordingStopped"}:
            fake.say(message)
            fake.client.poll()
    assert [one for one in pending.values() if not one.is_done] == []
    assert [fake.session.poller.dropped, fake.session.requests_in_flight] == [0, 0]
    refused = {correlation_id: failure_of(one) for correlation_id, one in pending.items() if not one.is_fulfilled}
    assert refused == {43: 0, 44: 5, 45: 16, 59: 3, 68: 4, 69: 4, 74: 0, 76: 0, 80: 12, 88: 5}
    found = {correlation_id: one.result() for correlation_id, one in pending.items() if one.is_fulfilled}
    # By INDEX.md of the captures, in the order of its log; listings by their recordings or subscriptions.
    assert {correlation_id: found[correlation_id] for correlation_id in (14, 28, 29, 30, 31, 32)} == {
        14: 21, 28: 0, 29: -1, 30: 3200, 31: 3200, 32: 1,
    }  # fmt: skip
    assert [found[11], found[12]] == [[], []]
    assert [[one.recording_id for one in found[number]] for number in (25, 26, 27)] == [[0], [0, 1], [1]]
    assert [one.subscription_id for one in found[58]] == [40]
    assert [found[number] for number in (67, 70, 71, 73, 75)] == [True, None, 2, 2, 1]


def failure_of(pending: Pending[Any]) -> int | None:
    with pytest.raises(ArchiveError) as caught:
        pending.result()
    return caught.value.error_code


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda client: client.async_start_recording("aeron:ipc", 5, SourceLocation.REMOTE, auto_stop=True),
            "1c003f0065000e00 0700000000000000 6500000000000000 05000000 01000000 01000000 09000000 6165726f6e3a697063",
        ),
        (
            lambda client: client.async_extend_recording(3, "aeron:ipc", 5, auto_stop=True),
            "2400400065000e00 0700000000000000 6500000000000000 0300000000000000 05000000 00000000 01000000 09000000 6165726f6e3a697063",
        ),
    ],
)
def test_sends_what_no_capture_holds(call: Callable[[AeronArchive], object], message: str) -> None:
    fake = FakeArchive()
    call(fake.client)
    assert fake.sent == [bytes.fromhex(message)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda client: client.async_get_start_position(1 << 63), "expected int64"),
        (lambda client: client.async_start_recording("aeron:ipc", 1 << 31), "expected int32"),
        (lambda client: client.async_start_recording("aeron:udp?endpoint=h\u00f6st:1", 1), "expected ascii"),
        (lambda client: client.async_list_recordings(0, 0), "expected 1 to 2147483647"),
        (lambda client: client.async_stop_recording("aeron:ipc"), "expected a channel and a stream id"),
        (lambda client: client.async_stop_recording(True), "expected a subscription's id"),
        (
            lambda client: client.async_start_replay(0, "aeron:udp?control-mode=response|control=h:1", 1),
            "the registration id of a subscription",
        ),
        (lambda _: ReplicationParams(live_destination="aeron:udp?endpoint=h:1", replication_session_id=5), "expected at most one"),
    ],
)
def test_refuses_what_no_request_can_say_and_sends_nothing(call: Callable[[AeronArchive], object], expected: str) -> None:
    fake = FakeArchive()
    with pytest.raises(ConfigurationError, match=expected):
        call(fake.client)
    assert (fake.sent, fake.session.requests_in_flight) == ([], 0)
