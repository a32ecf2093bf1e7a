"""Recordings copied from an archive: here from the archive itself, through its own control channel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.archive import ArchiveErrorCode, ReplicationParams
from aerowire.archive.conductor.replication_session import LIVE_SETTLE_MS
from tests.archive.conductor.conftest import CHANNEL, FRAME_LENGTH, PAYLOAD, STREAM_ID, Rig
from tests.archive.conductor.test_recordings import extending_channel, refusal
from tests.archive.conductor.test_replays import read, replay
from tests.support.processes import free_port
from tests.support.waiting import no_shorter_than


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    found = Rig(tmp_path / "archive", control_channel_enabled=True, control_channel=channel)
    yield found
    found.close()


def replicate(rig: Rig, recording_id: int, params: ReplicationParams | None = None) -> int:
    """Copy a recording, and return the copy's id when the replication is over."""
    rig.signals.clear()
    replication_id = rig.client.replicate(recording_id, 10, rig.archive.context.control_channel, params or ReplicationParams())
    rig.run(lambda: "REPLICATE_END" in names(rig), cycles=2_000_000)
    rig.run(lambda: not rig.archive.conductor.recordings.has_active)
    assert {signal.correlation_id for signal in rig.signals} == {replication_id}
    return rig.signals[-1].recording_id


def names(rig: Rig) -> list[str]:
    return [signal.signal.name for signal in rig.signals]


def test_copies_a_recording_that_has_stopped(rig: Rig) -> None:
    source, end = rig.record(200)
    copy = replicate(rig, source)
    assert set(names(rig)) >= {"REPLICATE", "EXTEND", "SYNC", "REPLICATE_END"}
    assert (rig.client.get_start_position(copy), rig.client.get_stop_position(copy)) == (0, end)
    [of_source], [of_copy] = rig.client.list_recording(source), rig.client.list_recording(copy)
    assert (of_copy.initial_term_id, of_copy.stream_id, of_copy.original_channel) == (of_source.initial_term_id, STREAM_ID, CHANNEL)
    assert read(rig, replay(rig, copy), 200) == [PAYLOAD] * 200
    assert rig.errors() == []


def test_copies_up_to_a_position_and_goes_on_from_there(rig: Rig) -> None:
    source, end = rig.record(20)
    copy = replicate(rig, source, ReplicationParams(stop_position=10 * FRAME_LENGTH))
    assert rig.client.get_stop_position(copy) == 10 * FRAME_LENGTH
    assert replicate(rig, source, ReplicationParams(dst_recording_id=copy)) == copy
    assert rig.client.get_stop_position(copy) == end
    assert replicate(rig, source, ReplicationParams(dst_recording_id=copy)) == copy
    assert names(rig) == ["SYNC", "REPLICATE_END"]


def test_copies_with_tags_and_with_a_session_of_its_own(rig: Rig) -> None:
    source, end = rig.record(20)
    tagged = replicate(rig, source, ReplicationParams(channel_tag_id=901, subscription_tag_id=902))
    own = replicate(rig, source, ReplicationParams(replication_session_id=4321))
    for copy in (tagged, own):
        assert rig.client.get_stop_position(copy) == end
    assert rig.client.list_recording(own)[0].session_id == 4321


def test_tells_that_the_source_has_no_such_recording(rig: Rig) -> None:
    replicate(rig, 77)
    rig.run(lambda: rig.failures)
    assert "unknown src recording id 77" in str(rig.failures[0])
    assert rig.failures[0].error_code == ArchiveErrorCode.UNKNOWN_RECORDING
    assert names(rig) == ["REPLICATE_END"]


