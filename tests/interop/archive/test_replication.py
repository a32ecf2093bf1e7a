"""Recordings that an archive of one side copies from an archive of the other: every form of replication, with and without loss."""

from __future__ import annotations

import pytest

from aerowire.archive import AeronArchive, ReplicationParams
from aerowire.client import ExclusivePublication
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.content import Batch, hash_of, replayed
from tests.interop.archive.nodes import ArchiveNode, finish, response_channel, start_archive
from tests.interop.archive.replicator import FIRST, SECOND, STREAM_ID, Replicator, record
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario, lossy_network, other, total, wait_until
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LAST = Batch(13, 50)


def merge(scenario: Scenario, feature: str, replicator: Replicator, source: AeronArchive, control: str) -> int:
    """Copy a recording that goes on, and go on with its live stream, by the subscription that has the tags of the request.

    Returns the id of the copy, which has ended with the stream.
    """
    scenario.next_feature(feature)
    publication = source.add_recorded_exclusive_publication(f"aeron:udp?{control}|ssc=true|term-length=64k", STREAM_ID)
    FIRST.publish(publication)
    params = ReplicationParams(live_destination=f"aeron:udp?endpoint=127.0.0.1:0|{control}", channel_tag_id=7771, subscription_tag_id=7772)
    replicator.start(1, params)
    SECOND.publish(publication, work=replicator.archive.poll)
    replicator.await_signals("MERGE", "REPLICATE_END")
    (subscription,) = replicator.archive.list_recording_subscriptions()
    assert "tags=7771,7772" in subscription.stripped_channel
    copy = replicator.signals[0].recording_id
    end_stream(replicator, publication, copy)
    assert replicator.names == ["REPLICATE", "EXTEND", "MERGE", "REPLICATE_END", "STOP"]
    replicator.compare(copy, FIRST, SECOND, LAST)
    scenario.observed(f"content hash of 3 batches; signals {', '.join(replicator.names)}")
    return copy


def merge_again(scenario: Scenario, feature: str, replicator: Replicator, source: AeronArchive, control: str, copy: int) -> None:
    """Go on with the recording of `merge`, and with its copy: what is missing, and the live stream, by a subscription without tags."""
    scenario.next_feature(feature)
    continued = source.add_continued_publication(f"aeron:udp?{control}|ssc=true|term-length=64k", STREAM_ID)
    assert continued.recording_id == 1
    source.await_recorded(1, FIRST.publish(continued.publication))
    replicator.start(1, ReplicationParams(live_destination=f"aeron:udp?endpoint=127.0.0.1:0|{control}", dst_recording_id=copy))
    SECOND.publish(continued.publication, work=replicator.archive.poll)
    replicator.await_signals("MERGE", "REPLICATE_END")
    end_stream(replicator, continued.publication, copy)
    assert replicator.names == ["EXTEND", "MERGE", "REPLICATE_END", "STOP"]
    content = FIRST, SECOND, LAST, FIRST, SECOND, LAST
    replicator.compare(copy, *content)
    assert replayed(source, 1) == hash_of(*content)
    scenario.observed(f"content hash of 6 batches; signals {', '.join(replicator.names)}")


def outlive_source(scenario: Scenario, replicator: Replicator, source: AeronArchive, control: str, copy: int) -> None:
    """Go on with the copy of `merge_again`, and kill the source once it has merged: the copy follows the live stream without it."""
    scenario.next_feature("Archive replication: the source is killed behind a live merge")
    continued = source.add_continued_publication(f"aeron:udp?{control}|ssc=true|term-length=64k", STREAM_ID)
    replicator.start(1, ReplicationParams(live_destination=f"aeron:udp?endpoint=127.0.0.1:0|{control}", dst_recording_id=copy))
    SECOND.publish(continued.publication, work=replicator.archive.poll)
    replicator.await_signals("MERGE", "REPLICATE_END")
    replicator.source.kill()
    end_stream(replicator, continued.publication, copy)
    assert replicator.names == ["EXTEND", "MERGE", "REPLICATE_END", "STOP"]
    replicator.compare(copy, FIRST, SECOND, LAST, FIRST, SECOND, LAST, SECOND, LAST)
    scenario.observed(f"content hash of 8 batches; signals {', '.join(replicator.names)}")


