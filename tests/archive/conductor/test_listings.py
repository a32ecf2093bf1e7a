"""Descriptors of recordings and of subscriptions, and what else is asked about recordings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aerowire.archive import ArchiveErrorCode
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.codecs.flyweights import archive
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig
from tests.archive.conductor.test_recordings import refusal


def test_lists_recordings_from_an_id_on(rig: Rig) -> None:
    ids = [rig.record(1)[0] for _ in range(5)]
    assert [found.recording_id for found in rig.client.list_recordings()] == ids
    assert [found.recording_id for found in rig.client.list_recordings(1, 2)] == ids[1:3]
    assert [found.recording_id for found in rig.client.list_recordings(3, 100)] == ids[3:]
    assert rig.client.list_recordings(5, 100) == []
    assert rig.client.list_recordings(1 << 40, 1) == []
    rig.client.purge_recording(ids[2])
    assert [found.recording_id for found in rig.client.list_recordings()] == [*ids[:2], *ids[3:]]


def test_lists_more_recordings_than_one_cycle_sends(rig: Rig) -> None:
    catalog = rig.archive.conductor.core.catalog
    rig.record(1)
    entry = catalog.entry(0)
    assert entry is not None
    for _ in range(299):
        catalog.add_recording(entry)
    assert [found.recording_id for found in rig.client.list_recordings()] == list(range(300))


def test_lists_recordings_of_a_stream_whose_channel_holds_a_text(rig: Rig) -> None:
    first, _ = rig.record(1, channel="aeron:ipc?alias=apples", stream_id=1)
    second, _ = rig.record(1, channel="aeron:ipc?alias=pears", stream_id=1)
    third, _ = rig.record(1, channel="aeron:ipc?alias=apples", stream_id=2)
    assert [found.recording_id for found in rig.client.list_recordings_for_uri("apples", 1)] == [first]
    assert [found.recording_id for found in rig.client.list_recordings_for_uri("ipc", 1)] == [first, second]
    assert [found.recording_id for found in rig.client.list_recordings_for_uri("", 2)] == [third]
    [found] = rig.client.list_recording(second)
    assert rig.client.find_last_matching_recording(0, "pears", 1, found.session_id) == second
    assert rig.client.find_last_matching_recording(second + 1, "pears", 1, found.session_id) == -1
    assert refusal(rig.client.find_last_matching_recording, -1, "pears", 1, found.session_id)[1] is ArchiveErrorCode.UNKNOWN_RECORDING


def test_refuses_a_channel_whose_descriptor_would_not_fit_into_a_response(rig: Rig) -> None:
    recording_id, _ = rig.record(1)
    long = "aeron:ipc?alias=" + "a" * 4000
    for call, arguments in ((rig.client.update_channel, (recording_id, long)), (rig.client.start_recording, (long, 5))):
        assert "the channel is too long for a descriptor" in refusal(call, *arguments)[0]
    rig.client.update_channel(recording_id, "aeron:ipc?alias=" + "a" * 3900)
    assert len(rig.client.list_recordings()[0].stripped_channel) == 3916


def test_a_descriptor_that_does_not_fit_into_a_response_ends_the_listing_with_an_error(rig: Rig) -> None:
    rig.record(1)
    catalog = rig.archive.conductor.core.catalog
    entry = catalog.entry(0)
    assert entry is not None
    catalog.add_recording(replace(entry, original_channel="aeron:ipc?alias=" + "a" * 9000))
    assert "listing failed: message is too long" in refusal(rig.client.list_recordings)[0]
    assert len(rig.client.list_recordings(0, 1)) == 1
    assert rig.client.list_recording_subscriptions() == []


def test_an_unknown_recording_is_no_descriptor(rig: Rig) -> None:
    assert rig.client.list_recording(5) == []


def test_lists_the_subscriptions_that_are_recorded(rig: Rig) -> None:
    ids = [rig.client.start_recording(f"aeron:ipc?alias=a{stream_id}", stream_id) for stream_id in (1, 2, 3)]
    assert [found.subscription_id for found in rig.client.list_recording_subscriptions()] == ids
    assert [found.subscription_id for found in rig.client.list_recording_subscriptions(stream_id=2, apply_stream_id=True)] == ids[1:2]
    assert [found.subscription_id for found in rig.client.list_recording_subscriptions("a3")] == ids[2:]
    assert rig.client.list_recording_subscriptions("none") == []


def test_a_session_lists_one_thing_at_a_time(rig: Rig) -> None:
    rig.record(1)
    session = rig.archive.conductor.control_sessions.adapter.sessions[0]
    operations = rig.archive.conductor.control_sessions.adapter._operations
    request = archive.ListRecordingsRequest(control_session_id=session.session_id, correlation_id=1, from_recording_id=0, record_count=1)
    operations.list_recordings(session, request)
    channel = archive.UpdateChannelRequest(control_session_id=0, correlation_id=2, recording_id=0, channel="aeron:ipc")
    calls: list[tuple[Any, Any]] = [
        (operations.list_recordings, request),
        (operations.list_recording, archive.ListRecordingRequest(control_session_id=0, correlation_id=2, recording_id=0)),
        (operations.update_channel, channel),
    ]
    for call, other in calls:
        with pytest.raises(RequestRefusedError, match="active listing already in progress") as caught:
            call(session, other)
        assert caught.value.code is ArchiveErrorCode.ACTIVE_LISTING
    rig.run(lambda: not session.has_active_listing)
    assert len(rig.client.list_recordings()) == 1


def test_gives_a_recording_another_channel(rig: Rig) -> None:
    recording_id, _ = rig.record(1)
    rig.client.update_channel(recording_id, "aeron:udp?endpoint=127.0.0.1:8018|mtu=8k|alias=updated")
    [found] = rig.client.list_recording(recording_id)
    assert found.original_channel == "aeron:udp?endpoint=127.0.0.1:8018|mtu=8k|alias=updated"
    assert found.stripped_channel == "aeron:udp?endpoint=127.0.0.1:8018|alias=updated"
    assert refusal(rig.client.update_channel, recording_id, "aeron:tcp")[1] is ArchiveErrorCode.GENERIC


def test_answers_for_positions_of_known_recordings_only(rig: Rig) -> None:
    for ask in (
        rig.client.get_start_position,
        rig.client.get_recording_position,
        rig.client.get_stop_position,
        rig.client.get_max_recorded_position,
        rig.client.attach_segments,
        rig.client.delete_detached_segments,
    ):
        text, code = refusal(ask, 77)
        assert code is ArchiveErrorCode.UNKNOWN_RECORDING
        assert "unknown recording id: 77" in text


def test_a_listing_ends_with_its_session(rig: Rig) -> None:
    rig.record(1)
    other = rig.connect()
    session = rig.archive.conductor.control_sessions.adapter.sessions[-1]
    request = archive.ListRecordingsRequest(control_session_id=0, correlation_id=1, from_recording_id=0, record_count=1)
    rig.archive.conductor.control_sessions.adapter._operations.list_recordings(session, request)
    session.abort("session closed")
    rig.clients.remove(other)
    rig.run(lambda: len(rig.archive.conductor.core.sessions) == 0)
    assert rig.client.start_recording(CHANNEL, STREAM_ID) > 0