def test_refuses_what_cannot_be_copied(rig: Rig) -> None:
    channel = rig.archive.context.control_channel
    source, _ = rig.record(1)
    text, code = refusal(rig.client.replicate, source, 10, channel, ReplicationParams(dst_recording_id=99))
    assert (code, "unknown destination recording id 99" in text) == (ArchiveErrorCode.UNKNOWN_RECORDING, True)
    rig.client.start_recording(CHANNEL, STREAM_ID)
    rig.publication()
    active = rig.started()
    text, code = refusal(rig.client.replicate, source, 10, channel, ReplicationParams(dst_recording_id=active))
    assert (code, f"cannot replicate to active recording {active}" in text) == (ArchiveErrorCode.ACTIVE_RECORDING, True)
    response = "aeron:udp?control-mode=response|control=127.0.0.1:0"
    for params in (
        ReplicationParams(replication_channel=response, live_destination="aeron:udp?endpoint=127.0.0.1:1"),
        ReplicationParams(replication_channel=response, channel_tag_id=1),
    ):
        assert "response channels can't be used with" in refusal(rig.client.replicate, source, 10, channel, params)[0]


def test_a_recording_that_is_extended_meanwhile_does_not_become_a_copy(rig: Rig) -> None:
    source, _ = rig.record(20)
    target, _ = rig.record(20, channel="aeron:ipc?term-length=64k|alias=target")
    rig.client.truncate_recording(target, 0)
    rig.run(lambda: "DELETE" in names(rig))
    rig.signals.clear()
    channel = extending_channel(rig, target)
    rig.client.extend_recording(target, channel, STREAM_ID)
    rig.client.replicate(source, 10, rig.archive.context.control_channel, ReplicationParams(dst_recording_id=target))
    publication = rig.publication(channel)
    rig.run(lambda: {"EXTEND", "REPLICATE_END"} <= set(names(rig)))
    assert rig.failures[0].error_code == ArchiveErrorCode.ACTIVE_RECORDING
    [found] = rig.client.list_recording(target)
    assert found.is_active
    assert refusal(rig.client.purge_recording, target)[1] is ArchiveErrorCode.ACTIVE_RECORDING
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(target) == end)
    publication.close()
    rig.run(lambda: rig.client.get_stop_position(target) == end)


def test_a_replication_can_be_stopped(rig: Rig) -> None:
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    source = rig.started()
    end = rig.offer(publication, 5)
    replication_id = rig.client.replicate(source, 10, rig.archive.context.control_channel)
    rig.run(lambda: rig.client.list_recordings(1, 1) and rig.client.get_max_recorded_position(1) == end, cycles=200_000)
    assert rig.archive.conductor.replications.copying_count == 1
    rig.client.stop_replication(replication_id)
    rig.run(lambda: names(rig).count("STOP") == 1 and "REPLICATE_END" in names(rig))
    assert rig.client.get_stop_position(1) == end
    assert refusal(rig.client.stop_replication, replication_id)[1] is ArchiveErrorCode.UNKNOWN_REPLICATION
    assert not rig.client.try_stop_replication(replication_id)
    assert rig.archive.conductor.replications.copying_count == 0


def test_a_copy_merges_with_the_live_stream(rig: Rig) -> None:
    channel = f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=dynamic|term-length=64k|ssc=true"
    rig.client.start_recording(channel, STREAM_ID)
    publication = rig.publication(channel)
    source = rig.started()
    rig.offer(publication, 5)
    control = channel.split("|", maxsplit=1)[0].removeprefix("aeron:udp?control=")
    params = ReplicationParams(live_destination=f"aeron:udp?endpoint=127.0.0.1:0|control={control}")
    # A transport counts from when its destination is added, and the live publisher does not know of it yet.
    with no_shorter_than(LIVE_SETTLE_MS / 1e3, "the replay is left before a status message has reached the live publisher"):
        rig.client.replicate(source, 10, rig.archive.context.control_channel, params)
        rig.run(lambda: "MERGE" in names(rig) or rig.failures, cycles=2_000_000)
    assert rig.failures == []
    end = rig.offer(publication, 5)
    rig.run(lambda: rig.client.get_recording_position(1) == end, cycles=200_000)
    assert names(rig)[-2:] == ["MERGE", "REPLICATE_END"]