def end_stream(replicator: Replicator, publication: ExclusivePublication, copy: int) -> None:
    """End a live stream that a copy has merged with, which ends there too."""
    # The official archive says MERGE also before the live publisher knows of the copy, and that one would go on without it.
    wait_until(lambda: total(replicator.source.driver, "mdc-num-dest") > 0, "the copy at the live publisher")
    end = LAST.publish(publication)
    replicator.archive.await_recorded(copy, end)
    publication.close()
    replicator.await_signals("STOP")
    assert replicator.signals[-1].position == end


def prove_loss(scenario: Scenario, source: ArchiveNode, target: ArchiveNode) -> None:
    """Assert that messages of the source's driver were lost, and sent again."""
    scenario.prove(target.driver, "NAKs sent")
    scenario.prove(source.driver, "Retransmits sent")


def refuse(scenario: Scenario, feature: str, replicator: Replicator) -> None:
    """Ask for a copy of a recording that there is not."""
    scenario.next_feature(feature)
    replicator.start(4321, ReplicationParams())
    replicator.await_signals("REPLICATE_END")
    error = replicator.archive.poll_for_error_response()
    assert error is not None
    assert error.error_code == ArchiveErrorCode.UNKNOWN_RECORDING
    assert "unknown src recording id 4321" in str(error)
    scenario.observed(f"error {error.error_code}, REPLICATE_END")


@pytest.mark.parametrize("network", ["clean", pytest.param("lossy", marks=pytest.mark.lossy)])
@pytest.mark.parametrize("target_side", ["official", "aerowire"])
def test_recordings_are_copied_in_every_form(scenario: Scenario, target_side: Side, network: str) -> None:
    is_lossy = network == "lossy"
    source_side = other(target_side)
    suffix = ", 5 % loss each way" if is_lossy else ""
    source, target = (
        start_archive(scenario, side, scenario.driver(side, lossy_network(side) if is_lossy else None))
        for side in (source_side, target_side)
    )
    with source.connect("ipc") as recorded:
        replicator = Replicator(scenario, source, target)
        with replicator.archive:
            scenario.row.publishing, scenario.row.subscribing = f"{source_side} archive and driver", [f"{target_side} archive and driver"]
            middle = record(recorded)
            if not is_lossy:
                scenario.next_feature("Archive replication: the source, replayed whole and from its middle")
                assert replayed(recorded, 0) == hash_of(FIRST, SECOND)
                assert replayed(recorded, 0, position=middle) == hash_of(SECOND)
                scenario.row.messages = FIRST.messages + 2 * SECOND.messages
            replicator.copy(f"Archive replication: whole{suffix}", ReplicationParams(file_io_max_length=65536), FIRST, SECOND)
            part = replicator.copy(
                f"Archive replication: to a stop position{suffix}",
                ReplicationParams(stop_position=middle),
                FIRST,
                ends={"STOP", "REPLICATE_END"},
            )
            assert replicator.archive.get_stop_position(part) == middle
            rest_of_it = ReplicationParams(dst_recording_id=part, replication_session_id=919)
            replicator.copy(f"Archive replication: the rest of a copy{suffix}", rest_of_it, FIRST, SECOND)
            tagged = ReplicationParams(channel_tag_id=8881, subscription_tag_id=8882)
            replicator.copy(f"Archive replication: tagged{suffix}", tagged, FIRST, SECOND)
            by_response = ReplicationParams(replication_channel=response_channel(), src_response_channel=response_channel())
            replicator.copy(f"Archive replication: by response channels{suffix}", by_response, FIRST, SECOND)
            control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
            copy = merge(scenario, f"Archive replication: live merge, tagged{suffix}", replicator, recorded, control)
            if is_lossy:
                prove_loss(scenario, source, target)
            merge_again(scenario, f"Archive replication: live merge into its earlier copy{suffix}", replicator, recorded, control, copy)
            if is_lossy:
                prove_loss(scenario, source, target)
            refuse(scenario, f"Archive replication: an unknown recording{suffix}", replicator)
            if not is_lossy:
                outlive_source(scenario, replicator, recorded, control, copy)
    # Directories that archives leave when they are killed: test_directories.py.
    finish(scenario, target, *([source] if is_lossy else []))
